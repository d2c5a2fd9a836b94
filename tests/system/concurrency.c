/* Several tasks open in one worker: as many as configured and no more, answered in any order; only
 * the task that ended a worker pays for it; limits, cancels, commands and views know each task. The
 * worker is tests/workers/many.c, and what it does stands in a task's body. */
#include "harness/command.h"
#include "harness/control.h"
#include "system/system.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define GIANT     "16777216" /* bytes: max_body, and the limit of RabbitMQ 4.0 */
#define REPLIES   200
#define NAME_SIZE 32

/* The pool "tested" of such workers; settings: its further keys. Ready when this returns. */
static struct proc *serve(const char *settings)
{
	char *pools = scratch_text("- {name: tested, queue: %s, command: [\"%s\"], %s}\n",
		fixture.queue, fixture_built("workers/many"), settings);
	struct proc *proc = fixture_serve_pools(pools);
	free(pools);
	proc_expect(proc, "control socket: ");
	control_await("/readyz", 200);
	return proc;
}

static void post(const char *name, const char *body)
{
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = body, .correlation_id = name});
}

static void post_many(const char *prefix, int count, const char *body)
{
	struct letter *letters = calloc((size_t)count, sizeof *letters);
	ck_assert_ptr_nonnull(letters);
	for (int i = 0; i < count; i++)
		letters[i] = (struct letter){
			.body = body, .correlation_id = scratch_text("%s%d", prefix, i)};
	client_post_all(fixture.client, fixture.queue, letters, (size_t)count, NULL);
	free(letters);
}

/* Tasks that stay open until fixture_release(release); wait until they are. No other task may begin
 * or end meanwhile. */
static void post_held(const char *prefix, int count, const char *release)
{
	json_int_t before = control_figure("tasks", "open");
	post_many(prefix, count, scratch_text("hold %s", fixture_release_path(release)));
	control_await_figure("tasks", "open", before + count);
}

/* All of these were done, each once, and no attempt but those of `failed` was counted. */
static void expect_done(int count, int failed)
{
	control_expect_done(count);
	ck_assert_int_eq(control_figure("totals", "retried"), 0);
	ck_assert_int_eq(control_figure("totals", "given_up"), failed);
	ck_assert_int_eq(control_figure("totals", "cut_short"), 0);
}

/* A dead letter of this task, for this reason. */
static void expect_dead(const char *name, const char *reason)
{
	struct message *dead = client_take(fixture.client, fixture.dead);
	ck_assert_msg(message_text_is(dead->properties.correlation_id, name), "%s is dead, not %s",
		dead->body, name);
	ck_assert(message_header_is(dead, "x-wpool-reason", reason));
	message_free(dead);
}

/* ---------- as many as configured ---------- */

START_TEST(as_many_as_configured_are_open_and_seen)
{
	struct proc *proc = serve("workers: 1, concurrency: 8, prefetch: 20");
	post_many("a", 11, scratch_text("hold %s", fixture_release_path("all")));
	proc_expect(proc, "all 8 places are taken");
	control_await_figure("tasks", "waiting", 3);
	ck_assert_int_eq(control_figure("tasks", "open"), 8);
	ck_assert_int_eq(control_figure("tasks", "places"), 8);
	ck_assert_int_eq(control_figure("tasks", "in_pipes"), 8);
	ck_assert_int_eq(control_figure("workers", "concurrency"), 8);
	json_t *answer = control_get_json("/v1/workers");
	const json_t *worker = control_member(answer, "workers", 0);
	ck_assert_int_eq(json_integer_value(json_object_get(worker, "tasks_open")), 8);
	ck_assert_int_ge(control_number(worker, "task", "id"), 1);
	ck_assert_str_eq(control_text(json_object_get(worker, "task"), "name"), "a0");
	control_expect_text(RUN(0, "pools"), "8/8");
	control_expect_text(RUN(0, "workers"), "OPEN");
	control_expect_text(RUN(0, "workers"), "a0");
	char *metrics = control_get("/metrics", 200);
	control_expect_text(metrics, "wpool_tasks_open{pool=\"tested\"} 8\n");
	control_expect_text(metrics, "wpool_task_places{pool=\"tested\"} 8\n");
	control_expect_text(metrics, "wpool_tasks_suspect{pool=\"tested\"} 0\n");
	control_expect_text(metrics, "wpool_tasks_suspected_total{pool=\"tested\"} 0\n");
	control_expect_text(metrics, "wpool_worker_concurrency{pool=\"tested\"} 8\n");
	fixture_release("all");
	expect_done(11, 0);
	ck_assert_int_eq(control_figure("totals", "worker_deaths"), 0);
	json_decref(answer);
	fixture_stop(proc);
}
END_TEST

/* The worker answers when all its places are taken, the newest task first. */
START_TEST(answers_come_in_any_order)
{
	enum { TASKS = 400 };
	struct proc *proc = serve("workers: 1, concurrency: 20");
	post_many("a", TASKS, "together 20");
	expect_done(TASKS, 0);
	ck_assert_int_eq(control_figure("totals", "worker_deaths"), 0);
	fixture_stop(proc);
}
END_TEST

/* A supervisor that mixed up sizes or ids would break the small ones. */
START_TEST(giant_answer_among_small_ones)
{
	struct letter letters[REPLIES + 1];
	long giants = 0, small = 0;
	struct proc *proc = serve("workers: 1, concurrency: 201, max_body: 16MiB");
	for (int i = 0; i <= REPLIES; i++)
		letters[i] = (struct letter){.body = i == REPLIES / 2 ? "reply " GIANT : "reply 10",
			.correlation_id = scratch_text("%d", i),
			.reply_to = fixture.replies};
	client_post_all(fixture.client, fixture.queue, letters, REPLIES + 1, NULL);
	expect_done(REPLIES + 1, 0);
	for (int i = 0; i <= REPLIES; i++) {
		struct message *reply = client_take(fixture.client, fixture.replies);
		bool is_giant = reply->size == strtoul(GIANT, NULL, 10);
		ck_assert(is_giant || reply->size == 10);
		ck_assert_int_eq(is_giant, message_text_is(reply->properties.correlation_id,
						   scratch_text("%d", REPLIES / 2)));
		giants += is_giant;
		small += !is_giant;
		message_free(reply);
	}
	ck_assert_int_eq(giants, 1);
	ck_assert_int_eq(small, REPLIES);
	fixture_stop(proc);
}
END_TEST

/* ---------- only the culprit pays ---------- */

/* With one attempt, the killers and nothing else are given up; a single worker takes turns. */
START_TEST(only_the_killers_pay)
{
	enum { HELD = 12, KILLERS = 3, GOOD = 200 };
	int workers = _i ? 4 : 1;
	struct proc *proc =
		serve(scratch_text("workers: %d, concurrency: 16, retry: {attempts: 1}", workers));
	control_await_figure("workers", "ready", workers); /* no killer has one for itself */
	post_held("held", HELD, "all");
	for (int i = 0; i < KILLERS; i++)
		post(scratch_text("killer%d", i), "exit");
	proc_expect(proc, "which of them ended it is not known: each runs alone now, and no "
			  "attempt is counted; starting another");
	fixture_release("all");
	post_many("good", GOOD, "done");
	expect_done(HELD + GOOD, KILLERS);
	for (int i = 0; i < KILLERS; i++) {
		struct message *dead = client_take(fixture.client, fixture.dead);
		ck_assert_str_eq(dead->body, "exit");
		ck_assert(message_header_is(dead, "x-wpool-reason", "crashed"));
		ck_assert(message_header_is(dead, "x-wpool-exit", "exit status 3"));
		message_free(dead);
	}
	ck_assert_int_le(client_ready(fixture.client, fixture.dead), 0);
	ck_assert_int_ge(control_figure("totals", "suspects"), 2);
	ck_assert_int_eq(control_figure("tasks", "suspects"), 0);
	fixture_stop(proc);
}
END_TEST

/* An answer that names the open task which it belongs to, or not. */
static const struct {
	const char *body, *log;
	bool is_named;
} violations[] = {
	{"status 999", "an unknown status (999) in task bad; the 3 others that were open go back",
		true},
	{"answer 99999999",
		"the id of a task that is not open (status 200, id 99999999); which of its 4",
		false},
	{"answer none", "without the id of its task (status 200); which of its 4 open tasks",
		false},
	{"answer 0", "; which of its 4 open tasks", false},
	{"answer -1", "; which of its 4 open tasks", false},
	{"answer text", "; which of its 4 open tasks", false},
};

#define VIOLATIONS ((int)(sizeof violations / sizeof *violations))

START_TEST(the_task_of_a_protocol_error_pays)
{
	struct proc *proc = serve("workers: 1, concurrency: 4, retry: {attempts: 1}");
	post_held("held", 3, "all");
	post("bad", violations[_i].body);
	proc_expect(proc, "worker broke the pipe protocol: ");
	ck_assert_msg(proc_has_logged(proc, violations[_i].log), "%s: no line has '%s'",
		violations[_i].body, violations[_i].log);
	proc_expect(proc, "worker died"); /* until the kill it could still answer the others */
	fixture_release("all");
	expect_done(3, 1);
	expect_dead("bad", "protocol-error");
	ck_assert_int_eq(control_figure("totals", "suspects"), violations[_i].is_named ? 0 : 4);
	fixture_stop(proc);
}
END_TEST

/* The first answer stands; the second one names no open task. */
START_TEST(second_answer_costs_nobody_an_attempt)
{
	struct proc *proc = serve("workers: 1, concurrency: 4, retry: {attempts: 1}");
	post_held("held", 3, "all");
	post("bad", "twice");
	proc_expect(proc, "the id of a task that is not open (status 200, id ");
	proc_expect(proc, "worker died");
	fixture_release("all");
	expect_done(4, 0);
	fixture_stop(proc);
}
END_TEST

/* The id is open, but in another worker. */
START_TEST(answer_to_a_task_of_another_worker)
{
	struct proc *proc = serve("workers: 2, concurrency: 2, retry: {attempts: 1}");
	char *ids = scratch_path(fixture.folder, "ids");
	control_await_figure("workers", "ready", 2);
	post_held("held", 2, "all");
	json_t *answer = control_get_json("/v1/workers");
	char *text = scratch_text("%lld %lld",
		(long long)control_number(control_member(answer, "workers", 0), "task", "id"),
		(long long)control_number(control_member(answer, "workers", 1), "task", "id"));
	scratch_write(ids, text);
	post("bad", scratch_text("answer other %s", ids));
	proc_expect(proc, "); which of its 2 open tasks");
	proc_expect(proc, "worker died");
	ck_assert_int_eq(fixture_witnessed(NULL), 0);
	fixture_release("all");
	expect_done(2, 1);
	expect_dead("bad", "protocol-error");
	json_decref(answer);
	fixture_stop(proc);
}
END_TEST

/* ---------- limits ---------- */

START_TEST(hung_task_pays_while_others_go_on)
{
	/* Both are there before the worker, so the second begins right after the first. */
	post("hung", "hang");
	post("busy", scratch_text("busy %s", fixture_release_path("all")));
	struct proc *proc = serve("workers: 1, concurrency: 4, retry: {attempts: 1}, "
				  "limits: {hard: 3s, grace: 10s}");
	proc_expect(proc, "worker exceeded its hard limit (3.0 s) in task hung; the other that "
			  "was open goes back, and no attempt of it is counted");
	proc_expect(proc, "worker died");
	fixture_release("all");
	expect_done(1, 1);
	expect_dead("hung", "timed-out");
	fixture_stop(proc);
}
END_TEST

/* The others of its worker have the pool's. */
START_TEST(task_has_the_hard_limit_that_its_worker_sets)
{
	struct proc *proc = serve("workers: 1, concurrency: 4, retry: {attempts: 1}, "
				  "limits: {hard: 1h, grace: 1s}");
	post("busy", scratch_text("busy %s", fixture_release_path("all")));
	post("hung", "limit 300");
	proc_expect(proc,
		"worker exceeded its hard limit, which it set itself with HardLimitMilliseconds "
		"(300 ms) in task hung; the other that "
		"was open goes back, and no attempt of it is counted");
	proc_expect(proc, "worker died");
	post("ignored", "limit soon");
	proc_expect(proc, "HardLimitMilliseconds, which is ignored: it is no number from 1 to "
			  "31536000000");
	control_await_figure("tasks", "open", 2);
	fixture_release("all");
	control_await_figure("tasks", "open", 1);
	expect_dead("hung", "timed-out");
	ck_assert_int_eq(fixture_witnessed("busy"), 1);
	proc_signal(proc, SIGKILL);
	ck_assert_int_eq(proc_wait(proc), 128 + SIGKILL);
}
END_TEST

/* It sends nothing, so nothing shows which task blocks it: each runs alone. */
START_TEST(blocked_worker_makes_suspects)
{
	post_many("held", 3, scratch_text("hold %s", fixture_release_path("all")));
	post("blocks", "block");
	struct proc *proc = serve("workers: 1, concurrency: 4, retry: {attempts: 1}, "
				  "limits: {hard: 3s, grace: 200ms}");
	proc_expect(proc, "worker exceeded its hard limit (3.0 s); which of its 4 open tasks is "
			  "the cause is not known");
	control_await_figure("tasks", "suspects", 3);
	char *status = control_get("/v1/status", 200);
	control_expect_text(status, "3 tasks wait to run alone in a worker");
	free(status);
	fixture_release("all");
	expect_done(3, 1);
	expect_dead("blocks", "timed-out");
	ck_assert_int_eq(control_figure("totals", "suspects"), 4);
	fixture_stop(proc);
}
END_TEST

/* Progress of a task shows nothing about itself: it does not prolong its limit. */
START_TEST(progress_for_ever_ends_at_the_hard_limit)
{
	post("for ever", scratch_text("busy %s", fixture_release_path("never")));
	post_many("good", 50, "done");
	struct proc *proc = serve("workers: 1, concurrency: 4, retry: {attempts: 1}, "
				  "limits: {hard: 2s, grace: 10s}");
	expect_dead("for ever", "timed-out");
	ck_assert(proc_has_logged(proc, "worker exceeded its hard limit (2.0 s); ending it"));
	expect_done(50, 1);
	fixture_stop(proc);
}
END_TEST

/* What the worker is sent names the task. */
START_TEST(soft_limit_asks_for_each_task)
{
	static const struct {
		const char *concurrency, *on_soft, *body;
	} cases[] = {{"4", "cancel", "cancel"}, {"4", "context-switch", "switch"},
		{"1", "cancel", "cancel"}, {"1", "context-switch", "switch"}};
	struct proc *proc = serve(scratch_text("workers: 1, concurrency: %s, retry: {attempts: 1}, "
					       "limits: {soft: 100ms, on_soft: %s}",
		cases[_i].concurrency, cases[_i].on_soft));
	post_many("a", 3, cases[_i].body);
	expect_done(3, 0);
	fixture_stop(proc); /* all lines of the worker are logged then */
	for (int i = 0; i < 3; i++) {
		const char *line = scratch_text("asked to %s a%d", cases[_i].body, i);
		int repeated = proc_count_logged(proc, scratch_text("last stderr line: %s", line));
		ck_assert_int_eq(proc_count_logged(proc, line) - repeated, 1);
	}
}
END_TEST

/* ---------- what operators do ---------- */

START_TEST(operator_cancels_one_of_several)
{
	char id[NAME_SIZE];
	struct proc *proc = serve("workers: 1, concurrency: 4");
	post("first", "cancel");
	control_await_figure("tasks", "open", 1);
	post_held("held", 3, "all");
	json_t *answer = control_get_json("/v1/workers");
	snprintf(id, sizeof id, "%lld",
		(long long)control_number(control_member(answer, "workers", 0), "task", "id"));
	control_expect_text(RUN(0, "cancel", "tested", id), "the worker was asked");
	proc_expect(proc, "asked to cancel first");
	control_await_figure("tasks", "open", 3);
	ck_assert_int_eq(fixture_witnessed("first"), 1);
	fixture_release("all");
	expect_done(4, 0);
	json_decref(answer);
	fixture_stop(proc);
}
END_TEST

/* The id of the task that the worker has had for longest. */
static char *oldest_id(void)
{
	json_t *answer = control_get_json("/v1/workers");
	const json_t *worker = control_member(answer, "workers", 0);
	char *id = scratch_text("%lld", (long long)control_number(worker, "task", "id"));
	json_decref(answer);
	return id;
}

/* The worker does not give it up, so it is ended; the others run again in their first attempt, and
 * beside each other. */
START_TEST(operator_kills_one_of_several)
{
	struct proc *proc = serve("workers: 1, concurrency: 4, limits: {grace: 100ms}");
	post_held("bad", 1, "never");
	char *id = oldest_id();
	post_held("good", 3, "all");
	control_expect_text(RUN(75, "kill", "tested", "0"), "the id of one is needed");
	control_expect_text(RUN(0, "kill", "--give-up", "tested", "0", id),
		"tested: the worker was asked to give up the task, and is ended if it does not\n");
	proc_expect(proc, "an operator kills task bad0: its worker is asked to give it up");
	proc_expect(proc, "worker exceeded its grace after an operator's kill (100 ms)");
	proc_expect(proc, "task bad0 killed (signal 15 (Terminated)), attempt 1 of 3; given up");
	expect_dead("bad0", "killed");
	control_await_figure("tasks", "open", 3);
	char *metrics = control_get("/metrics", 200);
	control_expect_text(metrics, "wpool_tasks_suspected_total{pool=\"tested\"} 0\n");
	fixture_release("all");
	expect_done(3, 1);
	fixture_stop(proc);
}
END_TEST

/* Also after its last attempt, and without an id, as its worker has no other task. */
START_TEST(killed_task_is_retried)
{
	struct proc *proc =
		serve("workers: 1, limits: {grace: 100ms}, retry: {attempts: 1, delay: []}");
	post_held("a", 1, "all");
	RUN(0, "kill", "tested", "0");
	proc_expect(proc, "task a0 killed (signal 15 (Terminated)), attempt 1 of 1; retrying");
	fixture_release("all");
	control_await_figure("totals", "done", 1);
	control_expect_done(1);
	ck_assert_int_eq(control_figure("totals", "retried"), 1);
	ck_assert_int_eq(control_figure("totals", "given_up"), 0);
	fixture_stop(proc);
}
END_TEST

/* Its failure is how it follows the request; so the worker lives. */
START_TEST(killed_task_that_fails_is_settled_as_ordered)
{
	struct proc *proc = serve("workers: 1, limits: {grace: 1min}");
	post("a", "cancel 500");
	control_await_figure("tasks", "open", 1);
	RUN(0, "kill", "tested", "0", oldest_id(), "--give-up");
	proc_expect(proc, "task a killed with status 500, attempt 1 of 3; given up");
	expect_dead("a", "killed");
	ck_assert_int_eq(proc_count_logged(proc, "worker died"), 0);
	fixture_stop(proc);
}
END_TEST

START_TEST(commands_with_several_open_repeat_nothing)
{
	struct proc *proc = serve("workers: 2, concurrency: 4, prefetch: 20");
	control_await_figure("workers", "ready", 2);
	post_held("a", 8, "restart");
	control_expect_text(RUN(0, "restart", "tested"), "restarting");
	fixture_release("restart");
	proc_expect(proc, "restarted: all workers are new");
	expect_done(8, 0);
	post_held("b", 8, "pause");
	post_many("c", 4, "done");
	control_await_figure("tasks", "waiting", 4);
	control_expect_text(RUN(0, "pause", "tested"), "paused");
	fixture_release("pause");
	control_await_figure("tasks", "open", 0);
	ck_assert_int_eq(fixture_witnessed(NULL), 16);
	control_expect_text(RUN(0, "resume", "tested"), "resumed");
	expect_done(20, 0);
	post_held("d", 8, "stop");
	ck_assert_int_eq(control_figure("totals", "worker_deaths"), 0);
	proc_signal(proc, SIGTERM);
	proc_expect(proc, "draining");
	fixture_release("stop");
	ck_assert_int_eq(proc_wait(proc), 0);
	ck_assert_int_eq(fixture_witnessed(NULL), 28);
	ck_assert_int_eq(client_ready(fixture.client, fixture.queue), 0);
}
END_TEST

START_TEST(recycled_worker_finishes_its_open_tasks)
{
	enum { TASKS = 300 };
	struct proc *proc = serve("workers: 2, concurrency: 5, recycle: {tasks: 20}");
	post_many("a", TASKS, "done");
	proc_expect(proc, "replacing worker: it has done ");
	expect_done(TASKS, 0);
	ck_assert_int_eq(control_figure("totals", "worker_deaths"), 0);
	ck_assert_int_eq(control_figure("totals", "suspects"), 0);
	fixture_stop(proc);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("concurrency", {as_many_as_configured_are_open_and_seen, 1},
		{answers_come_in_any_order, 1}, {giant_answer_among_small_ones, 1},
		{only_the_killers_pay, 2}, {the_task_of_a_protocol_error_pays, VIOLATIONS},
		{second_answer_costs_nobody_an_attempt, 1}, {answer_to_a_task_of_another_worker, 1},
		{hung_task_pays_while_others_go_on, 1},
		{task_has_the_hard_limit_that_its_worker_sets, 1},
		{progress_for_ever_ends_at_the_hard_limit, 1}, {blocked_worker_makes_suspects, 1},
		{soft_limit_asks_for_each_task, 4}, {operator_cancels_one_of_several, 1},
		{operator_kills_one_of_several, 1}, {killed_task_is_retried, 1},
		{killed_task_that_fails_is_settled_as_ordered, 1},
		{commands_with_several_open_repeat_nothing, 1},
		{recycled_worker_finishes_its_open_tasks, 1});
}
