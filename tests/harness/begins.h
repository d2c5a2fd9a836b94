/* What began when: the echo workers of a pool with begins_environment append a line to a file at
 * the beginning of each task (workers/echo.c). Errors fail the test. */
#ifndef HARNESS_BEGINS_H
#define HARNESS_BEGINS_H

#include <stddef.h>
#include <stdint.h>

#define BEGINS_SECOND INT64_C(1000000)
/* A worker begins a task later than it was written, by less than this part of the period. One start
 * too many comes at once, together with the others of its window: that is no question of time. */
#define BEGINS_LATE_PART 2

struct begin {
	int64_t at; /* microseconds since the boot */
	char queue[80], tenant[20], id[40];
	long long attempt;
};

struct begins {
	struct begin *all; /* owned; the first one first */
	int count;
	size_t offset; /* how much of the file begins_follow has read */
};

/* The file; like the next two it is valid until the test's end. */
const char *begins_path(void);
/* "BEGINS=PATH" */
const char *begins_variable(void);
/* The same as a setting of a pool, "env: {BEGINS: PATH}". */
const char *begins_setting(void);
/* Read the file again. It starts as {0}. */
void begins_read(struct begins *);
/* Read what was written since the last call. */
void begins_follow(struct begins *);
void begins_release(struct begins *);
/* Leave the first ones out. */
void begins_skip(struct begins *, int count);

/* In no window of one period, less what a worker may be late by, are more than limit of this
 * tenant; NULL: of all. Return how many there are. */
int begins_expect_windows(const struct begins *, const char *tenant, int limit, int64_t period);
/* The shortest time in which limit + 1 began; INT64_MAX: there were fewer. */
int64_t begins_shortest(const struct begins *, const char *tenant, int limit);
int begins_count_queue(const struct begins *, const char *queue, int among);

#endif
