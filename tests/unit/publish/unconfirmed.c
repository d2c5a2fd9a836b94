/* Which unconfirmed publishes an answer covers, and what becomes of them. */
#include "unit/unit.h"

#include "publish/unconfirmed.h"

static struct unconfirmed u;

static void set_up(void)
{
	ck_assert_int_eq(unconfirmed_init(&u), RC_OK);
}

static void tear_down(void)
{
	unconfirmed_release(&u);
}

static uint64_t add(uint64_t delivery_tag)
{
	return unconfirmed_add(&u, (union unconfirmed_item){.delivery_tag = delivery_tag});
}

/* Return how many publishes an answer covers, the kind of the last, and the sum of their delivery
 * tags. */
static unsigned take(enum publish_answer_kind kind, uint64_t number, bool multiple,
	enum publish_answer_kind *ret_kind, uint64_t *ret_sum)
{
	struct publish_answer answer = {kind, number, multiple};
	union unconfirmed_item item;
	unsigned count = 0;
	*ret_sum = 0;
	for (enum publish_answer_kind one; (one = unconfirmed_take(&u, &answer, &item)); count++) {
		*ret_kind = one;
		*ret_sum += item.delivery_tag;
	}
	return count;
}

static unsigned confirm(uint64_t number, bool multiple, uint64_t *ret_sum)
{
	enum publish_answer_kind kind;
	return take(PUBLISH_CONFIRMED, number, multiple, &kind, ret_sum);
}

START_TEST(answers_come_in_any_order)
{
	uint64_t sum;
	for (uint64_t i = 1; i <= 10; i++)
		ck_assert_uint_eq(add(100 + i), i);
	ck_assert_uint_eq(confirm(7, false, &sum), 1);
	ck_assert_uint_eq(sum, 107);
	ck_assert_uint_eq(confirm(7, false, &sum), 0); /* a second confirm changes nothing */
	ck_assert_uint_eq(confirm(3, true, &sum), 3);
	ck_assert_uint_eq(confirm(3, true, &sum), 0);
	ck_assert_uint_eq(confirm(99, false, &sum), 0);
	ck_assert(!unconfirmed_return(&u, 3));
	ck_assert(!unconfirmed_return(&u, 11));
	ck_assert(unconfirmed_return(&u, 8));
	ck_assert_uint_eq(confirm(8, true, &sum), 4);
	ck_assert_uint_eq(sum, 104 + 105 + 106 + 108);
	ck_assert_uint_eq(confirm(10, true, &sum), 2);
	ck_assert_uint_eq(confirm(10, true, &sum), 0);
	ck_assert_uint_eq(u.count, 0);
}
END_TEST

START_TEST(take_returns_what_became_of_each_publish)
{
	enum publish_answer_kind kind;
	uint64_t sum;
	for (uint64_t i = 1; i <= 4; i++)
		add(i);
	ck_assert(unconfirmed_return(&u, 2));
	ck_assert(unconfirmed_return(&u, 4));
	ck_assert_uint_eq(take(PUBLISH_CONFIRMED, 1, false, &kind, &sum), 1);
	ck_assert_int_eq(kind, PUBLISH_CONFIRMED);
	ck_assert_uint_eq(take(PUBLISH_CONFIRMED, 2, false, &kind, &sum), 1);
	ck_assert_int_eq(kind, PUBLISH_RETURNED);
	ck_assert_uint_eq(take(PUBLISH_REFUSED, 3, false, &kind, &sum), 1);
	ck_assert_int_eq(kind, PUBLISH_REFUSED);
	ck_assert_uint_eq(take(PUBLISH_REFUSED, 4, false, &kind, &sum), 1);
	ck_assert_int_eq(kind, PUBLISH_RETURNED);
}
END_TEST

START_TEST(numbers_restart_at_1_on_a_new_channel)
{
	union unconfirmed_item item;
	for (uint64_t i = 1; i <= 3; i++)
		add(100 + i);
	ck_assert(unconfirmed_take_lost(&u, &item));
	ck_assert_uint_eq(item.delivery_tag, 101);
	unconfirmed_clear(&u);
	ck_assert(!unconfirmed_take_lost(&u, &item));
	ck_assert(!unconfirmed_return(&u, 2));
	ck_assert_uint_eq(add(200), 1);
}
END_TEST

START_TEST(ring_wraps_around)
{
	enum publish_answer_kind kind;
	uint64_t sum, wrong = 0;
	for (uint64_t i = 1; i <= 3 * UNCONFIRMED_MAX; i++) {
		add(i);
		if (i % 2 == 0)
			wrong += !unconfirmed_return(&u, i);
		if (i < UNCONFIRMED_MAX)
			continue;
		uint64_t oldest = i - UNCONFIRMED_MAX + 1;
		wrong += take(PUBLISH_CONFIRMED, oldest, false, &kind, &sum) != 1;
		wrong += sum != oldest;
		wrong += (kind == PUBLISH_RETURNED) != (oldest % 2 == 0);
	}
	ck_assert_uint_eq(wrong, 0);
	ck_assert_uint_eq(confirm(3 * UNCONFIRMED_MAX, true, &sum), UNCONFIRMED_MAX - 1);
}
END_TEST

/* One queue may confirm nothing for a long time while others confirm everything. */
START_TEST(oldest_publish_may_stay_unconfirmed)
{
	uint64_t sum, wrong = 0;
	for (uint64_t i = 1; i <= UNCONFIRMED_MAX; i++) {
		wrong += unconfirmed_is_full(&u);
		add(i);
		if (i > 1)
			wrong += confirm(i, false, &sum) != 1;
	}
	ck_assert_uint_eq(wrong, 0);
	ck_assert(unconfirmed_is_full(&u));
	ck_assert_uint_eq(confirm(1, false, &sum), 1);
	ck_assert(!unconfirmed_is_full(&u));
	ck_assert_uint_eq(add(7), UNCONFIRMED_MAX + 1);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("publish/unconfirmed");
	TCase *answers = tcase_create("answers");
	tcase_add_checked_fixture(answers, set_up, tear_down);
	tcase_add_test(answers, answers_come_in_any_order);
	tcase_add_test(answers, take_returns_what_became_of_each_publish);
	tcase_add_test(answers, numbers_restart_at_1_on_a_new_channel);
	tcase_add_test(answers, ring_wraps_around);
	tcase_add_test(answers, oldest_publish_may_stay_unconfirmed);
	suite_add_tcase(s, answers);
	return s;
}

UNIT_MAIN(suite)
