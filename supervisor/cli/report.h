/* A pool's notices as log lines. Layer: cli.
 * Says a thing once, with pool, slot and what is done next; never a body, never a header. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include "base/log.h"
#include "cli/histogram.h"
#include "core/notice.h"
#include "core/scaling.h"

#define REPORT_KINDS (NOTICE_DRAINED + 1)
#define REPORT_ENDS  (EXIT_NOT_STARTED + 1)
#define REPORT_WORDS 256
/* Of what report_exit and report_span write. */
#define REPORT_EXIT_ROOM 160
#define REPORT_SPAN_ROOM 32

/* Of a worker that was not asked to leave. */
struct report_death {
	struct exit_info exit; /* EXIT_NONE: there was none */
	const char *why;       /* static words: we ended it; NULL: we did not */
	mtime at;
	char words[REPORT_WORDS]; /* its last line on stderr, cut; empty: none. Any bytes but 0 */
};

struct report {
	const char *pool;    /* borrowed, like all here */
	const char *command; /* what its workers are */
	const char *queue;
	const char *dead_letters; /* the queue; NULL: the queue's own policy decides */
	uint16_t workers;
	uint64_t counts[REPORT_KINDS];
	uint64_t retried[REASON_COUNT]; /* what counts says of retried, given up, dropped: why */
	uint64_t given_up[REASON_COUNT];
	uint64_t dropped[REASON_COUNT];
	uint64_t recycled[RECYCLE_REASON_COUNT];
	uint64_t deaths[REPORT_ENDS]; /* of workers that were not asked to leave: how */
	struct report_death last_death;
	struct histogram took;   /* attempts, in their workers */
	struct histogram waited; /* tasks, from their arrival until a pipe had them */
	uint64_t held_up;        /* tasks that waited in a pipe behind one that took too long */
	bool was_ready;          /* all workers at once, once */
	bool was_hopeless;       /* told that no worker ever started */
};

/* origin: the slot's if the notice has one, else the pool's. */
void report_notice(struct report *, struct log_origin origin, const struct notice *);
/* The lines that are about the pool itself. command: what its workers are. */
void report_pool(
	enum log_level, struct log_origin origin, const struct notice *, const char *command);
/* The part of it that counts, and says what only the sum of several tells. */
void report_count(struct report *, const struct notice *);
/* The last line of a pool: what it did, and for which reasons not. forced: something was cut short.
 */
void report_end(const struct report *, bool forced);

/* "exit status 3", "signal 11 (Segmentation fault)", "the command cannot be run: No such file
 * or directory".
 * Returns buffer. */
const char *report_exit(const struct exit_info *, char *buffer, size_t room);
#define SCALING_WORDS_ROOM 80
/* Why the number of workers was changed: "every worker was busy, and 6 tasks waited". Returns
 * buffer. */
const char *report_scaling(const struct scaling *, char buffer[SCALING_WORDS_ROOM]);
/* The same, and why we ended it: "signal 9 (Killed), ended by us: boot limit". why may be NULL. */
const char *report_end_of_life(
	const struct exit_info *, const char *why, char *buffer, size_t room);
/* "250 ms", "2.1 s", "25 min". Returns buffer. */
const char *report_span(mtime span, char *buffer, size_t room);

#endif
