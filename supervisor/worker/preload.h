/* A pool's preloaded process: it loads what is heavy once and forks the workers, which share its
 * memory (worker-sdk/PROTOCOL.md, section 17). Layer: worker. It is started for the first request,
 * and again when it ends after it has forked a worker; if it ends before, all requests fail, and
 * the next one starts it. It handles one request at a time; the others wait here. One that does not
 * answer within the boot limit, in which waits for a processor do not count, is killed. Never
 * blocks. A pool has one; while it restarts it may have two (workers_renew_preload). */
#ifndef WORKER_PRELOAD_H
#define WORKER_PRELOAD_H

#include "process/child_pipes.h"
#include "worker/launch.h"
#include "worker/log_gate.h"

struct preload;

/* pid: a child of ours in a session of its own, of the pool's user, that waits for its first
 * control line; our ends of its pipes are there to be taken. failure: NULL, or why there is none;
 * then pid is 0. */
typedef void preload_on_answer(void *ctx, pid_t, const struct exit_info *failure);

/* Part of its owner until on_answer returns, or preload_cancel. Zeroed but for the members that
 * preload_fork needs. */
struct preload_request {
	struct link link;
	struct child_pipes pipes; /* of the worker; what is not taken is closed */
	uint16_t slot;
	const char *last_exit;   /* as in struct launch */
	uint64_t life;           /* of the worker, for its mark */
	struct preload *preload; /* that was asked last */
	preload_on_answer *on_answer;
	void *ctx;
};

/* launch: what it is started with; of its members only config, reaper, guard and strays are used,
 * and borrowed until preload_free. NULL: out of memory. */
struct preload *preload_new(struct ev_loop *, const struct launch *, struct log_gate *);
/* Kill it; all requests fail. */
void preload_free(struct preload *);
/* Ask for a worker. The answer comes later, or at once if the process cannot be started. */
void preload_fork(struct preload *, struct preload_request *);
/* A request is not wanted any more; what is forked for it is killed. */
void preload_cancel(struct preload_request *);
/* Replace the process, whose program and files may have changed. A request that it has fails; all
 * fail if the configuration has no preloaded process any more. */
void preload_renew(struct preload *);
/* True: the process lives, has forked a worker, and has the user that workers have now. */
bool preload_can_fork(const struct preload *);
/* While it is held, another one is to replace it, and it is not started again when it ends. */
void preload_hold(struct preload *, bool is_held);
struct preload_facts preload_facts(const struct preload *);
/* How long the process has waited for a processor (os/proc_waited.h) since it got the request that
 * it has; 0: it has none. */
mtime preload_waited(const struct preload *);
/* The last line that the latest process to end wrote to stderr, if it forked no worker and none was
 * started since; or empty. Valid until one is started or ends. */
struct text preload_last_line(const struct preload *);

#endif
