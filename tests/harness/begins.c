#include "harness/begins.h"

#include "harness/fixture.h"
#include "harness/scratch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *begins_path(void)
{
	return scratch_path(fixture.folder, "begins");
}

const char *begins_variable(void)
{
	return scratch_text("BEGINS=%s", begins_path());
}

const char *begins_setting(void)
{
	return scratch_text("env: {BEGINS: '%s'}", begins_path());
}

static int by_time(const void *one, const void *other)
{
	const struct begin *a = one, *b = other;
	return (a->at > b->at) - (a->at < b->at);
}

static int count_lines(const char *text)
{
	int count = 0;
	for (const char *at = text; (at = strchr(at, '\n')); at++)
		count++;
	return count;
}

static void parse(const char *line, struct begin *begin)
{
	ck_assert_int_eq(sscanf(line, "%" SCNd64 " %79s %19s %39s %lld", &begin->at, begin->queue,
				 begin->tenant, begin->id, &begin->attempt),
		5);
}

static void append(struct begins *begins, const char *text)
{
	int more = count_lines(text);
	begins->all =
		realloc(begins->all, (size_t)(begins->count + more + 1) * sizeof *begins->all);
	ck_assert_ptr_nonnull(begins->all);
	for (int i = 0; i < more; i++, text = strchr(text, '\n') + 1)
		parse(text, &begins->all[begins->count++]);
	qsort(begins->all, (size_t)begins->count, sizeof *begins->all, by_time);
}

/* The whole lines from the offset on; moves out. */
static char *read_from(const char *path, size_t offset)
{
	char *text = NULL, block[65536], *end;
	size_t size = 0, count;
	FILE *file = fopen(path, "r"), *copy = open_memstream(&text, &size);
	ck_assert_ptr_nonnull(copy);
	if (file && fseek(file, (long)offset, SEEK_SET) == 0)
		while ((count = fread(block, 1, sizeof block, file)) > 0)
			ck_assert_uint_eq(fwrite(block, 1, count, copy), count);
	if (file)
		fclose(file);
	fclose(copy);
	end = strrchr(text, '\n');
	*(end ? end + 1 : text) = 0;
	return text;
}

void begins_follow(struct begins *begins)
{
	char *text = read_from(begins_path(), begins->offset);
	append(begins, text);
	begins->offset += strlen(text);
	free(text);
}

void begins_read(struct begins *begins)
{
	begins_release(begins);
	begins_follow(begins);
}

void begins_release(struct begins *begins)
{
	free(begins->all);
	*begins = (struct begins){0};
}

void begins_skip(struct begins *begins, int count)
{
	ck_assert_int_le(count, begins->count);
	begins->count -= count;
	memmove(begins->all, begins->all + count, (size_t)begins->count * sizeof *begins->all);
}

/* The shortest time from a start to the one that is limit after it. */
static int64_t shortest(const struct begins *begins, const char *tenant, int limit, int *ret_count)
{
	int64_t *latest = calloc((size_t)limit, sizeof *latest), least = INT64_MAX;
	int count = 0;
	ck_assert_ptr_nonnull(latest);
	for (int i = 0; i < begins->count; i++) {
		const struct begin *begin = &begins->all[i];
		if (tenant && strcmp(begin->tenant, tenant) != 0)
			continue;
		int64_t *oldest = &latest[count % limit];
		if (count >= limit && begin->at - *oldest < least)
			least = begin->at - *oldest;
		*oldest = begin->at;
		count++;
	}
	free(latest);
	*ret_count = count;
	return least;
}

int begins_expect_windows(
	const struct begins *begins, const char *tenant, int limit, int64_t period)
{
	int count;
	int64_t least = shortest(begins, tenant, limit, &count);
	if (least < period - period / BEGINS_LATE_PART)
		fixture_fail(scratch_text("%s: %d starts within %" PRId64 " us",
			tenant ? tenant : "all", limit + 1, least));
	return count;
}

int64_t begins_shortest(const struct begins *begins, const char *tenant, int limit)
{
	int count;
	return shortest(begins, tenant, limit, &count);
}

int begins_count_queue(const struct begins *begins, const char *queue, int among)
{
	int count = 0;
	for (int i = 0; i < among; i++)
		count += strcmp(begins->all[i].queue, queue) == 0;
	return count;
}
