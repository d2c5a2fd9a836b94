/* A command of wpool's, run to its end. Fails the test rather than returning an error. */
#ifndef HARNESS_COMMAND_H
#define HARNESS_COMMAND_H

#include "harness/proc.h"

/* It must end with this code. Returns what it wrote to stdout and, where that is nothing, to
 * stderr; never to both. Owned by the caller. */
char *command_run(int code, const char *const arguments[]);

/* Waits until what it wrote to stdout so far holds the needle. */
void command_expect_out(struct proc *, const char *needle);

#define RUN(code, ...) command_run(code, (const char *const[]){__VA_ARGS__, NULL})

#endif
