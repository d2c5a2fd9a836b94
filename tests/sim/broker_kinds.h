/* The kinds of queues of the fake broker, and the differences between versions of RabbitMQ. `make
 * broker-diff` compares them with real ones. */
#ifndef SIM_BROKER_KINDS_H
#define SIM_BROKER_KINDS_H

#include "base/list.h"
#include "base/mtime.h"
#include "base/text.h"
#include <stdbool.h>
#include <stdint.h>

#define NAME_MAX_BYTES 64

#define LIMIT_NONE (-1)

/* What a queue was declared with. */
struct queue_arguments {
	bool quorum;
	bool dead_letters;  /* has a dead-letter exchange */
	bool dead_exchange; /* that exchange exists: the default one */
	bool has_target;    /* has a dead-letter routing key */
	bool at_least_once; /* holds dead letters without a target */
	bool refuses;       /* overflow: reject-publish */
	mtime ttl;          /* MTIME_NEVER: none */
	int64_t limit;      /* of returns; LIMIT_NONE: none */
	bool has_limit;     /* limit was declared and is no default */
	int64_t asked;      /* has_limit: as it was declared */
	bool single_active; /* one of its consumers gets messages, the others wait */
	char target[NAME_MAX_BYTES];
};

struct queue {
	struct link place;
	char name[NAME_MAX_BYTES];
	size_t name_len;
	bool deleted;      /* freed when none of its messages is unacked */
	struct link ready; /* in order */
	struct link held;  /* dead letters without a target */
	struct queue_arguments arguments;
	int64_t policy_limit; /* of returns, by a policy; 0: none */
	uint32_t unacked;
	uint64_t active; /* single_active: the number of the active consumer; 0: none */
};

static inline struct text queue_name(const struct queue *queue)
{
	return text_of(queue->name, queue->name_len);
}

/* The differences between versions of RabbitMQ. */
struct release {
	int64_t delivery_limit; /* of a quorum queue that was declared without one */
	bool trusts_deaths;     /* it believes the x-death of a publisher */
	bool unlimited_below_0; /* a limit below 0 means none; otherwise it is reached at once */
	bool limit_pays_twice;  /* a message over its limit makes place for two */
	bool reverses_deaths;   /* each death reverses the older entries of x-death */
	bool keeps_count;       /* of returns, if a dead letter goes to another quorum queue */
	bool has_last_death;    /* x-last-death-*, like x-first-death-* */
	bool dead_keep_cc; /* dead letters keep the header CC, also if their queue has a target */
};

#endif
