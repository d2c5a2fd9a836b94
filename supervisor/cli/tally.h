/* The account of a publish: while it runs as a bar on a terminal, at the end as a line for people
 * or a JSON object for programs. Layer: cli. */
#ifndef CLI_TALLY_H
#define CLI_TALLY_H

#include "base/mtime.h"
#include "base/text.h"

struct tally {
	struct text queue;    /* borrowed */
	uint64_t published;   /* messages, each once */
	uint64_t confirmed;   /* taken by the broker and by a queue */
	uint64_t returned;    /* no queue of that name */
	uint64_t refused;     /* by a negative confirm, or with the channel */
	uint64_t republished; /* publishes that were repeated after a lost connection */
	mtime started;
};

/* Everything was taken by a queue. */
bool tally_is_clean(const struct tally *);
/* Draws over the line on stderr. done of total: bytes of input; total 0: unknown. */
void tally_draw(const struct tally *, uint64_t done, uint64_t total, mtime now);
void tally_erase(void);
/* On stdout. False: it could not be written. */
bool tally_print(const struct tally *, bool json, mtime now);

#endif
