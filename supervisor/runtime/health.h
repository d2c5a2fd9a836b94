/* Whether the supervisor and its pools work. Layer: runtime. Health is a set of causes with
 * their figures; ready means that the set is empty: both connections are open, and every pool
 * has a ready worker and a consumer that the broker has confirmed. report/health_text.h makes
 * sentences from it, for people only. */
#ifndef RUNTIME_HEALTH_H
#define RUNTIME_HEALTH_H

#include "runtime/supervisor_view.h"

/* Each with its stable name: the label of metrics, which alert rules and docs/operations.md use. */
#define HEALTH_CAUSES(X)                                                                           \
	X(HEALTH_DRAINING, "draining") /* the supervisor, and each pool with it */                 \
	X(HEALTH_STOPPING, "stopping") /* the same, later */                                       \
	/* a pool has no connection to consume by; the supervisor: none has */                     \
	X(HEALTH_NO_CONSUMING, "no-consuming")                                                     \
	/* the supervisor has no connection to publish by */                                       \
	X(HEALTH_NO_PUBLISHING, "no-publishing")                                                   \
	X(HEALTH_REMOVED, "removed") /* a pool drains, because it is not configured any more */    \
	X(HEALTH_PAUSED, "paused")   /* a pool, by an operator */                                  \
	X(HEALTH_NO_WORKER, "no-worker") /* a pool has no ready worker yet */                      \
	/* a pool has no ready worker, or (as a warning) too few, because they fail */             \
	X(HEALTH_CRASH_LOOP, "crash-loop")                                                         \
	X(HEALTH_NO_CONSUMER, "no-consumer") /* a pool is connected, but does not consume */       \
	/* a pool cannot get its token: no consumer, no channel to publish, or a refusal */        \
	X(HEALTH_NO_TOKEN, "no-token")                                                             \
	/* no supervisor grants the starts of a throttle of a pool */                              \
	X(HEALTH_NO_LEADER, "no-leader")                                                           \
	/* the queue of a pool with sessions has other consumers, without a token */               \
	X(HEALTH_SHARED, "shared")                                                                 \
	X(HEALTH_NO_ORDER, "no-order") /* the queue of a pool with sessions keeps no order */      \
	X(HEALTH_OVERFULL, "overfull") /* a pool with sessions had too many bytes unacked */       \
	/* all messages that a pool may have belong to sessions that cannot run, so it gets no     \
	 * other ones */                                                                           \
	X(HEALTH_WINDOW_STUCK, "window-stuck")                                                     \
	/* Warnings. */                                                                            \
	X(HEALTH_SUSPECTS, "suspects") /* tasks of a pool wait until they can run alone */         \
	X(HEALTH_BLOCKED, "blocked")   /* sessions of a pool are blocked */                        \
	X(HEALTH_HELD, "held")         /* sessions of a pool wait for the end of takeover_delay */ \
	X(HEALTH_KEYLESS, "keyless")   /* no message of a pool with sessions had a key */          \
	/* a pool with sessions still uses a larger prefetch */                                    \
	X(HEALTH_WIDER_WINDOW, "wider-window")                                                     \
	/* the queue of a pool with sessions has no single active consumer */                      \
	X(HEALTH_NOT_SINGLE, "not-single")                                                         \
	/* a throttle has held back tasks of a pool for a minute */                                \
	X(HEALTH_THROTTLED, "throttled")                                                           \
	/* the last restart of a pool was given up */                                              \
	X(HEALTH_RESTART_GIVEN_UP, "restart-given-up")                                             \
	X(HEALTH_FAILURES, "failures")   /* most of the latest attempts of a pool failed */        \
	X(HEALTH_TRANSIENT, "transient") /* the queue of a pool is not durable */                  \
	/* the queue of a pool exists with other arguments than queue_arguments */                 \
	X(HEALTH_DIFFERS, "differs")                                                               \
	X(HEALTH_UNBOUND, "unbound")           /* the broker refuses a binding of a pool */        \
	X(HEALTH_NO_PUBLISHES, "no-publishes") /* the broker refuses what a pool publishes */      \
	X(HEALTH_DEAD_LETTERS, "dead-letters") /* the dead-letter queue has messages */

#define HEALTH_CAUSE(cause, name) cause,
enum health_cause { HEALTH_CAUSES(HEALTH_CAUSE) HEALTH_CAUSE_COUNT };
#undef HEALTH_CAUSE

/* Texts are borrowed until the next turn. Figures are set if their cause is. */
struct health {
	unsigned causes;   /* bit n: enum health_cause n; 0: ready */
	unsigned warnings; /* the same for problems that do not prevent readiness */
	/* The causes among the warnings of a pool that is not ready, while the one that it replaces
	 * works. */
	unsigned covered;
	const char *pool; /* its name; NULL: the supervisor's own health */
	const char *queue;
	const char *consume_failure,
		*publish_failure; /* why the connection was lost; empty: none */
	const char *consume_failure_kind, *publish_failure_kind;
	const char *refusal, *refusal_kind; /* why the queue is not consumed; NULL: not known yet */
	const char *publish_refusal, *publish_refusal_kind;
	const char *difference, *difference_kind; /* of the queue; NULL: none is known */
	const char *unbound, *unbound_kind;       /* why a binding is missing; NULL: none is */
	const struct statistics *statistics;      /* of the pool */
	const char *program;                      /* of its workers; see restart_text */
	unsigned suspects;                        /* tasks that wait to run alone */
	unsigned dead_letters;                    /* messages in dead_letter_queue */
	const char *dead_letter_queue;
	unsigned window, prefetch;              /* messages that the pool may have unacked */
	unsigned parked, blocked, paused, held; /* sessions */
	mtime held_until;
	unsigned throttled;       /* tasks */
	const char *unled;        /* a throttle without a leader; NULL: there is none */
	const char *throttled_by; /* NULL: no throttle holds back tasks */
	mtime throttled_since;
	bool is_silent;     /* that one is shared, and has a new leader, which knows nothing yet */
	mtime closed_until; /* not consuming until then because of it; 0: not so */
	uint64_t deliveries;
	const char *key_place; /* session.key */
	struct crash_loop {
		unsigned failing, wanted; /* workers */
		unsigned failures;        /* in a row, of the worst one */
		const struct last_death *last;
		mtime next_start;    /* MTIME_NEVER: none is planned. Also of HEALTH_NO_WORKER */
		unsigned recovering; /* of those that failed: ready again, and not proven yet */
	} crash_loop;
};

/* The health of the supervisor without its pools. */
struct health health_of_supervisor(const struct supervisor_view *);
struct health health_of_pool(const struct pool_runtime *);

/* Visit the health of the supervisor, then of each pool that is configured now. Zeroed at the
 * start. What follows from a cause of the supervisor (it drains, it is not connected) is not
 * repeated for each pool. The causes of a pool become warnings while the one that it replaces
 * works. */
struct health_walk {
	struct health health;
	const struct pool_runtime *runtime; /* NULL: the supervisor */
	size_t place;
	bool has_begun;
};
bool health_next(const struct supervisor_view *, struct health_walk *);

/* Leave of each failure only its kind, no text of workers and no path, for readers who need not be
 * our own user. */
void health_hide_details(struct health *);
bool health_is_ready(const struct supervisor_view *);
bool health_has(unsigned set, enum health_cause);
/* Return its stable name. */
const char *health_cause_name(enum health_cause);

#endif
