/* The header table of what we publish: which headers it keeps, which of ours are added, and what is
 * left out if they do not fit into a header frame. Layer: message, private to copy.c. */
#ifndef MESSAGE_COPY_HEADERS_H
#define MESSAGE_COPY_HEADERS_H

#include "message/copy.h"

/* True: it is a worker's answer, not a copy of the task. */
static inline bool parcel_is_answer(const struct parcel *parcel)
{
	return parcel->kind == PARCEL_REPLY || parcel->kind == PARCEL_HAND_BACK;
}

/* True: a copy of the task. */
static inline bool parcel_is_copy(const struct parcel *parcel)
{
	return !parcel_is_answer(parcel) && parcel->kind != PARCEL_REFUSAL;
}

/* Append the table for this parcel to out. size_max: of its bytes, without our own headers (a few
 * hundred bytes). lost: a name to add to x-wpool-cut for properties that could not be read; empty:
 * none. Errors stay in out. */
void copy_write_headers(const struct parcel *, const struct copy_options *, struct text lost,
	size_t size_max, struct buf *out);

#endif
