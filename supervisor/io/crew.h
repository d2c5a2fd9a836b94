/* The worker processes of one pool, with their pipes and logs. Layer: io.
 * Carries out the pool's wishes on slots and tells it what becomes of them. A slot's process, data
 * pipe, stdin, stdout and stderr come and go together; SLOT_GONE is told when the process is reaped
 * and its pipe and logs were read until there was nothing more. */
#ifndef IO_CREW_H
#define IO_CREW_H

#include "base/log.h"
#include "base/rc.h"
#include "config/config.h"
#include "core/effects.h"
#include "core/pool.h"
#include "message/answer.h"
#include "message/task.h"
#include <ev.h>
#include <sys/resource.h>

struct guard;
struct reaper;
struct rundir;
struct strays;

struct crew_config {
	const char *pool; /* name; borrowed until crew_free, like all pointers here */
	char *const *command;
	uint16_t workers; /* at first */
	enum pipe_form pipe;
	struct task_options task;
	struct answer_limits answer;
	int64_t hard_limit_ms;       /* for the task's deadline_ms; 0: none */
	const struct rights *rights; /* NULL: who we are, with what we have */
	char *const *variables;      /* more of them, "NAME=value"; or NULL */
	char *const *passed;         /* which of ours; NULL: all */
	const char *folder;          /* NULL: ours */
	int64_t log_rate;            /* lines a second, of all workers; may change */
	const struct rlimit
		*descriptors; /* what a worker may have (descriptors_prepare); NULL: as we */
};

struct crew;

/* Whose the workers' pipes are; NULL: ours. */
static inline const struct rights *crew_owner(const struct crew_config *config)
{
	return config->rights && config->rights->is_other ? config->rights : NULL;
}

/* All borrowed until crew_free. NULL: out of memory. */
struct crew *crew_new(struct ev_loop *, const struct crew_config *, struct reaper *, struct guard *,
	struct rundir *, struct strays *);
void crew_attach(struct crew *, struct pool *);
/* SLOT_MEMORY is told from now on, of each worker about once a second; or no more. */
void crew_watch_memory(struct crew *, bool is_on);
/* Kills what still lives, at once. */
void crew_free(struct crew *);

/* The pool's effects. Slots up to this many may be used from now on; false: out of memory. */
bool crew_room(struct crew *, uint16_t slots) MUST_CHECK;
enum send_result crew_send(struct crew *, uint16_t slot, struct delivery *, uint16_t attempt);
void crew_wish(struct crew *, uint16_t slot, uint32_t life, enum slot_wish);
/* Where a line about a worker comes from: pool, slot, and its pid, unless another came after it. */
struct log_origin crew_origin(const struct crew *, uint16_t slot, uint32_t life);
/* What its workers wrote: lines that went into the log, and those that were too many. */
struct crew_lines {
	uint64_t passed, dropped;
};
struct crew_lines crew_lines(const struct crew *);
/* Writes what was sent in this turn, one system call a pipe; called once at the end of each turn.
 */
void crew_flush(struct crew *);

#endif
