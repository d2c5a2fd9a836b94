#include "harness/celery.h"

#include "harness/client.h"
#include "harness/fixture.h"
#include "harness/scratch.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define PYTHON    "/usr/bin/python3"
#define VARIABLES 24
#define ARGUMENTS 64

static char *redis_socket(void)
{
	return scratch_path(fixture.folder, "redis.sock");
}

struct proc *celery_start_redis(void)
{
	char *socket = redis_socket();
	const char *const argv[] = {"redis-server", "--port", "0", "--unixsocket", socket,
		"--appendonly", "yes", "--appendfsync", "always", "--save", "", "--dir",
		fixture.folder, "--logfile", "/dev/stderr", "--databases", "64", NULL};
	struct proc *redis = proc_start(fixture.folder, argv, NULL);
	proc_expect(redis, "ready to accept connections");
	free(socket);
	return redis;
}

struct celery_side celery_side(const char *name, const char *backend)
{
	static int database;
	struct celery_side side = {
		.queue = scratch_text("%s.%s", fixture.queue, name), .protocol = 2};
	char *file = scratch_text("%s.trail", name);
	side.trail = scratch_path(fixture.folder, file);
	scratch_write(side.trail, "");
	char *socket = redis_socket();
	side.backend =
		backend ? scratch_text("%s", backend)
			: scratch_text("redis+socket://%s?virtual_host=%d", socket, database++);
	free(socket);
	free(file);
	return side;
}

void celery_side_release(struct celery_side *side)
{
	free(side->queue);
	free(side->trail);
	free(side->backend);
}

const char *const *celery_environment(const struct celery_side *side)
{
	const char **variables = calloc(VARIABLES, sizeof *variables);
	ck_assert_ptr_nonnull(variables);
	size_t count = 0;
	/* The first of a name counts. */
	for (size_t i = 0; side->more && side->more[i]; i++) {
		ck_assert_uint_lt(count, VARIABLES / 2);
		variables[count++] = side->more[i];
	}
	variables[count++] = "PYTHONPATH=worker-sdk/python:worker-sdk/python-celery:tests/celery";
	variables[count++] = "PYTHONDONTWRITEBYTECODE=1";
	variables[count++] = "PYTHONWARNINGS=ignore";
	variables[count++] = "C_FORCE_ROOT=1"; /* pickle, as root: this is a test */
	variables[count++] = scratch_text("TMPDIR=%s", fixture.folder);
	variables[count++] = scratch_text("ORDERS_BROKER=%s", broker_url(fixture.broker));
	variables[count++] = scratch_text("ORDERS_BACKEND=%s", side->backend);
	variables[count++] = scratch_text("ORDERS_QUEUE=%s", side->queue);
	variables[count++] = scratch_text("ORDERS_TRAIL=%s", side->trail);
	variables[count++] = scratch_text("ORDERS_PROTOCOL=%d", side->protocol);
	return variables;
}

/* head, then tail, as one list. */
static struct proc *start(
	const struct celery_side *side, const char *const head[], const char *const tail[])
{
	const char *argv[ARGUMENTS] = {NULL};
	size_t count = 0;
	for (size_t i = 0; head[i]; i++)
		argv[count++] = head[i];
	for (size_t i = 0; tail && tail[i]; i++) {
		ck_assert_uint_lt(count, ARGUMENTS - 1);
		argv[count++] = tail[i];
	}
	return proc_start(fixture.folder, argv, celery_environment(side));
}

struct proc *celery_start_worker(const struct celery_side *side, const char *const options[])
{
	const char *const head[] = {PYTHON, "-m", "celery", "-A", "orders", "worker", "-c", "4",
		"-l", "INFO", "-n", "celery@%h", NULL};
	struct proc *worker = start(side, head, options);
	proc_expect(worker, " ready.");
	return worker;
}

/* Moves out. */
static char *pool_of(const struct celery_side *side, const char *options, const char *settings)
{
	return scratch_text("- {name: orders, queue: %s, %s: [" PYTHON
			    ", -m, wpool_celery, -A, orders%s%s], "
			    "env_pass: all, limits: {boot: 1min, hard: 1h, grace: 1s}, %s}\n",
		side->queue, side->is_preloaded ? "preload" : "command", *options ? ", " : "",
		options, *settings ? settings : CELERY_POOL);
}

struct proc *celery_start_wpool_only(
	const struct celery_side *side, const char *options, const char *settings)
{
	char *pool = pool_of(side, options, settings);
	struct proc *serve = fixture_serve_program("wpool", celery_environment(side), pool);
	free(pool);
	return serve;
}

void celery_write_pool(const struct celery_side *side, const char *options, const char *settings)
{
	char *pool = pool_of(side, options, settings);
	fixture_write_pools(pool);
	free(pool);
}

struct proc *celery_start_wpool(
	const struct celery_side *side, const char *options, const char *settings)
{
	struct proc *serve = celery_start_wpool_only(side, options, settings);
	proc_expect(serve, " ready: ");
	client_expect_consumers(fixture.client, side->queue, 1);
	return serve;
}

struct proc *celery_start_printed(
	const struct celery_side *side, const char *const options[], char **ret_text)
{
	const char *const head[] = {
		PYTHON, "-m", "wpool_celery", "--pool-config", "-A", "orders", NULL};
	struct proc *adapter = start(side, head, options);
	if (proc_wait(adapter) != 0)
		fixture_fail(proc_stderr(adapter));
	*ret_text = proc_stdout(adapter);
	char *path = scratch_path(fixture.folder, "printed.yaml");
	scratch_write(path, *ret_text);
	struct proc *serve = fixture_wpool_with(
		(const char *const[]){"serve", "--config", path, "--log-format", "text", NULL},
		celery_environment(side));
	proc_expect(serve, " ready: ");
	client_expect_consumers(fixture.client, side->queue, 1);
	proc_free(adapter);
	free(path);
	return serve;
}

struct proc *celery_start_script(
	const struct celery_side *side, const char *script, const char *const arguments[])
{
	char *path = scratch_text("tests/celery/%s", script);
	const char *const head[] = {PYTHON, path, NULL};
	struct proc *proc = start(side, head, arguments);
	free(path);
	return proc;
}

char *celery_run_script(
	const struct celery_side *side, const char *script, const char *const arguments[])
{
	struct proc *proc = celery_start_script(side, script, arguments);
	int code = proc_wait(proc);
	char *output = proc_stdout(proc);
	if (code != 0) {
		char *errors = proc_stderr(proc);
		fixture_fail(scratch_text("%s failed (%d):\n%s\n%s", script, code, output, errors));
	}
	proc_free(proc);
	return output;
}
