/* A consumer with a fake channel and a fake pool, which record their calls as letters. Link it
 * before the amqp layer: it replaces amqp/channel.c and core/pool.c. */
#ifndef UNIT_CONSUMER_RIG_H
#define UNIT_CONSUMER_RIG_H

#include "broker/consumer.h"
#include "core/pool_facts.h"

/* o channel.open, X channel.close, 4 channel.close for a fault of the peer, d passive declare, m
 * declare, c basic.consume, C basic.cancel, a ack, n nack, r reject; of the pool: L
 * SOURCE_CANCELLED, D SOURCE_DOWN; E: the broker delivered more than it was asked for (a log line).
 */
extern char rig_calls[256];
extern struct consumer *rig_consumer;
extern bool rig_is_open;                       /* the channel */
extern uint32_t rig_window;                    /* of the last SOURCE_UP */
extern uint32_t rig_returns_max;               /* likewise */
extern struct text rig_version;                /* of the broker */
extern struct pool_unacked rig_in_hand;        /* the pool's */
extern uint64_t rig_throttle_keys[PASSES_MAX]; /* of the last delivery */
extern char rig_warning[768];                  /* the last log line of LOG_WARN or LOG_ERROR */
extern unsigned rig_warnings;                  /* how many there were */
extern unsigned rig_advices; /* lines of any level about a missing single active consumer */

/* Make the consumer, connected. config is borrowed. */
void rig_begin(const struct consumer_config *);
void rig_end(void);
/* Expect these calls since the last time. */
void rig_expect(const char *calls);
void rig_event(enum amqp_event_kind, struct text consumer, mtime now);
void rig_declared(uint32_t consumers, mtime now);
/* The broker closes the channel. */
void rig_closed(uint16_t code, const char *reason, mtime now);
/* The broker answers channel.close. */
void rig_close_ok(mtime now);
/* A delivery comes when so many are in hand, with it. */
void rig_deliver(uint32_t count, mtime now);
/* The pool requests it, and the turn ends. */
void rig_request(enum source_request, uint32_t window);

#endif
