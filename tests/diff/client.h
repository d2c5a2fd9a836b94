/* An AMQP client for the comparison: raw methods over a socket or over the fake broker's memory,
 * and everything that comes back written down in words. rabbitmq-c is its codec only. */
#ifndef DIFF_CLIENT_H
#define DIFF_CLIENT_H

#include "diff/script.h"
#include "sim/broker.h"
#include "sim/peer.h"

#define UNACKED_MAX 256
#define EVENTS_MAX  512

/* A broker: the fake one, or one on a port of this machine. */
struct side {
	struct broker *fake; /* NULL: a real one */
	int port;
	const char *release; /* that a real one must be */
	char name[32];
};

/* Order is kept within a group of a channel; between groups RabbitMQ promises none. */
enum event_group {
	GROUP_ANSWER,
	GROUP_CANCEL,
	GROUP_DELIVERY,
	GROUP_RETURN,
	GROUP_CONFIRM,
	GROUP_COUNT
};

struct event {
	uint8_t connection, channel;
	enum event_group group;
	char consumer[16]; /* of a delivery */
	uint64_t number;   /* of a confirm */
	char *words;       /* owned */
};

/* What came since a step began. */
struct events {
	struct event list[EVENTS_MAX];
	size_t count;
};

struct unacked {
	uint64_t tag;
	uint32_t message;
	uint32_t step;
	char consumer[16];
};

struct client_channel {
	bool open, confirms;
	uint64_t published, confirmed_to, last_tag;
	bool consumes[SCRIPT_QUEUES], replies;
	bool no_ack[SCRIPT_QUEUES];
	struct unacked unacked[UNACKED_MAX];
	size_t unacked_count;
	/* a content on its way */
	bool in_content, has_header, is_return;
	struct event content_event;
	amqp_basic_deliver_t deliver;
	char consumer[16], key[256];
	uint64_t body_size;
	size_t properties_len;
	struct buf content;
	bool confirmed[SCRIPT_COMMANDS + 1]; /* by number of the publish */
	uint32_t messages[SCRIPT_COMMANDS + 1];
};

struct client {
	struct side *side;
	struct events *events;
	uint32_t step;
	uint8_t number;
	bool open;
	int fd;
	struct broker_connection *peer;
	struct buf in, out;
	amqp_pool_t pool;
	struct client_channel channels[SCRIPT_QUEUES + 1]; /* the observer uses one a queue */
	char (*tokens)[256]; /* reply_to by message, shared by the clients of a run */
	size_t token_count;
};

void client_init(struct client *, struct side *, struct events *, uint8_t number);
/* Connects and logs in; fails the run if it cannot. */
void client_connect(struct client *);
/* The socket is closed. */
void client_drop(struct client *);
void client_send(struct client *, uint16_t channel, amqp_method_number_t, void *method);
void client_publish(struct client *, uint16_t channel, amqp_basic_publish_t *, uint32_t message,
	struct text properties);
/* What has been written goes out. */
void client_flush(struct client *);
/* Takes in what is there; a real broker is waited for until the deadline (milliseconds). */
void client_receive(struct client *);
/* Until one of them can be read, or that many milliseconds have passed. */
void clients_wait(struct client *const clients[], size_t count, int timeout_ms);
void client_forget(struct client *);

void events_add(struct events *, const struct event *, const char *format, ...) PRINTF_LIKE(3, 4);
void events_clear(struct events *);
/* In the order in which they are compared. */
void events_sort(struct events *);

/* canon.c: a content's properties in words, without what differs from broker to broker. */
void canon_properties(struct text properties, struct buf *out);

#endif
