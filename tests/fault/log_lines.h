/* The lines of a supervisor's log, for rows that measure with its time stamps. */
#ifndef FAULT_LOG_LINES_H
#define FAULT_LOG_LINES_H

#include <stdbool.h>

struct log_line {
	long time_ms; /* of the day, by the clock of the machine */
	int slot;     /* -1: none */
	const char *message;
};

/* Take the next line off *at, whose bytes are changed. False: there is none. */
bool log_lines_next(char **at, struct log_line *ret);
/* The time from one time of the day to a later one, perhaps after midnight. */
long log_lines_span_ms(long from_ms, long to_ms);

/* Numbers of one kind: collect, sort and describe them. */
struct spread {
	long count, capacity;
	long *values;
};
void spread_add(struct spread *, long value);
/* The value that a share (0 to 1) of the values do not exceed; 0 if there are none. */
long spread_at(struct spread *, double share);
long spread_count_over(const struct spread *, long bound);
void spread_release(struct spread *);

#endif
