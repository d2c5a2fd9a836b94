/* The results of a run, for people and for programs. Layer: check_worker. */
#ifndef CHECK_WORKER_REPORT_H
#define CHECK_WORKER_REPORT_H

#include "check_worker/trial.h"

/* A table, and below it what is wrong, in full. Returns an exit code; a problem was printed. */
int report_print(const struct result *, size_t count);
/* One line: an object with all results. False: it could not be written, which was printed. */
bool report_print_json(const struct result *, size_t count);
/* Print one line on stderr while a check runs, over the one before; NULL: erase it. */
void report_progress(const struct check *, size_t index, size_t count);

#endif
