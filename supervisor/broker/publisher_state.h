/* The inside of a publisher, for its own files only. Layer: broker.
 * publisher.c has its life, publisher_end.c its end and what is seen of it. */
#ifndef BROKER_PUBLISHER_STATE_H
#define BROKER_PUBLISHER_STATE_H

#include "broker/patience.h"
#include "broker/publisher.h"
#include "broker/refusals.h"
#include "broker/waits.h"

enum publisher_state {
	OFFLINE, /* no connection */
	WAITING, /* the channel was lost; opened again at retry_at */
	OPENING,
	SELECTING, /* confirm.select is sent */
	UP,
	GIVEN_UP, /* out of memory in mid-publish: closed in the next tick, then as if lost */
	ENDED,    /* by publisher_close */
};

struct publisher {
	const struct publisher_config *config; /* borrowed */
	const struct notes *notes;             /* borrowed */
	struct pool *pool;                     /* borrowed */
	struct connection *connection;         /* borrowed, NULL: offline */
	enum publisher_state state;
	uint32_t epoch;
	bool keeps_apart; /* a publish may have cost the last connection */
	bool is_making;   /* the queue of the name made: declared, not answered */
	char made[RETRY_QUEUE_NAME_MAX + 1];
	mtime make_after; /* not before: the broker closed a channel over that, it seems */
	mtime made_again; /* the same one, not before */
	struct waits waits;
	bool told_no_right;
	uint64_t wall_s;
	struct buf scratch; /* the properties of the parcel in hand */
	struct patience patience;
	struct refusals refusals;
	mtime retry_at; /* MTIME_NEVER: no wait */
};

#endif
