/* Reports of the echo worker about itself and its task. */
#ifndef WORKERS_REPORT_H
#define WORKERS_REPORT_H

#include <wpool/worker.h>

/* wish: "pid"; "task": the task as JSON, all that the SDK shows of it; "process": what the process
 * was born with, as JSON (pid, ppid, pgid, sid, uid, gid, cwd, parent_death_signal, descriptors,
 * signals blocked, ignored, caught, environment, open_files). NULL: another wish, or out of memory.
 * The caller frees it. */
char *report_make(const char *wish, struct wpool_task *);

#endif
