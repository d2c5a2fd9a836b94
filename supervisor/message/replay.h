/* Publish a dead letter again as a task. Layer: message. It is made like any copy (copy.h): headers
 * of the broker and what would close a channel are removed, the rest keeps its type. The headers
 * that count its attempts are removed too, so that they begin at 1. */
#ifndef MESSAGE_REPLAY_H
#define MESSAGE_REPLAY_H

#include "amqp/properties.h"
#include "amqp/table.h"

/* The queue that a dead letter names: its x-wpool-queue; or, if a queue's own policy dead-lettered
 * it, the queue of its latest x-death. Empty: neither is there, or it is not a valid queue name.
 * A publisher may have written both. headers: a table that table_check accepted. */
struct text replay_named_queue(struct text headers);

/* What the operator asks for. */
struct replay_request {
	struct text queue; /* whose dead letters these are; empty: not given */
	struct text to;    /* all go to this queue; empty: not given */
	bool by_header;    /* each goes to the queue that it names */
};

enum replay_route {
	REPLAY_GOES,       /* *ret_queue is where to */
	REPLAY_ELSEWHERE,  /* it names another queue than the one of the request: *ret_queue */
	REPLAY_UNADDRESSED /* no queue to go to: by_header, and it names none */
};

/* Decide where a dead letter goes. Only the operator chooses: the rights at the broker are the
 * operator's, and the headers may be anybody's. */
enum replay_route replay_route(
	const struct replay_request *, struct text headers, struct text *ret_queue);
/* A field ("queue", "reason") of the latest x-death, which the broker puts first. False: there is
 * none. */
bool replay_last_death(struct text headers, struct text name, struct table_field *ret);

/* Write raw properties for the replay into out, which is cleared first. given: the dead
 * letter's; headers: its table, checked. seq: its number; copy_returned_number reads it if the
 * message is returned. RC_LIMIT: they do not fit into one frame of frame_max bytes (0: no
 * limit), RC_MEMORY. */
enum rc replay_write(const struct properties *given, struct text headers, uint64_t seq,
	uint32_t frame_max, struct buf *out) MUST_CHECK;

#endif
