/* One handler an event kind, by the file that has it. Layer: core; part of the pool's inside
 * (pool_parts.h). Called by pool_step alone. */
#ifndef CORE_POOL_HANDLERS_H
#define CORE_POOL_HANDLERS_H

struct event;
struct pool;

/* pool_source.c */
void pool_on_source_up(struct pool *, const struct event *);
void pool_on_source_rested(struct pool *, const struct event *);
void pool_on_source_cancelled(struct pool *, const struct event *);
void pool_on_source_down(struct pool *, const struct event *);
void pool_on_delivery(struct pool *, const struct event *);
/* pool_outbox.c */
void pool_on_outbox_up(struct pool *, const struct event *);
void pool_on_outbox_down(struct pool *, const struct event *);
void pool_on_confirmed(struct pool *, const struct event *);
void pool_on_refused(struct pool *, const struct event *);
void pool_on_returned(struct pool *, const struct event *);
void pool_on_queue_found(struct pool *, const struct event *);
/* pool_slots.c */
void pool_on_slot_ready(struct pool *, const struct event *);
void pool_on_slot_room(struct pool *, const struct event *);
/* pool_attempts.c */
void pool_on_slot_output(struct pool *, const struct event *);
void pool_on_slot_broken(struct pool *, const struct event *);
void pool_on_slot_gone(struct pool *, const struct event *);
/* pool_recycle.c */
void pool_on_slot_memory(struct pool *, const struct event *);
/* pool_command.c */
void pool_on_command(struct pool *, const struct event *);
/* pool_turn.c */
void pool_on_turn_end(struct pool *, const struct event *);

#endif
