/* The account of a run: how each message ended, and whether each ack was allowed. It checks
 * guarantees 1 to 4 of the contract against the records of the fake broker. */
#ifndef SIM_ACCOUNT_H
#define SIM_ACCOUNT_H

#include "core/tasks/reason.h"
#include "sim/broker.h"

#define ACCOUNT_MESSAGES_MAX  512
#define ACCOUNT_INSTANCES_MAX 65536

/* What each worker does with this message. */
#define TEMPERS(X)                                                                                 \
	X(TEMPER_DONE)                                                                             \
	X(TEMPER_REPLY)                                                                            \
	X(TEMPER_REPLY_NOWHERE) /* 201 without a reply queue */                                    \
	X(TEMPER_REPLY_UNROUTABLE)                                                                 \
	X(TEMPER_REPLY_INVALID)                                                                    \
	X(TEMPER_COSTS_CHANNEL)    /* the broker closes the channel on which its reply comes */    \
	X(TEMPER_COSTS_CONNECTION) /* or the connection, with all channels */                      \
	X(TEMPER_TOO_LARGE)        /* its frame would be */                                        \
	X(TEMPER_INVALID)          /* its body is over the limit */                                \
	X(TEMPER_REJECT)                                                                           \
	X(TEMPER_FAIL_ONCE)                                                                        \
	X(TEMPER_FAIL)                                                                             \
	X(TEMPER_POISON) /* kills each worker */                                                   \
	X(TEMPER_HANG)                                                                             \
	X(TEMPER_BLOCK)    /* it hangs, and its worker does nothing else either */                 \
	X(TEMPER_BREAK)    /* a protocol error */                                                  \
	X(TEMPER_UNKNOWN)  /* an unknown status */                                                 \
	X(TEMPER_TWICE)    /* two answers */                                                       \
	X(TEMPER_IGNORED)  /* 200 with a reply queue */                                            \
	X(TEMPER_LONG)     /* done when it is interrupted, if the pool interrupts */               \
	X(TEMPER_SLICES)   /* handed back three times, then done */                                \
	X(TEMPER_POSTPONE) /* postponed three times, then done */

enum temper {
#define X(temper) temper,
	TEMPERS(X)
#undef X
		TEMPER_COUNT
};

struct message_account {
	enum temper temper;
	uint32_t done, replied, dead, dropped, refused; /* how often it ended so */
	uint32_t failures;                              /* failed attempts, for any reason */
	uint32_t postponed;                             /* by workers */
	uint32_t published, returned;                   /* its replies and copies */
	bool forgiven;                                  /* its queue was deleted: it may be lost */
	/* given up before its last attempt: accepted, or because of the policy or its returns */
	bool excused;
	uint32_t accepted_by; /* bit (1u << number): at this supervisor; it has the only copy */
};

struct order;

struct account {
	struct order *order;                /* borrowed */
	const char *queue, *replies, *dead; /* names of the run's queues; borrowed */
	uint32_t messages;                  /* ids 1 to this */
	struct message_account message[ACCOUNT_MESSAGES_MAX + 1];
	uint32_t id_of[ACCOUNT_INSTANCES_MAX]; /* by instance */
	struct copy_facts facts[ACCOUNT_INSTANCES_MAX];
	bool may_ack[ACCOUNT_INSTANCES_MAX]; /* its ack would lose nothing */
	/* its worker has accepted it since the last requeue, so it may be acked */
	bool accepted[ACCOUNT_INSTANCES_MAX];
	uint32_t requeues[ACCOUNT_INSTANCES_MAX];
	/* one more than its requeues when its worker ended with it and others; 0: none did */
	uint32_t suspected[ACCOUNT_INSTANCES_MAX];
	/* number of the supervisor at which an attempt ended since the last requeue; 0: none */
	uint8_t ended[ACCOUNT_INSTANCES_MAX];
	/* bit (1u << number): the supervisor stops in order: ended attempts must not be requeued */
	uint32_t stops;
	uint32_t refusals;     /* those that closed a channel themselves, or lost the token, which
				  requeues what they had */
	bool drops_unroutable; /* the pools' policy */
	bool channels_fail;    /* faults of this run close publish channels, so publishes are probes
				*/
	uint64_t instances;    /* the highest */
	uint64_t aliases; /* numbers for publishes without an instance, from the top of id_of */
	uint64_t redeliveries;
};

extern const char *const temper_names[TEMPER_COUNT];

/* Reset it for the next run. Clears only the part that was used. */
void account_clear(struct account *);
/* The callbacks by which a broker reports to this account. */
struct broker_watch account_watch(struct account *);
/* The id in the first four bytes of a body, which is no token's. */
uint32_t account_id(struct text body);
/* A worker answered done for this instance: its ack is allowed. */
void account_done(struct account *, uint64_t instance, uint32_t id);
/* A worker of the supervisor has accepted this instance: its ack is allowed. */
void account_accepted(struct account *, uint64_t instance, uint32_t id, uint8_t supervisor);
/* The supervisor ends, and with it what its workers have accepted. */
void account_lose_accepted(struct account *, uint8_t supervisor);
/* An attempt of this instance is over; requeues: how often it was requeued before. */
void account_ended(struct account *, uint64_t instance, uint32_t requeues, uint8_t supervisor);
/* The queue was deleted with all its messages. */
void account_forgive(struct account *);
/* The message with this body was purged. */
void account_purged(struct account *, struct text body);
/* The reply for this instance and its message are given up. */
void account_dropped(struct account *, uint64_t instance, enum reason);
/* A publish for a message begins. Return the number that announces it: its instance; or, if
 * instance is 0 because the broker has requeued it, a number without an ack. */
uint64_t account_publish(struct account *, uint64_t instance, uint32_t id);
/* Check that each message ended as its temper allows, and none was lost. attempts: of the pool's
 * policy. */
void account_close(const struct account *, uint32_t attempts);

#endif
