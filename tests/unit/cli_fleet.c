/* What a new configuration does to stations: they change, follow one another, have places. */
#include "io/clock.h"
#include "unit/support/cli/stationrig.h"

#include <stdio.h>

/* Our own path, written another way. */
static const char *other_path(void)
{
	static char path[PATH_MAX];
	ck_assert_int_lt(snprintf(path, sizeof path, "/.%s", unit_own_path()), PATH_MAX);
	return path;
}

START_TEST(another_configuration_is_taken_over)
{
	static struct stationrig rig;
	stationrig_open(&rig, 2);
	pid_t first = station_slot_pid(rig.station, 0);
	struct config_pool other = stationrig_config(stationrig_words(unit_own_path()), 3);
	other.retry.attempts = 7;
	station_change(rig.station, &other, clock_now());
	ck_assert_int_eq(other.retry.attempts, 1); /* it has what was before */
	ck_assert_int_eq(station_config(rig.station)->retry.attempts, 7);
	stationrig_await_ready(&rig, 3);
	ck_assert_int_eq(station_slot_pid(rig.station, 0), first);
	ck_assert(!stationrig_has_said(&rig, "restarting"));
	config_pool_release(&other);

	other = stationrig_config(stationrig_words(other_path()), 3);
	station_change(rig.station, &other, clock_now());
	config_pool_release(&other); /* no worker is started by it */
	stationrig_await_said(&rig, "restarted: all workers are new ones");
	ck_assert(stationrig_is_gone(first));
	ck_assert_str_eq(station_report(rig.station)->command, other_path());
	stationrig_close(&rig);
}
END_TEST

START_TEST(what_operators_asked_for_holds_for_the_next_one)
{
	static struct stationrig rig;
	struct fleet fleet = {0};
	stationrig_open(&rig, 1);
	struct config_pool same = stationrig_config(stationrig_words(unit_own_path()), 1),
			   wider = stationrig_config(stationrig_words(unit_own_path()), 2);
	struct station *first = fleet_add(&fleet, &rig.tools, &same, clock_now()),
		       *second = fleet_add(&fleet, &rig.tools, &wider, clock_now());
	stationrig_command(&rig, COMMAND_SCALE, 3);
	stationrig_command(&rig, COMMAND_PAUSE, 0);
	station_follow(first, rig.station, clock_now());
	station_follow(second, rig.station, clock_now());
	ck_assert_uint_eq(station_facts(first).wanted, 3);
	ck_assert_uint_eq(station_facts(second).wanted, 2); /* another number is configured */
	ck_assert_int_eq(station_facts(first).standing, POOL_IS_PAUSED);
	ck_assert_int_eq(station_facts(second).standing, POOL_IS_PAUSED);
	fleet_release(&fleet);
	stationrig_close(&rig);
}
END_TEST

/* Who has shown some of them does not show another one in the place of the next. */
START_TEST(a_fleet_has_places)
{
	static struct stationrig rig;
	struct fleet fleet = {0};
	struct station *added[3];
	stationrig_open(&rig, 1);
	for (int i = 0; i < 3; i++) {
		struct config_pool config = stationrig_config(stationrig_words(unit_own_path()), 1);
		added[i] = fleet_add(&fleet, &rig.tools, &config, clock_now());
		ck_assert_uint_eq(station_place(added[i]), i);
		ck_assert_ptr_null(config.name); /* moved */
	}
	ck_assert_ptr_eq(fleet_find(&fleet, TEXT("pool")), added[2]);
	ck_assert_ptr_eq(fleet_find_as_of(&fleet, TEXT("pool"), 2), added[1]);
	ck_assert_ptr_null(fleet_find(&fleet, TEXT("nobody")));
	station_supersede(added[0]);
	station_leave(added[1], clock_now());
	ck_assert(station_is_leaving(added[0]) && !station_is_draining(added[0]));
	ck_assert(station_is_leaving(added[1]) && station_is_draining(added[1]));
	ck_assert_uint_eq(fleet_pools(&fleet), 1);
	fleet_remove(&fleet, added[1]);
	ck_assert_ptr_null(fleet_at(&fleet, 1));
	size_t place = 1;
	ck_assert_ptr_eq(fleet_next(&fleet, &place), added[2]);
	ck_assert_ptr_null(fleet_next(&fleet, &place));
	struct config_pool config = stationrig_config(stationrig_words(unit_own_path()), 1);
	struct station *again = fleet_add(&fleet, &rig.tools, &config, clock_now());
	ck_assert_uint_eq(station_place(again), 1);
	ck_assert_uint_eq(station_serial(again), 4);
	ck_assert_ptr_eq(fleet_find_as_of(&fleet, TEXT("pool"), 3), added[2]);
	fleet_release(&fleet);
	stationrig_close(&rig);
}
END_TEST

static Suite *fleet_suite(void)
{
	Suite *suite = suite_create("cli/fleet");
	UNIT_CASE(suite, "configured", another_configuration_is_taken_over,
		what_operators_asked_for_holds_for_the_next_one, a_fleet_has_places);
	return suite;
}

int main(int argc, char **argv)
{
	return stationrig_run(argc, argv, fleet_suite);
}
