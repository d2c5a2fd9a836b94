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
	pool_runtime_mark_replaced(added[0]);
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

static Suite *pool_set_suite(void)
{
	Suite *suite = suite_create("runtime/pool_set");
	UNIT_CASE(suite, "configured", a_new_configuration_is_applied,
		a_replacing_pool_inherits_pause_and_scale, a_removed_pool_leaves_its_place_free);
	return suite;
}

int main(int argc, char **argv)
{
	return runtime_rig_run(argc, argv, pool_set_suite);
}
