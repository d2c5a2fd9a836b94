/* Which message the token names. Layer: core. */
#ifndef CORE_SESSIONS_NAMING_H
#define CORE_SESSIONS_NAMING_H

#include "core/effects.h"

#include <stdbool.h>

/* After supervisors died in a row: messages of sessions that were delivered before are sent one at
 * a time, and each is named in the token before. So the next supervisor knows which one killed this
 * one. */
struct naming {
	mtime until;    /* 0: not now */
	uint64_t tag;   /* of the message that is named, or is to be; 0: none */
	uint32_t epoch; /* of the tag */
	uint64_t life;  /* of its session */
	bool is_named;  /* TOKEN_NAMED has come */
	bool is_sent;   /* it is in a pipe */
};

struct session;
struct sessions;

/* Until this time redelivered messages run one at a time, each named in the token before. */
void sessions_be_careful(struct sessions *, mtime until, mtime now);
/* Name the next one, if none is named. */
void sessions_name_next(struct sessions *, const struct effects *, void *io);
/* TOKEN_NAMED */
void sessions_named(struct sessions *, mtime now);
/* The name is that of this delivery, which is in the ledger. */
bool sessions_name_is_of(const struct sessions *, const struct delivery *);
/* What was named has ended, or is not sent. False: nothing was named. */
bool sessions_forget_name(struct sessions *);
/* The same for what is named of this session and not sent. */
bool sessions_unname(struct sessions *, struct session *, mtime now);

#endif
