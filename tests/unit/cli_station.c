/* A station without a broker, steered: real processes come, go and are replaced. The test program
 * runs itself again as their worker. */
#include "cli/station.h"
#include "io/clock.h"
#include "io/descriptors.h"
#include "io/guard.h"
#include "io/loop.h"
#include "io/reaper.h"
#include "io/rundir.h"
#include "io/strays.h"
#include "unit/unit.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#define WORKERS_MAX 8
#define LOG_MAX     (256 * 1024)

/* ---------- the worker ---------- */

static bool read_line(char *line, size_t size)
{
	size_t len = 0;
	while (len + 1 < size && read(0, line + len, 1) == 1 && line[len] != '\n')
		len++;
	line[len] = '\0';
	return len > 0;
}

static int be_worker(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char line[sizeof address.sun_path];
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	if (!read_line(line, sizeof line))
		return 1;
	strcpy(address.sun_path, line);
	if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
		return 2;
	return read_line(line, sizeof line) && strcmp(line, "__quit__") == 0 ? 0 : 3;
}

/* ---------- the rig ---------- */

struct rig {
	struct station_tools tools;
	struct config_pool config; /* moved into the station */
	char **command;            /* that one's */
	struct station *station;
	ev_timer deadline;
	uint16_t least; /* so many are ready after each turn */
	int log;
	char said[LOG_MAX];
};

static void on_deadline(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop;
	(void)timer;
	(void)events;
}

static void start_tools(struct station_tools *tools)
{
	signal(SIGPIPE, SIG_IGN);
	ck_assert_int_eq(descriptors_prepare(&tools->descriptors), RC_OK);
	ck_assert_int_eq(rundir_new(false, &tools->rundir), RC_OK);
	ck_assert_int_eq(guard_start(rundir_path(tools->rundir), &tools->guard), RC_OK);
	tools->loop = loop_default();
	tools->reaper = reaper_new(tools->loop);
	tools->strays = strays_new(tools->loop, tools->reaper, rundir_path(tools->rundir));
	ck_assert_ptr_nonnull(tools->strays);
}

static void end_turn(struct rig *rig)
{
	station_turn(rig->station, clock_now(), 0);
	ck_assert_uint_ge(station_facts(rig->station).ready, rig->least);
}

static void turn(struct rig *rig)
{
	mtime deadline = station_deadline(rig->station), now = clock_now();
	ev_timer_stop(rig->tools.loop, &rig->deadline);
	if (deadline != MTIME_NEVER)
		loop_start_timer(
			rig->tools.loop, &rig->deadline, deadline > now ? deadline - now : 0);
	ev_run(rig->tools.loop, EVRUN_ONCE);
	end_turn(rig);
}

/* Something may have happened, or nothing is to come at all. */
static void turn_without_waiting(struct rig *rig)
{
	ev_run(rig->tools.loop, EVRUN_NOWAIT);
	end_turn(rig);
}

static void await_ready(struct rig *rig, uint16_t count)
{
	while (station_facts(rig->station).ready != count)
		turn(rig);
}

static uint16_t retired(const struct rig *rig)
{
	return station_slot_counts(rig->station).by_state[LIFE_RETIRED];
}

static void await_retired(struct rig *rig, uint16_t count)
{
	while (retired(rig) != count)
		turn(rig);
}

static bool has_said(struct rig *rig, const char *words)
{
	ssize_t n = pread(rig->log, rig->said, sizeof rig->said - 1, 0);
	ck_assert_int_ge(n, 0);
	rig->said[n] = '\0';
	return strstr(rig->said, words);
}

static void await_said(struct rig *rig, const char *words)
{
	while (!has_said(rig, words))
		turn(rig);
}

static void command(struct rig *rig, enum command what, uint32_t number)
{
	ck_assert_ptr_null(station_command(rig->station, what, number, clock_now()));
	station_turn(rig->station, clock_now(), 0);
}

/* As a configuration has them. */
static char **words(const char *program)
{
	char **command = calloc(3, sizeof *command);
	command[0] = strdup(program);
	command[1] = strdup("worker");
	return command;
}

static void open_rig(struct rig *rig, uint16_t workers)
{
	*rig = (struct rig){.command = words(unit_own_path())};
	rig->config = (struct config_pool){.name = strdup("pool"),
		.queue = strdup("queue"),
		.command = rig->command,
		.workers = workers,
		.pipe_wait = 5 * MTIME_MS,
		.max_body = 1024,
		.memory = 1 << 20,
		.outbox = 1 << 20,
		.limits = {.soft = MTIME_NEVER,
			.hard = MTIME_NEVER,
			.boot = MTIME_MINUTE,
			.grace = MTIME_MINUTE},
		.retry = {.attempts = 1, .dead_letter = strdup("queue.dead")}};
	rig->log = memfd_create("log", MFD_CLOEXEC);
	log_setup(rig->log, LOG_INFO, LOG_TEXT, false);
	start_tools(&rig->tools);
	ev_timer_init(&rig->deadline, on_deadline, 0, 0);
	rig->station = station_new(&rig->tools, &rig->config, 0, 1, clock_now());
	ck_assert_ptr_nonnull(rig->station);
	station_turn(rig->station, clock_now(), 0);
	await_ready(rig, workers);
	rig->least = workers;
}

static void close_rig(struct rig *rig)
{
	struct station_tools *tools = &rig->tools;
	station_free(rig->station);
	strays_free(tools->strays);
	reaper_free(tools->reaper);
	guard_stop(tools->guard);
	rundir_free(tools->rundir);
	ev_timer_stop(tools->loop, &rig->deadline);
	ev_loop_destroy(tools->loop);
	log_setup(2, LOG_INFO, LOG_TEXT, false);
	close(rig->log);
}

static int open_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static bool is_gone(pid_t pid)
{
	return kill(pid, 0) < 0 && errno == ESRCH;
}

/* ---------- tests ---------- */

START_TEST(workers_come_and_go)
{
	static struct rig rig;
	open_rig(&rig, 1);
	int descriptors = open_descriptors();
	pid_t first = station_slot_pid(rig.station, 0), others[3];
	command(&rig, COMMAND_SCALE, 4);
	await_ready(&rig, 4);
	for (uint16_t i = 0; i < 3; i++)
		others[i] = station_slot_pid(rig.station, i + 1);
	command(&rig, COMMAND_SCALE, 1);
	await_retired(&rig, 3);
	ck_assert_int_eq(station_slot_pid(rig.station, 0), first);
	for (int i = 0; i < 3; i++)
		ck_assert(is_gone(others[i]));
	ck_assert_int_eq(open_descriptors(), descriptors);
	close_rig(&rig);
}
END_TEST

START_TEST(a_restart_replaces_every_process)
{
	static struct rig rig;
	pid_t before[3];
	open_rig(&rig, 3);
	int descriptors = open_descriptors();
	for (uint16_t i = 0; i < 3; i++)
		before[i] = station_slot_pid(rig.station, i);
	command(&rig, COMMAND_RESTART, 0); /* three stay ready, as after each turn */
	await_said(&rig, "restarted: all workers are new ones");
	for (uint16_t i = 0; i < 3; i++)
		ck_assert(is_gone(before[i]));
	ck_assert_uint_eq(station_slot_count(rig.station), 4);
	ck_assert_uint_eq(retired(&rig), 1);
	ck_assert_int_eq(open_descriptors(), descriptors);
	close_rig(&rig);
}
END_TEST

/* It takes the three seconds between three starts. */
START_TEST(a_command_that_is_not_there_costs_nobody)
{
	static struct rig rig;
	static char nowhere[] = "/nowhere/to/be/found";
	pid_t before[2];
	open_rig(&rig, 2);
	for (uint16_t i = 0; i < 2; i++)
		before[i] = station_slot_pid(rig.station, i);
	char *own = rig.command[0];
	rig.command[0] = nowhere;
	command(&rig, COMMAND_RESTART, 0);
	await_said(
		&rig, "the restart is given up: three new workers in a row did not become ready");
	for (uint16_t i = 0; i < 2; i++)
		ck_assert_int_eq(station_slot_pid(rig.station, i), before[i]);
	rig.command[0] = own; /* it is repaired */
	command(&rig, COMMAND_RESTART, 0);
	await_said(&rig, "restarted: all workers are new ones");
	close_rig(&rig);
}
END_TEST

/* In whatever order they are asked for, what was asked for last is there in the end. */
START_TEST(many_commands_end_as_the_last_one_says)
{
	static struct rig rig;
	open_rig(&rig, 1);
	int descriptors = open_descriptors();
	srandom(1);
	for (int i = 0; i < 100; i++) {
		if (random() % 3 == 0)
			command(&rig, COMMAND_RESTART, 0);
		else
			command(&rig, COMMAND_SCALE, 1 + (uint32_t)(random() % WORKERS_MAX));
		for (long turns = random() % 8; turns > 0; turns--)
			turn_without_waiting(&rig);
		ck_assert_uint_le(station_slot_count(rig.station), WORKERS_MAX + 1);
	}
	command(&rig, COMMAND_SCALE, 5);
	while (station_facts(rig.station).is_rolling || station_facts(rig.station).ready != 5 ||
		retired(&rig) + 5 != station_slot_count(rig.station))
		turn(&rig);
	command(&rig, COMMAND_SCALE, 1);
	await_retired(&rig, (uint16_t)(station_slot_count(rig.station) - 1));
	ck_assert_int_eq(open_descriptors(), descriptors);
	ck_assert(!has_said(&rig, "worker died"));
	close_rig(&rig);
}
END_TEST

START_TEST(who_asks_hears_why_not)
{
	static struct rig rig;
	open_rig(&rig, 1);
	const char *why = station_command(rig.station, COMMAND_SCALE, 0, clock_now());
	ck_assert_str_eq(why, "a pool has 1 to 10000 workers");
	ck_assert(has_said(&rig, "command refused: a pool has 1 to 10000 workers"));
	command(&rig, COMMAND_SCALE, 1);
	rig.least = 0;
	command(&rig, COMMAND_DRAIN, 0);
	why = station_command(rig.station, COMMAND_RESTART, 0, clock_now());
	ck_assert_str_eq(why, "the pool is stopping");
	while (!station_is_quiet(rig.station))
		turn(&rig);
	close_rig(&rig);
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
	if (argc == 2 && strcmp(argv[1], "worker") == 0)
		return be_worker();
	setenv("CK_DEFAULT_TIMEOUT", "60", 0);
	return unit_run(station_suite());
}
