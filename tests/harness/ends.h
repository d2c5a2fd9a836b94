/* The ends of a set of tasks: how each must end, and how often it did, in the witness file and the
 * queues of replies and of dead letters. A task is identified by its number, which is its body and
 * its correlation id. */
#ifndef HARNESS_ENDS_H
#define HARNESS_ENDS_H

#include "harness/client.h"

#include <stdbool.h>
#include <stdint.h>

/* A done task has a line in the witness file, which workers fsync before they answer. */
enum end {
	END_DONE,
	END_REPLIED,
	END_DEAD,
	END_ONCE /* done, or dead because its worker ended, perhaps just after it was done */
};

struct task_end {
	enum end expected;
	bool asks_for_reply; /* its line in the witness file is not its end */
	uint8_t nacks;       /* of its publishes; each may have left a copy */
	int count;           /* how often it ended */
};

/* Where tasks wait and end; all borrowed. */
struct ends_place {
	const char *queue, *dead, *replies, *witness;
};

struct ends {
	struct ends_place at;
	struct task_end *tasks; /* owned */
	long count, capacity;
	long first; /* number of tasks[0]: lower ones were cleared */
	long late;  /* how often a cleared task ended again */
};

/* The fixture's queues and witness file. */
struct ends_place ends_fixture_place(void);
void ends_release(struct ends *);
/* Add a task, whose number is one above the last one's. */
struct task_end *ends_add(struct ends *, enum end expected, bool asks_for_reply);
/* Count all ends; they are removed from the queues and the file. The test fails if a task is
 * unknown or did not end as expected, or if a queue still holds a message. check, which may be
 * NULL, is called for each dead letter. */
void ends_read(struct ends *, void check(long number, const struct message *dead));
/* Forget the tasks, so that their later ends are counted as late. */
void ends_clear(struct ends *);

#endif
