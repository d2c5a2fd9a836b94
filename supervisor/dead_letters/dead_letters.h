/* The command `wpool dead-letters`: its options and verbs. Layer: dead_letters. */
#ifndef DEAD_LETTERS_DEAD_LETTERS_H
#define DEAD_LETTERS_DEAD_LETTERS_H

#include "base/mtime.h"
#include "dead_letters/letter.h"
#include "message/replay.h"

#define DEAD_LETTERS_COMMAND "dead-letters"
/* Memory for messages that were read and not yet written; the rest is left out, with a message. */
#define DEAD_LETTERS_BYTES_MAX (256u * 1024 * 1024)

struct dead_letters {
	const char *broker; /* the --broker option, "-" replaced by what was read; or NULL */
	struct text queue;  /* where the dead letters are */
	bool is_foreign;    /* the name was given, so wpool may not have declared the queue */
	struct matches matches;
	const char *column;           /* list: a header that is shown, too; or NULL */
	uint64_t skip;                /* list, show: messages that match and are left out first */
	uint64_t limit;               /* maximum of messages that match; UINT64_MAX: all */
	struct replay_request replay; /* its queue is the pool's, also for the other verbs */
	bool json, yes;
	mtime wait;
};

/* Each does its work on the broker, prints the result, and returns an exit code. */
int dead_letters_list(const struct dead_letters *);
int dead_letters_show(const struct dead_letters *);
int dead_letters_replay(const struct dead_letters *);
int dead_letters_drop(const struct dead_letters *);

#endif
