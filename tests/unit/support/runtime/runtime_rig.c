#include "unit/support/runtime/runtime_rig.h"

#include "os/clock.h"
#include "os/descriptors.h"
#include "os/loop.h"
#include "os/rundir.h"
#include "process/descendants.h"
#include "process/guard.h"
#include "process/reaper.h"
#include "process/strays.h"
#include "runtime/throttles/throttles.h"

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

static void start_tools(struct runtime_rig *rig)
{
	struct runtime_shared *tools = &rig->tools;
	signal(SIGPIPE, SIG_IGN);
	starts_init(&rig->starts, 1000 * RUNTIME_RIG_PROCESSORS, 0);
	tools->starts = &rig->starts;
	tools->last_task_id = &rig->last_task_id;
	ck_assert_int_eq(descriptors_prepare(&tools->descriptors), RC_OK);
	ck_assert_int_eq(rundir_new(false, &tools->rundir), RC_OK);
	ck_assert_int_eq(mark_draw_run(tools->mark), RC_OK);
	tools->descendants = descendants_new();
	ck_assert_ptr_nonnull(tools->descendants);
	ck_assert_int_eq(guard_start(&(struct guard_run){.directory = rundir_path(tools->rundir),
					     .mark = tools->mark},
				 &tools->guard),
		RC_OK);
	tools->loop = loop_default();
	tools->reaper = reaper_new(tools->loop);
	tools->strays =
		strays_new(tools->loop, tools->reaper, tools->mark, NULL, tools->descendants);
	ck_assert_ptr_nonnull(tools->strays);
}

static void turn(struct runtime_rig *rig)
{
	pool_runtime_turn(rig->runtime, clock_now(), throttles_now(), 0);
	pool_runtime_flush(rig->runtime);
}

static void end_turn(struct runtime_rig *rig)
{
	if (starts_look_at(&rig->starts) <= clock_now())
		starts_look(&rig->starts, clock_now(), RUNTIME_RIG_PROCESSORS * clock_now());
	turn(rig);
	ck_assert_uint_ge(pool_facts(rig->runtime->pool).ready, rig->ready_min);
}

void runtime_rig_turn(struct runtime_rig *rig)
{
	mtime deadline = pool_runtime_deadline(rig->runtime), now = clock_now();
	ev_timer_stop(rig->tools.loop, &rig->deadline);
	if (deadline != MTIME_NEVER)
		loop_start_timer(
			rig->tools.loop, &rig->deadline, deadline > now ? deadline - now : 0);
	ev_run(rig->tools.loop, EVRUN_ONCE);
	end_turn(rig);
}

void runtime_rig_turn_at_once(struct runtime_rig *rig)
{
	ev_run(rig->tools.loop, EVRUN_NOWAIT);
	end_turn(rig);
}

void runtime_rig_await_ready(struct runtime_rig *rig, uint16_t count)
{
	while (pool_facts(rig->runtime->pool).ready != count)
		runtime_rig_turn(rig);
}

uint16_t runtime_rig_retired(const struct runtime_rig *rig)
{
	return pool_slot_counts(rig->runtime->pool).by_state[LIFE_RETIRED];
}

void runtime_rig_await_retired(struct runtime_rig *rig, uint16_t count)
{
	while (runtime_rig_retired(rig) != count)
		runtime_rig_turn(rig);
}

bool runtime_rig_has_logged(struct runtime_rig *rig, const char *text)
{
	ssize_t n = pread(rig->log, rig->said, sizeof rig->said - 1, 0);
	ck_assert_int_ge(n, 0);
	rig->said[n] = '\0';
	return strstr(rig->said, text);
}

void runtime_rig_await_log(struct runtime_rig *rig, const char *text)
{
	while (!runtime_rig_has_logged(rig, text))
		runtime_rig_turn(rig);
}

void runtime_rig_command(struct runtime_rig *rig, enum command what, uint32_t number)
{
	ck_assert_ptr_null(pool_runtime_command(rig->runtime, what, number, clock_now()));
	turn(rig);
}

char **runtime_rig_words(const char *program)
{
	char **command = calloc(3, sizeof *command);
	command[0] = strdup(program);
	command[1] = strdup("worker");
	return command;
}

struct config_pool runtime_rig_config(char **command, uint16_t workers)
{
	return (struct config_pool){.name = strdup("pool"),
		.queue = strdup("queue"),
		.command = command,
		.workers = workers,
		.workers_max = workers,
		.concurrency = 1,
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

void runtime_rig_open(struct runtime_rig *rig, uint16_t workers)
{
	*rig = (struct runtime_rig){.command = runtime_rig_words(unit_own_path())};
	rig->config = runtime_rig_config(rig->command, workers);
	rig->log = memfd_create("log", MFD_CLOEXEC);
	log_setup(rig->log, LOG_INFO, LOG_TEXT, false);
	start_tools(rig);
	ev_timer_init(&rig->deadline, on_deadline, 0, 0);
	rig->runtime = pool_runtime_new(&rig->tools, &rig->config, 0, 1, clock_now());
	ck_assert_ptr_nonnull(rig->runtime);
	turn(rig);
	runtime_rig_await_ready(rig, workers);
	rig->ready_min = workers;
}

void runtime_rig_close(struct runtime_rig *rig)
{
	struct runtime_shared *tools = &rig->tools;
	pool_runtime_free(rig->runtime);
	strays_free(tools->strays);
	reaper_free(tools->reaper);
	guard_stop(tools->guard);
	descendants_free(tools->descendants);
	rundir_free(tools->rundir);
	ev_timer_stop(tools->loop, &rig->deadline);
	ev_loop_destroy(tools->loop);
	log_setup(2, LOG_INFO, LOG_TEXT, false);
	close(rig->log);
}

bool runtime_rig_is_gone(pid_t pid)
{
	return kill(pid, 0) < 0 && errno == ESRCH;
}

int runtime_rig_run(int argc, char **argv, Suite *(*suite)(void))
{
	if (argc == 2 && strcmp(argv[1], "worker") == 0)
		return be_worker();
	setenv("CK_DEFAULT_TIMEOUT", "60", 0);
	return unit_run(suite());
}
