/* Reload of the configuration under load: pools are added, removed and changed, and nothing is
 * lost, repeated or interrupted. */
#include "harness/command.h"
#include "harness/control.h"
#include "harness/deadline.h"
#include "harness/exposition.h"
#include "harness/http.h"
#include "system/system.h"

#include <signal.h>
#include <string.h>
#include <sys/stat.h>

/* The response moves out. */
static json_t *reload(const char *pools)
{
	fixture_write_pools(pools);
	struct http_reply reply = http_request(control_socket(), "POST", "/v1/reload");
	ck_assert_msg(reply.status == 200, "%d: %s", reply.status, reply.body);
	return control_parse(strdup(reply.body));
}

/* The action of the reload for the pool of that name; "" if it is not listed. */
static const char *action_for(const json_t *answer, const char *name)
{
	const json_t *pool;
	size_t i;
	json_array_foreach(json_object_get(answer, "pools"), i, pool)
	{
		if (strcmp(control_text(pool, "name"), name) == 0)
			return control_text(pool, "action");
	}
	return "";
}

static void expect_action(const char *pools, const char *name, const char *action)
{
	ck_assert_str_eq(action_for(reload(pools), name), action);
}

/* The pool "tested" on the fixture's queue; more: further keys. */
static char *tested(const char *more)
{
	return scratch_text("- {name: tested, queue: %s, command: [\"%s\"], prefetch: 50%s%s}\n",
		fixture.queue, fixture_built("workers/echo"), *more ? ", " : "", more);
}

/* A second pool, on the queue of the replies. */
static char *other(void)
{
	return scratch_text("- {name: other, queue: %s, command: [\"%s\"], workers: 1}\n",
		fixture.replies, fixture_built("workers/echo"));
}

static struct proc *serve(const char *pools)
{
	struct proc *proc = fixture_serve_pools(pools);
	client_expect_consumers(fixture.client, fixture.queue, 1);
	proc_expect(proc, "control socket: ");
	return proc;
}

static void post(const char *queue, const char *id)
{
	client_post(fixture.client, queue, &(struct letter){.body = id, .correlation_id = id});
}

/* ---------- in full flow ---------- */

/* A configuration that differs from the one before; some have a second pool. */
static char *variant(int number)
{
	static const char *const keys[] = {"workers: 2", "workers: 5, retry: {attempts: 5}",
		"workers: 5, declare: on", "workers: 3, pipeline: 4, limits: {grace: 5s}",
		"workers: 3, properties: true", "workers: 3, prefetch: 10"};
	char *pool, *more;
	int count = (int)(sizeof keys / sizeof *keys);
	if (number % count == 5)
		pool = scratch_text("- {name: tested, queue: %s, command: [\"%s\"], %s}\n",
			fixture.queue, fixture_built("workers/echo"), keys[5]);
	else
		pool = tested(keys[number % count]);
	if (number % 3 == 1) { /* other arguments, the same work */
		char *argued = scratch_text("- {name: tested, queue: %s, command: [\"%s\", v%d]}\n",
			fixture.queue, fixture_built("workers/echo"), number);
		free(pool);
		pool = argued;
	}
	more = scratch_text("%s%s", pool, number % 4 == 2 ? other() : "");
	free(pool);
	return more;
}

START_TEST(reloads_under_load_repeat_nothing)
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
	ck_assert_int_ge(proc_count_logged(proc, "configuration reloaded"), RELOADS);
	char *metrics = control_get("/metrics", 200);
	exposition_check(metrics);
	fixture_stop(proc);
	ck_assert_int_eq(fixture_witnessed(NULL), POSTED);
}
END_TEST

/* ---------- a mistake ---------- */

START_TEST(wrong_configuration_changes_nothing)
{
	struct proc *proc = serve(tested("workers: 1"));
	pid_t pid = fixture_worker_pid();
	char *wrong = tested("workers: 2, limits: {hrad: 1s}");
	fixture_write_pools(wrong);
	char *said = RUN(78, "reload"), *checked;
	char *file = scratch_path(fixture.folder, "wpool.yaml");
	checked = RUN(78, "check-config", file);
	control_expect_text(said, checked); /* in the same words */
	control_expect_text(said, "limits.hrad");
	control_expect_text(said, "nothing has changed");
	proc_expect(proc, "limits.hrad");
	proc_expect(proc, "wpool reload: configuration not reloaded: it is wrong");
	control_expect_text(RUN(78, "reload", "--dry-run"), checked);
	proc_signal(proc, SIGHUP);
	proc_expect(proc, "Hangup: configuration not reloaded: it is wrong");
	ck_assert_int_eq(remove(file), 0);
	control_expect_text(RUN(78, "reload"), "wpool.yaml");
	ck_assert_int_eq(mkfifo(file, 0600), 0); /* without a writer: nothing waits for one */
	control_expect_text(RUN(78, "reload"), "wpool.yaml: it is not a regular file");
	ck_assert_int_eq(remove(file), 0);
	ck_assert_int_eq(fixture_worker_pid(), pid);
	ck_assert_int_eq(control_number(control_member(control_get_json("/v1/pools"), "pools", 0),
				 "workers", "wanted"),
		1);
	fixture_write_pools(tested("workers: 2"));
	proc_signal(proc, SIGHUP);
	proc_expect(proc, "changed: workers 1 -> 2");
	fixture_stop(proc);
}
END_TEST

START_TEST(unchanged_pool_is_kept)
{
	struct proc *proc = serve(tested("workers: 1"));
	pid_t pid = fixture_worker_pid();
	control_expect_text(RUN(0, "reload"), "unchanged");
	char *both = scratch_text("%s%s", tested("workers: 1"), other());
	json_t *answer = reload(both);
	ck_assert_str_eq(action_for(answer, "tested"), "unchanged");
	ck_assert_str_eq(action_for(answer, "other"), "added");
	client_expect_consumers(fixture.client, fixture.replies, 1);
	ck_assert_int_eq(fixture_worker_pid(), pid);
	ck_assert_int_eq(proc_count_logged(proc, "tested changed"), 0);
	ck_assert_int_eq(proc_count_logged(proc, "worker left"), 0);
	fixture_stop(proc);
}
END_TEST

/* Defaults for all pools count as if each pool had them, unless it has its own. */
START_TEST(default_is_reloaded_as_a_setting_of_each_pool)
{
	char *pools = scratch_text("%s%s", tested(""), other());
	struct proc *proc =
		serve(scratch_text("%sdefaults: {workers: 1, limits: {hard: 1min}}\n", pools));
	json_t *answer =
		reload(scratch_text("%sdefaults: {workers: 2, limits: {hard: 1min}}\n", pools));
	ck_assert_str_eq(action_for(answer, "tested"), "changed");
	ck_assert_str_eq(action_for(answer, "other"), "unchanged");
	proc_expect(proc, "changed: workers 1 -> 2");
	fixture_write_pools(scratch_text("%sdefaults: {queue: q}\n", pools));
	control_expect_text(RUN(78, "reload"), "defaults.queue cannot be a default; ");
	answer = reload(scratch_text("%sdefaults: {workers: 2, nice: 1}\n", pools));
	ck_assert_str_eq(action_for(answer, "tested"), "restarting");
	ck_assert_str_eq(action_for(answer, "other"), "restarting");
	fixture_stop(proc);
}
END_TEST

START_TEST(dry_run_changes_nothing)
{
	struct proc *proc = serve(tested("workers: 1"));
	fixture_write_pools(other());
	char *said = RUN(0, "reload", "--dry-run");
	control_expect_text(said, "added");
	control_expect_text(said, "removed");
	control_expect_text(said, "nothing was done (--dry-run)");
	ck_assert_int_eq(proc_count_logged(proc, "removed"), 0);
	fixture_worker_pid();
	fixture_stop(proc);
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

START_TEST(removed_pool_finishes_its_task)
{
	char *both = scratch_text("%s%s", tested(""), other());
	struct proc *proc = serve(both);
	client_expect_consumers(fixture.client, fixture.replies, 1);
	fixture_post_held_to(fixture.replies, proc, "long");
	expect_action(tested(""), "other", "removed");
	client_expect_consumers(fixture.client, fixture.replies, 0);
	ck_assert_int_eq(fixture_witnessed("long"), 0);
	control_expect_text(RUN(0, "pools"), "draining");
	/* The pool is added again while the old one still drains. */
	expect_action(both, "other", "added");
	expect_pools(3);
	client_expect_consumers(fixture.client, fixture.replies, 1);
	char *metrics = control_get("/metrics", 200);
	exposition_check(metrics);
	fixture_release("long");
	proc_expect(proc, "drained: 1 done");
	expect_pools(2);
	broker_expect_messages(fixture.broker, fixture.replies, 0);
	ck_assert_int_eq(fixture_witnessed("long"), 1);
	expect_action(tested(""), "other", "removed");
	expect_pools(1);
	fixture_stop(proc);
}
END_TEST

/* The removed pool is stopped with the others, by the same deadline. */
START_TEST(stop_ends_removed_pool)
{
	char *both = scratch_text("%s%s", tested(""), other());
	struct proc *proc = serve(both);
	client_expect_consumers(fixture.client, fixture.replies, 1);
	fixture_post_held_to(fixture.replies, proc, "long");
	expect_action(tested(""), "other", "removed");
	proc_signal(proc, SIGTERM);
	proc_expect(proc, "draining: ");
	control_expect_text(RUN(75, "reload"), "the supervisor is stopping");
	proc_signal(proc, SIGHUP); /* neither a reload nor a second stop */
	proc_expect(proc, "Hangup: configuration not reloaded");
	proc_signal(proc, SIGTERM);
	ck_assert_int_eq(proc_wait(proc), 75);
	broker_expect_messages(fixture.broker, fixture.replies, 1);
}
END_TEST

/* ---------- another command ---------- */

static char *with_command(const char *command)
{
	return scratch_text(
		"- {name: tested, queue: %s, command: %s, workers: 2}\n", fixture.queue, command);
}

START_TEST(workers_are_replaced_when_their_command_changes)
{
	char *old = scratch_text("[\"%s\"]", fixture_built("workers/echo"));
	char *new = scratch_text("[\"%s\", again]", fixture_built("workers/echo"));
	struct proc *proc = serve(with_command(old));
	pid_t pid = fixture_worker_pid();
	fixture_post_held(proc, "long");
	expect_action(with_command(new), "tested", "restarting");
	proc_expect(proc, "restarting: command; its workers are replaced, one by one");
	fixture_release("long");
	proc_expect(proc, "restarted: all workers are new");
	proc_expect_gone(pid);
	broker_expect_messages(fixture.broker, fixture.queue, 0);
	ck_assert_int_eq(fixture_witnessed("long"), 1);
	proc_await_logged(proc, "worker left", 2);

	/* A command that fails: the old workers stay. */
	pid = fixture_worker_pid();
	expect_action(with_command("[/bin/false]"), "tested", "restarting");
	proc_expect(proc, "restart given up");
	post(fixture.queue, "still");
	broker_expect_messages(fixture.broker, fixture.queue, 0);
	ck_assert_int_eq(fixture_witnessed("still"), 1);
	expect_action(with_command(new), "tested", "restarting");
	proc_expect(proc, "restarted: all workers are new");
	fixture_stop(proc);
}
END_TEST

/* Another queue and a missing command: the old pool works until the command is corrected. */
START_TEST(replaced_pool_works_until_new_pool_is_ready)
{
	struct proc *proc = serve(tested(""));
	char *moved = scratch_text(
		"- {name: tested, queue: %s, command: [/nowhere/worker]}\n", fixture.replies);
	expect_action(moved, "tested", "replaced");
	proc_expect(proc, "worker could not be started");
	control_await("/readyz", 200); /* the old pool works */
	control_expect_text(RUN(0, "status"),
		"pool tested: its new configuration is not ready, and the former one works on: ");
	post(fixture.queue, "old");
	broker_expect_messages(fixture.broker, fixture.queue, 0);
	ck_assert_int_eq(fixture_witnessed("old"), 1);
	RUN(0, "pause", "tested"); /* both of them */
	client_expect_consumers(fixture.client, fixture.queue, 0);
	control_expect_text(control_get("/readyz", 503), "pool tested: paused");
	RUN(0, "resume", "tested");
	client_expect_consumers(fixture.client, fixture.queue, 1);
	char *mended = scratch_text("- {name: tested, queue: %s, command: [\"%s\"]}\n",
		fixture.replies, fixture_built("workers/echo"));
	expect_action(mended, "tested", "restarting");
	client_expect_consumers(fixture.client, fixture.replies, 1);
	client_expect_consumers(fixture.client, fixture.queue, 0);
	expect_pools(1);
	fixture_stop(proc);
}
END_TEST

/* A task for each letter, open until all are released. */
static void post_held(const char *letters)
{
	char *hold = scratch_text("hold %s", fixture_release_path("all"));
	for (; *letters; letters++)
		client_post(fixture.client, fixture.queue,
			&(struct letter){
				.body = hold, .correlation_id = scratch_text("%c", *letters)});
}

static char *with_concurrency(const char *more)
{
	return scratch_text("- {name: tested, queue: %s, command: [\"%s\"], workers: 1, %s}\n",
		fixture.queue, fixture_built("workers/many"), more);
}

/* The tasks that are open in the old pool are finished there, and the new one's workers have the
 * new number. */
START_TEST(concurrency_and_on_soft_replace_the_pool)
{
	struct proc *proc = serve(with_concurrency("concurrency: 2"));
	post_held("ab");
	proc_expect(proc, "all 2 places are taken");
	expect_action(with_concurrency("concurrency: 3"), "tested", "replaced");
	post_held("cde");
	proc_expect(proc, "all 3 places are taken");
	expect_action(with_concurrency("concurrency: 3, limits: {on_soft: cancel}"), "tested",
		"replaced");
	post_held("fgh");
	proc_expect(proc, "all 3 places are taken");
	fixture_release("all");
	control_expect_done(8);
	ck_assert(!proc_has_logged(proc, "worker died"));
	fixture_stop(proc);
}
END_TEST

/* Ids are unique in the supervisor, so the task is found in the pool that drains. */
START_TEST(task_of_a_replaced_pool_can_be_cancelled)
{
	struct proc *proc = serve(with_concurrency("concurrency: 2"));
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "cancel", .correlation_id = "a"});
	control_await_figure("tasks", "open", 1);
	json_t *answer = control_get_json("/v1/workers");
	char *id = scratch_text("%lld",
		(long long)control_number(control_member(answer, "workers", 0), "task", "id"));
	expect_action(with_concurrency("concurrency: 3"), "tested", "replaced");
	control_expect_text(RUN(0, "cancel", "tested", id), "tested: the worker was asked");
	proc_expect(proc, "asked to cancel a");
	expect_pools(1);
	control_expect_done(1);
	control_expect_text(RUN(65, "cancel", "tested", id), "it may have been answered");
	json_decref(answer);
	fixture_stop(proc);
}
END_TEST

/* ---------- what operators asked for ---------- */

START_TEST(scale_holds_until_configured_number_changes)
{
	struct proc *proc = serve(tested("workers: 2"));
	RUN(0, "scale", "tested", "3");
	expect_action(tested("workers: 2, retry: {attempts: 7}"), "tested", "changed");
	ck_assert_int_eq(control_figure("workers", "wanted"), 3);
	expect_action(tested("workers: 2, properties: true"), "tested", "replaced");
	expect_pools(1);
	ck_assert_int_eq(control_figure("workers", "wanted"), 3);
	expect_action(tested("workers: 4, properties: true"), "tested", "changed");
	ck_assert_int_eq(control_figure("workers", "wanted"), 4);
	fixture_stop(proc);
}
END_TEST

/* Settings of the supervisor are applied; those that need a restart are reported. */
START_TEST(supervisor_settings_are_applied_or_reported)
{
	char *pool = tested("");
	struct proc *proc = serve(pool);
	char *file = scratch_path(fixture.folder, "wpool.yaml");
	scratch_write(file, scratch_text("broker: {url: \"%s\", heartbeat: 3s}\ndrain: 7s\n"
					 "log: {level: debug}\npools:\n%s",
				    broker_url(fixture.broker), pool));
	char *said = RUN(0, "reload");
	control_expect_text(
		said, "changed supervisor settings: drain 1520s -> 7s, log.level info -> debug");
	control_expect_text(said, "needs a restart of wpool serve: broker.heartbeat 15s -> 3s");
	proc_expect(proc, "changes at the next start only: broker.heartbeat");
	RUN(0, "log-level", "warn");
	RUN(0, "reload"); /* the configured level is unchanged */
	control_expect_text(RUN(0, "log-level"), "warn");
	proc_signal(proc, SIGTERM);
	ck_assert_int_eq(proc_wait(proc), 0);
}
END_TEST

START_TEST(pause_holds_across_reload)
{
	struct proc *proc = serve(tested(""));
	RUN(0, "pause");
	client_expect_consumers(fixture.client, fixture.queue, 0);
	expect_action(tested("properties: true"), "tested", "replaced");
	expect_pools(1);
	post(fixture.queue, "x");
	client_expect_ready(fixture.client, fixture.queue, 1);
	ck_assert_int_eq(client_consumers(fixture.client, fixture.queue), 0);
	RUN(0, "resume");
	broker_expect_messages(fixture.broker, fixture.queue, 0);
	fixture_stop(proc);
}
END_TEST

/* The connection is lost while pools are added and removed. */
START_TEST(reload_survives_lost_connection)
{
	struct proc *proc = serve(tested(""));
	client_expect_consumers(fixture.client, fixture.queue, 1);
	fixture_write_pools(other());
	broker_close_connections(fixture.broker);
	proc_signal(proc, SIGHUP);
	fixture_reconnect();
	client_expect_consumers(fixture.client, fixture.replies, 1);
	client_expect_consumers(fixture.client, fixture.queue, 0);
	expect_pools(1);
	fixture_stop(proc);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("reload", {reloads_under_load_repeat_nothing, 1},
		{wrong_configuration_changes_nothing, 1}, {unchanged_pool_is_kept, 1},
		{default_is_reloaded_as_a_setting_of_each_pool, 1}, {dry_run_changes_nothing, 1},
		{removed_pool_finishes_its_task, 1}, {stop_ends_removed_pool, 1},
		{workers_are_replaced_when_their_command_changes, 1},
		{replaced_pool_works_until_new_pool_is_ready, 1},
		{concurrency_and_on_soft_replace_the_pool, 1},
		{task_of_a_replaced_pool_can_be_cancelled, 1},
		{scale_holds_until_configured_number_changes, 1}, {pause_holds_across_reload, 1},
		{supervisor_settings_are_applied_or_reported, 1},
		{reload_survives_lost_connection, 1});
}
