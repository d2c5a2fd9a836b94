/* The ring keeps the last lines in bounded memory, for fast and slow readers. */
#include "base/log_ring.h"
#include "unit/unit.h"

#include <stdio.h>
#include <stdlib.h>

static char line[4096];

/* Line number i: the number, then dots up to len bytes. */
static struct text line_of(uint64_t i, size_t len)
{
	int head = snprintf(line, sizeof line, "%llu", (unsigned long long)i);
	memset(line + head, '.', sizeof line - (size_t)head);
	return text_of(line, len < (size_t)head ? (size_t)head : len);
}

static void add(struct log_ring *ring, uint64_t i, size_t len)
{
	struct log_record record = {.level = (enum log_level)(i % 4),
		.pool = i % 3 ? TEXT("pool") : TEXT_NONE,
		.slot = (int)(i % 5) - 1,
		.line = line_of(i, len)};
	ck_assert(log_ring_add(ring, &record));
}

static void expect(const struct log_record *record, uint64_t i)
{
	char words[32];
	snprintf(words, sizeof words, "%.*s", TEXT_ARGS(record->line));
	ck_assert_uint_eq(strtoull(words, NULL, 10), i);
	ck_assert_int_eq(record->level, (int)(i % 4));
	ck_assert_int_eq(record->slot, (int)(i % 5) - 1);
	ck_assert(text_is(record->pool, i % 3 ? TEXT("pool") : TEXT_NONE));
}

START_TEST(an_empty_ring_has_no_line)
{
	struct log_ring *ring = log_ring_new(1000);
	struct log_cursor at = log_ring_begin(ring);
	struct log_record record;
	uint64_t missed = 0;
	ck_assert(!log_ring_next(ring, &at, &record, &missed));
	static char large[1001];
	ck_assert(!log_ring_add(ring, &(struct log_record){.line = text_of(large, sizeof large)}));
	ck_assert(!log_ring_next(ring, &at, &record, &missed));
	ck_assert_uint_eq(missed, 0);
	log_ring_free(ring);
	log_ring_free(NULL);
}
END_TEST

/* Lines of many lengths meet the end of the memory. One reader reads after each line, one now and
 * then, one from the first line again. Each gets every line, or the number of missed
 * lines. */
START_TEST(each_reader_gets_a_line_or_learns_that_it_missed_it)
{
	enum { LINES = 20000 };
	struct log_ring *ring = log_ring_new(997);
	struct log_cursor quick = log_ring_begin(ring), slow = quick;
	uint64_t next_slow = 0, missed_slow = 0, max = 0;
	unsigned seed = 7;
	for (uint64_t i = 0; i < LINES; i++) {
		struct log_record record;
		uint64_t missed = 0;
		seed = seed * 1103515245 + 12345;
		add(ring, i, (seed >> 16) % (i % 100 == 0 ? 900 : 120));
		ck_assert(log_ring_next(ring, &quick, &record, &missed));
		expect(&record, i);
		ck_assert(!log_ring_next(ring, &quick, &record, &missed));
		ck_assert_uint_eq(missed, 0);
		if ((seed >> 8) % 16 == 0) {
			missed = 0;
			while (log_ring_next(ring, &slow, &record, &missed)) {
				next_slow += missed;
				missed_slow += missed;
				missed = 0;
				expect(&record, next_slow++);
			}
			ck_assert_uint_eq(next_slow, i + 1);
		}
		struct log_cursor begin = log_ring_begin(ring);
		uint64_t first = begin.serial, count = 0;
		while (log_ring_next(ring, &begin, &record, &missed))
			expect(&record, first + count++);
		ck_assert_uint_eq(first + count, i + 1);
		ck_assert_uint_eq(missed, 0);
		max = count > max ? count : max;
	}
	ck_assert_uint_gt(missed_slow, 0);
	ck_assert_uint_gt(max, 10);
	ck_assert_uint_eq(log_ring_end(ring).serial, LINES);
	log_ring_free(ring);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("base/log_ring");
	UNIT_CASE(s, "ring", an_empty_ring_has_no_line,
		each_reader_gets_a_line_or_learns_that_it_missed_it);
	return s;
}

UNIT_MAIN(suite)
