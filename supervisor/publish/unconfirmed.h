/* Publishes on one channel that the broker has not answered, by number. Layer: publish, pure. For
 * the commands that publish; serve has the core's outbox. Keeps an item of the owner for each
 * number, in a ring: a number without an answer keeps the places of all later ones in use. */
#ifndef PUBLISH_UNCONFIRMED_H
#define PUBLISH_UNCONFIRMED_H

#include "base/rc.h"
#include "broker/confirm_channel.h"

#define UNCONFIRMED_MAX 65536

/* The owner's; borrowed. */
union unconfirmed_item {
	void *message;
	uint64_t delivery_tag;
};

struct unconfirmed_entry {
	union unconfirmed_item item;
	bool is_waiting; /* for an answer */
	bool was_returned;
};

struct unconfirmed {
	uint64_t oldest;                   /* the lowest number that may be without an answer */
	uint64_t next;                     /* the number of the next publish */
	size_t count;                      /* without an answer */
	struct unconfirmed_entry *entries; /* owned; UNCONFIRMED_MAX, by number */
};

/* RC_MEMORY. */
enum rc unconfirmed_init(struct unconfirmed *) MUST_CHECK;
void unconfirmed_release(struct unconfirmed *);
/* Forget all: a new channel counts from 1. */
void unconfirmed_clear(struct unconfirmed *);
bool unconfirmed_is_full(const struct unconfirmed *);
/* Add the publish that is sent now; the ring must not be full. Return its number. */
uint64_t unconfirmed_add(struct unconfirmed *, union unconfirmed_item);
/* Mark as returned. False: it is not waiting for an answer. */
bool unconfirmed_return(struct unconfirmed *, uint64_t number);
/* Take out the next publish that a PUBLISH_CONFIRMED or PUBLISH_REFUSED covers, the oldest first.
 * Return confirmed, refused, or returned (also if it was confirmed as well); PUBLISH_NOT_ANSWERED:
 * there are no more. */
enum publish_answer_kind unconfirmed_take(
	struct unconfirmed *, const struct publish_answer *, union unconfirmed_item *ret_item);
/* After the channel was lost, take out the oldest publish without an answer. False: there is
 * none. */
bool unconfirmed_take_lost(struct unconfirmed *, union unconfirmed_item *ret_item);

#endif
