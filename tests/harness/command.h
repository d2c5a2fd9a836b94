/* Run a command of wpool to its end. Errors fail the test. */
#ifndef HARNESS_COMMAND_H
#define HARNESS_COMMAND_H

#include "harness/proc.h"

/* The command must exit with this code. Return what it wrote to stdout, or else to stderr;
 * writing to both fails. Moves out. */
char *command_run(int code, const char *const arguments[]);

/* The output must contain the text. It moves in. */
void command_expect_text(char *output, const char *text);
/* Wait until stdout contains the needle. */
void command_expect_out(struct proc *, const char *needle);

#define RUN(code, ...) command_run(code, (const char *const[]){__VA_ARGS__, NULL})

#endif
