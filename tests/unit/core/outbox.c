/* The outbox by itself: numbers, order, the table that grows or does not, and bytes. */
#include "core/tasks/outbox.h"
#include "core/tasks/source.h"
#include "unit/support/core/keyed.h"
#include "unit/support/core/memory.h"
#include <limits.h>

#define PARCELS 1000

struct bench {
	struct rig rig; /* records the publishes */
	struct source source;
	struct outbox outbox;
	struct delivery *deliveries[PARCELS + 1];
};

static void on_publish_quietly(void *io, const struct parcel *parcel)
{
	(void)io;
	(void)parcel;
}

static const struct effects quiet_effects = {.publish = on_publish_quietly};

static struct bench *bench_new(const struct effects *effects, uint64_t parcels)
{
	struct bench *bench = calloc(1, sizeof *bench);
	ck_assert_int_eq(outbox_init(&bench->outbox, effects, &bench->rig), RC_OK);
	source_init(&bench->source, false, &rig_effects, &bench->rig);
	for (uint64_t tag = 1; tag <= parcels; tag++) {
		bench->deliveries[tag] = rig_delivery(tag);
		bench->deliveries[tag]->source = &bench->source;
	}
	return bench;
}

static struct parcel *parcel(struct bench *bench, uint64_t tag)
{
	return &bench->deliveries[tag]->parcel;
}

static void put(struct bench *bench, uint64_t first, uint64_t last)
{
	for (uint64_t tag = first; tag <= last; tag++)
		outbox_put(&bench->outbox, parcel(bench, tag));
}

static void bench_free(struct bench *bench)
{
	for (uint64_t tag = 1; tag <= PARCELS; tag++)
		delivery_free(bench->deliveries[tag]);
	outbox_release(&bench->outbox);
	free(bench);
}

START_TEST(numbers_start_again_with_each_channel)
{
	struct bench *bench = bench_new(&rig_effects, 3);
	struct outbox *outbox = &bench->outbox;
	struct link orphans;
	list_init(&orphans);
	put(bench, 1, 2);
	rig_expect(&bench->rig, "");
	ck_assert(!outbox_is_current(outbox, UINT32_MAX));
	outbox_up(outbox, 0);
	ck_assert(outbox_is_current(outbox, 0) && !outbox_is_current(outbox, 1));
	put(bench, 3, 3);
	rig_expect(&bench->rig, "publish 1 reply 1, publish 2 reply 2, publish 3 reply 3");
	outbox_take(outbox, outbox_find(outbox, 2));
	ck_assert_ptr_null(outbox_find(outbox, 2));
	ck_assert_ptr_null(outbox_find(outbox, 0));
	ck_assert_ptr_null(outbox_down(outbox, LOSS_CONNECTION, &orphans));
	ck_assert(list_is_empty(&orphans));
	ck_assert_ptr_null(outbox_oldest(outbox));
	outbox_up(outbox, 1);
	rig_expect(&bench->rig, "publish 1 reply 1, publish 2 reply 3");
	ck_assert_ptr_eq(outbox_oldest(outbox), parcel(bench, 1));
	ck_assert_ptr_eq(outbox_find(outbox, 2), parcel(bench, 3));
	bench_free(bench);
}
END_TEST

/* Every number is found, whether the table could grow or not. */
START_TEST(the_table_grows_while_there_is_memory)
{
	struct bench *bench = bench_new(&quiet_effects, PARCELS);
	struct outbox *outbox = &bench->outbox;
	outbox_up(outbox, 1);
	callocs_left = _i == 1 ? 0 : LONG_MAX;
	put(bench, 1, PARCELS);
	callocs_left = LONG_MAX;
	ck_assert_uint_eq(outbox->by_seq.bucket_count, _i == 1 ? 64 : 2048);
	for (uint64_t seq = 1; seq <= PARCELS; seq++) {
		ck_assert_ptr_eq(outbox_find(outbox, seq), parcel(bench, seq));
		outbox_take(outbox, parcel(bench, seq));
		ck_assert_ptr_null(outbox_find(outbox, seq));
	}
	ck_assert_uint_eq(outbox->bytes, 0);
	ck_assert_uint_eq(outbox->count, 0);
	bench_free(bench);
}
END_TEST

/* Every allocation of pool_new fails once, and all that follow with it; also with sessions. */
START_TEST(init_reports_a_lack_of_memory)
{
	struct pool_config config = _i ? keyed_config(1) : rig_config(1, 1);
	struct pool *pool = NULL;
	struct starts starts;
	uint64_t last_task_id = 0;
	long allocations;
	starts_init(&starts, 1000, 0);
	for (allocations = 0; !pool; allocations++) {
		callocs_left = allocations;
		pool = pool_new(&config, &starts, &last_task_id, &rig_effects, NULL, 0);
		callocs_left = LONG_MAX;
	}
	ck_assert_int_gt(allocations, 3);
	pool_free(pool);
	pool_free(NULL);
}
END_TEST

START_TEST(bytes_count_delivery_and_output)
{
	struct bench *bench = bench_new(&quiet_effects, 2);
	parcel(bench, 2)->output = output_new(100);
	put(bench, 1, 1);
	ck_assert_uint_eq(bench->outbox.bytes, sizeof(struct delivery));
	outbox_put_later(&bench->outbox, parcel(bench, 2), 0, 0);
	ck_assert_uint_eq(
		bench->outbox.bytes, 2 * sizeof(struct delivery) + sizeof(struct output) + 100);
	outbox_take(&bench->outbox, parcel(bench, 2));
	outbox_take(&bench->outbox, parcel(bench, 1));
	ck_assert_uint_eq(bench->outbox.bytes, 0);
	bench_free(bench);
}
END_TEST

/* If the broker has stopped reading, a gigabyte must not be written into one buffer. */
START_TEST(unconfirmed_bytes_are_limited_except_for_one_parcel)
{
	static const size_t sizes[] = {
		OUTBOX_SENT_MAX / 2, OUTBOX_SENT_MAX / 4, OUTBOX_SENT_MAX / 2, 2 * OUTBOX_SENT_MAX};
	struct bench *bench = bench_new(&quiet_effects, 4);
	for (uint64_t tag = 1; tag <= 4; tag++) {
		delivery_free(bench->deliveries[tag]);
		bench->deliveries[tag] = delivery_new(sizes[tag - 1]);
		ck_assert_ptr_nonnull(bench->deliveries[tag]);
		bench->deliveries[tag]->tag = tag;
		bench->deliveries[tag]->source = &bench->source;
		outbox_put(&bench->outbox, parcel(bench, tag));
	}
	outbox_up(&bench->outbox, 1);
	ck_assert_uint_eq(outbox_sent_count(&bench->outbox), 2);
	outbox_take(&bench->outbox, parcel(bench, 1));
	outbox_tick(&bench->outbox, 0);
	ck_assert_uint_eq(outbox_sent_count(&bench->outbox), 2);
	ck_assert_ptr_eq(outbox_find(&bench->outbox, 3), parcel(bench, 3));
	outbox_take(&bench->outbox, parcel(bench, 2));
	outbox_tick(&bench->outbox, 0);
	ck_assert_uint_eq(outbox_sent_count(&bench->outbox), 1);
	outbox_take(&bench->outbox, parcel(bench, 3));
	outbox_tick(&bench->outbox, 0);
	ck_assert_ptr_eq(outbox_oldest(&bench->outbox), parcel(bench, 4));
	ck_assert_uint_gt(bench->outbox.sent_bytes, 2 * OUTBOX_SENT_MAX);
	outbox_take(&bench->outbox, parcel(bench, 4));
	ck_assert_uint_eq(bench->outbox.sent_bytes, 0);
	bench_free(bench);
}
END_TEST

START_TEST(refused_parcels_are_published_when_due)
{
	struct bench *bench = bench_new(&rig_effects, 3);
	struct outbox *outbox = &bench->outbox;
	ck_assert_int_eq(outbox_deadline(outbox), MTIME_NEVER);
	outbox_put_later(outbox, parcel(bench, 1), 1, 0);
	outbox_put_later(outbox, parcel(bench, 2), 0, 0);
	outbox_put_later(outbox, parcel(bench, 3), 5, 0);
	ck_assert_int_eq(outbox_deadline(outbox), MTIME_SECOND);
	outbox_tick(outbox, MTIME_SECOND);
	ck_assert_int_eq(outbox_deadline(outbox), 2 * MTIME_SECOND);
	outbox_up(outbox, 1);
	rig_expect(&bench->rig, "publish 1 reply 2");
	outbox_tick(outbox, 30 * MTIME_SECOND);
	rig_expect(&bench->rig, "publish 2 reply 1, publish 3 reply 3");
	ck_assert_int_eq(outbox_deadline(outbox), MTIME_NEVER);
	bench_free(bench);
}
END_TEST

START_TEST(orphans_leave_when_the_channel_is_lost)
{
	struct bench *bench = bench_new(&rig_effects, 3);
	struct outbox *outbox = &bench->outbox;
	struct link orphans;
	list_init(&orphans);
	outbox_up(outbox, 1);
	put(bench, 1, 3);
	bench->deliveries[2]->source = NULL;
	ck_assert_ptr_null(outbox_down(outbox, LOSS_CHANNEL, &orphans));
	ck_assert_ptr_eq(list_first(&orphans), &parcel(bench, 2)->order);
	rig_forget(&bench->rig);
	outbox_up(outbox, 2);
	rig_expect(&bench->rig, "publish 1 reply 1");
	/* An orphan is dropped, not probed: its message is delivered again. */
	bench->deliveries[1]->source = NULL;
	ck_assert_ptr_null(outbox_down(outbox, LOSS_CHANNEL, &orphans));
	ck_assert_uint_eq(outbox->count, 1);
	bench_free(bench);
}
END_TEST

START_TEST(a_loss_with_no_open_parcel_blames_none)
{
	struct bench *bench = bench_new(&rig_effects, 1);
	struct link orphans;
	list_init(&orphans);
	outbox_up(&bench->outbox, 1);
	ck_assert_ptr_null(outbox_down(&bench->outbox, LOSS_CHANNEL, &orphans));
	put(bench, 1, 1);
	outbox_up(&bench->outbox, 2);
	ck_assert_uint_eq(parcel(bench, 1)->losses, 0);
	ck_assert_ptr_null(outbox_down(&bench->outbox, LOSS_CONNECTION, &orphans));
	ck_assert_uint_eq(parcel(bench, 1)->losses, 0);
	bench_free(bench);
}
END_TEST

static Suite *outbox_suite(void)
{
	Suite *suite = suite_create("core/outbox");
	UNIT_CASE(suite, "outbox", numbers_start_again_with_each_channel,
		bytes_count_delivery_and_output,
		unconfirmed_bytes_are_limited_except_for_one_parcel,
		refused_parcels_are_published_when_due, orphans_leave_when_the_channel_is_lost,
		a_loss_with_no_open_parcel_blames_none);
	TCase *table = tcase_create("table");
	tcase_add_loop_test(table, the_table_grows_while_there_is_memory, 0, 2);
	suite_add_tcase(suite, table);
	TCase *memory = tcase_create("memory");
	tcase_add_loop_test(memory, init_reports_a_lack_of_memory, 0, 2);
	suite_add_tcase(suite, memory);
	return suite;
}

UNIT_MAIN(outbox_suite)
