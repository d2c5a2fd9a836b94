/* A pool runtime without a broker, with commands: real processes come, go and are replaced. */
#include "os/clock.h"
#include "unit/support/runtime/runtime_rig.h"

#include <dirent.h>

#define WORKERS_MAX 8

static int open_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

START_TEST(workers_come_and_go)
{
	static struct runtime_rig rig;
	runtime_rig_open(&rig, 1);
	int descriptors = open_descriptors();
	pid_t first = pool_runtime_slot_pid(rig.runtime, 0), others[3];
	runtime_rig_command(&rig, COMMAND_SCALE, 4);
	runtime_rig_await_ready(&rig, 4);
	for (uint16_t i = 0; i < 3; i++)
		others[i] = pool_runtime_slot_pid(rig.runtime, i + 1);
	runtime_rig_command(&rig, COMMAND_SCALE, 1);
	runtime_rig_await_retired(&rig, 3);
	ck_assert_int_eq(pool_runtime_slot_pid(rig.runtime, 0), first);
	for (int i = 0; i < 3; i++)
		ck_assert(runtime_rig_is_gone(others[i]));
	ck_assert_int_eq(open_descriptors(), descriptors);
	runtime_rig_close(&rig);
}
END_TEST

START_TEST(a_restart_replaces_every_process)
{
	static struct runtime_rig rig;
	pid_t before[3];
	runtime_rig_open(&rig, 3);
	int descriptors = open_descriptors();
	for (uint16_t i = 0; i < 3; i++)
		before[i] = pool_runtime_slot_pid(rig.runtime, i);
	runtime_rig_command(&rig, COMMAND_RESTART, 0); /* three stay ready, as after each turn */
	runtime_rig_await_log(&rig, "restarted: all workers are new");
	for (uint16_t i = 0; i < 3; i++)
		ck_assert(runtime_rig_is_gone(before[i]));
	ck_assert_uint_eq(pool_slot_count(rig.runtime->pool), 4);
	ck_assert_uint_eq(runtime_rig_retired(&rig), 1);
	ck_assert_int_eq(open_descriptors(), descriptors);
	runtime_rig_close(&rig);
}
END_TEST

/* It takes the three seconds between three starts. */
START_TEST(a_restart_with_a_missing_command_keeps_the_old_workers)
{
	static struct runtime_rig rig;
	static char nowhere[] = "/nowhere/to/be/found";
	pid_t before[2];
	runtime_rig_open(&rig, 2);
	for (uint16_t i = 0; i < 2; i++)
		before[i] = pool_runtime_slot_pid(rig.runtime, i);
	char *own = rig.command[0];
	rig.command[0] = nowhere;
	runtime_rig_command(&rig, COMMAND_RESTART, 0);
	runtime_rig_await_log(
		&rig, "restart given up: three new workers in a row did not become ready");
	for (uint16_t i = 0; i < 2; i++)
		ck_assert_int_eq(pool_runtime_slot_pid(rig.runtime, i), before[i]);
	rig.command[0] = own; /* it is repaired */
	runtime_rig_command(&rig, COMMAND_RESTART, 0);
	runtime_rig_await_log(&rig, "restarted: all workers are new");
	runtime_rig_close(&rig);
}
END_TEST

/* Scale and restart, in a random order. */
START_TEST(the_last_of_many_commands_holds)
{
	static struct runtime_rig rig;
	runtime_rig_open(&rig, 1);
	int descriptors = open_descriptors();
	srandom(1);
	for (int i = 0; i < 100; i++) {
		if (random() % 3 == 0)
			runtime_rig_command(&rig, COMMAND_RESTART, 0);
		else
			runtime_rig_command(
				&rig, COMMAND_SCALE, 1 + (uint32_t)(random() % WORKERS_MAX));
		for (long turns = random() % 8; turns > 0; turns--)
			runtime_rig_turn_at_once(&rig);
		ck_assert_uint_le(pool_slot_count(rig.runtime->pool), WORKERS_MAX + 1);
	}
	runtime_rig_command(&rig, COMMAND_SCALE, 5);
	while (pool_facts(rig.runtime->pool).is_rolling ||
		pool_facts(rig.runtime->pool).ready != 5 ||
		runtime_rig_retired(&rig) + 5 != pool_slot_count(rig.runtime->pool))
		runtime_rig_turn(&rig);
	runtime_rig_command(&rig, COMMAND_SCALE, 1);
	runtime_rig_await_retired(&rig, (uint16_t)(pool_slot_count(rig.runtime->pool) - 1));
	ck_assert_int_eq(open_descriptors(), descriptors);
	ck_assert(!runtime_rig_has_logged(&rig, "worker died"));
	runtime_rig_close(&rig);
}
END_TEST

START_TEST(a_refused_command_returns_the_reason)
{
	static struct runtime_rig rig;
	runtime_rig_open(&rig, 1);
	const char *why = pool_runtime_command(rig.runtime, COMMAND_SCALE, 0, clock_now());
	ck_assert_str_eq(why, "a pool has 1 to 10000 workers");
	ck_assert(runtime_rig_has_logged(&rig, "command refused: a pool has 1 to 10000 workers"));
	runtime_rig_command(&rig, COMMAND_SCALE, 1);
	rig.ready_min = 0;
	runtime_rig_command(&rig, COMMAND_DRAIN, 0);
	why = pool_runtime_command(rig.runtime, COMMAND_RESTART, 0, clock_now());
	ck_assert_str_eq(why, "the pool is stopping");
	while (!pool_is_quiet(rig.runtime->pool))
		runtime_rig_turn(&rig);
	runtime_rig_close(&rig);
}
END_TEST

static struct config_pool with_sessions(void)
{
	struct config_pool config = runtime_rig_config(runtime_rig_words(unit_own_path()), 1);
	config.prefetch = 10;
	config.session = (struct config_session){.key = strdup("header:session"),
		.quantum = {.tasks = 10},
		.max_sessions = 100,
		.takeover_delay = 30 * MTIME_SECOND};
	return config;
}

/* The guard ends them when another supervisor may have the pool. */
START_TEST(workers_keep_their_lease_in_a_reload)
{
	static struct runtime_rig rig;
	runtime_rig_open(&rig, 1);
	struct config_pool config = with_sessions(), other = with_sessions();
	struct pool_runtime *runtime = pool_runtime_new(&rig.tools, &config, 3, 2, clock_now());
	ck_assert_ptr_nonnull(runtime);
	ck_assert_uint_eq(runtime->workers_config.lease, 4);
	other.limits.grace = 2 * MTIME_MINUTE;
	pool_runtime_change(runtime, &other, clock_now());
	ck_assert_int_eq(runtime->config.limits.grace, 2 * MTIME_MINUTE);
	ck_assert_uint_eq(runtime->workers_config.lease, 4);
	config_pool_release(&other);
	pool_runtime_free(runtime);
	runtime_rig_close(&rig);
}
END_TEST

static Suite *pool_runtime_suite(void)
{
	Suite *suite = suite_create("runtime/pool_runtime");
	UNIT_CASE(suite, "commands", workers_come_and_go, a_restart_replaces_every_process,
		a_restart_with_a_missing_command_keeps_the_old_workers,
		the_last_of_many_commands_holds, a_refused_command_returns_the_reason);
	UNIT_CASE(suite, "reload", workers_keep_their_lease_in_a_reload);
	return suite;
}

int main(int argc, char **argv)
{
	return runtime_rig_run(argc, argv, pool_runtime_suite);
}
