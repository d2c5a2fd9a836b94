#include "fault/log_lines.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DAY_MS (24L * 3600 * 1000)

/* "2026-11-28 12:34:56.789 warn  pool/3[4711] worker died: ..."; a line of the supervisor itself
 * has no origin. */
static bool parse(char *line, struct log_line *ret)
{
	int hour, minute, second, ms, used = 0;
	if (sscanf(line, "%*d-%*d-%*d %d:%d:%d.%d %*s %n", &hour, &minute, &second, &ms, &used) <
			4 ||
		!used)
		return false;
	*ret = (struct log_line){
		((hour * 60L + minute) * 60 + second) * 1000 + ms, -1, line + used};
	char *space = strchr(ret->message, ' ');
	char *slash = strchr(ret->message, '/');
	if (slash && space && slash < space && sscanf(slash, "/%d", &ret->slot) == 1)
		ret->message = space + 1;
	return true;
}

bool log_lines_next(char **at, struct log_line *ret)
{
	while (*at && **at) {
		char *line = *at, *end = strchr(line, '\n');
		*at = end ? end + 1 : NULL;
		if (end)
			*end = '\0';
		if (parse(line, ret))
			return true;
	}
	return false;
}

long log_lines_span_ms(long from_ms, long to_ms)
{
	long span = (to_ms - from_ms) % DAY_MS;
	return span < -DAY_MS / 2 ? span + DAY_MS : span;
}

void spread_add(struct spread *spread, long value)
{
	if (spread->count == spread->capacity) {
		spread->capacity = spread->capacity ? 2 * spread->capacity : 256;
		spread->values =
			realloc(spread->values, (size_t)spread->capacity * sizeof *spread->values);
		ck_assert_ptr_nonnull(spread->values);
	}
	spread->values[spread->count++] = value;
}

static int compare(const void *a, const void *b)
{
	long left = *(const long *)a, right = *(const long *)b;
	return (left > right) - (left < right);
}

long spread_at(struct spread *spread, double share)
{
	if (spread->count == 0)
		return 0;
	qsort(spread->values, (size_t)spread->count, sizeof *spread->values, compare);
	return spread->values[(long)(share * (double)(spread->count - 1))];
}

long spread_count_over(const struct spread *spread, long bound)
{
	long over = 0;
	for (long i = 0; i < spread->count; i++)
		over += spread->values[i] > bound;
	return over;
}

void spread_release(struct spread *spread)
{
	free(spread->values);
	*spread = (struct spread){0};
}
