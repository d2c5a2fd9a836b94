/* The account of a run: what became of every message, and whether each ack was deserved.
 * Holds the contract's promises 1 to 4 against what the fake broker saw. */
#ifndef SIM_ACCOUNT_H
#define SIM_ACCOUNT_H

#include "core/tasks/reason.h"
#include "sim/broker.h"

#define ACCOUNT_MESSAGES_MAX  512
#define ACCOUNT_INSTANCES_MAX 65536

/* What a message's worker does with it, whoever gets it. */
#define TEMPERS(X)                                                                                 \
	X(TEMPER_DONE)                                                                             \
	X(TEMPER_REPLY)                                                                            \
	X(TEMPER_REPLY_NOWHERE) /* 201, and nobody asked */                                        \
	X(TEMPER_REPLY_UNROUTABLE)                                                                 \
	X(TEMPER_REPLY_INVALID)                                                                    \
	X(TEMPER_COSTS_CHANNEL)    /* the broker closes the channel that its reply comes on */     \
	X(TEMPER_COSTS_CONNECTION) /* or the connection, with all channels */                      \
	X(TEMPER_TOO_LARGE)        /* its frame would be */                                        \
	X(TEMPER_INVALID)          /* its body is over the limit */                                \
	X(TEMPER_REJECT)                                                                           \
	X(TEMPER_FAIL_ONCE)                                                                        \
	X(TEMPER_FAIL)                                                                             \
	X(TEMPER_POISON) /* kills every worker */                                                  \
	X(TEMPER_HANG)                                                                             \
	X(TEMPER_BREAK)   /* a protocol error */                                                   \
	X(TEMPER_UNKNOWN) /* a status that nobody knows */                                         \
	X(TEMPER_TWICE)   /* two answers */                                                        \
	X(TEMPER_IGNORED) /* 200, and a queue for a reply that is none */                          \
	X(TEMPER_LONG)    /* done when it is interrupted, where that is done */                    \
	X(TEMPER_SLICES)  /* handed back three times, then done */

enum temper {
#define X(temper) temper,
	TEMPERS(X)
#undef X
		TEMPER_COUNT
};

struct message_account {
	enum temper temper;
	uint32_t done, replied, dead, dropped; /* how often it took effect or ended */
	uint32_t failures;                     /* attempts that ended badly, for whatever reason */
	uint32_t published, returned;          /* for it: replies and copies */
	bool forgiven;                         /* its queue was deleted: it may be lost */
	bool excused; /* given up before its last attempt, as the policy or its returns say */
};

struct account {
	const char *queue, *replies, *dead; /* names of the run's queues; borrowed */
	uint32_t messages;                  /* ids 1 to this */
	struct message_account message[ACCOUNT_MESSAGES_MAX + 1];
	uint32_t id_of[ACCOUNT_INSTANCES_MAX]; /* by instance */
	struct copy_facts facts[ACCOUNT_INSTANCES_MAX];
	bool deserved[ACCOUNT_INSTANCES_MAX]; /* its ack would lose nothing */
	uint32_t requeues[ACCOUNT_INSTANCES_MAX];
	/* since the last requeue an attempt did, at the supervisor of that number; 0: none */
	uint8_t ended[ACCOUNT_INSTANCES_MAX];
	/* bit (1u << number): it stops in good order, what has ended there must not be requeued */
	uint32_t stops;
	bool drops_unroutable; /* the pools' policy */
	bool channels_fail; /* faults of this run close publish channels: a publish may be blamed */
	uint64_t instances; /* the highest */
	uint64_t aliases;   /* numbers given for what the broker took back, from the top of id_of */
	uint64_t redeliveries;
};

extern const char *const temper_names[TEMPER_COUNT];

/* As before a run; quick, since it knows how much of it was used. */
void account_clear(struct account *);
/* The watch of a broker on this account. */
struct broker_watch account_watch(struct account *);
/* The id that a body carries in its first four bytes. */
uint32_t account_id(struct text body);
/* A worker answered done for this instance: its ack is deserved. */
void account_done(struct account *, uint64_t instance, uint32_t id);
/* An attempt at this instance, which had come back that often before it, is over. */
void account_ended(struct account *, uint64_t instance, uint32_t requeues, uint8_t supervisor);
/* The queue is deleted with all that is in it. */
void account_forgive(struct account *);
/* The reply for this instance is given up, and its message with it. */
void account_dropped(struct account *, uint64_t instance, enum reason);
/* Something is being published for a message. Returns the number to announce it by: its instance,
 * or, where the broker has already taken that back (0), one that stands for no ack. */
uint64_t account_publish(struct account *, uint64_t instance, uint32_t id);
/* Every message ended as its temper allows, and nothing was lost. attempts: of the pool's policy.
 */
void account_close(const struct account *, uint32_t attempts);

#endif
