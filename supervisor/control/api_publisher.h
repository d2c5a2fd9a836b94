/* Publishes the messages of POST /v1/publish, each confirmed. Layer: control. It has a connection
 * of its own, which is opened for the first message: so a message that closes its channel or the
 * connection costs the pools nothing. Each message has a channel to itself until its confirm, so
 * that the broker's refusal is known to be about it. Nothing waits longer than
 * API_PUBLISHER_LIMIT. */
#ifndef CONTROL_API_PUBLISHER_H
#define CONTROL_API_PUBLISHER_H

#include "base/list.h"
#include "broker/envelope.h"
#include "net/broker_link.h"

#define API_PUBLISHER_LIMIT (10 * MTIME_SECOND)

enum api_publish_result {
	API_PUBLISH_CONFIRMED,
	API_PUBLISH_REFUSED, /* no queue takes it, or the broker refuses it as it is */
	API_PUBLISH_LATER,   /* it was not published; it may be later */
	API_PUBLISH_UNKNOWN, /* it was sent, and nothing is known of it */
};

/* A message: owned by the caller, borrowed until on_end. */
struct api_message {
	struct envelope envelope;
	struct text body;
	const char *id; /* the message id, where the envelope has none */
	/* Called once, from the loop or from within api_publisher_close. why: one line. */
	void (*on_end)(struct api_message *, enum api_publish_result, const char *why);
	/* The publisher's. */
	struct link place;
	struct api_lane *lane; /* NULL: it waits */
	mtime deadline;
};

struct api_publisher;

/* config: shared by the supervisor's connections; borrowed until api_publisher_free, like what it
 * points to. NULL: out of memory. */
struct api_publisher *api_publisher_new(
	struct ev_loop *, const struct broker_link_config *shared) MUST_CHECK;
/* Publish a message as soon as possible. False: on_end is not called; *ret_why is why there can be
 * no attempt now, valid until the next call. */
bool api_publisher_add(
	struct api_publisher *, struct api_message *, const char **ret_why) MUST_CHECK;
/* Write pending output; once at the end of each turn. */
void api_publisher_flush(struct api_publisher *);
/* End all messages, and close the connection. */
void api_publisher_close(struct api_publisher *);
/* After api_publisher_close: true when no event will follow. */
bool api_publisher_is_closed(const struct api_publisher *);
/* After api_publisher_close, or before the first message. NULL is legal. */
void api_publisher_free(struct api_publisher *);

#endif
