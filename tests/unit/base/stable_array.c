/* A stable array: what is on it stays where it is. */
#include "base/stable_array.h"
#include "unit/unit.h"
#include <stdalign.h>

struct thing {
	uint32_t number;
	struct thing *self;
};

static void put(struct stable_array *stable_array, uint32_t from, uint32_t to)
{
	ck_assert_int_eq(stable_array_grow(stable_array, to), RC_OK);
	ck_assert_uint_eq(stable_array->count, to);
	for (uint32_t i = from; i < to; i++) {
		struct thing *thing = stable_array->at[i];
		ck_assert_uint_eq(thing->number, 0);
		ck_assert_ptr_null(thing->self);
		ck_assert_uint_eq((uintptr_t)thing % alignof(max_align_t), 0);
		*thing = (struct thing){i, thing};
	}
}

START_TEST(items_do_not_move)
{
	static const uint32_t counts[] = {1, 2, 7, 8, 100, 10001};
	struct stable_array stable_array;
	uint32_t before = 0;
	stable_array_init(&stable_array, sizeof(struct thing));
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		put(&stable_array, before, counts[i]);
		before = counts[i];
	}
	for (uint32_t i = 0; i < before; i++) {
		struct thing *thing = stable_array.at[i];
		ck_assert_uint_eq(thing->number, i);
		ck_assert_ptr_eq(thing->self, thing);
	}
	ck_assert_int_eq(stable_array_grow(&stable_array, 5), RC_OK);
	ck_assert_uint_eq(stable_array.count, before);
	stable_array_release(&stable_array);
	ck_assert_uint_eq(stable_array.count, 0);
	put(&stable_array, 0, 3);
	stable_array_release(&stable_array);
	stable_array_release(&stable_array);
}
END_TEST

static Suite *stable_array_suite(void)
{
	Suite *suite = suite_create("base/stable_array");
	UNIT_CASE(suite, "array", items_do_not_move);
	return suite;
}

UNIT_MAIN(stable_array_suite)
