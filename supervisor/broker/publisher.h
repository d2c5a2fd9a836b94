/* The publishing channel of a pool, in confirm mode. Layer: broker, without I/O. Parcels become
 * publishes; confirms, refusals and returns become the pool's OUTBOX events. Opens its channel
 * again after each close and reports how it was lost, so that the pool can find the publish that
 * closes channels. Declares the dead-letter queue or a retry queue when a copy for it is returned:
 * it may have been deleted since the consuming channel checked it, and queues for delays that only
 * workers request are not checked there. Assigns the epochs of the outbox. */
#ifndef BROKER_PUBLISHER_H
#define BROKER_PUBLISHER_H

#include "amqp/channel.h"
#include "broker/channel_log.h"
#include "broker/channel_refusal.h"
#include "broker/topology.h"
#include "core/pool.h"

struct publisher_config {
	struct text queue;       /* the pool's own: where retry copies go */
	struct text dead_letter; /* where given-up tasks go */
	struct retry_plan retry;
	uint32_t seed; /* of the jitter */
};

struct publisher;

/* Both arguments are borrowed until publisher_free. NULL: out of memory. */
struct publisher *publisher_new(const struct publisher_config *, const struct channel_log *);
/* Set the pool that gets the events, before the first publisher_up. Borrowed until
 * publisher_free. */
void publisher_attach(struct publisher *, struct pool *);
void publisher_free(struct publisher *);

/* The connection is open (borrowed until publisher_down), or gone. channel: a number on it, up to
 * its limit. After a loss that a publish may have caused, each publisher waits a random time before
 * it publishes: so the pools that share the connection publish one after the other, and the one
 * that caused it is found. */
void publisher_up(struct publisher *, struct connection *, uint16_t channel, mtime now);
/* loss: from publisher_loss. */
void publisher_down(struct publisher *, enum outbox_loss loss, mtime now);
/* True: a publish is unconfirmed, and its channel is not closed by publisher_close. */
bool publisher_is_publishing(const struct publisher *);
/* Return the kind of loss of a connection on which `publishing` publishers had unconfirmed
 * publishes. by_error: the broker closed it with an error code, so a publish may be the cause. */
enum outbox_loss publisher_loss(bool by_error, size_t publishing);
/* Handle an event of its channel. A returned content's memory is from malloc. */
void publisher_on_event(struct publisher *, const struct amqp_event *, mtime now);
/* A right that it lacks to publish, or to declare a queue that its copies need; kind NULL: none, or
 * the broker has confirmed a publish since. Borrowed until the next event. */
const struct channel_refusal *publisher_refusal(const struct publisher *);

/* Bits: the steps of wait_steps to which it has published since the last call, and whose queues
 * were not missing. */
uint32_t publisher_take_wait_queues(struct publisher *);

/* The pool's effect (core/effects.h). */
void publisher_publish(struct publisher *, const struct parcel *);
/* Set the wall clock, in seconds since 1970; once in a turn. */
void publisher_set_wall(struct publisher *, uint64_t wall_s);

/* config.retry has changed: forget which retry queues exist. */
void publisher_replan(struct publisher *);

/* Close the channel and publish nothing any more; unconfirmed publishes are not waited for. */
void publisher_close(struct publisher *);
/* True: the channel is closed, or there is no connection; another publisher may use its number. */
bool publisher_has_ended(const struct publisher *);

/* When to call publisher_tick; MTIME_NEVER: it has nothing to do. */
mtime publisher_deadline(const struct publisher *);
void publisher_tick(struct publisher *, mtime now);

#endif
