/* The header table of what we publish: whose headers it carries, which of ours it gets, and what is
 * left out where a header frame cannot bear them all. Layer: message, private to copy.c. */
#ifndef MESSAGE_COPY_HEADERS_H
#define MESSAGE_COPY_HEADERS_H

#include "message/copy.h"

/* A worker's words, not a copy of the task. */
static inline bool parcel_is_answer(const struct parcel *parcel)
{
	return parcel->kind == PARCEL_REPLY || parcel->kind == PARCEL_HAND_BACK;
}

/* Appends the table for this parcel to out. room: most bytes it may have; the limit holds for all
 * but our own headers, a few hundred bytes. lost: what the delivery's properties could not tell, a
 * name for x-wpool-cut; empty: nothing. Errors stay in out. */
void copy_write_headers(const struct parcel *, const struct copy_options *, struct text lost,
	size_t room, struct buf *out);

#endif
