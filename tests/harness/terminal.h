/* A terminal with a program in it: input, screen, and the modes it is left in. It knows the
 * sequences that wpool uses; any other fails the test, as does the deadline of a wait. The
 * program dies with the test. */
#ifndef HARNESS_TERMINAL_H
#define HARNESS_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct terminal;

/* argv: NULL-terminated; argv[0] is a path. */
struct terminal *terminal_start(size_t width, size_t height, const char *const argv[]);
/* Kill the program if it still runs. */
void terminal_free(struct terminal *);
pid_t terminal_pid(const struct terminal *);

void terminal_type(struct terminal *, const char *keys);
void terminal_resize(struct terminal *, size_t width, size_t height);

/* Read until a line contains the needle; return the line, valid until the next call. */
const char *terminal_expect(struct terminal *, const char *needle);
/* Read until no line contains the needle. */
void terminal_expect_gone(struct terminal *, const char *needle);
/* The screen after the last call; rows and columns from 0. */
const char *terminal_line(const struct terminal *, size_t row);
enum terminal_style { TERMINAL_PLAIN, TERMINAL_BOLD, TERMINAL_REVERSE };
enum terminal_style terminal_style(const struct terminal *, size_t row, size_t column);

/* Wait until the program is stopped, as by job control. */
void terminal_expect_stopped(struct terminal *);
/* Wait for its end and read the rest; return the exit code, or 128 + signal. */
int terminal_wait(struct terminal *);
/* All terminal modes must be as before the program. */
bool terminal_is_restored(const struct terminal *);

#endif
