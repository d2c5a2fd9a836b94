/* The messages of `wpool publish`: those that wait to be published, and those without a confirm.
 * Layer: publish, without I/O. Owns copies of the bodies, because after a lost connection they are
 * published again. Bounded in number and in bytes; one message always fits. */
#ifndef PUBLISH_MESSAGES_H
#define PUBLISH_MESSAGES_H

#include "base/list.h"
#include "base/text.h"
#include "publish/unconfirmed.h"

#define MESSAGES_MAX       1000
#define MESSAGES_BYTES_MAX (32u * 1024 * 1024)

struct message {
	struct link link; /* while it waits */
	uint64_t number;  /* from 1, never given twice */
	bool was_published;
	struct text session; /* its key, borrowed; TEXT_NONE: as the envelope has it */
	size_t len;
	char body[];
};

struct messages {
	struct link waiting; /* in order of number */
	struct unconfirmed unconfirmed;
	size_t count, bytes; /* of both */
	uint64_t last_number;
};

/* RC_MEMORY. */
enum rc messages_init(struct messages *) MUST_CHECK;
/* Also before messages_init, of zeros. */
void messages_release(struct messages *);
bool messages_has_space(const struct messages *);
/* Append a copy of body to those that wait. NULL: out of memory. */
struct message *messages_add(struct messages *, struct text body);
/* The next to publish; NULL: none waits. */
struct message *messages_waiting(struct messages *);
/* Move the first that waits to the unconfirmed ones; its number is the channel's next. */
void messages_published(struct messages *);
/* Take out and free the next message that an answer covers; returns as unconfirmed_take does. */
enum publish_answer_kind messages_take(struct messages *, const struct publish_answer *);
/* The channel is lost: all unconfirmed messages wait again, in order, before the others. Return
 * their number. */
size_t messages_rewind(struct messages *);
/* Drop the first that waits. */
void messages_drop(struct messages *);

#endif
