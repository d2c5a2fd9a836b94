/* Reaps every child, ours and (as PID 1) strangers. Layer: io.
 * One SIGCHLD watcher in the default loop; owners register the pids they want to hear of. */
#ifndef IO_REAPER_H
#define IO_REAPER_H

#include "core/exit.h"
#include <ev.h>
#include <stdbool.h>
#include <sys/types.h>

struct reaper;
typedef void reaper_on_exit(void *ctx, pid_t pid, struct exit_info exit);

struct reaper *reaper_new(struct ev_loop *); /* the default loop; NULL: out of memory */
void reaper_free(struct reaper *);
/* Must be called in the turn that forked pid. False: out of memory. Told once, then forgotten. */
bool reaper_watch(struct reaper *, pid_t pid, reaper_on_exit *, void *ctx);
bool reaper_knows(const struct reaper *, pid_t pid);
/* Told after a child was reaped that nobody watches. NULL: not any more. */
void reaper_hear_of_strangers(struct reaper *, void (*on_stranger)(void *ctx), void *ctx);
void reaper_forget(struct reaper *, pid_t pid);

#endif
