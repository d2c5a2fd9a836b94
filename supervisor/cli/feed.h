/* The connection that a pool consumes and acks by, its own. Layer: cli.
 * Pools share none: what one of them gets in large bodies would stand before what another waits
 * for, and the broker reads the acks of a connection one after the other. */
#ifndef CLI_FEED_H
#define CLI_FEED_H

#include "broker/consumer.h"
#include "broker/gauge.h"
#include "io/uplink.h"

/* What the consumer is to have. */
#define FEED_CHANNEL 1

/* What is seen of a connection. */
struct link_facts {
	bool is_up;
	uint64_t reconnects;
	const char *failure; /* the latest, in words without a password; empty: none. Borrowed */
};

struct feed;

/* shared: all but the names; what it points at is borrowed until feed_free, and so are pool, the
 * name, its queue and the consumer. Starts to connect; NULL: out of memory. */
struct feed *feed_new(struct ev_loop *, const struct uplink_config *shared, const char *pool,
	struct text queue, struct consumer *);
void feed_free(struct feed *);
/* When feed_tick wants to be called; MTIME_NEVER: not by itself. */
mtime feed_deadline(const struct feed *);
/* Asks for the backlog; before feed_flush. */
void feed_tick(struct feed *, mtime now);
/* What waits in the broker; NULL: nobody knows. */
const struct backlog *feed_backlog(const struct feed *);
/* Sends what it has to send; once at the end of each turn. */
void feed_flush(struct feed *);
void feed_close(struct feed *);
/* After feed_close: nothing more will come. */
bool feed_is_closed(const struct feed *);
struct link_facts feed_facts(const struct feed *);

#endif
