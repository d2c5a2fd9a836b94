#include "unit/support/cli/stationrig.h"

#include "io/clock.h"
#include "io/descriptors.h"
#include "io/guard.h"
#include "io/loop.h"
#include "io/reaper.h"
#include "io/rundir.h"
#include "io/strays.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

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
	ck_assert_int_eq(guard_start(rundir_path(tools->rundir), NULL, &tools->guard), RC_OK);
	tools->loop = loop_default();
	tools->reaper = reaper_new(tools->loop);
	tools->strays = strays_new(tools->loop, tools->reaper, rundir_path(tools->rundir), NULL);
	ck_assert_ptr_nonnull(tools->strays);
}

static void end_turn(struct stationrig *rig)
{
	station_turn(rig->station, clock_now(), 0);
	ck_assert_uint_ge(station_facts(rig->station).ready, rig->least);
}

void stationrig_turn(struct stationrig *rig)
{
	mtime deadline = station_deadline(rig->station), now = clock_now();
	ev_timer_stop(rig->tools.loop, &rig->deadline);
	if (deadline != MTIME_NEVER)
		loop_start_timer(
			rig->tools.loop, &rig->deadline, deadline > now ? deadline - now : 0);
	ev_run(rig->tools.loop, EVRUN_ONCE);
	end_turn(rig);
}

void stationrig_turn_at_once(struct stationrig *rig)
{
	ev_run(rig->tools.loop, EVRUN_NOWAIT);
	end_turn(rig);
}

void stationrig_await_ready(struct stationrig *rig, uint16_t count)
{
	while (station_facts(rig->station).ready != count)
		stationrig_turn(rig);
}

uint16_t stationrig_retired(const struct stationrig *rig)
{
	return station_slot_counts(rig->station).by_state[LIFE_RETIRED];
}

void stationrig_await_retired(struct stationrig *rig, uint16_t count)
{
	while (stationrig_retired(rig) != count)
		stationrig_turn(rig);
}

bool stationrig_has_said(struct stationrig *rig, const char *words)
{
	ssize_t n = pread(rig->log, rig->said, sizeof rig->said - 1, 0);
	ck_assert_int_ge(n, 0);
	rig->said[n] = '\0';
	return strstr(rig->said, words);
}

void stationrig_await_said(struct stationrig *rig, const char *words)
{
	while (!stationrig_has_said(rig, words))
		stationrig_turn(rig);
}

void stationrig_command(struct stationrig *rig, enum command what, uint32_t number)
{
	ck_assert_ptr_null(station_command(rig->station, what, number, clock_now()));
	station_turn(rig->station, clock_now(), 0);
}

char **stationrig_words(const char *program)
{
	char **command = calloc(3, sizeof *command);
	command[0] = strdup(program);
	command[1] = strdup("worker");
	return command;
}

struct config_pool stationrig_config(char **command, uint16_t workers)
{
	return (struct config_pool){.name = strdup("pool"),
		.queue = strdup("queue"),
		.command = command,
		.workers = workers,
		.workers_most = workers,
		.pipe_wait = 5 * MTIME_MS,
		.max_body = 1024,
		.memory = 1 << 20,
		.outbox = 1 << 20,
		.limits = {.soft = MTIME_NEVER,
			.hard = MTIME_NEVER,
			.boot = MTIME_MINUTE,
			.grace = MTIME_MINUTE},
		.retry = {.attempts = 1, .dead_letter = strdup("queue.dead")}};
}

void stationrig_open(struct stationrig *rig, uint16_t workers)
{
	*rig = (struct stationrig){.command = stationrig_words(unit_own_path())};
	rig->config = stationrig_config(rig->command, workers);
	rig->log = memfd_create("log", MFD_CLOEXEC);
	log_setup(rig->log, LOG_INFO, LOG_TEXT, false);
	start_tools(&rig->tools);
	ev_timer_init(&rig->deadline, on_deadline, 0, 0);
	rig->station = station_new(&rig->tools, &rig->config, 0, 1, clock_now());
	ck_assert_ptr_nonnull(rig->station);
	station_turn(rig->station, clock_now(), 0);
	stationrig_await_ready(rig, workers);
	rig->least = workers;
}

void stationrig_close(struct stationrig *rig)
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

bool stationrig_is_gone(pid_t pid)
{
	return kill(pid, 0) < 0 && errno == ESRCH;
}

int stationrig_run(int argc, char **argv, Suite *(*suite)(void))
{
	if (argc == 2 && strcmp(argv[1], "worker") == 0)
		return be_worker();
	setenv("CK_DEFAULT_TIMEOUT", "60", 0);
	return unit_run(suite());
}
