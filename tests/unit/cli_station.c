/* A station without a broker, steered: real processes come, go and are replaced. */
#include "io/clock.h"
#include "unit/support/cli/stationrig.h"

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
	static struct stationrig rig;
	stationrig_open(&rig, 1);
	int descriptors = open_descriptors();
	pid_t first = station_slot_pid(rig.station, 0), others[3];
	stationrig_command(&rig, COMMAND_SCALE, 4);
	stationrig_await_ready(&rig, 4);
	for (uint16_t i = 0; i < 3; i++)
		others[i] = station_slot_pid(rig.station, i + 1);
	stationrig_command(&rig, COMMAND_SCALE, 1);
	stationrig_await_retired(&rig, 3);
	ck_assert_int_eq(station_slot_pid(rig.station, 0), first);
	for (int i = 0; i < 3; i++)
		ck_assert(stationrig_is_gone(others[i]));
	ck_assert_int_eq(open_descriptors(), descriptors);
	stationrig_close(&rig);
}
END_TEST

START_TEST(a_restart_replaces_every_process)
{
	static struct stationrig rig;
	pid_t before[3];
	stationrig_open(&rig, 3);
	int descriptors = open_descriptors();
	for (uint16_t i = 0; i < 3; i++)
		before[i] = station_slot_pid(rig.station, i);
	stationrig_command(&rig, COMMAND_RESTART, 0); /* three stay ready, as after each turn */
	stationrig_await_said(&rig, "restarted: all workers are new ones");
	for (uint16_t i = 0; i < 3; i++)
		ck_assert(stationrig_is_gone(before[i]));
	ck_assert_uint_eq(station_slot_count(rig.station), 4);
	ck_assert_uint_eq(stationrig_retired(&rig), 1);
	ck_assert_int_eq(open_descriptors(), descriptors);
	stationrig_close(&rig);
}
END_TEST

/* It takes the three seconds between three starts. */
START_TEST(a_command_that_is_not_there_costs_nobody)
{
	static struct stationrig rig;
	static char nowhere[] = "/nowhere/to/be/found";
	pid_t before[2];
	stationrig_open(&rig, 2);
	for (uint16_t i = 0; i < 2; i++)
		before[i] = station_slot_pid(rig.station, i);
	char *own = rig.command[0];
	rig.command[0] = nowhere;
	stationrig_command(&rig, COMMAND_RESTART, 0);
	stationrig_await_said(
		&rig, "the restart is given up: three new workers in a row did not become ready");
	for (uint16_t i = 0; i < 2; i++)
		ck_assert_int_eq(station_slot_pid(rig.station, i), before[i]);
	rig.command[0] = own; /* it is repaired */
	stationrig_command(&rig, COMMAND_RESTART, 0);
	stationrig_await_said(&rig, "restarted: all workers are new ones");
	stationrig_close(&rig);
}
END_TEST

/* In whatever order they are asked for, what was asked for last is there in the end. */
START_TEST(many_commands_end_as_the_last_one_says)
{
	static struct stationrig rig;
	stationrig_open(&rig, 1);
	int descriptors = open_descriptors();
	srandom(1);
	for (int i = 0; i < 100; i++) {
		if (random() % 3 == 0)
			stationrig_command(&rig, COMMAND_RESTART, 0);
		else
			stationrig_command(
				&rig, COMMAND_SCALE, 1 + (uint32_t)(random() % WORKERS_MAX));
		for (long turns = random() % 8; turns > 0; turns--)
			stationrig_turn_at_once(&rig);
		ck_assert_uint_le(station_slot_count(rig.station), WORKERS_MAX + 1);
	}
	stationrig_command(&rig, COMMAND_SCALE, 5);
	while (station_facts(rig.station).is_rolling || station_facts(rig.station).ready != 5 ||
		stationrig_retired(&rig) + 5 != station_slot_count(rig.station))
		stationrig_turn(&rig);
	stationrig_command(&rig, COMMAND_SCALE, 1);
	stationrig_await_retired(&rig, (uint16_t)(station_slot_count(rig.station) - 1));
	ck_assert_int_eq(open_descriptors(), descriptors);
	ck_assert(!stationrig_has_said(&rig, "worker died"));
	stationrig_close(&rig);
}
END_TEST

START_TEST(who_asks_hears_why_not)
{
	static struct stationrig rig;
	stationrig_open(&rig, 1);
	const char *why = station_command(rig.station, COMMAND_SCALE, 0, clock_now());
	ck_assert_str_eq(why, "a pool has 1 to 10000 workers");
	ck_assert(stationrig_has_said(&rig, "command refused: a pool has 1 to 10000 workers"));
	stationrig_command(&rig, COMMAND_SCALE, 1);
	rig.least = 0;
	stationrig_command(&rig, COMMAND_DRAIN, 0);
	why = station_command(rig.station, COMMAND_RESTART, 0, clock_now());
	ck_assert_str_eq(why, "the pool is stopping");
	while (!station_is_quiet(rig.station))
		stationrig_turn(&rig);
	stationrig_close(&rig);
}
END_TEST

static Suite *station_suite(void)
{
	Suite *suite = suite_create("cli/station");
	UNIT_CASE(suite, "steered", workers_come_and_go, a_restart_replaces_every_process,
		a_command_that_is_not_there_costs_nobody, many_commands_end_as_the_last_one_says,
		who_asks_hears_why_not);
	return suite;
}

int main(int argc, char **argv)
{
	return stationrig_run(argc, argv, station_suite);
}
