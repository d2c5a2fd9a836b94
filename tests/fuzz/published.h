/* What we publish for a message, however hostile message and answer were: it fits its frame, can be
 * read again, bears nothing that closes a channel, and tells its number when it comes back. */
#ifndef FUZZ_PUBLISHED_H
#define FUZZ_PUBLISHED_H

#include "message/copy.h"

#define PUBLISHED_FRAME_MAX 4096

/* The raw properties of the publish are good in scratch until its next use. */
struct amqp_publish published_build(const struct parcel *, struct buf *scratch);
/* A reply and a hand-back made of an answer that is valid, to a plain task. */
void published_check_answer(struct output *);

#endif
