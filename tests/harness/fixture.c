#include "harness/fixture.h"

#include "harness/deadline.h"
#include "harness/scratch.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROGRAMS_MAX  16
#define ARGUMENTS_MAX 64
#define SHOWN_BYTES   8000
#define DELAYS_MAX    8
#define DELAY_MIN_MS  100 /* of the retry queues that tests wait for */

struct fixture fixture;

static struct proc *programs[PROGRAMS_MAX];
static size_t program_count;

static void declare_queues(void)
{
	client_declare(fixture.client, fixture.queue, CLIENT_QUORUM);
	client_declare(fixture.client, fixture.replies, CLIENT_CLASSIC);
}

static void open_fixture(void)
{
	fixture.broker = broker_shared();
	fixture.client = client_open(broker_url(fixture.broker));
	fixture.folder = scratch_make();
	fixture.queue = scratch_text("task-%d", (int)getpid());
	fixture.dead = scratch_text("%s.dead", fixture.queue);
	fixture.replies = scratch_text("%s.replies", fixture.queue);
	fixture.witness = scratch_path(fixture.folder, "witness");
	declare_queues();
}

static void delete_queues(void)
{
	client_delete(fixture.client, fixture.queue);
	client_delete(fixture.client, fixture.dead);
	client_delete(fixture.client, scratch_text("%s.retry.100ms", fixture.queue));
	client_delete(fixture.client, fixture.replies);
}

void fixture_use_own_broker(void)
{
	char *folder = scratch_path(fixture.folder, "node");
	delete_queues();
	client_free(fixture.client);
	fixture.broker = broker_start(folder);
	fixture.client = client_open(broker_url(fixture.broker));
	declare_queues();
	free(folder);
}

void fixture_declare(enum client_queue kind)
{
	client_delete(fixture.client, fixture.queue);
	client_declare(fixture.client, fixture.queue, kind);
}

void fixture_open_witness(void)
{
	scratch_write(fixture.witness, "");
	ck_assert_int_eq(chmod(fixture.witness, 0666), 0);
}

void fixture_reconnect(void)
{
	client_free(fixture.client);
	fixture.client = client_open(broker_url(fixture.broker));
}

static void close_fixture(void)
{
	while (program_count > 0)
		proc_free(programs[--program_count]);
	if (fixture.broker == broker_shared())
		delete_queues();
	client_free(fixture.client);
	/* Before its folder is removed, which is needed to stop it. */
	if (fixture.broker != broker_shared())
		broker_free(fixture.broker);
	scratch_remove(fixture.folder);
	free(fixture.queue);
	free(fixture.dead);
	free(fixture.replies);
	free(fixture.witness);
}

_Noreturn void fixture_exit_passed(void)
{
	close_fixture();
	exit(EXIT_SUCCESS);
}

int fixture_run_suite(const char *name, const struct fixture_test tests[])
{
	const char *chosen = getenv("WPOOL_TEST");
	Suite *suite = suite_create(name);
	TCase *tcase = tcase_create(name);
	tcase_add_unchecked_fixture(tcase, broker_share, broker_unshare);
	tcase_add_checked_fixture(tcase, open_fixture, close_fixture);
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

const char *fixture_built(const char *name)
{
	const char *build = getenv("WPOOL_BUILD");
	return scratch_text("%s/%s", build ? build : "build", name);
}

const char *fixture_public_copy(const char *name)
{
	const char *slash = strrchr(name, '/');
	char *path = scratch_path(fixture.folder, slash ? slash + 1 : name);
	const char *const command[] = {"install", "-m", "755", fixture_built(name), path, NULL};
	struct proc *copy = proc_start(fixture.folder, command, NULL);
	ck_assert_int_eq(proc_wait(copy), 0);
	proc_free(copy);
	return path;
}

bool fixture_can_run(const char *const command[])
{
	struct proc *proc = proc_start(fixture.folder, command, NULL);
	int code = proc_wait(proc);
	proc_free(proc);
	return code == 0;
}

void fixture_not_run(const char *what, const char *why)
{
	printf("not run: %s: %s\n", what, why);
	fflush(stdout);
}

static void append(const char **to, size_t *count, const char *const from[])
{
	for (size_t i = 0; from && from[i]; i++) {
		ck_assert_uint_lt(*count, ARGUMENTS_MAX - 1);
		to[(*count)++] = from[i];
	}
}

/* With a file the variables of pools have no effect. */
static bool has_file(const char *const argv[])
{
	while (*argv && strcmp(*argv, "--config") != 0)
		argv++;
	return *argv != NULL;
}

static struct proc *start_argv(const char *const argv[], const char *const more[])
{
	const char *environment[ARGUMENTS_MAX] = {
		scratch_text("WITNESS=%s", fixture.witness), "WPOOL_RETRY_DELAY=100ms", NULL};
	size_t variable_count = has_file(argv) ? 1 : 2;
	append(environment, &variable_count, more);
	/* Of this test; the first of two values of one variable counts. */
	append(environment, &variable_count,
		(const char *const[]){
			scratch_text("WPOOL_CONTROL_SOCKET=%s/control.sock", fixture.folder),
			NULL});
	ck_assert_uint_lt(program_count, PROGRAMS_MAX);
	return programs[program_count++] = proc_start(fixture.folder, argv, environment);
}

static struct proc *start_program(
	const char *program, const char *const arguments[], const char *const more[])
{
	const char *argv[ARGUMENTS_MAX] = {fixture_built(program)};
	size_t argument_count = 1;
	append(argv, &argument_count, arguments);
	return start_argv(argv, more);
}

struct proc *fixture_wpool_with(const char *const arguments[], const char *const environment[])
{
	return start_program("wpool", arguments, environment);
}

struct proc *fixture_wpool(const char *const arguments[])
{
	return fixture_wpool_with(arguments, NULL);
}

struct proc *fixture_serve(const char *const options[], const char *const worker[])
{
	const char *const start[] = {"serve", "--broker", broker_url(fixture.broker), "--queue",
		fixture.queue, "--log-format", "text", NULL};
	const char *const end[] = {"--", NULL};
	const char *arguments[ARGUMENTS_MAX] = {NULL};
	size_t count = 0;
	append(arguments, &count, start);
	append(arguments, &count, options);
	append(arguments, &count, end);
	append(arguments, &count, worker);
	return fixture_wpool(arguments);
}

struct proc *fixture_serve_ready(const char *const options[], const char *const worker[])
{
	struct proc *serve = fixture_serve(options, worker);
	client_expect_consumers(fixture.client, fixture.queue, 1);
	proc_await_logged(serve, "consuming queue", 1); /* the consumer may be of one before */
	return serve;
}

struct proc *fixture_serve_echo(const char *const options[])
{
	return fixture_serve_ready(
		options, (const char *const[]){fixture_built("workers/echo"), NULL});
}

pid_t fixture_worker_pid(void)
{
	struct message *reply = client_call(fixture.client, fixture.queue,
		&(struct letter){
			.body = "", .headers = {{"X-Status", "201"}, {"X-Report", "pid"}}});
	pid_t pid = atoi(reply->body);
	ck_assert_int_gt(pid, 1);
	message_free(reply);
	return pid;
}

/* The path moves out. */
static char *write_configuration(const char *pools)
{
	char *text = scratch_text(
		"broker: {url: \"%s\"}\npools:\n%s", broker_url(fixture.broker), pools);
	char *path = scratch_path(fixture.folder, "wpool.yaml");
	scratch_write(path, text);
	free(text);
	return path;
}

void fixture_write_pools(const char *pools)
{
	free(write_configuration(pools));
}

struct proc *fixture_serve_program(
	const char *program, const char *const environment[], const char *pools)
{
	char *path = write_configuration(pools);
	const char *const arguments[] = {"serve", "--config", path, "--log-format", "text", NULL};
	struct proc *serve = start_program(program, arguments, environment);
	free(path);
	return serve;
}

struct proc *fixture_serve_under(const char *const starter[], const char *pools)
{
	char *path = write_configuration(pools);
	const char *const command[] = {
		fixture_built("wpool"), "serve", "--config", path, "--log-format", "text", NULL};
	const char *argv[ARGUMENTS_MAX] = {NULL};
	size_t count = 0;
	append(argv, &count, starter);
	append(argv, &count, command);
	struct proc *serve = start_argv(argv, NULL);
	free(path);
	return serve;
}

struct proc *fixture_serve_pools(const char *pools)
{
	return fixture_serve_program("wpool", NULL, pools);
}

struct proc *fixture_serve_pool(const char *settings, const char *worker)
{
	char *pool =
		scratch_text("- {name: tested, queue: %s, command: [\"%s\"], workers: 2, %s}\n",
			fixture.queue, worker, settings);
	struct proc *serve = fixture_serve_pools(pool);
	free(pool);
	return serve;
}

struct proc *fixture_serve_echo_pool(const char *settings)
{
	struct proc *serve = fixture_serve_pool(settings, fixture_built("workers/echo"));
	client_expect_consumers(fixture.client, fixture.queue, 1);
	return serve;
}

const char *fixture_release_path(const char *id)
{
	char *name = scratch_text("release %s", id);
	char *path = scratch_path(fixture.folder, name);
	free(name);
	return path;
}

void fixture_release(const char *id)
{
	scratch_write(fixture_release_path(id), "");
}

void fixture_post_held(struct proc *serve, const char *id)
{
	fixture_post_held_to(fixture.queue, serve, id);
}

void fixture_post_held_to(const char *queue, struct proc *serve, const char *id)
{
	char *begins = scratch_text("begins %s", id);
	client_post(fixture.client, queue,
		&(struct letter){.body = id,
			.correlation_id = id,
			.headers = {{"X-Begin", begins}, {"X-Until", fixture_release_path(id)}}});
	proc_expect(serve, begins);
	free(begins);
}

int fixture_witnessed(const char *line)
{
	int count = 0;
	char *text = scratch_read(fixture.witness, NULL);
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
	bool is_empty = !broker_has_messages(fixture.broker, queues, DELAY_MIN_MS);
	for (size_t i = 0; i < count; i++)
		free((char *)(uintptr_t)queues[i]);
	return is_empty;
}

_Noreturn void fixture_fail(const char *what)
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

_Noreturn static void fail_not_settled(const char *queue, const char *const delays[])
{
	char *what = scratch_text("%s does not get empty: %ld messages, %ld of them ready", queue,
		broker_messages(fixture.broker, queue), client_ready(fixture.client, queue));
	for (size_t i = 0; delays[i]; i++) {
		char *name = scratch_text("%s.retry.%s", queue, delays[i]);
		what = scratch_text("%s; %s: %ld, %ld", what, name,
			broker_messages(fixture.broker, name), client_ready(fixture.client, name));
	}
	fixture_fail(what);
}

void fixture_poll(int64_t deadline, int pause_ms, const char *what)
{
	if (deadline_left(deadline) <= 0)
		fixture_fail(scratch_text("waited in vain until %s", what));
	poll(NULL, 0, pause_ms);
}

void fixture_await_queue_settled(const char *queue, const char *const delays[], int limit_ms)
{
	int64_t deadline = deadline_in(limit_ms);
	/* Twice: a classic queue has forgotten a message before a quorum queue has written it. */
	while (!is_settled(queue, delays) || !is_settled(queue, delays)) {
		if (deadline_left(deadline) <= 0)
			fail_not_settled(queue, delays);
		poll(NULL, 0, 50);
	}
}

void fixture_await_settled(const char *const delays[])
{
	fixture_await_queue_settled(fixture.queue, delays, 3 * DEADLINE_DEFAULT_MS);
}

void fixture_free_program(struct proc *proc)
{
	size_t i = 0;
	while (i < program_count && programs[i] != proc)
		i++;
	ck_assert_uint_lt(i, program_count);
	proc_free(proc);
	programs[i] = programs[--program_count];
}

void fixture_stop(struct proc *proc)
{
	proc_signal(proc, SIGTERM);
	ck_assert_int_eq(proc_wait(proc), 0);
}
