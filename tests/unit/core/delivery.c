/* Who holds a delivery: it is freed when its owner and the last holder have let it go. */
#include "core/tasks/delivery.h"
#include "unit/unit.h"

START_TEST(a_freed_delivery_stays_until_its_last_holder_releases_it)
{
	struct delivery *delivery = delivery_new(8);
	delivery_hold(delivery);
	delivery_hold(delivery);
	delivery_free(delivery);
	delivery_release(delivery);
	ck_assert(delivery->is_freed);
	ck_assert_uint_eq(delivery->holds, 1);
	delivery_release(delivery); /* a leak or a use after this is for the sanitizers */
}
END_TEST

START_TEST(a_released_delivery_stays_until_its_owner_frees_it)
{
	struct delivery *delivery = delivery_new(8);
	delivery_hold(delivery);
	delivery_release(delivery);
	ck_assert(!delivery->is_freed);
	delivery_free(delivery);
	delivery_free(NULL);
}
END_TEST

static Suite *delivery_suite(void)
{
	Suite *suite = suite_create("core/delivery");
	UNIT_CASE(suite, "holders", a_freed_delivery_stays_until_its_last_holder_releases_it,
		a_released_delivery_stays_until_its_owner_frees_it);
	return suite;
}

UNIT_MAIN(delivery_suite)
