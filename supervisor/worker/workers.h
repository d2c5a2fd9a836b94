/* The worker processes of one pool, with their pipes and logs. Layer: worker. Carries out the
 * pool's effects on its slots, and reports events of the slots. A slot's process, data pipe, stdin,
 * stdout and stderr come and go together; SLOT_GONE is reported when the process is reaped and its
 * pipe and logs are read. */
#ifndef WORKER_WORKERS_H
#define WORKER_WORKERS_H

#include "base/log.h"
#include "base/rc.h"
#include "config/config.h"
#include "core/effects.h"
#include "core/pool.h"
#include "message/answer.h"
#include "message/task.h"
#include "process/cgroup_limits.h"
#include "worker/log_gate.h"
#include <ev.h>
#include <sys/resource.h>

struct guard;
struct reaper;
struct rundir;
struct strays;

struct workers_config {
	const char *pool; /* name; borrowed until workers_free, like all pointers here */
	char *const *command;
	bool is_preloaded;    /* command is started once and forks the workers (preload.h) */
	uint16_t workers;     /* that the pool wants now, for their environment */
	mtime boot_limit;     /* for an answer of the preloaded process */
	uint16_t concurrency; /* open tasks in one worker, from 1; above 1 a request names its task
			       */
	enum pipe_form pipe;
	struct task_options task;
	struct answer_limits answer;
	int64_t hard_limit_ms;       /* for the task's deadline_ms; 0: none */
	const struct rights *rights; /* NULL: our own */
	char *const *variables;      /* added to the environment, "NAME=value"; or NULL */
	char *const *passed;         /* variables of ours to pass on; NULL: all */
	char **const *secrets;       /* names that "auto" does not pass; or NULL */
	struct cgroup_limits group_limits;
	const char *folder;               /* working directory; NULL: ours */
	struct log_rate log_rate;         /* of all workers; may change */
	const struct rlimit *descriptors; /* limit (descriptors_prepare); NULL: ours */
	unsigned lease;                   /* with the guard (guard_set_lease); 0: none */
	bool is_throttled; /* no task waits here behind what a worker has not taken; may change */
};

struct workers;

#define WORKERS_PRELOADS 2 /* preloaded processes at most */

/* The owner of the workers' pipes; NULL: our user. */
static inline const struct rights *workers_owner(const struct workers_config *config)
{
	return config->rights && config->rights->is_other ? config->rights : NULL;
}

/* All borrowed until workers_free. NULL: out of memory. */
struct workers *workers_new(struct ev_loop *, const struct workers_config *, struct reaper *,
	struct guard *, struct rundir *, struct strays *);
void workers_attach(struct workers *, struct pool *);
/* Start or stop to report SLOT_MEMORY, for each worker about once a second. */
void workers_watch_memory(struct workers *, bool is_on);
/* Kill the workers that live, and free everything. */
void workers_free(struct workers *);

/* The pool's effects. From now on this many slots may be used; false: out of memory. */
bool workers_reserve(struct workers *, uint16_t slots) MUST_CHECK;
enum send_result workers_send(struct workers *, uint16_t slot, struct delivery *, uint16_t attempt);
void workers_request(struct workers *, uint16_t slot, uint32_t life, enum slot_request);
/* Write a control line about an open task, without blocking. task_id: above 0, except for a context
 * switch, which names no task if it is 0 or the concurrency is 1. False: the worker's stdin has no
 * space for the line, which is logged once in a life. */
bool workers_ask(
	struct workers *, uint16_t slot, uint32_t life, enum task_request, uint64_t task_id);
/* The workers are about to be replaced. If there is a preloaded process, all that start from now on
 * come from another one, which loads the present program. One that has forked workers is kept until
 * workers_settle_preload: it is ended if all workers are new; or, if the restart was given up, the
 * other one is, and it forks workers again. It is replaced at once if it cannot fork them any more:
 * the workers' user or the kind of the program is another one now. */
void workers_renew_preload(struct workers *);
void workers_settle_preload(struct workers *, bool are_all_new);
struct preload_facts {
	pid_t pid;       /* 0: no process runs */
	bool is_loading; /* it has forked no worker yet */
	bool is_former;  /* a restart is to replace it by another one */
};
/* The preloaded processes that run; returns their number. */
unsigned workers_preloads(const struct workers *, struct preload_facts ret[WORKERS_PRELOADS]);
/* The pid of the process of this life, also after its end; 0: none, or another life has begun. */
pid_t workers_pid(const struct workers *, uint16_t slot, uint32_t life);
/* How long the process of this life waited for a processor since its start (os/proc_waited.h), or
 * the preloaded process that is to fork it. */
mtime workers_waited(const struct workers *, uint16_t slot, uint32_t life);
/* Lines of the workers that went into the log, and that were dropped. */
struct workers_lines {
	uint64_t passed, passed_bytes, dropped;
};
struct workers_lines workers_lines(const struct workers *);
/* Write what was sent in this turn, with one system call for each pipe; call once at the end of
 * each turn. */
void workers_flush(struct workers *);

#endif
