/* Ask the broker how many messages wait in each wait queue of a pool, as
 * broker/backlog/backlog_probe.h asks for the backlog. Layer: broker, without I/O. The queues are
 * asked one after the other, and then again after a rest. One that is missing costs a channel and a
 * line in the broker's log, so it is asked for once, and again only where the pool publishes to it:
 * other connections do not change that. */
#ifndef BROKER_BACKLOG_WAIT_PROBE_H
#define BROKER_BACKLOG_WAIT_PROBE_H

#include "broker/backlog/probe_channel.h"
#include "core/tasks/retry.h"

struct wait_probe {
	struct text queue;            /* borrowed: the pool's own */
	struct probe_channel channel; /* rests between two rounds */
	size_t at;                    /* of wait_steps: the one that is asked for */
	uint32_t missing;             /* bits: steps whose queue did not exist */
	uint32_t hinted;              /* the same: it may exist now */
	mtime again_after;            /* missing ones are not asked for before this */
	mtime known_at; /* the end of the latest round; MTIME_NEVER: none on this connection */
	uint64_t total; /* of that round: messages in all wait queues */
	uint64_t messages[WAIT_STEPS_MAX]; /* ready, by the step; 0: also where there is no queue */
};

void wait_probe_init(struct wait_probe *, struct text queue);
/* See probe_channel_up. */
void wait_probe_up(struct wait_probe *, struct connection *, uint16_t channel, mtime now);
void wait_probe_down(struct wait_probe *);
/* Handle an event of its channel. */
void wait_probe_on_event(struct wait_probe *, const struct amqp_event *, mtime now);
/* The queues of these steps (bits) probably exist: those that were missing are asked for in the
 * next round, but at most once a minute. */
void wait_probe_hint(struct wait_probe *, uint32_t steps);
/* When to call wait_probe_tick; MTIME_NEVER: it has nothing to do. */
mtime wait_probe_deadline(const struct wait_probe *);
void wait_probe_tick(struct wait_probe *, mtime now);

#endif
