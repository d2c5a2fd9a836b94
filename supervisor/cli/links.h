/* The broker connections of a supervisor: one that publishes for all pools, and of each pool the
 * one that it consumes and acks by. Layer: cli. They are apart because a broker under an alarm
 * stops reading whoever publishes, and acks must not be caught in that. */
#ifndef CLI_LINKS_H
#define CLI_LINKS_H

#include "cli/fleet.h"

struct links {
	const struct fleet *fleet; /* borrowed until links_release; set by the caller before */
	struct ev_loop *loop;
	struct uplink_voice voice;
	struct uplink_config shared; /* all but the names */
	struct uplink *publish;
	struct connection *publishes_by; /* NULL: not connected */
	uint64_t publish_ups;            /* times it came up */
	uint64_t parted_reconnects;      /* of consuming ones that are no more */
	bool publish_ended;
	bool is_blocked; /* the broker takes no publishes for now */
};

/* For all stations of the fleet. Starts to connect; false: out of memory, to be released all the
 * same. config's hosts are borrowed until links_release. */
bool links_open(struct links *, struct ev_loop *, const struct config *);
/* For one that has come to the fleet since. */
bool links_connect(struct links *, struct station *) MUST_CHECK;
/* For one that is about to leave the fleet: what its connection has counted stays, or a counter
 * would go down. */
void links_part(struct links *, const struct station *);
/* Sends what the connections have to send; once at the end of each turn. */
void links_flush(struct links *);
void links_close(struct links *);
/* After links_close: nothing more will come. */
bool links_are_closed(const struct links *);
/* Before the stations are. */
void links_release(struct links *);

/* Of all pools: up if each is that does not leave, and the sum of the reconnects of all that there
 * were. */
struct link_facts links_consume_facts(const struct links *);
bool links_is_any_feed_up(const struct links *);
struct link_facts links_publish_facts(const struct links *);

#endif
