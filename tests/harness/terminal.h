/* A terminal with a program in it: what is typed, what stands on it, and what it is left as.
 * Understands what wpool draws with, and fails the test at any other sequence, as it does at the
 * deadline of a wait. The program dies with the test. */
#ifndef HARNESS_TERMINAL_H
#define HARNESS_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct terminal;

/* argv: NULL-terminated; argv[0] is a path. */
struct terminal *terminal_start(size_t width, size_t height, const char *const argv[]);
/* Kills it, if it is still there. */
void terminal_free(struct terminal *);
pid_t terminal_pid(const struct terminal *);

void terminal_type(struct terminal *, const char *keys);
void terminal_resize(struct terminal *, size_t width, size_t height);

/* Reads on until some line holds the needle; the line, valid until the next call. */
const char *terminal_expect(struct terminal *, const char *needle);
/* Reads on until none does. */
void terminal_expect_gone(struct terminal *, const char *needle);
/* As it stands there after the last call; rows and columns from 0. */
const char *terminal_line(const struct terminal *, size_t row);
enum terminal_style { TERMINAL_PLAIN, TERMINAL_BOLD, TERMINAL_REVERSE };
enum terminal_style terminal_style(const struct terminal *, size_t row, size_t column);

/* Waits until the program is stopped, as a job is. */
void terminal_expect_stopped(struct terminal *);
/* Waits for its end, and reads the rest: the exit code, or 128 + signal. */
int terminal_wait(struct terminal *);
/* All modes, of lines and of the screen, are as before the program. */
bool terminal_is_restored(const struct terminal *);

#endif
