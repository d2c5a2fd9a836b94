/* The data structures of the fake broker. */
#ifndef SIM_BROKER_PARTS_H
#define SIM_BROKER_PARTS_H

#include "sim/broker.h"
#include "sim/broker_kinds.h"
#include "sim/fail.h"
#include "sim/peer.h"
#include "sim/scratch.h"

#define CONSUMERS_MAX 64 /* with cancelled ones that have unacked messages */
#define CONTENT_MAX   (1024 * 1024)

/* A stored copy of a message: in the ready or held list of its queue, or the unacked list of a
 * channel. */
struct stored {
	struct link place;
	struct queue *queue;
	uint64_t instance, order; /* order: its place in a classic queue, which never changes */
	uint64_t tag;             /* unacked only */
	mtime delivered_at;       /* likewise */
	struct consumer_entry *consumer; /* unacked only */
	uint64_t command;                /* settling only: the number of the command */
	bool is_unseen; /* unacked, but on its way to the client when its channel ended */
	bool is_acked, is_given_back;
	uint32_t returns;
	uint32_t taken_back; /* of them those with a channel, not by basic.reject or nack */
	mtime expires;       /* MTIME_NEVER: never */
	struct copy_facts facts;
	bool redelivered;
	bool has_died;        /* the broker wrote its x-death */
	const char *held_for; /* held only: the reason of its death */
	bool is_returned; /* ready again in a quorum queue, before all that were never delivered */
	uint32_t brought; /* returns in another queue: shown to the consumer, without a limit */
	size_t key_len, bcc_len, properties_len, body_len;
	char bytes[]; /* routing key, members of the array BCC, properties, body */
};

/* The count that the consumer gets: returns in this queue, or if there are none, in another one. */
static inline uint32_t stored_count(const struct stored *stored)
{
	return stored->returns ? stored->returns : stored->brought;
}

struct consumer_entry {
	bool live;
	bool no_ack;
	char tag[NAME_MAX_BYTES];
	struct queue *queue; /* NULL: answers to direct reply-to */
	uint64_t number;     /* in the order of basic.consume, from 1 */
	uint32_t prefetch;   /* UINT32_MAX: no limit */
	uint32_t unacked;
};

struct owed_confirm {
	struct link place;
	uint64_t seq, instance;
	enum publish_fate fate;
};

struct noted {
	struct link place;
	uint64_t seq, instance;
	struct copy_facts facts;
};

/* What a channel that has ended leaves to quorum queues, until they notice its end. */
struct departed {
	struct link place;
	struct link unacked;
	size_t consumer_count;
	struct consumer_entry consumers[];
};

enum channel_state { CHANNEL_SHUT, CHANNEL_OPEN, CHANNEL_CLOSING };

struct broker_channel {
	enum channel_state state;
	uint32_t prefetch;
	uint64_t next_tag;
	char reply_token[NAME_MAX_BYTES]; /* of its direct reply-to; empty: none */
	bool confirms;
	uint64_t published;                 /* the last number of a publish */
	struct link unacked;                /* in order of tag */
	struct link settling;               /* settled by the client, not yet by the quorum queue */
	uint64_t commands, sent_on, logged; /* numbers of the last settlements */
	struct link owed;                   /* confirms that are due, in order of number */
	struct link noted;                  /* announced publishes */
	/* a publish whose content is incomplete */
	bool in_publish, mandatory, to_nowhere; /* to_nowhere: the exchange does not exist */
	char routing_key[256];
	bool has_header;
	uint64_t body_size;
	struct buf content; /* properties, then body */
	size_t properties_len;
	size_t consumer_count; /* of consumers; later ones were never used */
	struct consumer_entry consumers[CONSUMERS_MAX];
};

struct broker_connection {
	struct link place;
	struct broker *broker;
	struct buf in, out;
	bool greeted, closing;
	bool has_published;
	uint16_t channel_count; /* of channels; later ones were never opened */
	struct broker_channel channels[BROKER_CHANNELS];
};

struct broker {
	struct random *random;
	const struct broker_watch *watch;
	struct link queues, connections;
	struct link departed; /* by age */
	bool returns_late;
	uint64_t next_instance, next_order, next_consumer;
	uint64_t next_token; /* of direct reply-to, and of consumers without a tag */
	uint32_t nacks;
	mtime ack_timeout; /* MTIME_NEVER: none */
	mtime next_check;  /* of it */
	mtime now;
	uint32_t commands_limit; /* see broker_log_late; 0: no log */
	bool is_changed;         /* the head of a queue may have changed since... */
	mtime next_due;          /* ... next_due was computed: nothing is due before it */
	bool alarm;
	amqp_pool_t pool; /* of the method that is read */
	const struct release *release;
	bool answers_mistakes;   /* instead of ending the run */
	const char *unannounced; /* a queue that takes unannounced publishes; NULL: none does */
	struct scratch scratch;
};

#endif
