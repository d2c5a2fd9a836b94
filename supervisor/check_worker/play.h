/* The supervisor's part in one check: the steps that the checks (checks.c) are made of. Layer:
 * check_worker. Owns the worker of the check. Each step returns false after the first fault, which
 * is in .subject.fault, so that steps are joined by &&. */
#ifndef CHECK_WORKER_PLAY_H
#define CHECK_WORKER_PLAY_H

#include "check_worker/subject.h"

#define PLAY_MANY    100 /* tasks that are open at once, if the concurrency allows */
#define PLAY_SEVERAL 10

struct check;

/* What the checks of a run share. */
struct run {
	const struct check_setup *setup; /* borrowed, as all here */
	const struct text *files;        /* the bodies of --task */
	size_t file_count;
	uint64_t next_id; /* of a task; from 1 */

	/* what the checks so far have seen */
	bool progress, failed, rejected;
	struct fault no_text;                   /* on standard output */
	const struct check *found[FAULT_KINDS]; /* the first that found this fault; or NULL */
};

struct play {
	struct run *run; /* borrowed, as .check */
	const struct check *check;
	struct subject subject;
	struct fault_bytes sent; /* the last frame */
	const char *hidden; /* why this worker does not show what the check is about; or NULL */
	char slow[120];     /* .hidden of a worker that seems to work on one task at a time */
};

void play_init(struct play *, struct run *, const struct check *);
void play_end(struct play *);

/* The concurrency, but at most max. */
size_t play_count(const struct play *, size_t max);

/* The process, its address, its connection. */
bool play_start(struct play *);
/* Append the frame of a task; play_send sends it. */
bool play_add(struct play *, enum task_kind);
/* As many tasks, TASK_PLAIN and TASK_SECOND in turn. */
bool play_add_several(struct play *, size_t count);
/* The same as play_add, but no answer to it is expected. */
bool play_add_unfinished(struct play *, enum task_kind);
bool play_send(struct play *);
/* All but the last few bytes. */
bool play_send_part(struct play *);
/* One task, and its answer. */
bool play_ask(struct play *, enum task_kind);
/* The same; how long it took goes to *ret. */
bool play_time(struct play *, enum task_kind, mtime *ret);
/* Each body of --task, answered with 200 or 201. */
bool play_ask_files(struct play *);
/* A control line: one with an id, or "__context_switch__" at concurrency 1, which has none. */
bool play_cancel(struct play *, uint64_t id);
bool play_switch(struct play *, uint64_t id);
/* An id that no task has or will have. */
uint64_t play_unused_id(struct play *);
/* How the supervisor ends a worker: __quit__ and the end of the data pipe. */
bool play_quit(struct play *);
/* Wait for its exit with status 0. */
bool play_exit_zero(struct play *);
/* End it, and expect that nothing but the answers comes. */
bool play_quit_quietly(struct play *);

#endif
