/* Each address has its share of a turn, and many addresses share what there is. */
#include "http/flood.h"
#include "unit/unit.h"

START_TEST(an_address_has_its_share)
{
	struct flood flood = {0};
	for (int i = 0; i < FLOOD_SHARE; i++) {
		ck_assert(flood_admits(&flood, 7));
		ck_assert(flood_admits(&flood, 8));
	}
	ck_assert(!flood_admits(&flood, 7));
	ck_assert(!flood_admits(&flood, 8));
	ck_assert(flood_admits(&flood, 9));
}
END_TEST

START_TEST(addresses_beyond_the_table_are_admitted)
{
	struct flood flood = {0};
	for (uint64_t address = 0; address < 2 * FLOOD_ADDRESSES; address++)
		ck_assert(flood_admits(&flood, address));
	for (int i = 1; i < FLOOD_SHARE; i++)
		ck_assert(flood_admits(&flood, 0));
	ck_assert(!flood_admits(&flood, 0));
	ck_assert(flood_admits(&flood, 2 * FLOOD_ADDRESSES - 1));
}
END_TEST

/* No listener of TCP has such a queue. */
START_TEST(a_descriptor_that_is_no_listener_is_not_flooded)
{
	ck_assert(!flood_is_on(-1));
	ck_assert(!flood_is_on(0));
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("http/flood");
	UNIT_CASE(s, "flood", an_address_has_its_share, addresses_beyond_the_table_are_admitted,
		a_descriptor_that_is_no_listener_is_not_flooded);
	return s;
}

UNIT_MAIN(suite)
