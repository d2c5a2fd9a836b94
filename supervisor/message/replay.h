/* A dead letter on its way back to work. Layer: message.
 * It goes out as any copy of ours does (copy.h): what is the broker's or would close a channel is
 * stripped, the rest keeps its type; and without the account of its attempts, which begin anew. */
#ifndef MESSAGE_REPLAY_H
#define MESSAGE_REPLAY_H

#include "amqp/properties.h"
#include "amqp/table.h"

/* Where it was given up: its x-wpool-queue; or, where a queue's own policy brought it there, the
 * queue of its latest x-death. Empty: none that could be published to.
 * headers: a table that table_check found good. */
struct text replay_target(struct text headers);
/* A field ("queue", "reason") of its latest x-death: the broker puts that first. False: it has
 * none. */
bool replay_last_death(struct text headers, struct text name, struct table_field *ret);

/* Writes raw properties for the replay into out, which is cleared first. given: the dead letter's;
 * headers: its table, checked. seq: told again by copy_returned_seq when it comes back. RC_LIMIT:
 * they do not fit into one frame of frame_max bytes (0: no limit), RC_MEMORY. */
enum rc replay_write(const struct properties *given, struct text headers, uint64_t seq,
	uint32_t frame_max, struct buf *out) MUST_CHECK;

#endif
