/* One pool's publishing channel, in confirm mode. Layer: broker.
 * Joins amqp and core without I/O: parcels become publishes, confirms and returns become the pool's
 * OUTBOX events. Opens its channel again after every close and says how it was lost, so that the
 * pool can find the publish that costs channels. Makes the queue for dead letters or a retry queue
 * where a copy for it comes back: they are ours to declare, the consuming channel looked long ago,
 * and those for delays that only workers ask for it never saw to. Epochs of the outbox are given
 * here and only here. */
#ifndef BROKER_PUBLISHER_H
#define BROKER_PUBLISHER_H

#include "amqp/channel.h"
#include "broker/notes.h"
#include "broker/topology.h"
#include "core/pool.h"

struct publisher_config {
	uint16_t channel;        /* its number on the publish connection */
	struct text queue;       /* the pool's own: where retry copies go */
	struct text dead_letter; /* where given-up tasks go */
	struct retry_plan retry;
	uint32_t seed; /* of the jitter */
};

struct publisher;

/* Both are borrowed until publisher_free. NULL: out of memory. */
struct publisher *publisher_new(const struct publisher_config *, const struct notes *);
/* The pool that is told; before the first publisher_up. Borrowed until publisher_free. */
void publisher_attach(struct publisher *, struct pool *);
void publisher_free(struct publisher *);

/* The connection is open (borrowed until publisher_down), or gone. After a loss that may have been
 * the fault of a publish each publisher lets some time pass first, and each another one: so that
 * the pools which share the connection do not publish at once again, and the one whose publish it
 * is finds it. */
void publisher_up(struct publisher *, struct connection *, mtime now);
/* loss: as publisher_loss says. */
void publisher_down(struct publisher *, enum outbox_loss loss, mtime now);
/* Something is unconfirmed. */
bool publisher_is_publishing(const struct publisher *);
/* How a connection was lost on which so many were publishing. by_error: the broker closed it with
 * an error code, so a publish may have done it. */
enum outbox_loss publisher_loss(bool by_error, size_t publishing);
/* An event of its channel; a returned content is one that publisher_content_memory gave. */
void publisher_on_event(struct publisher *, const struct amqp_event *, mtime now);
/* Room for a returned content; *ret_owner is to be freed by free() if the content is dropped. NULL:
 * out of memory. */
uint8_t *publisher_content_memory(size_t len, void **ret_owner);

/* The pool's effect (core/effects.h). */
void publisher_publish(struct publisher *, const struct parcel *);
/* The wall clock in seconds since 1970; once a turn. */
void publisher_set_wall(struct publisher *, uint64_t wall_s);

/* config.retry is another one: what is known of retry queues was known of those of before. */
void publisher_replan(struct publisher *);

/* Its channel is closed, and nothing is published any more: nobody waits for what is not confirmed.
 */
void publisher_close(struct publisher *);
/* That is done, or there is no connection; another publisher may have the channel's number. */
bool publisher_has_ended(const struct publisher *);

/* When publisher_tick wants to be called; MTIME_NEVER: not by itself. */
mtime publisher_deadline(const struct publisher *);
void publisher_tick(struct publisher *, mtime now);

#endif
