/* The configuration is read again while messages flow: pools come, go and change, and nothing is
 * lost, repeated or interrupted. */
#include "harness/control.h"
#include "harness/deadline.h"
#include "harness/exposition.h"
#include "harness/http.h"
#include "system/system.h"

#include <signal.h>
#include <string.h>

/* ---------- what is asked ---------- */

static char *run(const char *const arguments[], int code)
{
	struct proc *proc = site_wpool(arguments);
	int got = proc_wait(proc);
	char *out = code == 0 ? proc_stdout(proc) : proc_stderr(proc);
	ck_assert_msg(got == code, "%s ended with %d, not %d: %s", arguments[0], got, code, out);
	site_forget(proc);
	return out;
}

#define RUN(code, ...) run((const char *const[]){__VA_ARGS__, NULL}, code)

/* The answer is the test's. */
static json_t *reload(const char *pools)
{
	site_write_pools(pools);
	struct http_reply reply = http_ask(control_socket(), "POST", "/v1/reload");
	ck_assert_msg(reply.status == 200, "%d: %s", reply.status, reply.body);
	return control_parse(strdup(reply.body));
}

/* What became of the pool of that name, by a reload with these; "" if that is not told. */
static const char *action_for(const json_t *answer, const char *name)
{
	const json_t *pool;
	size_t i;
	json_array_foreach(json_object_get(answer, "pools"), i, pool)
	{
		if (strcmp(control_words(pool, "name"), name) == 0)
			return control_words(pool, "action");
	}
	return "";
}

static void expect_deed(const char *pools, const char *name, const char *action)
{
	ck_assert_str_eq(action_for(reload(pools), name), action);
}

/* One pool on the site's queue; more: of its keys. */
static char *tested(const char *more)
{
	return scratch_text("- {name: tested, queue: %s, command: [\"%s\"], prefetch: 50%s%s}\n",
		site.queue, site_built("workers/echo"), *more ? ", " : "", more);
}

/* A second one, on the queue of the replies. */
static char *other(void)
{
	return scratch_text("- {name: other, queue: %s, command: [\"%s\"], workers: 1}\n",
		site.replies, site_built("workers/echo"));
}

static struct proc *serve(const char *pools)
{
	struct proc *proc = site_serve_pools(pools);
	client_expect_consumers(site.client, site.queue, 1);
	proc_expect(proc, "control socket: ");
	return proc;
}

static void post(const char *queue, const char *id)
{
	client_post(site.client, queue, &(struct letter){.body = id, .correlation_id = id});
}

/* ---------- in full flow ---------- */

/* Each is another one than before; some are pools beside it. */
static char *variant(int number)
{
	static const char *const keys[] = {"workers: 2", "workers: 5, retry: {attempts: 5}",
		"workers: 5, declare: on", "workers: 3, pipeline: 4, limits: {grace: 5s}",
		"workers: 3, properties: true", "workers: 3, prefetch: 10"};
	char *pool, *more;
	int count = (int)(sizeof keys / sizeof *keys);
	if (number % count == 5)
		pool = scratch_text("- {name: tested, queue: %s, command: [\"%s\"], %s}\n",
			site.queue, site_built("workers/echo"), keys[5]);
	else
		pool = tested(keys[number % count]);
	if (number % 3 == 1) { /* other arguments, the same work */
		char *argued = scratch_text("- {name: tested, queue: %s, command: [\"%s\", v%d]}\n",
			site.queue, site_built("workers/echo"), number);
		free(pool);
		pool = argued;
	}
	more = scratch_text("%s%s", pool, number % 4 == 2 ? other() : "");
	free(pool);
	return more;
}

START_TEST(reloads_in_full_flow_repeat_nothing)
{
	enum { POSTED = 2400, RELOADS = 40 };
	struct proc *proc = serve(variant(0));
	for (int i = 0; i < POSTED; i += POSTED / RELOADS) {
		control_post_many(i, i + POSTED / RELOADS);
		char *pools = variant(1 + i / (POSTED / RELOADS));
		json_decref(reload(pools));
		free(pools);
	}
	control_expect_done(POSTED);
	ck_assert_int_ge(proc_count_said(proc, "configuration reloaded"), RELOADS);
	char *metrics = control_get("/metrics", 200);
	exposition_check(metrics);
	site_stop(proc);
	ck_assert_int_eq(site_witnessed(NULL), POSTED);
}
END_TEST

/* ---------- a mistake ---------- */

START_TEST(a_mistake_changes_nothing)
{
	struct proc *proc = serve(tested("workers: 1"));
	pid_t pid = site_worker_pid();
	char *wrong = tested("workers: 2, limits: {hrad: 1s}");
	site_write_pools(wrong);
	char *said = RUN(78, "reload"), *checked;
	char *file = scratch_path(site.folder, "wpool.yaml");
	checked = RUN(78, "check-config", file);
	control_expect_words(said, checked); /* in the same words */
	control_expect_words(said, "limits.hrad");
	control_expect_words(said, "nothing has changed");
	proc_expect(proc, "limits.hrad");
	proc_expect(proc, "wpool reload: configuration not reloaded: it is wrong");
	control_expect_words(RUN(78, "reload", "--dry-run"), checked);
	proc_signal(proc, SIGHUP);
	proc_expect(proc, "Hangup: configuration not reloaded: it is wrong");
	ck_assert_int_eq(remove(file), 0);
	control_expect_words(RUN(78, "reload"), "wpool.yaml");
	ck_assert_int_eq(site_worker_pid(), pid);
	ck_assert_int_eq(control_number(control_member(control_get_json("/v1/pools"), "pools", 0),
				 "workers", "wanted"),
		1);
	site_write_pools(tested("workers: 2"));
	proc_signal(proc, SIGHUP);
	proc_expect(proc, "changed: workers 1 -> 2");
	site_stop(proc);
}
END_TEST

START_TEST(what_is_the_same_is_left_alone)
{
	struct proc *proc = serve(tested("workers: 1"));
	pid_t pid = site_worker_pid();
	control_expect_words(RUN(0, "reload"), "unchanged");
	char *both = scratch_text("%s%s", tested("workers: 1"), other());
	json_t *answer = reload(both);
	ck_assert_str_eq(action_for(answer, "tested"), "unchanged");
	ck_assert_str_eq(action_for(answer, "other"), "added");
	client_expect_consumers(site.client, site.replies, 1);
	ck_assert_int_eq(site_worker_pid(), pid);
	ck_assert_int_eq(proc_count_said(proc, "tested changed"), 0);
	ck_assert_int_eq(proc_count_said(proc, "worker left"), 0);
	site_stop(proc);
}
END_TEST

START_TEST(a_dry_run_does_nothing)
{
	struct proc *proc = serve(tested("workers: 1"));
	site_write_pools(other());
	char *said = RUN(0, "reload", "--dry-run");
	control_expect_words(said, "added");
	control_expect_words(said, "removed");
	ck_assert_int_eq(proc_count_said(proc, "removed"), 0);
	site_worker_pid();
	site_stop(proc);
}
END_TEST

/* ---------- pools that come and go ---------- */

static void expect_pools(size_t count)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	size_t got;
	do {
		json_t *pools = control_get_json("/v1/pools");
		got = json_array_size(json_object_get(pools, "pools"));
		json_decref(pools);
	} while (got != count && deadline_left(deadline) > 0);
	ck_assert_uint_eq(got, count);
}

START_TEST(one_that_is_removed_finishes_its_long_task)
{
	char *both = scratch_text("%s%s", tested(""), other());
	struct proc *proc = serve(both);
	client_expect_consumers(site.client, site.replies, 1);
	site_post_held_to(site.replies, proc, "long");
	expect_deed(tested(""), "other", "removed");
	client_expect_consumers(site.client, site.replies, 0);
	ck_assert_int_eq(site_witnessed("long"), 0);
	control_expect_words(RUN(0, "pools"), "draining");
	/* Again, while the old one is at work: they have nothing to do with each other. */
	expect_deed(both, "other", "added");
	expect_pools(3);
	client_expect_consumers(site.client, site.replies, 1);
	char *metrics = control_get("/metrics", 200);
	exposition_check(metrics);
	site_release("long");
	proc_expect(proc, "drained: 1 done");
	expect_pools(2);
	broker_expect_messages(site.broker, site.replies, 0);
	ck_assert_int_eq(site_witnessed("long"), 1);
	expect_deed(tested(""), "other", "removed");
	expect_pools(1);
	site_stop(proc);
}
END_TEST

/* The old one is stopped with all the rest, and by its deadline. */
START_TEST(one_that_was_removed_does_not_outlive_the_stop)
{
	char *both = scratch_text("%s%s", tested(""), other());
	struct proc *proc = serve(both);
	client_expect_consumers(site.client, site.replies, 1);
	site_post_held_to(site.replies, proc, "long");
	expect_deed(tested(""), "other", "removed");
	proc_signal(proc, SIGTERM);
	proc_expect(proc, "draining: ");
	control_expect_words(RUN(75, "reload"), "the supervisor is stopping");
	proc_signal(proc, SIGHUP); /* neither a reload nor a second stop */
	proc_expect(proc, "Hangup: configuration not reloaded");
	proc_signal(proc, SIGTERM);
	ck_assert_int_eq(proc_wait(proc), 75);
	broker_expect_messages(site.broker, site.replies, 1);
}
END_TEST

/* ---------- another command ---------- */

static char *with_command(const char *command)
{
	return scratch_text(
		"- {name: tested, queue: %s, command: %s, workers: 2}\n", site.queue, command);
}

START_TEST(workers_are_replaced_when_their_command_changes)
{
	char *old = scratch_text("[\"%s\"]", site_built("workers/echo"));
	char *new = scratch_text("[\"%s\", again]", site_built("workers/echo"));
	struct proc *proc = serve(with_command(old));
	pid_t pid = site_worker_pid();
	site_post_held(proc, "long");
	expect_deed(with_command(new), "tested", "restarting");
	proc_expect(proc, "restarting: command; its workers are replaced, one by one");
	site_release("long");
	proc_expect(proc, "restarted: all workers are new");
	proc_expect_gone(pid);
	broker_expect_messages(site.broker, site.queue, 0);
	ck_assert_int_eq(site_witnessed("long"), 1);
	ck_assert_int_eq(proc_count_said(proc, "worker left"), 2);

	/* The next one comes to nothing. */
	pid = site_worker_pid();
	expect_deed(with_command("[/bin/false]"), "tested", "restarting");
	proc_expect(proc, "restart given up");
	post(site.queue, "still");
	broker_expect_messages(site.broker, site.queue, 0);
	ck_assert_int_eq(site_witnessed("still"), 1);
	expect_deed(with_command(new), "tested", "restarting");
	proc_expect(proc, "restarted: all workers are new");
	site_stop(proc);
}
END_TEST

/* Another queue, and a command that is not there: the old one works on until that is mended. */
START_TEST(one_that_is_replaced_works_until_the_new_one_does)
{
	struct proc *proc = serve(tested(""));
	char *moved = scratch_text(
		"- {name: tested, queue: %s, command: [/nowhere/worker]}\n", site.replies);
	expect_deed(moved, "tested", "replaced");
	proc_expect(proc, "worker could not be started");
	post(site.queue, "old");
	broker_expect_messages(site.broker, site.queue, 0);
	ck_assert_int_eq(site_witnessed("old"), 1);
	RUN(0, "pause", "tested"); /* both of them */
	client_expect_consumers(site.client, site.queue, 0);
	RUN(0, "resume", "tested");
	client_expect_consumers(site.client, site.queue, 1);
	char *mended = scratch_text("- {name: tested, queue: %s, command: [\"%s\"]}\n",
		site.replies, site_built("workers/echo"));
	expect_deed(mended, "tested", "restarting");
	client_expect_consumers(site.client, site.replies, 1);
	client_expect_consumers(site.client, site.queue, 0);
	expect_pools(1);
	site_stop(proc);
}
END_TEST

/* ---------- what operators asked for ---------- */

static json_int_t wanted(void)
{
	return control_number(
		control_member(control_get_json("/v1/pools"), "pools", 0), "workers", "wanted");
}

START_TEST(a_scale_holds_until_another_number_is_configured)
{
	struct proc *proc = serve(tested("workers: 2"));
	RUN(0, "scale", "tested", "3");
	expect_deed(tested("workers: 2, retry: {attempts: 7}"), "tested", "changed");
	ck_assert_int_eq(wanted(), 3);
	expect_deed(tested("workers: 2, properties: true"), "tested", "replaced");
	expect_pools(1);
	ck_assert_int_eq(wanted(), 3);
	expect_deed(tested("workers: 4, properties: true"), "tested", "changed");
	ck_assert_int_eq(wanted(), 4);
	site_stop(proc);
}
END_TEST

/* What is configured of the whole; what can not be taken over is told. */
START_TEST(settings_of_the_whole_are_taken_over_or_told)
{
	char *pool = tested("");
	struct proc *proc = serve(pool);
	char *file = scratch_path(site.folder, "wpool.yaml");
	scratch_write(file, scratch_text("broker: {url: \"%s\", heartbeat: 3s}\ndrain: 7s\n"
					 "log: {level: debug}\npools:\n%s",
				    broker_url(site.broker), pool));
	char *said = RUN(0, "reload");
	control_expect_words(
		said, "changed for the whole: drain 30s -> 7s, log.level info -> debug");
	control_expect_words(said, "needs a restart of wpool serve: broker.heartbeat 15s -> 3s");
	proc_expect(proc, "changes at the next start only: broker.heartbeat");
	RUN(0, "log-level", "warn");
	RUN(0, "reload"); /* nothing is new about the level */
	control_expect_words(RUN(0, "log-level"), "warn");
	proc_signal(proc, SIGTERM);
	ck_assert_int_eq(proc_wait(proc), 0);
}
END_TEST

START_TEST(a_pause_holds)
{
	struct proc *proc = serve(tested(""));
	RUN(0, "pause");
	client_expect_consumers(site.client, site.queue, 0);
	expect_deed(tested("properties: true"), "tested", "replaced");
	expect_pools(1);
	post(site.queue, "x");
	client_expect_ready(site.client, site.queue, 1);
	ck_assert_int_eq(client_consumers(site.client, site.queue), 0);
	RUN(0, "resume");
	broker_expect_messages(site.broker, site.queue, 0);
	site_stop(proc);
}
END_TEST

/* The broker comes back while pools are on their way in and out. */
START_TEST(it_outlives_the_connection)
{
	struct proc *proc = serve(tested(""));
	client_expect_consumers(site.client, site.queue, 1);
	site_write_pools(other());
	broker_close_connections(site.broker);
	proc_signal(proc, SIGHUP);
	site_reconnect();
	client_expect_consumers(site.client, site.replies, 1);
	client_expect_consumers(site.client, site.queue, 0);
	expect_pools(1);
	site_stop(proc);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("reload", {reloads_in_full_flow_repeat_nothing, 1},
		{a_mistake_changes_nothing, 1}, {what_is_the_same_is_left_alone, 1},
		{a_dry_run_does_nothing, 1}, {one_that_is_removed_finishes_its_long_task, 1},
		{one_that_was_removed_does_not_outlive_the_stop, 1},
		{workers_are_replaced_when_their_command_changes, 1},
		{one_that_is_replaced_works_until_the_new_one_does, 1},
		{a_scale_holds_until_another_number_is_configured, 1}, {a_pause_holds, 1},
		{settings_of_the_whole_are_taken_over_or_told, 1}, {it_outlives_the_connection, 1});
}
