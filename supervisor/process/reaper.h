/* Reap every child, also (as PID 1) those of others. Layer: process. One SIGCHLD watcher in the
 * default loop; owners register the pids that they wait for. */
#ifndef PROCESS_REAPER_H
#define PROCESS_REAPER_H

#include "core/exit.h"
#include <ev.h>
#include <stdbool.h>
#include <sys/types.h>

struct reaper;
typedef void reaper_on_exit(void *ctx, pid_t pid, struct exit_info exit);

struct reaper *reaper_new(struct ev_loop *); /* the default loop; NULL: out of memory */
void reaper_free(struct reaper *);
/* Register a pid, in the turn that forked it; called back once. False: out of memory. */
bool reaper_watch(struct reaper *, pid_t pid, reaper_on_exit *, void *ctx);
bool reaper_knows(const struct reaper *, pid_t pid);
/* Call back after a child was reaped that is not registered. NULL: stop. */
void reaper_set_stranger_handler(struct reaper *, void (*on_stranger)(void *ctx), void *ctx);
void reaper_forget(struct reaper *, pid_t pid);

#endif
