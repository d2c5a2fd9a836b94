/* The two broker connections of a supervisor and the stations behind them. Layer: cli.
 * One consumes and acks, one publishes: a broker under an alarm stops reading whoever publishes,
 * and acks must not be caught in that. */
#ifndef CLI_LINKS_H
#define CLI_LINKS_H

#include "cli/fleet.h"
#include "io/uplink.h"

struct link_count {
	bool is_up;
	uint64_t ups; /* times it came up */
};

struct links {
	const struct fleet *fleet; /* borrowed until links_release */
	struct uplink_voice voice;
	struct uplink *consume, *publish;
	struct link_count consumes, publishes;
	bool is_blocked; /* the broker takes no publishes for now */
	bool consume_ended, publish_ended;
	/* Both connections are closed, after links_close. */
	void (*on_closed)(void *ctx);
	void *ctx;
};

/* fleet, on_closed and ctx are set by the caller before. Starts to connect; false: out of
 * memory, to be released all the same. */
bool links_open(struct links *, struct ev_loop *, const struct config *);
/* Sends what the connections have to send; once at the end of each turn. */
void links_flush(struct links *);
void links_close(struct links *);
void links_release(struct links *);

/* What is seen of one of them. */
struct link_facts {
	bool is_up;
	uint64_t reconnects;
	const char *failure; /* the latest, in words without a password; empty: none. Borrowed */
};

struct link_facts links_consume_facts(const struct links *);
struct link_facts links_publish_facts(const struct links *);

#endif
