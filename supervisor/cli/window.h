/* Messages on their way: waiting to be published, or published and not yet confirmed. Layer: cli.
 * Owns copies of the bodies, because a lost connection asks for them again. Bounded in number and
 * in bytes; one message always fits. Without I/O. */
#ifndef CLI_WINDOW_H
#define CLI_WINDOW_H

#include "base/list.h"
#include "base/text.h"

#define WINDOW_MESSAGES 1000
#define WINDOW_BYTES    (32u * 1024 * 1024)

struct message {
	struct link link;
	uint64_t number; /* from 1, never given twice */
	uint64_t tag;    /* of its latest publish */
	bool was_returned;
	size_t len;
	char body[];
};

struct window {
	struct link waiting;     /* in order of number */
	struct link unconfirmed; /* in order of tag */
	size_t count, bytes;     /* of both */
	size_t unconfirmed_count;
	uint64_t last_number;
};

void window_init(struct window *);
void window_release(struct window *);
bool window_has_room(const struct window *);
/* Copies body to the end of those that wait. NULL: out of memory. */
struct message *window_add(struct window *, struct text body);
/* The next to be published; NULL: none waits. */
struct message *window_waiting(struct window *);
/* It was published with this tag, higher than all before. */
void window_published(struct window *, struct message *, uint64_t tag);
/* An unconfirmed one by its number, or NULL. */
struct message *window_find(struct window *, uint64_t number);
/* Takes out an unconfirmed one that a confirm with this tag means, the oldest first; NULL: no more.
 * Moves out: to be freed by free(). */
struct message *window_take(struct window *, uint64_t tag, bool multiple);
/* All unconfirmed ones wait again, in order, before the others. Returns how many. */
size_t window_rewind(struct window *);

#endif
