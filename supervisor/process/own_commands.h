/* Runs a command of wpool itself as a child process, for requests that would take too long or too
 * much memory in the loop. Layer: process. One at a time. The child has its secrets by standard
 * input, so that they are neither in the list of processes nor in its environment; what it writes
 * is kept until it has ended. It dies with us. */
#ifndef PROCESS_OWN_COMMANDS_H
#define PROCESS_OWN_COMMANDS_H

#include "base/buf.h"
#include "base/mtime.h"
#include "base/rc.h"
#include "core/exit.h"
#include "process/reaper.h"

#include <ev.h>

/* Bytes of its output, and of what is kept of its stderr. */
#define OWN_COMMAND_OUTPUT (2u * 1024 * 1024)
#define OWN_COMMAND_ERRORS (16 * 1024)
/* From SIGTERM, at the time limit, to SIGKILL. */
#define OWN_COMMAND_GRACE (10 * MTIME_SECOND)

struct own_commands;

struct own_command_result {
	struct exit_info exit;
	struct text output, errors; /* borrowed for the call */
	bool is_too_long;           /* it wrote more than OWN_COMMAND_OUTPUT, and was ended */
	bool is_late;               /* it was ended at its time limit */
	bool is_cut;                /* it was ended, because we leave */
};

struct own_command {
	char *const *arguments;   /* NULL-terminated; the first is the command's name */
	char *const *environment; /* NULL-terminated */
	struct text input;
	mtime limit;
	void (*on_end)(void *ctx, const struct own_command_result *); /* called once */
	void *ctx;
};

/* program: a path; static. The loop and the reaper are borrowed. NULL: out of memory. */
struct own_commands *own_commands_new(struct ev_loop *, struct reaper *, const char *program);
bool own_commands_is_busy(const struct own_commands *);
/* Start it; what the request points to is not kept. RC_REFUSED: one runs already, or
 * own_commands_close was called. RC_LIMIT: there are too many arguments. RC_SYSTEM: see
 * *ret_failure. */
enum rc own_commands_start(struct own_commands *, const struct own_command *,
	struct exit_info *ret_failure) MUST_CHECK;
/* Send SIGTERM to the one that runs: it ends in an orderly way. */
void own_commands_interrupt(struct own_commands *);
/* Kill the one that runs, and call its on_end; start none from now on. NULL is allowed. */
void own_commands_close(struct own_commands *);
/* After own_commands_close. */
void own_commands_free(struct own_commands *);

#endif
