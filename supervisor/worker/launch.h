/* Start one worker: its pipe, its process with the environment and rights of its pool, its entries
 * with the guard and among the strays. Layer: worker. For a pool's workers and for check_worker.
 * The process is executed here, or was forked by the pool's preloaded process (worker/preload.h).
 * The caller owns what comes of it: the pipe, the descriptors, the process, the life. */
#ifndef WORKER_LAUNCH_H
#define WORKER_LAUNCH_H

#include "process/reaper.h"
#include "process/spawn.h"
#include "process/strays.h"
#include "worker/worker_pipe.h"
#include "worker/workers.h"

/* All borrowed for the call; the reaper keeps on_exit and ctx until the process has ended. */
struct launch {
	const struct workers_config *config;
	uint16_t slot;
	char *last_exit; /* for its environment (worker_environment.h), or NULL */
	struct reaper *reaper;
	struct guard *guard;
	struct rundir *rundir;
	struct strays *strays;
	struct worker_pipe *pipe; /* initialized by launch_prepare */
	struct stray_life *life;  /* begun by launch_prepare */
	reaper_on_exit *on_exit;
	void *ctx;
};

/* Open the pipe and begin the life. False: *ret_failure is set, and neither is done. */
bool launch_prepare(const struct launch *, struct exit_info *ret_failure) MUST_CHECK;
/* Prepare, and execute the program. The control line with the pipe's address is the caller's to
 * write. False: *ret_failure is set, no process runs, the pipe may be open and the life begun. */
bool launch_worker(
	const struct launch *, struct spawned *ret, struct exit_info *ret_failure) MUST_CHECK;
/* Begin the life of the pool's preloaded process, and execute it; slot, pipe and rundir are not
 * used. ret->control is its request socket. False: *ret_failure is set, no process runs, the life
 * has begun. */
bool launch_preload(
	const struct launch *, struct spawned *ret, struct exit_info *ret_failure) MUST_CHECK;
/* After launch_prepare: a preloaded process has forked this child of ours, which waits for its
 * first control line. False: *ret_failure is set, and the child is killed. */
bool launch_adopt(const struct launch *, pid_t, struct exit_info *ret_failure) MUST_CHECK;

/* A process that was launched has been reaped, before strays_end: kill the rest of its group,
 * before the number can belong to another process, and take it off the guard's list. exit->stage is
 * set if it was killed because its control group was over its limit of memory. */
void launch_ended(struct guard *, const struct strays *, const struct stray_life *, pid_t,
	struct exit_info *exit);

#endif
