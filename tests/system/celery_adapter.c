/* What the adapter for Celery does beside running tasks as Celery does: what it refuses, bad
 * messages, pace and order, what is away and comes back. The scripts are in tests/celery. */
#include "harness/celery.h"
#include "harness/command.h"
#include "harness/control.h"
#include "harness/deadline.h"
#include "system/system.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

static char *check(const struct celery_side *side, const char *name)
{
	return celery_run_script(side, "checks.py", (const char *const[]){name, NULL});
}

/* The check must print this. */
static void expect_check(const struct celery_side *side, const char *name, const char *expected)
{
	char *printed = check(side, name);
	ck_assert_str_eq(printed, expected);
	free(printed);
}

START_TEST(bad_messages_are_dead_letters)
{
	celery_start_redis();
	struct celery_side side = celery_side("wpool", NULL);
	struct proc *serve = celery_start_wpool(&side, "", "");
	free(celery_run_script(&side, "bad.py", NULL));
	ck_assert_int_eq(proc_count_logged(serve, "worker died"), 0);
	fixture_stop(serve);
	celery_side_release(&side);
}
END_TEST

/* The end that Celery does not have: it would run the task for ever. */
START_TEST(a_task_that_always_dies_fails_in_the_end)
{
	celery_start_redis();
	struct celery_side side = celery_side("wpool", NULL);
	side.is_preloaded = _i;
	struct proc *serve = celery_start_wpool(&side, "", "");
	char *line = celery_run_script(&side, "rows.py", (const char *const[]){"lost-safe", NULL});
	ck_assert_str_eq(line, "SIGKILL, reject_on_worker_lost: FAILURE "
			       "billiard.exceptions.WorkerLostError: Worker exited prematurely: "
			       "signal 9 (SIGKILL)\n");
	char *dead = scratch_text("%s.dead", side.queue);
	struct message *message = client_take(fixture.client, dead);
	ck_assert(message_header_is(message, "x-wpool-reason", "crashed"));
	ck_assert_int_eq(message_header_number(message, "x-wpool-attempt"), 3);
	message_free(message);
	char *trail = scratch_read(side.trail, NULL);
	ck_assert_str_eq(trail, "begun dies SIGKILL\nbegun dies SIGKILL\nbegun dies SIGKILL\n");
	free(trail);
	free(line);
	free(dead);
	fixture_stop(serve);
	celery_side_release(&side);
}
END_TEST

#define ENDED_ALONE                                                                                \
	"REVOKED celery.exceptions.TaskRevokedError: terminated False False False False False 1\n"

static const struct check {
	const char *name, *options, *settings, *printed; /* NULL: anything */
	const char *more;                                /* a variable; NULL: none */
	int dead_letters;
} checks[] = {
	{"rate_limit", "", "", "[0, 1, 2, 3, 4, 5, 6, 7]\n", NULL, 0},
	{"priority", "", CELERY_NEEDS ", workers: 1, pipeline: 1, prefetch: 1",
		"p9 p9 p9 p9 p9 p9 p5 p5 p5 p5 p5 p0 p0 p0 p0 p0\n", "ORDERS_PRIORITIES=10", 0},
	{"events_are_batched", "-E", "", "", NULL, 0},
	{"commands_of_wpool", "", "", NULL, NULL, 0},
	{"scheduled_waits_in_the_broker", "", "", "", NULL, 0},
	{"revoked_is_remembered", "", "", "REVOKED celery.exceptions.TaskRevokedError: revoked\n",
		NULL, 0},
	{"ends_softly", "", "", "SUCCESS 3\n", NULL, 0},
	{"limits_by_control", "", "",
		"FAILURE billiard.exceptions.SoftTimeLimitExceeded: SoftTimeLimitExceeded()\n"
		"FAILURE billiard.exceptions.TimeLimitExceeded: TimeLimitExceeded(1,)\n",
		NULL, 1},
	{"ends_alone", "", CELERY_NEEDS ", workers: 1, retry: {attempts: 1}",
		ENDED_ALONE ENDED_ALONE ENDED_ALONE, NULL, 0},
	{"name_of_node", "-n, w@host", CELERY_NEEDS ", workers: 1", "w-orders-0@host\n", NULL, 0},
};
enum { CHECKS = sizeof checks / sizeof *checks };

START_TEST(checks_of_one_script)
{
	const struct check *c = &checks[_i];
	const char *const more[] = {c->more, NULL};
	celery_start_redis();
	struct celery_side side = celery_side("wpool", NULL);
	side.more = more;
	struct proc *serve = celery_start_wpool(&side, c->options, c->settings);
	char *printed = check(&side, c->name);
	if (c->printed)
		ck_assert_str_eq(printed, c->printed);
	fixture_stop(serve);
	char *dead = scratch_text("%s.dead", side.queue);
	ck_assert_int_eq(broker_messages(fixture.broker, dead), c->dead_letters);
	free(dead);
	free(printed);
	celery_side_release(&side);
}
END_TEST

/* Starts that end at once, with one line that says what to do instead. */
static const struct refusal {
	const char *arguments[4], *more, *line;
} refusals[] = {
	{{"-P", "gevent"}, NULL, "no pool of gevent"},
	{{"-P", "eventlet"}, NULL, "no pool of eventlet"},
	{{"--pool=threads"}, NULL, "no pool of threads"},
	{{NULL}, "ORDERS_POOL=gevent", "no pool of gevent"},
	{{NULL}, "WPOOL_CONCURRENCY=8", "`concurrency` is for asyncio"},
	{{NULL}, "ORDERS_BROKER=redis://localhost", "the application's broker is redis"},
	{{"--autoscale", "4,1"}, NULL, "not --autoscale, but the pool's `workers: {min, max}`"},
	{{"-B"}, NULL, "not --beat, but a process of its own"},
	{{"--purge"}, NULL, "not --purge, but"},
	{{"-D"}, NULL, "not --detach, but"},
	{{"--pool-config", "-B"}, NULL, "not --beat, but a process of its own"},
	{{"-E"}, NULL, "wpool starts this: `python3 -m wpool_celery --pool-config"},
	{{"worker", "-E"}, NULL, "wpool starts this: `python3 -m wpool_celery --pool-config"},
};
enum { REFUSALS = sizeof refusals / sizeof *refusals };

START_TEST(what_cannot_be_is_refused_in_a_line)
{
	const struct refusal *r = &refusals[_i];
	const char *argv[16] = {"/usr/bin/python3", "-m", "wpool_celery", "-A", "orders"};
	for (size_t i = 0; i < 4 && r->arguments[i]; i++)
		argv[5 + i] = r->arguments[i];
	struct celery_side side = celery_side("wpool", "rpc://");
	const char *const more[] = {r->more, NULL};
	side.more = more;
	struct proc *adapter = proc_start(fixture.folder, argv, celery_environment(&side));
	ck_assert_int_eq(proc_wait(adapter), 1);
	char *errors = proc_stderr(adapter), *output = proc_stdout(adapter);
	ck_assert_msg(strstr(errors, r->line) != NULL, "%s", errors);
	ck_assert_ptr_eq(strchr(errors, '\n'), errors + strlen(errors) - 1);
	ck_assert_str_eq(output, "");
	free(errors);
	free(output);
	celery_side_release(&side);
}
END_TEST

/* The first line of the log that contains the needle has this level. */
static void expect_level(struct proc *serve, const char *level, const char *needle)
{
	proc_expect(serve, needle);
	char *log = proc_stderr(serve), *rest;
	const char *line = strtok_r(log, "\n", &rest);
	while (line && !strstr(line, needle))
		line = strtok_r(NULL, "\n", &rest);
	ck_assert_ptr_nonnull(line);
	char *expected = scratch_text(" %-5s orders/", level);
	ck_assert_msg(strstr(line, expected) != NULL, "%s", line);
	free(expected);
	free(log);
}

/* The lines of Celery, and not those of wpool that repeat the last line of a worker. */
static int count_received(struct proc *serve, const char *task)
{
	char *log = proc_stderr(serve), *rest;
	int count = 0;
	for (const char *line = strtok_r(log, "\n", &rest); line;
		line = strtok_r(NULL, "\n", &rest))
		count += strstr(line, task) && strstr(line, "] received") &&
			 !strstr(line, "last stderr line");
	free(log);
	return count;
}

START_TEST(lines_of_celery_have_their_level)
{
	celery_start_redis();
	struct celery_side side = celery_side("wpool", NULL);
	const char *const more[] = {"PYTHONWARNINGS=default", NULL};
	side.more = more;
	struct proc *serve = celery_start_wpool(&side, "-l, INFO", "");
	/* The warning of one worker is enough, as that of one `celery worker`. */
	ck_assert_int_eq(proc_count_logged(serve, "superuser privileges"), geteuid() == 0);
	free(celery_run_script(&side, "checks.py", (const char *const[]){"fails_and_dies", NULL}));
	expect_level(serve, "info", "INFO/MainProcess] Task orders.fails[");
	expect_level(serve, "error", "ERROR/MainProcess] Task orders.fails[");
	expect_level(serve, "error", "ValueError: ouch");
	expect_level(serve, "warn", "WARNING/MainProcess] Soft time limit (0.5s) exceeded");
	/* What is recorded of a lost task is not that it was received again. */
	ck_assert_int_eq(count_received(serve, "Task orders.dies_early["), 1);
	expect_level(serve, "error", "has failed: its process ended");
	/* One line of Celery, and where it was for those who want more. */
	expect_level(serve, "info", "was over its hard time limit in File");
	expect_level(serve, "error", "ERROR/MainProcess] Hard time limit (1s) exceeded");
	ck_assert_int_eq(proc_count_logged(serve, "in hard_limited"), 1);
	ck_assert_int_eq(proc_count_logged(serve, "most recent call first"), 0);
	fixture_stop(serve);
	celery_side_release(&side);
}
END_TEST

/* Wait until `wpool status` says that it is not ready, and why. Return what it says. */
static char *await_status(const char *why)
{
	for (int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);;) {
		char *status = RUN(75, "status");
		if (strstr(status, why))
			return status;
		free(status);
		fixture_poll(deadline, 20, why);
	}
}

/* Its workers end at once, and `wpool status` has their reason. The tasks wait until a reload gives
 * the pool what they need. */
START_TEST(a_pool_that_lacks_settings_runs_nothing)
{
	static const char *const lacking[] = {"", "body: bin", "body: bin, headers: typed",
		"headers: typed, properties: true", "body: bin, properties: true"};
	celery_start_redis();
	struct celery_side side = celery_side("wpool", NULL);
	char *settings = scratch_text("workers: 1%s%s", *lacking[_i] ? ", " : "", lacking[_i]);
	side.is_preloaded = _i % 2;
	struct proc *serve = celery_start_wpool_only(&side, "", settings);
	struct proc *script =
		celery_start_script(&side, "checks.py", (const char *const[]){"add", NULL});
	proc_expect(serve, "Celery's messages need `");
	char *status = await_status("Celery's messages need `");
	static const char *const needed[] = {"body: bin", "headers: typed", "properties: true"};
	for (size_t i = 0; i < 3; i++)
		ck_assert_msg(!strstr(status, needed[i]) == !!strstr(lacking[_i], needed[i]), "%s",
			status);
	celery_write_pool(&side, "", "");
	struct proc *reload = fixture_wpool((const char *const[]){"reload", NULL});
	ck_assert_int_eq(proc_wait(reload), 0); /* not RUN: limits.hard has a warning */
	control_expect_text(proc_stdout(reload), "replaced");
	fixture_free_program(reload);
	ck_assert_int_eq(proc_wait(script), 0);
	char *printed = proc_stdout(script);
	ck_assert_str_eq(printed, "SUCCESS 5\n");
	fixture_stop(serve);
	char *dead = scratch_text("%s.dead", side.queue);
	ck_assert_int_eq(broker_messages(fixture.broker, dead), 0);
	free(printed);
	free(dead);
	free(settings);
	celery_side_release(&side);
}
END_TEST

/* What it prints is valid, has what was asked for, and works. */
START_TEST(the_printed_configuration_serves)
{
	celery_start_redis();
	struct celery_side side = celery_side("wpool", NULL);
	const char *const more[] = {"ORDERS_SAY=loaded", NULL};
	side.more = more;
	const char *const options[] = {"-c", "3", "--max-tasks-per-child=50",
		"--max-memory-per-child=300000", "--time-limit", "1234567", "-E", "-C", "-q",
		"--uid", "root", "--gid=root", "--umask", "027", "--pidfile", "a.pid",
		"--executable", "x", "-n", "w@%h", "-l", "INFO", "-Ofair",
		"--prefetch-multiplier=1", "-I", "orders", "--without-gossip", "-s", "x",
		"--scheduler=x", "-S", "x", NULL};
	char *text;
	struct proc *serve = celery_start_printed(&side, options, &text);
	static const char *const expected[] = {"workers: 3", "tasks: 50", "hard: 1234567s",
		"body: bin", "headers: typed", "properties: true", "pipeline: 1",
		"memory: 300000KiB", "user: \"root\"", "group: \"root\"", "umask: \"027\"",
		"\"--app=orders\", \"--time-limit\", \"1234567\", \"-E\", \"-n\", \"w@%h\", "};
	for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
		ck_assert_msg(strstr(text, expected[i]), "no %s in\n%s", expected[i], text);
	side.more = NULL;
	expect_check(&side, "add", "SUCCESS 5\n");
	fixture_stop(serve);
	free(text);
	celery_side_release(&side);
}
END_TEST

/* 4 is Celery's default, and 0 is no limit. */
static const struct {
	const char *more, *setting; /* empty: none */
} multipliers[] = {
	{"ORDERS_SETTINGS={\"worker_prefetch_multiplier\": 1}", "pipeline: 1\n"},
	{"ORDERS_SETTINGS={\"worker_prefetch_multiplier\": 8}", "prefetch: 24\n"},
	{"ORDERS_SETTINGS={\"worker_prefetch_multiplier\": 4}", ""},
	{"ORDERS_SETTINGS={\"worker_prefetch_multiplier\": 0}", ""},
};
enum { MULTIPLIERS = sizeof multipliers / sizeof *multipliers };

START_TEST(a_prefetch_multiplier_becomes_a_setting)
{
	const char *const argv[] = {"/usr/bin/python3", "-m", "wpool_celery", "--pool-config", "-A",
		"orders", "-c", "3", NULL};
	const char *const more[] = {multipliers[_i].more, NULL};
	const char *setting = multipliers[_i].setting;
	struct celery_side side = celery_side("wpool", "rpc://");
	side.more = more;
	struct proc *adapter = proc_start(fixture.folder, argv, celery_environment(&side));
	ck_assert_int_eq(proc_wait(adapter), 0);
	char *text = proc_stdout(adapter);
	bool is_any = strstr(text, "pipeline:") || strstr(text, "prefetch:");
	ck_assert_msg(strstr(text, setting) && is_any == (*setting != 0), "%s", text);
	free(text);
	celery_side_release(&side);
}
END_TEST

/* The supervisor and the broker are killed while tasks wait for their time. */
START_TEST(an_eta_survives_a_restart_of_everything)
{
	fixture_use_own_broker();
	celery_start_redis();
	struct celery_side side = celery_side("wpool", NULL);
	struct proc *serve = celery_start_wpool(&side, "", "");
	free(celery_run_script(&side, "checks.py", (const char *const[]){"later", "9", NULL}));
	char *day = scratch_text("%s.wait.86400s", side.queue);
	char *seconds = scratch_text("%s.wait.3s", side.queue);
	broker_expect_messages(fixture.broker, day, 1);
	broker_expect_messages(fixture.broker, seconds, 1);
	broker_write_all(fixture.broker);
	proc_signal(serve, SIGKILL);
	ck_assert_int_eq(proc_wait(serve), 128 + SIGKILL);
	broker_command(fixture.broker, "kill");
	broker_command(fixture.broker, "restart");
	fixture_reconnect();
	serve = celery_start_wpool(&side, "", "");
	expect_check(&side, "is_due", "PENDING\n");
	broker_expect_messages(fixture.broker, day, 1);
	fixture_stop(serve);
	free(day);
	free(seconds);
	celery_side_release(&side);
}
END_TEST

/* Wait until a line of the trail is this. */
static void expect_trail(const struct celery_side *side, const char *line)
{
	for (int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);;) {
		char *trail = scratch_read(side->trail, NULL);
		bool is_there = strstr(trail, line) != NULL;
		free(trail);
		if (is_there)
			return;
		fixture_poll(deadline, 20, line);
	}
}

enum damage { CONNECTIONS, BROKER, REDIS, DAMAGES };

static void damage(enum damage what, struct proc **redis)
{
	switch (what) {
	case CONNECTIONS:
		broker_close_connections(fixture.broker);
		break;
	case BROKER:
		broker_command(fixture.broker, "restart");
		break;
	case REDIS:
		proc_signal(*redis, SIGKILL);
		proc_wait(*redis);
		*redis = celery_start_redis();
		break;
	case DAMAGES:
		break;
	}
}

/* Connections are cut, the broker restarts, redis restarts, each while tasks run. A task that ends
 * while redis is away has no result there: Celery leaves it PENDING, and here it has failed. */
START_TEST(what_was_away_comes_back)
{
	fixture_use_own_broker();
	struct proc *redis = celery_start_redis();
	struct celery_side side = celery_side("wpool", NULL);
	struct proc *serve = celery_start_wpool(&side, "-E", "");
	char *gate = scratch_path(fixture.folder, "gate");

	struct proc *script = celery_start_script(&side, "checks.py",
		(const char *const[]){
			"outage", gate, "SUCCESS", _i == REDIS ? "FAILURE" : NULL, NULL});
	expect_trail(&side, "ready\n");
	damage(_i, &redis);
	scratch_write(gate, "");
	if (proc_wait(script) != 0)
		fixture_fail(proc_stderr(script));
	free(check(&side, "comes_back"));
	proc_signal(serve, SIGTERM);
	ck_assert_int_eq(proc_wait(serve), 0);
	free(gate);
	celery_side_release(&side);
}
END_TEST

/* What no call from outside can bring about at a certain moment. */
START_TEST(pieces_hold_alone)
{
	struct celery_side side = celery_side("pieces", "rpc://");
	free(celery_run_script(&side, "pieces.py", (const char *const[]){NULL}));
	celery_side_release(&side);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("celery_adapter", {bad_messages_are_dead_letters, 1},
		{a_task_that_always_dies_fails_in_the_end, 2}, {checks_of_one_script, CHECKS},
		{what_cannot_be_is_refused_in_a_line, REFUSALS},
		{lines_of_celery_have_their_level, 1}, {a_pool_that_lacks_settings_runs_nothing, 5},
		{the_printed_configuration_serves, 1},
		{a_prefetch_multiplier_becomes_a_setting, MULTIPLIERS},
		{an_eta_survives_a_restart_of_everything, 1}, {what_was_away_comes_back, DAMAGES},
		{pieces_hold_alone, 1});
}
