/* The sessions that a command waits for come back as they were pushed, also when one did not fit.
 */
#include "control/sessions/session_waits.h"
#include "unit/unit.h"

#include <stdio.h>

#define WAITS 50

static struct session_wait made(unsigned i, char key[16])
{
	int len = snprintf(key, 16, "k%.*s%u", (int)(i % 9), "xxxxxxxxx", i);

	return (struct session_wait){.life = i * UINT64_C(0x0101010101), text_of(key, (size_t)len)};
}

START_TEST(the_latest_comes_first)
{
	struct session_waits waits;
	struct session_wait top;
	char key[16];

	session_waits_init(&waits, SIZE_MAX);
	ck_assert(!session_waits_top(&waits, &top));
	for (unsigned i = 0; i < WAITS; i++) {
		struct session_wait wait = made(i, key);
		ck_assert(session_waits_push(&waits, &wait));
	}
	for (unsigned i = WAITS; i-- > 0; session_waits_pop(&waits)) {
		struct session_wait wait = made(i, key);
		ck_assert(session_waits_top(&waits, &top));
		ck_assert(text_is(top.key, wait.key) && top.life == wait.life);
	}
	ck_assert(!session_waits_top(&waits, &top));
	session_waits_release(&waits);
}
END_TEST

/* For each limit: none is there by half. */
START_TEST(one_that_does_not_fit_leaves_the_others)
{
	for (size_t size_max = 1; size_max < 300; size_max++) {
		struct session_waits waits;
		struct session_wait top;
		unsigned pushed[WAITS], count = 0;
		char key[16];

		session_waits_init(&waits, size_max);
		for (unsigned i = 0; i < WAITS; i++) {
			struct session_wait wait = made(i, key);
			if (session_waits_push(&waits, &wait))
				pushed[count++] = i;
		}
		ck_assert_uint_lt(count, WAITS);
		for (; count > 0; session_waits_pop(&waits)) {
			struct session_wait wait = made(pushed[--count], key);
			ck_assert(session_waits_top(&waits, &top));
			ck_assert(text_is(top.key, wait.key) && top.life == wait.life);
		}
		ck_assert(!session_waits_top(&waits, &top));
		session_waits_release(&waits);
	}
}
END_TEST

START_TEST(a_cleared_one_is_empty)
{
	struct session_waits waits;
	struct session_wait top, wait = {1, TEXT("k")};

	session_waits_init(&waits, SIZE_MAX);
	ck_assert(session_waits_push(&waits, &wait));
	session_waits_clear(&waits);
	ck_assert(!session_waits_top(&waits, &top));
	session_waits_release(&waits);
}
END_TEST

static Suite *session_waits_suite(void)
{
	Suite *suite = suite_create("control/session_waits");

	UNIT_CASE(suite, "waits", the_latest_comes_first, one_that_does_not_fit_leaves_the_others,
		a_cleared_one_is_empty);
	return suite;
}

UNIT_MAIN(session_waits_suite)
