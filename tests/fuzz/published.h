/* Check what we publish for a hostile message or answer: it fits its frame, can be read again, has
 * nothing that closes a channel, and contains its number for a return. */
#ifndef FUZZ_PUBLISHED_H
#define FUZZ_PUBLISHED_H

#include "message/copy.h"

#define PUBLISHED_FRAME_MAX 4096

/* The raw properties are in scratch, valid until its next use. */
struct amqp_publish published_build(const struct parcel *, struct buf *scratch);
/* Build a reply and a hand-back from a valid answer to a plain task. */
void published_check_answer(struct output *);

#endif
