/* The lines of a supervisor's log, for rows that measure by its time stamps. */
#ifndef FAULT_LOG_LINES_H
#define FAULT_LOG_LINES_H

#include <stdbool.h>

struct log_line {
	long time_ms; /* of the day, by the clock of the machine */
	int slot;     /* -1: none */
	const char *message;
};

/* Takes the next line off *at, which is cut in pieces on the way. False: there is none. */
bool log_lines_next(char **at, struct log_line *ret);
/* From one time of the day to a later one, perhaps past midnight. */
long log_lines_span_ms(long from_ms, long to_ms);

/* Numbers of one kind: collect, sort and describe them. */
struct spread {
	long count, capacity;
	long *values;
};
void spread_add(struct spread *, long value);
/* The value that a share (0 to 1) of all do not exceed; 0 where there are none. */
long spread_at(struct spread *, double share);
long spread_count_over(const struct spread *, long bound);
void spread_release(struct spread *);

#endif
