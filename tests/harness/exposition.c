#include "harness/exposition.h"

#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SERIES_MAX   20000
#define FAMILIES_MAX 500
#define NAME_SIZE    128

struct family {
	char name[NAME_SIZE], type[16];
	bool is_over; /* another one has begun */
};

struct reading {
	struct family families[FAMILIES_MAX];
	size_t family_count;
	char *series[SERIES_MAX]; /* owned */
	size_t series_count;
	const char *line; /* for messages */
	/* of the histogram series that is being read */
	char bucket_labels[512];
	double bucket_count, bucket_bound;
	bool has_buckets;
};

#define DEMAND(r, condition)                                                                       \
	ck_assert_msg(condition, "%s: in line '%.*s'", #condition, (int)strcspn((r)->line, "\n"),  \
		(r)->line)

static bool is_name_start(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static size_t name_length(const char *at)
{
	size_t len = 0;
	if (is_name_start(*at))
		while (is_name_start(at[len]) || (at[len] >= '0' && at[len] <= '9'))
			len++;
	return len;
}

/* Check the labels, and return what follows "{...}". */
static const char *skip_labels(const struct reading *r, const char *at)
{
	if (*at != '{')
		return at;
	do {
		at++;
		size_t len = name_length(at);
		DEMAND(r, len > 0);
		at += len;
		DEMAND(r, at[0] == '=' && at[1] == '"');
		for (at += 2; *at != '"'; at++) {
			DEMAND(r, *at && *at != '\n');
			if (*at == '\\') {
				at++;
				DEMAND(r, *at == '\\' || *at == '"' || *at == 'n');
			}
		}
		at++;
	} while (*at == ',');
	DEMAND(r, *at == '}');
	return at + 1;
}

static struct family *current(struct reading *r)
{
	DEMAND(r, r->family_count > 0);
	return &r->families[r->family_count - 1];
}

static void kill_group(struct reading *r)
{
	DEMAND(r, !r->has_buckets);
	if (r->family_count > 0)
		current(r)->is_over = true;
}

static void read_help(struct reading *r, const char *at)
{
	size_t len = name_length(at);
	DEMAND(r, len > 0 && len < NAME_SIZE && at[len] == ' ' && at[len + 1] > ' ');
	kill_group(r);
	for (size_t i = 0; i < r->family_count; i++)
		DEMAND(r, strlen(r->families[i].name) != len ||
				  strncmp(r->families[i].name, at, len) != 0);
	DEMAND(r, r->family_count < FAMILIES_MAX);
	struct family *family = &r->families[r->family_count++];
	snprintf(family->name, sizeof family->name, "%.*s", (int)len, at);
}

static void read_type(struct reading *r, const char *at)
{
	struct family *family = current(r);
	size_t len = strlen(family->name);
	DEMAND(r, strncmp(at, family->name, len) == 0 && at[len] == ' ' && !*family->type);
	at += len + 1;
	snprintf(family->type, sizeof family->type, "%.*s", (int)strcspn(at, "\n"), at);
	bool is_counter = strcmp(family->type, "counter") == 0;
	DEMAND(r, is_counter || strcmp(family->type, "gauge") == 0 ||
			  strcmp(family->type, "histogram") == 0);
	DEMAND(r, is_counter == (len > 6 && strcmp(family->name + len - 6, "_total") == 0));
}

static void note_series(struct reading *r, const char *series, size_t len)
{
	DEMAND(r, r->series_count < SERIES_MAX);
	for (size_t i = 0; i < r->series_count; i++)
		DEMAND(r, strlen(r->series[i]) != len || strncmp(r->series[i], series, len) != 0);
	r->series[r->series_count++] = strndup(series, len);
}

static double read_value(const struct reading *r, const char *at)
{
	char *end;
	DEMAND(r, *at == ' ' && at[1] != ' ');
	double value = strtod(at + 1, &end);
	DEMAND(r, end > at + 1 && *end == '\n' && isfinite(value));
	return value;
}

/* labels: those before le. */
static void read_bucket(struct reading *r, const char *labels, double value)
{
	const char *le = strstr(labels, "le=\"");
	DEMAND(r, le != NULL);
	double bound = strncmp(le + 4, "+Inf\"", 5) == 0 ? INFINITY : strtod(le + 4, NULL);
	size_t len = (size_t)(le - labels);
	DEMAND(r, len < sizeof r->bucket_labels);
	if (r->has_buckets) {
		DEMAND(r, strncmp(r->bucket_labels, labels, len) == 0 && !r->bucket_labels[len]);
		DEMAND(r, bound > r->bucket_bound && value >= r->bucket_count);
	}
	snprintf(r->bucket_labels, sizeof r->bucket_labels, "%.*s", (int)len, labels);
	r->has_buckets = true;
	r->bucket_bound = bound;
	r->bucket_count = value;
}

static void read_histogram(struct reading *r, const char *suffix, const char *labels, double value)
{
	if (strncmp(suffix, "_bucket", 7) == 0) {
		read_bucket(r, labels, value);
	} else if (strncmp(suffix, "_sum", 4) == 0) {
		DEMAND(r, r->has_buckets && isinf(r->bucket_bound) && value >= 0);
	} else {
		DEMAND(r, strncmp(suffix, "_count", 6) == 0);
		DEMAND(r, r->has_buckets && value == r->bucket_count);
		r->has_buckets = false;
	}
}

static void read_sample(struct reading *r)
{
	struct family *family = current(r);
	size_t len = name_length(r->line), own = strlen(family->name);
	const char *labels = r->line + len, *end = skip_labels(r, labels);
	double value = read_value(r, end);
	bool is_histogram = strcmp(family->type, "histogram") == 0;
	DEMAND(r, *family->type && !family->is_over);
	DEMAND(r, len >= own && strncmp(r->line, family->name, own) == 0);
	DEMAND(r, is_histogram || len == own);
	DEMAND(r, strcmp(family->type, "counter") != 0 || value >= 0);
	note_series(r, r->line, (size_t)(end - r->line));
	if (is_histogram)
		read_histogram(r, r->line + own, labels, value);
}

void exposition_check(const char *text)
{
	struct reading *r = calloc(1, sizeof *r);
	ck_assert_ptr_nonnull(r);
	for (r->line = text; *r->line; r->line = strchr(r->line, '\n') + 1) {
		DEMAND(r, strchr(r->line, '\n') != NULL);
		if (strncmp(r->line, "# HELP ", 7) == 0)
			read_help(r, r->line + 7);
		else if (strncmp(r->line, "# TYPE ", 7) == 0)
			read_type(r, r->line + 7);
		else
			read_sample(r);
	}
	kill_group(r);
	ck_assert_uint_gt(r->series_count, 0);
	while (r->series_count > 0)
		free(r->series[--r->series_count]);
	free(r);
}

double exposition_value(const char *text, const char *series)
{
	size_t len = strlen(series);
	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, series, len) == 0 && line[len] == ' ')
			return strtod(line + len + 1, NULL);
	}
	ck_abort_msg("no %s in:\n%s", series, text);
}
