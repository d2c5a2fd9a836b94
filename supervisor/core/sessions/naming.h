/* Which message the token names. Layer: core. After supervisors died in a row, messages of sessions
 * that were delivered before are sent one at a time, and each is named in the token before. So the
 * next supervisor knows which one killed this one. A session whose next task waits for its name is
 * HELD, and others run meanwhile. */
#ifndef CORE_SESSIONS_NAMING_H
#define CORE_SESSIONS_NAMING_H

#include "core/effects.h"

#include <stdbool.h>

struct session;
struct sessions;

struct naming {
	mtime until; /* 0: not now */
	/* of the task that is named, or is to be, and is not sent */
	uint64_t tag; /* 0: none */
	uint32_t epoch;
	struct session *session; /* NULL: it has ended */
	bool is_confirmed;       /* TOKEN_NAMED has come */
	uint64_t sent;           /* id of the task in a pipe that is named; 0: none */
};

/* Name them from now on, until this time. */
void sessions_start_naming(struct sessions *, mtime until, mtime now);
/* Name the next one that can be sent, if none is named. */
void sessions_name_next(struct sessions *, const struct effects *, void *io);
/* TOKEN_NAMED */
void sessions_named(struct sessions *, mtime now);
/* True: the token names a task, or is to. */
bool sessions_has_name(const struct sessions *);
/* Something is named and not sent. True: it is not next in its session any more. */
bool sessions_name_is_over(const struct sessions *);
/* Forget it; return its session, which waits for a name again, or NULL. */
struct session *sessions_forget_name(struct sessions *, mtime now);
/* The task is in a pipe now. */
void sessions_name_sent(struct sessions *, const struct delivery *);
/* The task with this id has left its pipe. True: it was named, and is not any more. */
bool sessions_name_ended(struct sessions *, uint64_t id);

#endif
