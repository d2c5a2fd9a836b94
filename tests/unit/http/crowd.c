/* Who goes first in a crowd: the oldest of the address that has the most connections. */
#include "http/crowd.h"
#include "unit/unit.h"

#include <arpa/inet.h>
#include <string.h>

START_TEST(oldest_of_the_most_frequent_is_chosen)
{
	static const struct {
		uint64_t addresses[8];
		size_t count, chosen;
	} cases[] = {
		{{7}, 1, 0},
		{{7, 7}, 2, 0},
		{{7, 8}, 2, 0},
		{{7, 8, 8}, 3, 1},
		{{7, 8, 7, 8, 8}, 5, 1},
		{{9, 8, 7, 7, 8}, 5, 1},
		{{0, 8, 0, 8, 0}, 5, 0},
		{{1, 2, 3, 4, 5, 6, 7, 7}, 8, 6},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		ck_assert_uint_eq(
			crowd_choose(cases[i].addresses, cases[i].count), cases[i].chosen);
}
END_TEST

/* Also where all addresses differ, or all have the same place in a table. */
START_TEST(largest_crowd_is_counted)
{
	static uint64_t addresses[CROWD_MAX];
	for (size_t i = 0; i < CROWD_MAX; i++)
		addresses[i] = i;
	ck_assert_uint_eq(crowd_choose(addresses, CROWD_MAX), 0);
	addresses[CROWD_MAX - 1] = 500;
	ck_assert_uint_eq(crowd_choose(addresses, CROWD_MAX), 500);
	for (size_t i = 0; i < CROWD_MAX; i++)
		addresses[i] = i << 53;
	addresses[CROWD_MAX - 1] = UINT64_C(3) << 53;
	ck_assert_uint_eq(crowd_choose(addresses, CROWD_MAX), 3);
}
END_TEST

static uint64_t number_of(const char *text)
{
	struct sockaddr_storage peer = {.ss_family = AF_UNIX};
	struct sockaddr_in *ip4 = (struct sockaddr_in *)&peer;
	struct sockaddr_in6 *ip6 = (struct sockaddr_in6 *)&peer;
	if (inet_pton(AF_INET, text, &ip4->sin_addr) == 1)
		peer.ss_family = AF_INET;
	else if (inet_pton(AF_INET6, text, &ip6->sin6_addr) == 1)
		peer.ss_family = AF_INET6;
	return crowd_address(&peer);
}

START_TEST(addresses_of_one_machine_are_one)
{
	static const char *const different[] = {"127.0.0.1", "127.0.0.2", "::1", "2001:db8::1",
		"2001:db8:0:1::1", "0.0.0.0", "ffff::", "unix"};
	ck_assert_uint_eq(number_of("unix"), 0);
	ck_assert_uint_eq(number_of("127.0.0.1"), number_of("::ffff:127.0.0.1"));
	ck_assert_uint_eq(number_of("2001:db8::1"), number_of("2001:db8::ffff:1"));
	for (size_t i = 0; i < sizeof different / sizeof *different; i++)
		for (size_t j = 0; j < i; j++)
			ck_assert_msg(number_of(different[i]) != number_of(different[j]), "%s, %s",
				different[i], different[j]);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("http/crowd");
	TCase *tcase = tcase_create("crowd");
	tcase_add_test(tcase, oldest_of_the_most_frequent_is_chosen);
	tcase_add_test(tcase, largest_crowd_is_counted);
	tcase_add_test(tcase, addresses_of_one_machine_are_one);
	suite_add_tcase(s, tcase);
	return s;
}

UNIT_MAIN(suite)
