/* The kinds of queues that the fake broker knows, and what differs from one RabbitMQ to the next.
 * What stands here was seen on real ones: make broker-diff. */
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
	bool dead_exchange; /* which exists: the default one */
	bool has_target;    /* has a dead-letter routing key */
	bool at_least_once; /* and keeps a dead letter that has nowhere to go */
	bool refuses;       /* overflow: reject-publish */
	mtime ttl;          /* MTIME_NEVER: none */
	int64_t limit;      /* of returns; LIMIT_NONE: none */
	bool has_limit;     /* declared, not by default */
	char target[NAME_MAX_BYTES];
};

struct queue {
	struct link place;
	char name[NAME_MAX_BYTES];
	size_t name_len;
	bool deleted;      /* kept while messages of it are unacked */
	struct link ready; /* in order */
	struct link held;  /* dead letters that have nowhere to go */
	struct queue_arguments arguments;
	uint32_t unacked;
};

static inline struct text queue_name(const struct queue *queue)
{
	return text_of(queue->name, queue->name_len);
}

/* What differs from one RabbitMQ to the next. */
struct release {
	int64_t delivery_limit; /* of a quorum queue that was declared without one */
	bool trusts_deaths;     /* a publisher's own x-death counts */
	bool unlimited_below_0; /* a limit below 0 is none; else it is one that is over at once */
	bool limit_pays_twice;  /* a message over its limit lets two more come */
	bool reverses_deaths;   /* the older ones in x-death, each time */
	bool keeps_count;       /* of returns, when a dead letter goes to another quorum queue */
	bool has_last_death;    /* x-last-death-*, like x-first-death-* */
	bool dead_keep_cc;      /* the header CC, where their queue has a target for them */
};

#endif
