/* `wpool status`, `pools`, `workers`: tables, JSON, and errors. The commands that control pools. */
#include "harness/command.h"
#include "harness/control.h"
#include "harness/deadline.h"
#include "harness/http.h"
#include "harness/terminal.h"
#include "system/system.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

START_TEST(commands_show_the_supervisor)
{
	struct proc *serve = fixture_serve_echo((const char *const[]){"--workers", "1", NULL});
	pid_t pid = fixture_worker_pid();
	fixture_post_held(serve, "the long one");
	control_await("/readyz", 200);
	char *status = RUN(0, "status"), *pools = RUN(0, "pools"), *workers = RUN(0, "workers");
	ck_assert_int_eq(strncmp(status, "ready: wpool ", 13), 0);
	control_expect_text(status, "consuming connected, publishing connected");
	control_expect_text(status, strndup(pools, strcspn(pools, "\n")));
	control_expect_text(pools, fixture.queue);
	control_expect_text(pools, "consuming");
	control_expect_text(pools, "1/1");
	control_expect_text(workers, "busy");
	control_expect_text(workers, "the long one");
	control_expect_text(workers, scratch_text(" %d ", (int)pid));
	ck_assert_str_eq(
		control_text(control_parse(RUN(0, "status", "--json")), "phase"), "serving");
	ck_assert_str_eq(
		control_text(control_member(control_parse(RUN(0, "pools", "--json", fixture.queue)),
				     "pools", 0),
			"name"),
		fixture.queue);
	ck_assert_int_eq(control_number(control_member(control_parse(RUN(0, "workers", "--json")),
						"workers", 0),
				 "process", "pid"),
		pid);
	control_expect_text(RUN(65, "workers", "nobody's pool&x=y"),
		scratch_text(
			"there is no pool \"nobody's pool&x=y\"; there are: %s\n", fixture.queue));
}
END_TEST

static void await_words(int code, const char *command, const char *words)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	for (;;) {
		char *out = RUN(code, command);
		if (strstr(out, words))
			return;
		ck_assert_msg(
			deadline_left(deadline) > 0, "%s says no '%s': %s", command, words, out);
		free(out);
	}
}

START_TEST(commands_without_supervisor_say_why)
{
	control_expect_text(RUN(69, "status"), "no supervisor listens at");
	control_expect_text(RUN(69, "pools", "--socket", "/nowhere/x"), "/nowhere/x: No such file");
	control_expect_text(RUN(64, "workers", "--sockte", "x"), "did you mean --socket?");
	control_expect_text(RUN(64, "status", "x"), "unexpected 'x'");
	struct proc *serve = fixture_serve(NULL, (const char *const[]){"/bin/false", NULL});
	proc_expect(serve, "control socket: ");
	char *status = RUN(75, "status");
	ck_assert_int_eq(strncmp(status, "NOT READY: wpool ", 17), 0);
	await_words(75, "status", "crash loop: ");
}
END_TEST

/* The reason has the number of failures, the last exit, its stderr and the next start. */
START_TEST(crash_loop_is_explained)
{
	static const char words[] = "no module named orders";
	const char *const worker[] = {
		"/bin/sh", "-c", scratch_text("echo '%s' >&2; exit 3", words), NULL};
	struct proc *serve = fixture_serve((const char *const[]){"--workers", "2", NULL}, worker);
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	proc_expect(serve, "last exit: exit status 3; the pool takes no messages");
	while (control_figure("workers", "failures_in_row") < 3)
		fixture_poll(deadline, 20, "a worker has failed three times in a row");
	await_words(75, "status",
		scratch_text("  reason: pool %s: crash loop: 2 of 2 workers failed up to ",
			fixture.queue));
	await_words(75, "status", "ago: exit status 3; next start in ");
	control_expect_text(RUN(75, "status"), words);
	char *pools = RUN(0, "pools");
	control_expect_text(pools, "failing");
	control_expect_text(pools, scratch_text("%s: reason: crash loop: ", fixture.queue));
	control_expect_text(pools, scratch_text("last stderr line: %s", words));
	await_words(0, "workers", " x exit status 3, ");
	await_words(0, "workers", " ago; next start in ");
	char *ready = control_get("/readyz", 503);
	control_expect_text(ready, "exit status 3");
	ck_assert_ptr_null(strstr(ready, words)); /* stderr of workers is for the own user only */
	const json_t *pool = control_member(control_get_json("/v1/pools"), "pools", 0);
	ck_assert_int_ge(control_number(pool, "workers", "failures_in_row"), 3);
	ck_assert_str_eq(control_text(json_object_get(pool, "last_death"), "stderr"), words);
}
END_TEST

/* The usual mistake: a program that does not speak the protocol. */
START_TEST(worker_that_never_gets_ready_is_explained)
{
	struct proc *serve = fixture_serve_program("wpool", NULL,
		scratch_text("- {queue: %s, command: [/bin/sleep, '1000'], workers: 1, "
			     "limits: {boot: 200ms}}\n",
			fixture.queue));
	proc_expect(serve, "last exit: signal 9 (Killed), ended by wpool: boot limit");
	await_words(75, "status", "signal 9 (Killed), ended by wpool: boot limit");
	await_words(0, "workers", "signal 9 (Killed), ended by wpool: boot limit");
}
END_TEST

/* One worker works and the other fails: a warning, and still ready. */
START_TEST(failing_workers_are_a_warning)
{
	const char *first = scratch_text("mkdir %s/first 2>/dev/null && exec %s; exit 3",
		fixture.folder, fixture_built("workers/echo"));
	struct proc *serve = fixture_serve((const char *const[]){"--workers", "2", NULL},
		(const char *const[]){"/bin/sh", "-c", first, NULL});
	proc_expect(serve, "control socket: ");
	control_await("/readyz", 200);
	await_words(0, "status",
		scratch_text(
			"  warning: pool %s: crash loop: 1 of 2 workers failed ", fixture.queue));
	await_words(0, "pools", scratch_text("%s: warning: crash loop: ", fixture.queue));
	control_expect_text(RUN(0, "status"), "ready: wpool ");
	control_expect_text(RUN(0, "pools"), "1/2");
}
END_TEST

/* It is named first, and not as a failure of the worker. */
START_TEST(missing_command_is_explained)
{
	static const char *const programs[][2] = {
		{"/no/such/worker", "the command cannot be run: No such file or directory"},
		{"/etc/passwd", "the command cannot be run: Permission denied"},
	};
	const char *const *program = programs[_i];
	struct proc *serve = fixture_serve(NULL, (const char *const[]){program[0], NULL});
	proc_expect(serve,
		scratch_text("no worker can be started (command \"%s\"): %s; the start is retried",
			program[0], program[1]));
	proc_expect(serve, scratch_text("no worker can be started (command \"%s\"): %s; the pool",
				   program[0], program[1]));
	ck_assert_ptr_null(strstr(proc_stderr(serve), "first line of input"));
	await_words(75, "status", program[1]);
	control_expect_text(control_get("/readyz", 503), program[1]);
}
END_TEST

START_TEST(commands_control_pools)
{
	struct proc *serve = fixture_serve_echo(
		(const char *const[]){"--workers", "2", "--pipeline", "1", NULL});
	const char *pool = fixture.queue;
	control_await("/readyz", 200);
	control_expect_text(RUN(0, "scale", pool, "5"), "5 workers wanted");
	control_await_figure("workers", "ready", 5);
	control_expect_text(RUN(0, "pause"), "paused");
	client_expect_consumers(fixture.client, fixture.queue, 0);
	control_expect_text(control_get("/readyz", 503), "paused by an operator");
	control_post_many(0, 20);
	client_expect_ready(fixture.client, fixture.queue, 20);
	control_expect_text(RUN(0, "resume", pool), "resumed");
	control_expect_done(20);
	pid_t before = fixture_worker_pid();
	control_expect_text(RUN(0, "restart", pool), "restarting, one by one");
	proc_expect(serve, "restarted: all workers are new");
	proc_expect_gone(before);
	before = fixture_worker_pid();
	control_expect_text(RUN(0, "restart", pool, "--wait"), ": restarted: all workers are new");
	proc_expect_gone(before);
	control_expect_text(RUN(0, "scale", pool, "1"), "1 worker wanted");
	control_await_figure("workers", "ready", 1);
	control_await_figure("workers", "leaving", 0);
	control_await("/readyz", 200);
	ck_assert_uint_eq(
		json_array_size(json_object_get(control_get_json("/v1/workers"), "workers")), 1);
	control_expect_text(
		RUN(64, "scale", pool, "10001"), "'10001' is no number from 1 to 10000");
	control_expect_text(RUN(64, "scale", pool, "0"), "'0' is no number from 1");
	control_expect_text(RUN(64, "scale", pool), "POOL and N are needed");
	control_expect_text(RUN(65, "pause", "nobody"),
		scratch_text("there is no pool \"nobody\"; there are: %s\n", fixture.queue));
	json_t *answer = control_parse(RUN(0, "pause", "--json"));
	ck_assert_str_eq(control_text(control_member(answer, "pools", 0), "state"), "paused");
	fixture_stop(serve);
}
END_TEST

static void control_pools(const char *verb)
{
	char *path = scratch_text("/v1/pools/%s/%s", fixture.queue, verb);
	struct http_reply reply = http_request(control_socket(), "POST", path);
	ck_assert_msg(reply.status == 200, "%s: %d %s", path, reply.status, reply.body);
	http_release(&reply);
	free(path);
}

static void post_with_status(const char *status, int count)
{
	for (int i = 0; i < count; i++)
		client_post(fixture.client, fixture.queue,
			&(struct letter){.body = "x", .headers = {{"X-Status", status}}});
}

/* A pool is ready whatever its workers answer, so status and log warn of failures. */
START_TEST(pool_that_fails_most_tasks_is_warned_of)
{
	struct proc *serve = fixture_serve_echo((const char *const[]){"--workers", "1", NULL});
	control_await("/readyz", 200);
	post_with_status("400", 9);
	client_expect_ready(fixture.client, fixture.dead, 9);
	ck_assert_ptr_null(strstr(RUN(0, "status"), "attempts failed"));
	post_with_status("400", 1);
	proc_expect(serve, "10 of the last 10 attempts failed, the last one as rejected");
	control_expect_text(RUN(0, "status"), "10 of its last 10 attempts failed, the last one ");
	free(control_get("/readyz", 200));
	post_with_status("200", 30);
	proc_expect(serve, "10 of the last 40 attempts failed");
	ck_assert_ptr_null(strstr(RUN(0, "status"), "attempts failed"));
	fixture_stop(serve);
}
END_TEST

/* On a terminal every pool is paused only after a question; one pool, or with --yes, without. */
START_TEST(pause_of_all_pools_asks_on_a_terminal)
{
	struct terminal *terminal;
	struct proc *serve = fixture_serve_echo((const char *const[]){"--workers", "1", NULL});
	char *wpool = strdup(fixture_built("wpool"));
	const struct {
		const char *option, *answer, *end;
		int code;
	} cases[] = {
		{NULL, "n\n", "nothing was paused", 75},
		{NULL, "\n", "nothing was paused", 75},
		{NULL, "y\n", ": paused", 0},
		{"--yes", "", ": paused", 0},
		{fixture.queue, "", ": paused", 0},
	};

	control_await("/readyz", 200);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		free(RUN(0, "resume"));
		control_await("/readyz", 200);
		terminal = terminal_start(100, 10,
			(const char *const[]){wpool, "pause", "--socket", control_socket(),
				cases[i].option, NULL});
		if (*cases[i].answer)
			terminal_expect(terminal, "Pause every pool? [y/N]");
		terminal_type(terminal, cases[i].answer);
		terminal_expect(terminal, cases[i].end);
		ck_assert_int_eq(terminal_wait(terminal), cases[i].code);
		terminal_free(terminal);
		ck_assert_str_eq(
			control_text(
				control_member(control_get_json("/v1/pools"), "pools", 0), "state"),
			cases[i].code ? "consuming" : "paused");
	}
	fixture_stop(serve);
	free(wpool);
}
END_TEST

/* The pool is scaled, restarted and paused again and again under load: each task is done once. */
START_TEST(commands_under_load_repeat_nothing)
{
	enum { TASKS = 1500, ROUNDS = 60 };
	static const char *const verbs[] = {
		"scale?workers=8", "restart", "scale?workers=2", "pause", "resume"};
	struct proc *serve = fixture_serve_echo((const char *const[]){"--workers", "2", NULL});
	control_await("/readyz", 200);
	for (int i = 0; i < TASKS; i++) {
		char *id = scratch_text("%d", i);
		client_post(fixture.client, fixture.queue,
			&(struct letter){.body = "x",
				.correlation_id = id,
				.headers = {{"X-Sleep-Ms", "2"}}});
		free(id);
		if (i % (TASKS / ROUNDS) == 0)
			control_pools(verbs[i / (TASKS / ROUNDS) % 5]);
	}
	control_pools("resume");
	control_expect_done(TASKS);
	json_t *answer = control_get_json("/v1/pools");
	const json_t *pool = control_member(answer, "pools", 0);
	ck_assert_int_eq(control_number(pool, "totals", "done"), TASKS);
	ck_assert_int_eq(control_number(pool, "totals", "retried"), 0);
	ck_assert_int_eq(control_number(pool, "totals", "worker_deaths"), 0);
	fixture_stop(serve);
}
END_TEST

/* The id of the task that the first worker works on. */
static json_int_t task_id(void)
{
	json_t *answer = control_get_json("/v1/workers");
	json_int_t id = control_number(control_member(answer, "workers", 0), "task", "id");
	json_decref(answer);
	return id;
}

static void expect_refused(const char *path, int status, const char *text)
{
	struct http_reply reply = http_request(control_socket(), "POST", path);
	ck_assert_int_eq(reply.status, status);
	control_expect_text(reply.body, text);
	http_release(&reply);
}

/* It is advice: the worker has it, and answers as it likes. */
START_TEST(cancel_asks_the_worker_of_the_task)
{
	const char *pool = fixture.queue;
	char id[32], next[32];
	/* Both wait when the worker is ready, so both go into its pipe. */
	for (int i = 0; i < 2; i++)
		client_post(fixture.client, fixture.queue,
			&(struct letter){.body = "cancel", .correlation_id = i ? "b" : "a"});
	struct proc *serve =
		fixture_serve((const char *const[]){"--workers", "1", "--pipeline", "2", NULL},
			(const char *const[]){fixture_built("workers/many"), NULL});
	proc_expect(serve, "control socket: ");
	control_await_figure("tasks", "in_pipes", 2);
	control_await_figure("tasks", "open", 1);
	control_await_figure("tasks", "places", 1);
	snprintf(id, sizeof id, "%lld", (long long)task_id());
	snprintf(next, sizeof next, "%lld", (long long)task_id() + 1);
	control_expect_text(RUN(64, "cancel", pool), "POOL and ID are needed");
	control_expect_text(RUN(64, "cancel"), "POOL and ID are needed");
	static const char *const wrong[] = {"0", "a", "1x", "18446744073709551616", ""};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		control_expect_text(RUN(64, "cancel", pool, wrong[i]),
			scratch_text("'%s' is no id of a task", wrong[i]));
	control_expect_text(RUN(65, "cancel", pool, "999999"), "no worker of this pool has a task");
	control_expect_text(RUN(65, "cancel", "nobody", id), "there is no pool \"nobody\"");
	control_expect_text(RUN(75, "cancel", pool, next), "has not begun it");
	expect_refused(scratch_text("/v1/pools/%s/cancel", pool), 400, "task=ID is needed");
	expect_refused(scratch_text("/v1/pools/%s/cancel?task=x", pool), 400, "task=ID is needed");
	expect_refused(scratch_text("/v1/cancel?task=%s", id), 404, "no such path");
	control_expect_text(RUN(0, "cancel", pool, id),
		scratch_text("%s: the worker was asked to give up the task\n", pool));
	proc_expect(serve, "asked to cancel a");
	control_await_figure("totals", "done", 1);
	control_expect_text(RUN(65, "cancel", pool, id), "it may have been answered");
	json_t *answer = control_parse(RUN(0, "cancel", "--json", pool, next));
	ck_assert_str_eq(control_text(control_member(answer, "pools", 0), "name"), pool);
	proc_expect(serve, "asked to cancel b");
	control_expect_done(2);
	fixture_stop(serve);
}
END_TEST

START_TEST(kill_names_a_worker_and_its_task)
{
	const char *pool = fixture.queue;
	struct proc *serve = fixture_serve_echo((const char *const[]){"--workers", "1", NULL});
	proc_expect(serve, "control socket: ");
	control_await("/readyz", 200);
	control_expect_text(RUN(64, "kill", pool), "POOL and SLOT are needed");
	control_expect_text(RUN(64, "kill", pool, "first"), "'first' is no slot");
	control_expect_text(RUN(64, "kill", pool, "65536"), "'65536' is no slot");
	control_expect_text(RUN(64, "kill", pool, "0", "0"), "'0' is no id of a task");
	control_expect_text(RUN(64, "kill", pool, "0", "1", "2"), "unexpected '2'");
	control_expect_text(RUN(65, "kill", "nobody", "0"), "there is no pool \"nobody\"");
	control_expect_text(RUN(65, "kill", pool, "0", "999"), "no worker of this pool has a task");
	control_expect_text(RUN(75, "kill", pool, "0"), "the worker in this slot has no task");
	control_expect_text(RUN(75, "kill", pool, "1"), "there is no worker in this slot");
	expect_refused(scratch_text("/v1/pools/%s/kill", pool), 400, "slot=N is needed");
	expect_refused(scratch_text("/v1/pools/%s/kill?slot=x", pool), 400, "slot=N is needed");
	expect_refused(
		scratch_text("/v1/pools/%s/kill?slot=0&task=x", pool), 400, "task=ID is needed");
	expect_refused(scratch_text("/v1/pools/%s/kill?slot=0&give_up=1", pool), 400,
		"give_up is true or false");
	fixture_post_held(serve, "a");
	char *id = scratch_text("%lld", (long long)task_id());
	control_expect_text(RUN(75, "kill", pool, "1", id), "there is no worker in this slot");
	RUN(0, "kill", pool, "0", id);
	RUN(0, "kill", pool, "0", id, "--give-up");
	ck_assert_int_eq(proc_count_logged(serve, "an operator kills task a"), 2);
	fixture_release("a");
	control_expect_done(1);
	ck_assert_int_eq(proc_count_logged(serve, "worker died"), 0);
	fixture_stop(serve);
}
END_TEST

START_TEST(commands_are_refused_in_drain)
{
	struct proc *serve = fixture_serve_echo((const char *const[]){"--workers", "1", NULL});
	fixture_post_held(serve, "stays");
	proc_signal(serve, SIGTERM);
	proc_expect(serve, "draining");
	control_expect_text(RUN(75, "restart"), "the pool is stopping");
	proc_signal(serve, SIGTERM);
	ck_assert_int_eq(proc_wait(serve), 75);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("control_commands", {commands_show_the_supervisor, 1},
		{commands_without_supervisor_say_why, 1}, {crash_loop_is_explained, 1},
		{failing_workers_are_a_warning, 1}, {worker_that_never_gets_ready_is_explained, 1},
		{missing_command_is_explained, 2}, {commands_control_pools, 1},
		{pool_that_fails_most_tasks_is_warned_of, 1},
		{pause_of_all_pools_asks_on_a_terminal, 1}, {commands_under_load_repeat_nothing, 1},
		{cancel_asks_the_worker_of_the_task, 1}, {kill_names_a_worker_and_its_task, 1},
		{commands_are_refused_in_drain, 1});
}
