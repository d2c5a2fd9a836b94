/* Dead letters on their way: how wide the window is, and what a confirm means. */
#include "unit/unit.h"

#include "cli/dead_letters_ledger.h"
#include "cli/dead_letters_window.h"

/* ---------- the window ---------- */

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
	{1040, 600, 100000, 100, 2080}, {40000, 40000, 100000, 100, READER_WINDOW_MAX},
	{READER_WINDOW_MAX, READER_WINDOW_MAX, 100000, 100, READER_WINDOW_MAX},
	{100, 100, 10, 100, 100}, /* never narrower */
};

START_TEST(the_window_grows_with_what_stays)
{
	for (size_t i = 0; i < sizeof window_cases / sizeof *window_cases; i++) {
		uint32_t got = reader_window(window_cases[i].now, window_cases[i].held,
			window_cases[i].wanted, window_cases[i].mean);
		ck_assert_msg(got == window_cases[i].window, "case %zu: %u", i, got);
	}
}
END_TEST

/* There are not many more consumers to be had. */
START_TEST(the_widest_window_takes_few_steps)
{
	uint32_t window = 0, steps = 0;
	while (window < READER_WINDOW_MAX) {
		window = reader_window(window, window, 1000000, 1000);
		steps++;
	}
	ck_assert_uint_le(steps, SUBSCRIPTIONS_MAX / 2);
}
END_TEST

/* ---------- the ledger ---------- */

static struct ledger ledger;

static unsigned take(uint64_t number, bool multiple, uint64_t *ret_sum)
{
	struct ledger_entry entry;
	unsigned count = 0;
	*ret_sum = 0;
	for (; ledger_take(&ledger, number, multiple, &entry); count++)
		*ret_sum += entry.delivery;
	return count;
}

START_TEST(answers_come_in_any_order)
{
	uint64_t sum;
	ledger = (struct ledger){0};
	ledger_init(&ledger);
	for (uint64_t i = 1; i <= 10; i++)
		ck_assert_uint_eq(ledger_put(&ledger, 100 + i), i);
	ck_assert_uint_eq(take(7, false, &sum), 1);
	ck_assert_uint_eq(sum, 107);
	ck_assert_uint_eq(take(7, false, &sum), 0); /* twice is nothing */
	ck_assert_uint_eq(take(3, true, &sum), 3);
	ck_assert_uint_eq(take(3, true, &sum), 0);
	ck_assert_uint_eq(take(99, false, &sum), 0);
	ck_assert(!ledger_return(&ledger, 3));
	ck_assert(!ledger_return(&ledger, 11));
	ck_assert(ledger_return(&ledger, 8));
	ck_assert_uint_eq(take(8, true, &sum), 4);
	ck_assert_uint_eq(sum, 104 + 105 + 106 + 108);
	ck_assert_uint_eq(take(0, true, &sum), 2); /* all so far */
	ck_assert_uint_eq(take(0, true, &sum), 0);
}
END_TEST

START_TEST(a_full_ledger_goes_round)
{
	struct ledger_entry entry;
	uint64_t sum;
	ledger = (struct ledger){0};
	ledger_init(&ledger);
	for (uint64_t i = 1; i <= 3 * LEDGER_MAX; i++) {
		ledger_put(&ledger, i);
		if (i % 2 == 0)
			ck_assert(ledger_return(&ledger, i));
		if (i < LEDGER_MAX)
			continue;
		ck_assert(ledger_take(&ledger, i - LEDGER_MAX + 1, false, &entry));
		ck_assert_uint_eq(entry.delivery, i - LEDGER_MAX + 1);
		ck_assert_int_eq(entry.was_returned, entry.delivery % 2 == 0);
	}
	ck_assert_uint_eq(take(0, true, &sum), LEDGER_MAX - 1);
}
END_TEST

/* One queue may confirm nothing for long while others take all that is theirs. */
START_TEST(the_oldest_may_wait_for_long)
{
	struct ledger_entry entry;
	uint64_t sum;
	ledger = (struct ledger){0};
	ledger_init(&ledger);
	for (uint64_t i = 1; i <= LEDGER_MAX; i++) {
		ck_assert(!ledger_is_full(&ledger));
		ledger_put(&ledger, i);
		if (i > 1)
			ck_assert(ledger_take(&ledger, i, false, &entry));
	}
	ck_assert(ledger_is_full(&ledger));
	ck_assert_uint_eq(take(1, false, &sum), 1);
	ck_assert(!ledger_is_full(&ledger));
	ck_assert_uint_eq(ledger_put(&ledger, 7), LEDGER_MAX + 1);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("cli dead letters' window");
	UNIT_CASE(s, "window", the_window_grows_with_what_stays, the_widest_window_takes_few_steps);
	UNIT_CASE(s, "ledger", answers_come_in_any_order, a_full_ledger_goes_round,
		the_oldest_may_wait_for_long);
	return s;
}

UNIT_MAIN(suite)
