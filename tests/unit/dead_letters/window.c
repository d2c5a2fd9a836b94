/* How many dead letters the reader is given at once. */
#include "unit/unit.h"

#include "dead_letters/reader.h"
#include "publish/unconfirmed.h"

#define MIB (1024u * 1024)

static const struct {
	uint32_t now;
	uint64_t held, wanted, mean;
	uint32_t window;
} window_cases[] = {
	{0, 0, 1, 0, 1}, {0, 0, 100000, 0, 16},
	{16, 0, 100000, 100, 80},       /* small ones: more on their way */
	{16, 0, 20, 100, 20},           /* no more than there are */
	{16, 1, 100000, 16 * MIB, 16},  /* large ones: enough are */
	{16, 12, 100000, 16 * MIB, 32}, /* no step over 256 MiB */
	{16, 12, 100000, 500u * MIB, 32}, {1040, 0, 100000, 100, 1040}, /* nothing stays: no need */
	{1040, 600, 100000, 100, 2080}, {40000, 40000, 100000, 100, 40000 + READER_STEP_MAX},
	{65536, 65536, 100000, 100, 65536 + READER_STEP_MAX}, {98304, 98304, 100000, 100, 100000},
	{READER_WINDOW_MAX, READER_WINDOW_MAX, 9000000, 100, READER_WINDOW_MAX},
	{100, 100, 10, 100, 100}, /* never narrower */
};

START_TEST(the_window_grows_with_the_messages_that_stay)
{
	for (size_t i = 0; i < sizeof window_cases / sizeof *window_cases; i++) {
		uint32_t got = reader_window(window_cases[i].now, window_cases[i].held,
			window_cases[i].wanted, window_cases[i].mean);
		ck_assert_msg(got == window_cases[i].window, "case %zu: %u", i, got);
	}
}
END_TEST

static const struct {
	uint64_t mean;
	uint32_t steps;
} step_cases[] = {{100, 40}, {1000, 40}, {10000, 50}, {50000, READER_CONSUMERS_MAX}};

/* The widest window needs no more consumers than there may be. */
START_TEST(the_widest_window_takes_few_steps)
{
	for (size_t i = 0; i < sizeof step_cases / sizeof *step_cases; i++) {
		uint32_t window = 0, steps = 0;
		while (window < READER_WINDOW_MAX) {
			window = reader_window(window, window, 9000000, step_cases[i].mean);
			steps++;
		}
		ck_assert_msg(steps <= step_cases[i].steps, "case %zu: %u", i, steps);
	}
}
END_TEST

/* However many messages stay: what is published and not confirmed has places. */
START_TEST(no_more_is_under_way_than_can_be_confirmed)
{
	uint32_t window = 0;
	for (uint64_t held = 0; held < READER_WINDOW_MAX; held += 7) {
		window = reader_window(window, held, 9000000, 10);
		ck_assert_uint_lt(window - held, UNCONFIRMED_MAX);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("dead_letters/window");
	UNIT_CASE(s, "window", the_window_grows_with_the_messages_that_stay,
		the_widest_window_takes_few_steps, no_more_is_under_way_than_can_be_confirmed);
	return s;
}

UNIT_MAIN(suite)
