/* Decide what happens to a message after an attempt: ack, retry or give up. Layer: core, pure. The
 * only place that decides it. Implements PROTOCOL.md, sections 6 and 10, and guarantees 1 and 2 of
 * docs/reliability.md. */
#ifndef CORE_TASKS_SETTLE_H
#define CORE_TASKS_SETTLE_H

#include "core/tasks/delivery.h"
#include "core/tasks/retry.h"

#define OUTCOMES(X)                                                                                \
	X(OUTCOME_DONE)       /* 200, 205 */                                                       \
	X(OUTCOME_REPLY)      /* 201 */                                                            \
	X(OUTCOME_REJECTED)   /* 4xx */                                                            \
	X(OUTCOME_FAILED)     /* 5xx */                                                            \
	X(OUTCOME_CRASHED)    /* exit in mid-task */                                               \
	X(OUTCOME_TIMED_OUT)  /* over limits.hard */                                               \
	X(OUTCOME_BROKEN)     /* protocol error */                                                 \
	X(OUTCOME_UNROUTABLE) /* its reply was returned, cannot be published, or closed a channel  \
			       */                                                                  \
	X(OUTCOME_INVALID)    /* it cannot be sent to a worker; delivery->invalid is the reason */ \
	X(OUTCOME_KILLED)     /* not done, and an operator has ordered what follows */             \
	X(OUTCOME_UNSTARTED)  /* it never was the head of a pipe, or a forced stop interrupted it  \
			       */

enum outcome {
#define X(outcome) outcome,
	OUTCOMES(X)
#undef X
};

/* The reasons for which a task may be retried. */
#define SETTLE_RETRIED_ALL                                                                         \
	(1u << REASON_FAILED | 1u << REASON_CRASHED | 1u << REASON_TIMED_OUT |                     \
		1u << REASON_PROTOCOL | 1u << REASON_UNROUTABLE | 1u << REASON_REPLY_INVALID |     \
		1u << REASON_REPLY_REFUSED)

/* RabbitMQ replaces the reply_to amq.rabbitmq.reply-to by a name for each requester, which begins
 * so: the reply goes to the requester's channel. */
#define SETTLE_DIRECT_REPLY_TO TEXT("amq.rabbitmq.reply-to.")

enum unroutable { UNROUTABLE_REJECT, UNROUTABLE_DROP, UNROUTABLE_RETRY };

#define SETTLE_ALONE_AT 3 /* renewals */

/* What happens to a task that may not start yet. */
enum throttle_excess {
	THROTTLE_DELAY,      /* it waits, without a worker */
	THROTTLE_REPLY,      /* its caller is told so, and it is done; without a caller it waits */
	THROTTLE_DEAD_LETTER /* it is given up */
};

struct settle_policy {
	uint16_t attempts;          /* 1 to 65,535, the first one included */
	bool dead_letter_by_broker; /* basic.reject instead of our own copy */
	bool blocks_session;        /* a task with a key is not given up: it blocks its session */
	enum unroutable unroutable;
	uint32_t slices;  /* maximum of hand-backs of one task */
	uint32_t retried; /* bit (1u << reason): retried; other reasons: given up at once */
	mtime delays[RETRY_DELAYS_MAX]; /* before the next attempt, by failed attempts; the last one
					   repeats */
	uint8_t delay_count;            /* 0: at once, to the tail of its own queue */
	struct text queue;              /* the pool's own */
	char *const *reply_queues; /* patterns (text_matches) of the queues that replies may go to,
				      besides its own and direct reply-to; NULL: any. Borrowed */
};

enum verdict {
	VERDICT_ACK,     /* final: may be acked now */
	VERDICT_PUBLISH, /* final when its parcel is confirmed */
	VERDICT_REJECT,  /* final: basic.reject, the queue's own policy decides */
	VERDICT_REQUEUE, /* waits for a worker again, before all others; at a stop: to the broker */
	/* of a task with a key, which never leaves its place in its session */
	VERDICT_PARK,     /* its next attempt is due after a delay; REASON_POSTPONED: this was
			     none */
	VERDICT_BLOCK,    /* it would be given up: an operator decides */
	VERDICT_CONTINUE, /* the rest of its work, which is its output, waits in its place */
};

struct decision {
	enum verdict verdict;
	enum parcel_kind parcel; /* VERDICT_PUBLISH */
	mtime delay;             /* RETRY, PARK: until the next attempt; 0: at once. POSTPONE,
				    REFUSAL, LATER: until it may start */
	enum reason reason;      /* RETRY, PARK, BLOCK, DEAD_LETTER, REJECT; ACK: why its reply was
				    dropped; LATER: REASON_POSTPONED: its worker asked for it */
	bool no_reply_to;        /* a reply without a queue to go to: acked, with one warning */
	const char *what;        /* why it is unroutable before it is published; POSTPONE, REFUSAL:
				    the throttle's name; or NULL */
};

/* Translate the status of an answer into an outcome. False: it is -1, or no status of PROTOCOL.md,
 * section 6. */
bool settle_outcome(int32_t status, enum outcome *ret_outcome);
/* Decide about an attempt. output: the worker's answer, never NULL for OUTCOME_REPLY and
 * OUTCOME_UNROUTABLE; without an answer only the last stderr line, or NULL. reason: for
 * OUTCOME_UNROUTABLE one of REASON_UNROUTABLE, REASON_REPLY_INVALID and REASON_REPLY_REFUSED; else
 * ignored. */
struct decision settle_decide(const struct settle_policy *, enum outcome, const struct delivery *,
	const struct output *, enum reason);
/* Decide about a delivery without a session that has just arrived, and whose time comes in left_ms
 * (0: it has come). False: it waits for a worker. True: *ret_decision is set: its time has not
 * come, or it came back so often (x-delivery-count) that it may be what kills the supervisor. */
bool settle_arrival(const struct settle_policy *, const struct delivery *, int64_t left_ms,
	struct decision *ret_decision);
/* Decide about a task that a throttle refuses, which may start after `wait`. False: it waits.
 * True: *ret_decision is set, without .what. */
bool settle_throttled(const struct settle_policy *, const struct delivery *, enum throttle_excess,
	mtime wait, struct decision *ret_decision);
/* Decide to postpone such a task: it comes back after `wait` or a little later, at most an hour. No
 * attempt is counted. */
struct decision settle_postpone(mtime wait);
/* False: it may be what killed a supervisor. A copy would begin without the broker's count of how
 * often it came back, and so it would never be found. */
static inline bool settle_may_postpone(const struct delivery *delivery)
{
	return delivery->returns == 0 && !(delivery->redelivered && delivery->renewed > 0);
}
/* True: it was renewed so often, and has come back since, that it must run alone, without another
 * task in a pipe. */
static inline bool settle_is_exclusive(const struct delivery *delivery)
{
	/* Any publisher can write the number of renewals. That the message came back is the
	 * broker's own word, so a forged number alone stops no other task. */
	return delivery->redelivered && delivery->renewed >= SETTLE_ALONE_AT && !delivery->session;
}
/* Decide to give a task up: to our dead-letter queue, or to the broker's policy. */
struct decision settle_give_up(const struct settle_policy *, enum reason);
/* The same, unless the task has a key and such tasks block their sessions. */
struct decision settle_refuse(const struct settle_policy *, const struct delivery *, enum reason);
/* The queue of the reply: the output's, else the task's reply_to; may be empty. */
struct text settle_reply_target(const struct delivery *, const struct output *);

#endif
