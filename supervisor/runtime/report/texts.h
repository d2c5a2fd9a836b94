/* Exits, spans and changes of the number of workers as text for people. Layer: runtime, pure. */
#ifndef RUNTIME_REPORT_TEXTS_H
#define RUNTIME_REPORT_TEXTS_H

#include "base/mtime.h"
#include "core/exit.h"
#include "core/workers/scaling.h"

struct failed_restart;

/* Sizes of buffers; each function returns its buffer. */
#define EXIT_TEXT_SIZE    160
#define SPAN_TEXT_SIZE    32
#define SCALING_TEXT_SIZE 80
#define RESTART_TEXT_SIZE 1024

/* "exit status 3", "signal 11 (Segmentation fault)", "the command cannot be run: No such file or
 * directory". why: wpool ended it, "signal 9 (Killed), ended by wpool: boot limit"; or NULL. */
const char *exit_text(const struct exit_info *, const char *why, char buffer[EXIT_TEXT_SIZE]);
/* "250 ms", "2.1 s", "25 min" */
const char *span_text(mtime span, char buffer[SPAN_TEXT_SIZE]);
/* Why the number of workers was changed: "no worker was free and 6 tasks waited" */
const char *scaling_text(const struct scaling *, char buffer[SCALING_TEXT_SIZE]);
/* Why a restart was given up, what became of its last worker, and what to try: "three new workers
 * in a row did not become ready, the last one: exit status 3; last stderr line: no model (wpool
 * logs has what "/srv/mail" wrote: correct it, then restart again)". program: of the workers; NULL:
 * a reader who may know neither where it is nor the line of stderr, which may have parts of a
 * message: both are left out. */
const char *restart_text(
	const struct failed_restart *, const char *program, char buffer[RESTART_TEXT_SIZE]);

#endif
