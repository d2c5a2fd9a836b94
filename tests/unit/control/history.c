/* The history of many pools is made in small pieces, while seconds end and pools leave. */
#include "control/history.h"

#include "os/clock.h"
#include "runtime/pool_set.h"
#include "unit/support/runtime/runtime_rig.h"

#include <jansson.h>

#define BEGIN 5000

static struct runtime_rig rig;
static struct pool_set pool_set;
static const struct supervisor_view view = {.pool_set = &pool_set};
static struct pool_runtime *first, *second;
static struct history_list list;
static struct buf text;
static json_t *document; /* of the last entries() */

static struct pool_runtime *add_pool(void)
{
	struct config_pool config = runtime_rig_config(runtime_rig_words(unit_own_path()), 1);

	return pool_set_add(&pool_set, &rig.tools, &config, clock_now());
}

static void set_up(void)
{
	runtime_rig_open(&rig, 1);
	first = add_pool();
	second = add_pool();
	buf_init(&text, SIZE_MAX);
}

static void tear_down(void)
{
	json_decref(document);
	buf_release(&text);
	pool_set_release(&pool_set);
	runtime_rig_close(&rig);
}

/* Numbers as long as they may be. */
static void end_second(int64_t now, uint32_t done)
{
	const struct history_second figures = {UINT32_MAX, done, UINT32_MAX, 1, 4e6F, 4e6F, 0.25F};

	history_end_seconds(&pool_set.history, now, &figures);
	for (size_t place = 0; pool_set_at(&pool_set, place); place++)
		history_end_seconds(&pool_set_at(&pool_set, place)->history, now, &figures);
}

/* False: it was the last piece. */
static bool make_piece(void)
{
	size_t before = buf_len(&text);
	bool is_more = history_list_next(&list, &text);

	ck_assert_uint_le(buf_len(&text) - before, HISTORY_PIECE_MAX);
	return is_more;
}

static json_t *entries(void)
{
	json_decref(document);
	document = json_loadb((const char *)buf_text(&text).ptr, buf_len(&text), 0, NULL);
	ck_assert_ptr_nonnull(document);
	return json_object_get(document, "history");
}

static json_int_t integer(const json_t *entry, const char *name)
{
	return json_integer_value(json_object_get(entry, name));
}

/* [back, in, done, ...] */
static const json_t *second_at(const json_t *entry, size_t i)
{
	return json_array_get(json_object_get(entry, "seconds"), i);
}

static json_int_t figure(const json_t *entry, size_t i, size_t what)
{
	return json_integer_value(json_array_get(second_at(entry, i), what));
}

START_TEST(each_pool_has_its_seconds)
{
	for (int i = 0; i < 100; i++)
		end_second(BEGIN + i, (uint32_t)(i == 50 ? 0 : i));
	first->history.at[(BEGIN + 49) % HISTORY_SECONDS] = (struct history_second){0};
	first->history.at[(BEGIN + 98) % HISTORY_SECONDS].timed = 0;
	history_list_init(&list, &view, 0);
	while (make_piece())
		;
	const json_t *all = entries(), *entry = json_array_get(all, 1);
	ck_assert_uint_eq(json_array_size(all), 3);
	ck_assert(json_is_null(json_object_get(json_array_get(all, 0), "pool")));
	ck_assert_int_eq(integer(json_array_get(all, 0), "serial"), 0);
	ck_assert_str_eq(json_string_value(json_object_get(entry, "pool")), "pool");
	ck_assert_int_eq(integer(entry, "serial"), first->serial);
	ck_assert_int_eq(integer(entry, "kept"), 99);
	ck_assert_uint_eq(json_array_size(json_object_get(entry, "seconds")), 98);
	ck_assert_uint_eq(json_array_size(json_object_get(json_array_get(all, 2), "seconds")), 99);
	ck_assert_int_eq(figure(entry, 0, 0), 98);
	ck_assert_int_eq(figure(entry, 0, 2), 1);
	ck_assert(json_real_value(json_array_get(second_at(entry, 0), 4)) == 4e6);
	ck_assert(json_real_value(json_array_get(second_at(entry, 0), 6)) == 0.25);
	ck_assert_int_eq(figure(entry, 97, 0), 0);
	ck_assert_int_eq(figure(entry, 97, 1), UINT32_MAX);
	ck_assert_int_eq(figure(entry, 97, 2), 99);
	ck_assert(json_is_null(json_array_get(second_at(entry, 97), 6)));
}
END_TEST

START_TEST(one_pool_may_be_asked_for)
{
	end_second(BEGIN, 0);
	end_second(BEGIN + 1, 1);
	history_list_init(&list, &view, second->serial);
	while (make_piece())
		;
	ck_assert_uint_eq(json_array_size(entries()), 1);
	ck_assert_int_eq(integer(json_array_get(entries(), 0), "serial"), second->serial);
}
END_TEST

START_TEST(before_the_first_second_there_is_none)
{
	history_list_init(&list, &view, 0);
	while (make_piece())
		;
	const json_t *entry = json_array_get(entries(), 2);
	ck_assert(json_is_null(json_object_get(entry, "age_s")));
	ck_assert_int_eq(integer(entry, "kept"), 0);
}
END_TEST

/* All entries end with the same second, and what is dropped meanwhile is missing at the beginning.
 */
START_TEST(seconds_end_while_it_is_made)
{
	int64_t now = BEGIN;

	for (int i = 0; i <= HISTORY_SECONDS; i++)
		end_second(now++, 7);
	history_list_init(&list, &view, 0);
	while (make_piece())
		end_second(now++, 8);
	const json_t *all = entries();
	for (size_t i = 0; i < 3; i++) {
		const json_t *entry = json_array_get(all, i);
		size_t count = json_array_size(json_object_get(entry, "seconds"));
		ck_assert_uint_gt(count, HISTORY_SECONDS - 100);
		ck_assert_uint_lt(count, HISTORY_SECONDS);
		ck_assert_int_eq(figure(entry, count - 1, 0), 0);
		for (size_t n = 0; n < count; n++)
			ck_assert_int_eq(figure(entry, n, 2), 7);
	}
}
END_TEST

/* Another pool may take its place. */
START_TEST(a_pool_leaves_while_it_is_made)
{
	for (int i = 0; i <= HISTORY_SECONDS; i++)
		end_second(BEGIN + i, 7);
	history_list_init(&list, &view, 0);
	while (list.serial != first->serial || !list.has_seconds)
		ck_assert(make_piece());
	pool_set_remove(&pool_set, first);
	first = add_pool();
	ck_assert_uint_eq(first->place, 0);
	while (make_piece())
		;
	const json_t *all = entries();
	ck_assert_uint_eq(json_array_size(all), 3);
	ck_assert_uint_lt(json_array_size(json_object_get(json_array_get(all, 1), "seconds")), 100);
	ck_assert_uint_eq(json_array_size(json_object_get(json_array_get(all, 2), "seconds")),
		HISTORY_SECONDS);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("control/history");
	TCase *tcase = tcase_create("history");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, each_pool_has_its_seconds);
	tcase_add_test(tcase, one_pool_may_be_asked_for);
	tcase_add_test(tcase, before_the_first_second_there_is_none);
	tcase_add_test(tcase, seconds_end_while_it_is_made);
	tcase_add_test(tcase, a_pool_leaves_while_it_is_made);
	suite_add_tcase(s, tcase);
	return s;
}

int main(int argc, char **argv)
{
	return runtime_rig_run(argc, argv, suite);
}
