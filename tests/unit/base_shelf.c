/* A shelf: what is on it stays where it is. */
#include "base/shelf.h"
#include "unit/unit.h"
#include <stdalign.h>

struct thing {
	uint32_t number;
	struct thing *self;
};

static void put(struct shelf *shelf, uint32_t from, uint32_t to)
{
	ck_assert_int_eq(shelf_grow(shelf, to), RC_OK);
	ck_assert_uint_eq(shelf->count, to);
	for (uint32_t i = from; i < to; i++) {
		struct thing *thing = shelf->at[i];
		ck_assert_uint_eq(thing->number, 0);
		ck_assert_ptr_null(thing->self);
		ck_assert_uint_eq((uintptr_t)thing % alignof(max_align_t), 0);
		*thing = (struct thing){i, thing};
	}
}

START_TEST(what_is_there_does_not_move)
{
	static const uint32_t counts[] = {1, 2, 7, 8, 100, 10001};
	struct shelf shelf;
	uint32_t before = 0;
	shelf_init(&shelf, sizeof(struct thing));
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		put(&shelf, before, counts[i]);
		before = counts[i];
	}
	for (uint32_t i = 0; i < before; i++) {
		struct thing *thing = shelf.at[i];
		ck_assert_uint_eq(thing->number, i);
		ck_assert_ptr_eq(thing->self, thing);
	}
	ck_assert_int_eq(shelf_grow(&shelf, 5), RC_OK);
	ck_assert_uint_eq(shelf.count, before);
	shelf_release(&shelf);
	ck_assert_uint_eq(shelf.count, 0);
	put(&shelf, 0, 3);
	shelf_release(&shelf);
	shelf_release(&shelf);
}
END_TEST

static Suite *shelf_suite(void)
{
	Suite *suite = suite_create("base_shelf");
	UNIT_CASE(suite, "shelf", what_is_there_does_not_move);
	return suite;
}

UNIT_MAIN(shelf_suite)
