/* The bench with a few messages for each contestant: each handles them all, and the record is
 * complete. Speed is not checked. */
#include "system/system.h"

#include <string.h>

#define ARGV_MAX 16

static void expect_success(const char *const argv[], const char *const environment[])
{
	struct proc *proc = proc_start(fixture.folder, argv, environment);
	int code = proc_wait(proc);
	char *out = proc_stdout(proc), *err = proc_stderr(proc);
	ck_assert_msg(code == 0, "%s ended with %d:\n%s%s", argv[0], code, out, err);
	free(out);
	free(err);
	proc_free(proc);
}

/* Use the broker of this run, if there is one. */
static void measure(const char *names)
{
	const char *node = getenv("WPOOL_TEST_NODE");
	char *only = scratch_text("ONLY=%s", names);
	char *on = scratch_text("WPOOL_TEST_NODE=%s", node ? node : "");
	const char *const environment[] = {only, on, NULL};
	const char *const argv[] = {"tests/bench/run", "--small", "--build", fixture_built(""),
		"--output", fixture.folder, NULL};
	expect_success(argv, environment);
	free(only);
	free(on);
}

static void check_record(const char *names)
{
	const char *argv[ARGV_MAX] = {"tests/bench/check_record", fixture.folder};
	size_t count = 2;
	char *copy = scratch_text("%s", names);
	for (char *name = strtok(copy, " "); name; name = strtok(NULL, " ")) {
		ck_assert_uint_lt(count, ARGV_MAX - 1);
		argv[count++] = name;
	}
	expect_success(argv, NULL);
	free(copy);
}

START_TEST(every_message_is_counted_and_record_is_complete)
{
	static const char *const groups[] = {
		"plain plain-50 wpool-auto-4 wpool-one-4 wpool-python-4",
		"rpc-plain rpc-wpool celery amqp-consume plain-8MiB wpool-8MiB",
		"latency-plain latency-wpool start-4 large large-plain",
		("many-noop many-wait many-wait-python many-wait-processes many-wait-celery "
		 "many-open-10 many-open-10000"),
		("celery-app wpool-celery wpool-celery-preload wpool-celery-events "
		 "celery-app-results wpool-celery-results celery-countdown"),
		("core keys-unordered keys-1000 keys-zipf keys-one keys-one-unordered keys-wait "
		 "keys-wait-unordered takeover-drained takeover-killed"),
	};
	measure(groups[_i]);
	check_record(groups[_i]);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("bench", {every_message_is_counted_and_record_is_complete, 6});
}
