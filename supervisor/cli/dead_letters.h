/* The command `wpool dead-letters`: its options and its verbs. Layer: cli. */
#ifndef CLI_DEAD_LETTERS_H
#define CLI_DEAD_LETTERS_H

#include "base/mtime.h"
#include "cli/dead_letters_letter.h"

#define DEAD_LETTERS_COMMAND "dead-letters"
/* Memory for what was read and is not yet written; what is beyond it is left out, and that said. */
#define DEAD_LETTERS_BYTES_MAX (256u * 1024 * 1024)

struct dead_letters {
	const char *broker; /* the --broker option or NULL */
	struct text queue;  /* where the dead letters are */
	bool is_foreign;    /* that name was given, so the queue need not be one that wpool made */
	struct matches matches;
	uint64_t limit; /* at most so many that match; UINT64_MAX: all */
	struct text to; /* replay: there, instead of where they were given up; empty: not so */
	bool json, yes;
	mtime wait;
};

/* What was printed is written; false: it could not be, and that was said. */
bool dead_letters_flush(void) MUST_CHECK;

/* Each does its work on the broker, says how it went, and returns an exit code. */
int dead_letters_list(const struct dead_letters *);
int dead_letters_show(const struct dead_letters *);
int dead_letters_replay(const struct dead_letters *);
int dead_letters_drop(const struct dead_letters *);

#endif
