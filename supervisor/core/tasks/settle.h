/* What becomes of an attempt. Layer: core, pure.
 * The one answer to "when is a message acked, tried again or given up". Implements
 * PROTOCOL.md, sections 6 and 10, and guarantees 1 and 2 of docs/reliability.md. */
#ifndef CORE_TASKS_SETTLE_H
#define CORE_TASKS_SETTLE_H

#include "core/tasks/delivery.h"
#include "core/tasks/retry.h"

#define OUTCOMES(X)                                                                                \
	X(OUTCOME_DONE)       /* 200 */                                                            \
	X(OUTCOME_REPLY)      /* 201 */                                                            \
	X(OUTCOME_REJECTED)   /* 4xx */                                                            \
	X(OUTCOME_FAILED)     /* 5xx */                                                            \
	X(OUTCOME_CRASHED)    /* exit in mid-task */                                               \
	X(OUTCOME_TIMED_OUT)  /* over limits.hard */                                               \
	X(OUTCOME_BROKEN)     /* protocol error */                                                 \
	X(OUTCOME_UNROUTABLE) /* its reply was returned, unfit, or cost a channel */               \
	X(OUTCOME_UNFIT)      /* no worker can be given it: delivery->unfit says why */            \
	X(OUTCOME_UNSTARTED)  /* it never was the head of a pipe, or a forced stop cut it */

enum outcome {
#define X(outcome) outcome,
	OUTCOMES(X)
#undef X
};

/* What the worker or its reply did wrong: an attempt that may be tried again. */
#define SETTLE_RETRIED_ALL                                                                         \
	(1u << REASON_FAILED | 1u << REASON_CRASHED | 1u << REASON_TIMED_OUT |                     \
		1u << REASON_PROTOCOL | 1u << REASON_UNROUTABLE | 1u << REASON_REPLY_INVALID |     \
		1u << REASON_REPLY_REFUSED)

enum unroutable { UNROUTABLE_REJECT, UNROUTABLE_DROP, UNROUTABLE_RETRY };

struct settle_policy {
	uint16_t attempts;          /* 1 to 65,535 tries in all */
	bool dead_letter_by_broker; /* basic.reject instead of our own copy */
	enum unroutable unroutable;
	uint32_t slices;  /* most hand-backs of one task */
	uint32_t retried; /* bit (1u << reason): tried again; else to the dead letters at once */
	mtime delays[RETRY_DELAYS_MAX]; /* before the next try, by failed attempt; then the last */
	uint8_t delay_count;            /* 0: at once, to the tail of its own queue */
	struct text queue;              /* the pool's own */
};

enum verdict {
	VERDICT_ACK,     /* final: may be acked now */
	VERDICT_PUBLISH, /* final when its parcel is confirmed */
	VERDICT_REJECT,  /* final: basic.reject, the queue's own policy decides */
	VERDICT_REQUEUE, /* back into the pool's buffer, at its head; to the broker at a stop */
};

struct decision {
	enum verdict verdict;
	enum parcel_kind parcel; /* VERDICT_PUBLISH */
	mtime delay;             /* RETRY: until the next try; 0: at once */
	enum reason reason;      /* RETRY, DEAD_LETTER, REJECT; ACK: why its reply was dropped */
	bool unasked;            /* a reply with nowhere to go: acked, worth one warning */
};

/* What a worker's final status says of its attempt. False: -1, or no status of PROTOCOL.md,
 * section 6. */
bool settle_outcome(int32_t status, enum outcome *ret_outcome);
/* output: the worker's answer, always there for OUTCOME_REPLY and OUTCOME_UNROUTABLE; NULL or last
 * words where there is none. reason: of
 * OUTCOME_UNROUTABLE (REASON_UNROUTABLE, REASON_REPLY_INVALID or REASON_REPLY_REFUSED), else
 * ignored. */
struct decision settle_decide(const struct settle_policy *, enum outcome, const struct delivery *,
	const struct output *, enum reason);
/* Before any worker: true, and what becomes of a delivery that came back so often
 * (x-delivery-count) that the work on it, it seems, takes the supervisor down. False: it waits for
 * a worker. */
bool settle_arrival(
	const struct settle_policy *, const struct delivery *, struct decision *ret_decision);
/* It was renewed so often that it may be the one: no other task is at work beside it. */
bool settle_is_alone(const struct delivery *);
/* No further try: to the dead letters, ours or the broker's. */
struct decision settle_give_up(const struct settle_policy *, enum reason);
/* Where the reply goes: the output's queue, else the task's reply_to; may be empty. */
struct text settle_reply_target(const struct delivery *, const struct output *);

#endif
