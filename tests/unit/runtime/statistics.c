/* What is kept of the last worker that died, and of a restart that was given up. */
#include "runtime/statistics.h"
#include "base/utf8.h"
#include "core/tasks/output.h"
#include "unit/unit.h"

/* A worker's last line may be anything. */
START_TEST(a_last_line_is_kept_as_it_may_be_shown)
{
	static struct statistics statistics;
	char bytes[2 * STDERR_LINE_SIZE];
	struct output output = {.stderr_line = TEXT("a\0\x1b[31m\r\xc2\x9b\xff")};
	struct notice notice = {.kind = NOTICE_WORKER_DIED, .output = &output};

	statistics_count(&statistics, &notice);
	ck_assert_str_eq(statistics.last_death.stderr_line, "a\\x00\\x1b[31m\\r\\x9b\xef\xbf\xbd");
	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = i % 2 ? '\xa4' : '\xc3';
	output.stderr_line = text_of(bytes, sizeof bytes);
	statistics_count(&statistics, &notice);
	/* 255 bytes have place: 127 characters of two. */
	ck_assert_uint_eq(strlen(statistics.last_death.stderr_line), 254);
	ck_assert(utf8_is_valid(text_from(statistics.last_death.stderr_line)));
}
END_TEST

START_TEST(a_failed_restart_is_kept_until_another_one_succeeds)
{
	static struct statistics statistics;
	const struct failed_restart *restart = &statistics.failed_restart;
	struct notice died = {
		.kind = NOTICE_WORKER_DIED, .exit = {.kind = EXIT_STATUS, .number = 3}};
	struct notice stops = {.kind = NOTICE_ROLL_STOPS, .what = "it rains", .number = 3};

	statistics_count(&statistics, &died);
	statistics_count(&statistics, &stops);
	died.exit.number = 4; /* of no worker of the restart */
	statistics_count(&statistics, &died);
	statistics_count(&statistics, &(struct notice){.kind = NOTICE_ROLL_BEGINS});
	ck_assert_str_eq(restart->why, "it rains");
	ck_assert_int_eq(restart->last.exit.number, 3);
	stops.number = 0;
	statistics_count(&statistics, &stops);
	ck_assert_int_eq(restart->last.exit.kind, EXIT_NONE);
	statistics_count(&statistics, &(struct notice){.kind = NOTICE_ROLL_ENDS});
	ck_assert_ptr_null(restart->why);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("runtime/statistics");
	UNIT_CASE(s, "death", a_last_line_is_kept_as_it_may_be_shown,
		a_failed_restart_is_kept_until_another_one_succeeds);
	return s;
}

UNIT_MAIN(suite)
