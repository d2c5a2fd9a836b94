#include "harness/site.h"

#include "harness/deadline.h"
#include "harness/scratch.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_PROGRAMS  16
#define MOST_ARGUMENTS 64
#define SHOWN_BYTES    8000
#define DELAYS_MAX     8
#define DELAY_MIN_MS   100 /* of the retry queues that tests wait for */

struct site site;

static struct proc *programs[MOST_PROGRAMS];
static size_t program_count;

static void declare_queues(void)
{
	client_declare(site.client, site.queue, CLIENT_QUORUM);
	client_declare(site.client, site.replies, CLIENT_CLASSIC);
}

static void open_site(void)
{
	site.broker = broker_shared();
	site.client = client_open(broker_url(site.broker));
	site.folder = scratch_make();
	site.queue = scratch_text("task-%d", (int)getpid());
	site.dead = scratch_text("%s.dead", site.queue);
	site.replies = scratch_text("%s.replies", site.queue);
	site.witness = scratch_path(site.folder, "witness");
	declare_queues();
}

static void delete_queues(void)
{
	client_delete(site.client, site.queue);
	client_delete(site.client, site.dead);
	client_delete(site.client, scratch_text("%s.retry.100ms", site.queue));
	client_delete(site.client, site.replies);
}

void site_move_to_own_broker(void)
{
	char *folder = scratch_path(site.folder, "node");
	delete_queues();
	client_free(site.client);
	site.broker = broker_start(folder);
	site.client = client_open(broker_url(site.broker));
	declare_queues();
	free(folder);
}

void site_reconnect(void)
{
	client_free(site.client);
	site.client = client_open(broker_url(site.broker));
}

static void close_site(void)
{
	while (program_count > 0)
		proc_free(programs[--program_count]);
	if (site.broker == broker_shared())
		delete_queues();
	client_free(site.client);
	/* Before its folder goes: then nobody would know how to stop it. */
	if (site.broker != broker_shared())
		broker_free(site.broker);
	scratch_remove(site.folder);
	free(site.queue);
	free(site.dead);
	free(site.replies);
	free(site.witness);
}

_Noreturn void site_leave(void)
{
	close_site();
	exit(EXIT_SUCCESS);
}

int site_run_suite(const char *name, const struct site_test tests[])
{
	const char *chosen = getenv("WPOOL_TEST");
	Suite *suite = suite_create(name);
	TCase *tcase = tcase_create(name);
	tcase_add_unchecked_fixture(tcase, broker_share, broker_unshare);
	tcase_add_checked_fixture(tcase, open_site, close_site);
	for (size_t i = 0; tests[i].test; i++)
		if (!chosen || strcmp(tests[i].test->name, chosen) == 0)
			tcase_add_loop_test(tcase, tests[i].test, 0, tests[i].loops);
	suite_add_tcase(suite, tcase);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

const char *site_built(const char *name)
{
	const char *build = getenv("WPOOL_BUILD");
	return scratch_text("%s/%s", build ? build : "build", name);
}

static void append(const char **to, size_t *count, const char *const from[])
{
	for (size_t i = 0; from && from[i]; i++) {
		ck_assert_uint_lt(*count, MOST_ARGUMENTS - 1);
		to[(*count)++] = from[i];
	}
}

static struct proc *start_argv(const char *const argv[], const char *const more[])
{
	const char *environment[MOST_ARGUMENTS] = {
		scratch_text("WITNESS=%s", site.witness), "WPOOL_RETRY_DELAY=100ms", NULL};
	size_t variable_count = 2;
	append(environment, &variable_count, more);
	/* Each test's own; the first of two that are one variable's counts. */
	append(environment, &variable_count,
		(const char *const[]){
			scratch_text("WPOOL_CONTROL_SOCKET=%s/control.sock", site.folder), NULL});
	ck_assert_uint_lt(program_count, MOST_PROGRAMS);
	return programs[program_count++] = proc_start(site.folder, argv, environment);
}

static struct proc *start_program(
	const char *program, const char *const arguments[], const char *const more[])
{
	const char *argv[MOST_ARGUMENTS] = {site_built(program)};
	size_t argument_count = 1;
	append(argv, &argument_count, arguments);
	return start_argv(argv, more);
}

struct proc *site_wpool(const char *const arguments[])
{
	return start_program("wpool", arguments, NULL);
}

struct proc *site_serve(const char *const options[], const char *const worker[])
{
	const char *const start[] = {"serve", "--broker", broker_url(site.broker), "--queue",
		site.queue, "--log-format", "text", NULL};
	const char *const end[] = {"--", NULL};
	const char *arguments[MOST_ARGUMENTS] = {NULL};
	size_t count = 0;
	append(arguments, &count, start);
	append(arguments, &count, options);
	append(arguments, &count, end);
	append(arguments, &count, worker);
	return site_wpool(arguments);
}

struct proc *site_serve_ready(const char *const options[], const char *const worker[])
{
	struct proc *serve = site_serve(options, worker);
	client_expect_consumers(site.client, site.queue, 1);
	return serve;
}

struct proc *site_serve_echo(const char *const options[])
{
	return site_serve_ready(options, (const char *const[]){site_built("workers/echo"), NULL});
}

pid_t site_worker_pid(void)
{
	struct message *reply = client_call(site.client, site.queue,
		&(struct letter){
			.body = "", .headers = {{"X-Status", "201"}, {"X-Report", "pid"}}});
	pid_t pid = atoi(reply->body);
	ck_assert_int_gt(pid, 1);
	message_free(reply);
	return pid;
}

/* Its path: owned by the caller. */
static char *write_configuration(const char *pools)
{
	char *text =
		scratch_text("broker: {url: \"%s\"}\npools:\n%s", broker_url(site.broker), pools);
	char *path = scratch_path(site.folder, "wpool.yaml");
	scratch_write(path, text);
	free(text);
	return path;
}

void site_write_pools(const char *pools)
{
	free(write_configuration(pools));
}

struct proc *site_serve_program(
	const char *program, const char *const environment[], const char *pools)
{
	char *path = write_configuration(pools);
	const char *const arguments[] = {"serve", "--config", path, "--log-format", "text", NULL};
	struct proc *serve = start_program(program, arguments, environment);
	free(path);
	return serve;
}

struct proc *site_serve_under(const char *const starter[], const char *pools)
{
	char *path = write_configuration(pools);
	const char *const command[] = {
		site_built("wpool"), "serve", "--config", path, "--log-format", "text", NULL};
	const char *argv[MOST_ARGUMENTS] = {NULL};
	size_t count = 0;
	append(argv, &count, starter);
	append(argv, &count, command);
	struct proc *serve = start_argv(argv, NULL);
	free(path);
	return serve;
}

struct proc *site_serve_pools(const char *pools)
{
	return site_serve_program("wpool", NULL, pools);
}

struct proc *site_serve_pool(const char *settings, const char *worker)
{
	char *pool =
		scratch_text("- {name: tested, queue: %s, command: [\"%s\"], workers: 2, %s}\n",
			site.queue, worker, settings);
	struct proc *serve = site_serve_pools(pool);
	free(pool);
	return serve;
}

const char *site_until(const char *id)
{
	char *name = scratch_text("release %s", id);
	char *path = scratch_path(site.folder, name);
	free(name);
	return path;
}

void site_release(const char *id)
{
	scratch_write(site_until(id), "");
}

void site_post_held(struct proc *serve, const char *id)
{
	site_post_held_to(site.queue, serve, id);
}

void site_post_held_to(const char *queue, struct proc *serve, const char *id)
{
	char *begins = scratch_text("begins %s", id);
	client_post(site.client, queue,
		&(struct letter){.body = id,
			.correlation_id = id,
			.headers = {{"X-Begin", begins}, {"X-Until", site_until(id)}}});
	proc_expect(serve, begins);
	free(begins);
}

int site_witnessed(const char *line)
{
	int count = 0;
	char *text = scratch_read(site.witness, NULL);
	for (char *at = text ? strtok(text, "\n") : NULL; at; at = strtok(NULL, "\n"))
		count += !line || strcmp(at, line) == 0;
	free(text);
	return count;
}

/* A message that moves between the queue and a retry queue is in one of them when that is counted:
 * the retry queues are counted before and after the queue, in less time than a message stays in
 * one. */
static bool is_settled(const char *queue, const char *const delays[])
{
	const char *queues[2 * DELAYS_MAX + 2] = {NULL};
	size_t count = 0;
	for (size_t i = 0; delays[i]; i++) {
		ck_assert_uint_lt(i, DELAYS_MAX);
		queues[i] = scratch_text("%s.retry.%s", queue, delays[i]);
		count++;
	}
	queues[count] = queue;
	for (size_t i = 0; i < count; i++)
		queues[count + 1 + i] = queues[i];
	bool is_empty = !broker_has_messages(site.broker, queues, DELAY_MIN_MS);
	for (size_t i = 0; i < count; i++)
		free((char *)(uintptr_t)queues[i]);
	return is_empty;
}

_Noreturn void site_give_up(const char *what)
{
	for (size_t i = 0; i < program_count; i++) {
		char *said = proc_stderr(programs[i]);
		size_t len = strlen(said);
		fprintf(stderr, "program %zu of %zu said last:\n%s\n", i + 1, program_count,
			said + (len > SHOWN_BYTES ? len - SHOWN_BYTES : 0));
		free(said);
	}
	ck_abort_msg("%s", what);
}

_Noreturn static void tell_what_is_left(const char *queue, const char *const delays[])
{
	char *what = scratch_text("%s does not get empty: %ld messages, %ld of them ready", queue,
		broker_messages(site.broker, queue), client_ready(site.client, queue));
	for (size_t i = 0; delays[i]; i++) {
		char *name = scratch_text("%s.retry.%s", queue, delays[i]);
		what = scratch_text("%s; %s: %ld, %ld", what, name,
			broker_messages(site.broker, name), client_ready(site.client, name));
	}
	site_give_up(what);
}

void site_await_queue_settled(const char *queue, const char *const delays[], int limit_ms)
{
	int64_t deadline = deadline_in(limit_ms);
	/* Twice: a classic queue has forgotten a message before a quorum queue has written it. */
	while (!is_settled(queue, delays) || !is_settled(queue, delays)) {
		if (deadline_left(deadline) <= 0)
			tell_what_is_left(queue, delays);
		poll(NULL, 0, 50);
	}
}

void site_await_settled(const char *const delays[])
{
	site_await_queue_settled(site.queue, delays, 3 * DEADLINE_DEFAULT_MS);
}

void site_forget(struct proc *proc)
{
	size_t i = 0;
	while (i < program_count && programs[i] != proc)
		i++;
	ck_assert_uint_lt(i, program_count);
	proc_free(proc);
	programs[i] = programs[--program_count];
}

void site_stop(struct proc *proc)
{
	proc_signal(proc, SIGTERM);
	ck_assert_int_eq(proc_wait(proc), 0);
}
