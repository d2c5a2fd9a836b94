/* An AMQP client for the comparison. It sends methods to a real broker over a socket or to the fake
 * one in memory, and records all answers as texts. rabbitmq-c is only its codec. */
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
	const char *release; /* the version that a real one must have */
	char name[32];
};

/* RabbitMQ keeps the order of events within a group of a channel, not between groups. */
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
	char *text;        /* owned */
};

/* The events of a step. */
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
	/* a content that is incomplete */
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
	struct client_channel
		channels[SCRIPT_QUEUES + 1]; /* the observer uses one for each queue */
	char (*tokens)[256]; /* reply_to by message, shared by the clients of a run */
	size_t token_count;
};

void client_init(struct client *, struct side *, struct events *, uint8_t number);
/* Connect and log in; a failure ends the run. */
void client_connect(struct client *);
/* Close the socket. */
void client_drop(struct client *);
void client_send(struct client *, uint16_t channel, amqp_method_number_t, void *method);
void client_publish(struct client *, uint16_t channel, amqp_basic_publish_t *, uint32_t message,
	struct text properties);
/* Send all bytes in out. */
void client_flush(struct client *);
/* Handle the received bytes, without waiting. */
void client_receive(struct client *);
/* Wait until one of them can be read, for at most timeout_ms. */
void clients_wait(struct client *const clients[], size_t count, int timeout_ms);
void client_forget(struct client *);

void events_add(struct events *, const struct event *, const char *format, ...) PRINTF_LIKE(3, 4);
void events_clear(struct events *);
/* Sort them for the comparison. */
void events_sort(struct events *);

/* canon.c: append the properties of a content as text, without values that differ between
 * brokers. */
void canon_properties(struct text properties, struct buf *out);

#endif
