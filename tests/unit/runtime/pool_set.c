/* What a new configuration does to pool runtimes: they change, follow one another, have places. */
#include "os/clock.h"
#include "unit/support/runtime/runtime_rig.h"

#include <stdio.h>

/* Our own path, written another way. */
static const char *other_path(void)
{
	static char path[PATH_MAX];
	ck_assert_int_lt(snprintf(path, sizeof path, "/.%s", unit_own_path()), PATH_MAX);
	return path;
}

START_TEST(a_new_configuration_is_applied)
{
	static struct runtime_rig rig;
	runtime_rig_open(&rig, 2);
	pid_t first = pool_runtime_slot_pid(rig.runtime, 0);
	struct config_pool other = runtime_rig_config(runtime_rig_words(unit_own_path()), 3);
	other.retry.attempts = 7;
	pool_runtime_change(rig.runtime, &other, clock_now());
	ck_assert_int_eq(other.retry.attempts, 1); /* it has what was before */
	ck_assert_int_eq(rig.runtime->config.retry.attempts, 7);
	runtime_rig_await_ready(&rig, 3);
	ck_assert_int_eq(pool_runtime_slot_pid(rig.runtime, 0), first);
	ck_assert(!runtime_rig_has_logged(&rig, "restarting"));
	config_pool_release(&other);

	other = runtime_rig_config(runtime_rig_words(other_path()), 3);
	pool_runtime_change(rig.runtime, &other, clock_now());
	config_pool_release(&other); /* no worker is started by it */
	runtime_rig_await_log(&rig, "restarted: all workers are new");
	ck_assert(runtime_rig_is_gone(first));
	ck_assert_str_eq(rig.runtime->config.command[0], other_path());
	runtime_rig_close(&rig);
}
END_TEST

START_TEST(a_replacing_pool_inherits_pause_and_scale)
{
	static struct runtime_rig rig;
	struct pool_set pool_set = {0};
	runtime_rig_open(&rig, 1);
	struct config_pool same = runtime_rig_config(runtime_rig_words(unit_own_path()), 1),
			   wider = runtime_rig_config(runtime_rig_words(unit_own_path()), 2);
	struct pool_runtime *first = pool_set_add(&pool_set, &rig.tools, &same, clock_now()),
			    *second = pool_set_add(&pool_set, &rig.tools, &wider, clock_now());
	runtime_rig_command(&rig, COMMAND_SCALE, 3);
	runtime_rig_command(&rig, COMMAND_PAUSE, 0);
	pool_runtime_inherit(first, rig.runtime, clock_now());
	pool_runtime_inherit(second, rig.runtime, clock_now());
	ck_assert_uint_eq(pool_facts(first->pool).wanted, 3);
	ck_assert_uint_eq(pool_facts(second->pool).wanted, 2); /* another number is configured */
	ck_assert_int_eq(pool_facts(first->pool).state, POOL_IS_PAUSED);
	ck_assert_int_eq(pool_facts(second->pool).state, POOL_IS_PAUSED);
	pool_set_release(&pool_set);
	runtime_rig_close(&rig);
}
END_TEST

/* A listing that continues in a later turn must not take a new pool for the one it had there. */
START_TEST(a_removed_pool_leaves_its_place_free)
{
	static struct runtime_rig rig;
	struct pool_set pool_set = {0};
	struct pool_runtime *added[3];
	runtime_rig_open(&rig, 1);
	for (int i = 0; i < 3; i++) {
		struct config_pool config =
			runtime_rig_config(runtime_rig_words(unit_own_path()), 1);
		added[i] = pool_set_add(&pool_set, &rig.tools, &config, clock_now());
		ck_assert_uint_eq(added[i]->place, i);
		ck_assert_ptr_null(config.name); /* moved */
	}
	ck_assert_ptr_eq(pool_set_find(&pool_set, TEXT("pool")), added[2]);
	ck_assert_ptr_eq(pool_set_find_as_of(&pool_set, TEXT("pool"), 2), added[1]);
	ck_assert_ptr_null(pool_set_find(&pool_set, TEXT("nobody")));
	pool_runtime_mark_replaced(added[0], added[2]);
	pool_runtime_drain(added[1], clock_now());
	ck_assert(pool_runtime_is_retiring(added[0]) && !added[0]->is_draining);
	ck_assert(pool_runtime_is_retiring(added[1]) && added[1]->is_draining);
	ck_assert_uint_eq(pool_set_pools(&pool_set), 1);
	pool_set_remove(&pool_set, added[1]);
	ck_assert_ptr_null(pool_set_at(&pool_set, 1));
	size_t place = 1;
	ck_assert_ptr_eq(pool_set_next(&pool_set, &place), added[2]);
	ck_assert_ptr_null(pool_set_next(&pool_set, &place));
	struct config_pool config = runtime_rig_config(runtime_rig_words(unit_own_path()), 1);
	struct pool_runtime *again = pool_set_add(&pool_set, &rig.tools, &config, clock_now());
	ck_assert_uint_eq(again->place, 1);
	ck_assert_uint_eq(again->serial, 4);
	ck_assert_ptr_eq(pool_set_find_as_of(&pool_set, TEXT("pool"), 3), added[2]);
	pool_set_release(&pool_set);
	runtime_rig_close(&rig);
}
END_TEST

static struct pool_runtime *add_named(
	struct runtime_rig *rig, struct pool_set *pool_set, const char *name)
{
	struct config_pool config = runtime_rig_config(runtime_rig_words(unit_own_path()), 1);

	free(config.name);
	config.name = strdup(name);
	return pool_set_add(pool_set, &rig->tools, &config, clock_now());
}

static void do_tasks(struct pool_runtime *runtime, unsigned count, mtime took)
{
	struct statistics *statistics = &runtime->report.statistics;

	statistics->counts[NOTICE_TASK_DONE] += count;
	for (unsigned i = 0; i < count; i++)
		histogram_add(&statistics->took, took);
}

static const struct history_second *latest(const struct history *history)
{
	return history_back(history, 0);
}

/* A pool that replaces another has what the name did before and does meanwhile; other pools do not.
 */
START_TEST(history_is_handed_on)
{
	static struct runtime_rig rig;
	struct pool_set pool_set = {0};
	runtime_rig_open(&rig, 1);
	struct pool_runtime *old = add_named(&rig, &pool_set, "one"),
			    *other = add_named(&rig, &pool_set, "other");
	pool_set_end_seconds(&pool_set, 5000);
	do_tasks(old, 3, 10 * MTIME_MS);
	do_tasks(other, 2, 10 * MTIME_MS);
	pool_set_end_seconds(&pool_set, 5001);
	struct pool_runtime *heir = add_named(&rig, &pool_set, "one");
	pool_runtime_inherit(heir, old, clock_now());
	pool_runtime_mark_replaced(old, heir);
	ck_assert_uint_eq(heir->history.count, 1);
	ck_assert_uint_eq(latest(&heir->history)->done, 3);

	do_tasks(old, 4, 10 * MTIME_MS);
	do_tasks(heir, 1, 2 * MTIME_SECOND);
	do_tasks(other, 6, 10 * MTIME_MS);
	pool_set_end_seconds(&pool_set, 5002);
	ck_assert_uint_eq(latest(&old->history)->done, 4);
	ck_assert_uint_eq(latest(&other->history)->done, 6);
	ck_assert_uint_eq(latest(&heir->history)->done, 5);
	ck_assert_uint_eq(latest(&heir->history)->timed, 5);
	ck_assert_float_eq_tol(latest(&heir->history)->p50, 0.01F, 0.0005F);
	ck_assert_float_eq_tol(latest(&heir->history)->p99, 2.0F, 0.1F);
	ck_assert_uint_eq(latest(&pool_set.history)->done, 11);
	ck_assert_uint_eq(latest(&pool_set.history)->timed, 11);

	do_tasks(old, 2, 10 * MTIME_MS);
	do_tasks(heir, 1, 10 * MTIME_MS);
	pool_set_remove(&pool_set, old);
	pool_set_end_seconds(&pool_set, 5003);
	ck_assert_uint_eq(latest(&heir->history)->done, 3);
	ck_assert_uint_eq(latest(&other->history)->done, 0);
	ck_assert_uint_eq(latest(&pool_set.history)->done, 3);
	pool_set_end_seconds(&pool_set, 5004);
	ck_assert_uint_eq(latest(&heir->history)->done, 0);
	pool_set_release(&pool_set);
	runtime_rig_close(&rig);
}
END_TEST

/* If the latest one leaves first, the history of the one before is its own. */
START_TEST(history_without_an_heir_is_its_own)
{
	static struct runtime_rig rig;
	struct pool_set pool_set = {0};
	runtime_rig_open(&rig, 1);
	struct pool_runtime *old = add_named(&rig, &pool_set, "one"),
			    *heir = add_named(&rig, &pool_set, "one");
	pool_runtime_mark_replaced(old, heir);
	pool_set_end_seconds(&pool_set, 5000);
	pool_set_remove(&pool_set, heir);
	do_tasks(old, 3, 10 * MTIME_MS);
	pool_set_end_seconds(&pool_set, 5001);
	ck_assert_uint_eq(latest(&old->history)->done, 3);
	ck_assert_uint_eq(latest(&pool_set.history)->done, 3);
	pool_set_release(&pool_set);
	runtime_rig_close(&rig);
}
END_TEST

/* Whatever order they leave in, the latest one has what those before it do. */
START_TEST(history_passes_one_that_has_gone)
{
	static struct runtime_rig rig;
	struct pool_set pool_set = {0};
	struct pool_runtime *chain[3];
	runtime_rig_open(&rig, 1);
	for (int i = 0; i < 3; i++) {
		chain[i] = add_named(&rig, &pool_set, "one");
		if (i > 0)
			pool_runtime_mark_replaced(chain[i - 1], chain[i]);
	}
	pool_set_end_seconds(&pool_set, 5000);
	for (int i = 0; i < 3; i++)
		do_tasks(chain[i], 1, 10 * MTIME_MS);
	pool_set_end_seconds(&pool_set, 5001);
	ck_assert_uint_eq(latest(&chain[1]->history)->done, 1);
	ck_assert_uint_eq(latest(&chain[2]->history)->done, 3);
	pool_set_remove(&pool_set, chain[1]);
	do_tasks(chain[0], 4, 10 * MTIME_MS);
	pool_set_end_seconds(&pool_set, 5002);
	ck_assert_uint_eq(latest(&chain[2]->history)->done, 4);
	ck_assert_uint_eq(latest(&pool_set.history)->done, 4);
	pool_set_release(&pool_set);
	runtime_rig_close(&rig);
}
END_TEST

enum { MANY = 400, SECONDS = 500 };

/* Work in proportion to the number of pools: the cube of it would not end before the test's limit.
 */
START_TEST(many_replaced_pools_are_measured)
{
	static struct runtime_rig rig;
	static struct pool_runtime *heirs[MANY];
	struct pool_set pool_set = {0};
	char name[20];
	runtime_rig_open(&rig, 1);
	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof name, "pool-%d", i);
		struct pool_runtime *old = add_named(&rig, &pool_set, name);
		heirs[i] = add_named(&rig, &pool_set, name);
		pool_runtime_mark_replaced(old, heirs[i]);
	}
	pool_set_end_seconds(&pool_set, 5000);
	for (int i = 0; i < MANY; i++) {
		do_tasks(heirs[i]->predecessor, 1, 10 * MTIME_MS);
		do_tasks(heirs[i], 1, 10 * MTIME_MS);
	}
	for (int64_t i = 1; i <= SECONDS; i++)
		pool_set_end_seconds(&pool_set, 5000 + i);
	for (int i = 0; i < MANY; i++)
		ck_assert_uint_eq(history_back(&heirs[i]->history, SECONDS - 1)->done, 2);
	pool_set_release(&pool_set);
	runtime_rig_close(&rig);
}
END_TEST

static Suite *pool_set_suite(void)
{
	Suite *suite = suite_create("runtime/pool_set");
	UNIT_CASE(suite, "configured", a_new_configuration_is_applied,
		a_replacing_pool_inherits_pause_and_scale, a_removed_pool_leaves_its_place_free,
		history_is_handed_on, history_without_an_heir_is_its_own,
		history_passes_one_that_has_gone, many_replaced_pools_are_measured);
	return suite;
}

int main(int argc, char **argv)
{
	return runtime_rig_run(argc, argv, pool_set_suite);
}
