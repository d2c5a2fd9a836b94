/* A command that runs as a child: what it gets, what is kept of it, and each way to its end. The
 * command is a shell's. */
#include "process/own_commands.h"
#include "unit/unit.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

static struct ev_loop *loop;
static struct reaper *reaper;
static struct own_commands *own;
static struct own_command_result last;
static char output[64], errors[64];
static unsigned ends;
static const char *next; /* is started by on_end */

static void start(const char *script, mtime limit);

static void keep(char *to, size_t size, struct text text)
{
	snprintf(to, size, "%.*s", text.len < size ? (int)text.len : (int)size - 1, text.ptr);
}

static void on_end(void *ctx, const struct own_command_result *result)
{
	ck_assert_ptr_eq(ctx, &ends);
	ends++;
	last = *result;
	keep(output, sizeof output, result->output);
	keep(errors, sizeof errors, result->errors);
	if (next) {
		const char *script = next;
		next = NULL;
		start(script, MTIME_MINUTE);
	} else {
		ev_break(loop, EVBREAK_ALL);
	}
}

static enum rc try_start(const char *script, mtime limit, struct text input)
{
	char *arguments[] = {(char *)"-c", (char *)script, NULL};
	struct exit_info failure;

	return own_commands_start(own,
		&(struct own_command){.arguments = arguments,
			.environment = environ,
			.input = input,
			.limit = limit,
			.on_end = on_end,
			.ctx = &ends},
		&failure);
}

static void start(const char *script, mtime limit)
{
	ck_assert_int_eq(try_start(script, limit, TEXT("the input\n")), RC_OK);
	ck_assert(own_commands_is_busy(own));
}

static void await_end(void)
{
	unsigned before = ends;

	ev_run(loop, 0);
	ck_assert_uint_gt(ends, before);
}

START_TEST(input_outputs_and_exit_are_passed)
{
	start("cat; echo wrong >&2; exit 3", MTIME_MINUTE);
	await_end();
	ck_assert_str_eq(output, "the input\n");
	ck_assert_str_eq(errors, "wrong\n");
	ck_assert_int_eq(last.exit.kind, EXIT_STATUS);
	ck_assert_int_eq(last.exit.number, 3);
	ck_assert(!last.is_late && !last.is_cut && !last.is_too_long);
	ck_assert(!own_commands_is_busy(own));
}
END_TEST

START_TEST(one_runs_at_a_time)
{
	start("read line; echo first", MTIME_MINUTE);
	ck_assert_int_eq(try_start("echo", MTIME_MINUTE, TEXT_NONE), RC_REFUSED);
	next = "echo second";
	await_end();
	ck_assert_uint_eq(ends, 2);
	ck_assert_str_eq(output, "second\n");
}
END_TEST

/* A pipe takes 64 KiB, or one page where its user has many. The rest waits until the child reads,
 * which it does when the loop has run. */
START_TEST(input_larger_than_a_pipe_is_passed)
{
	static char input[1024 * 1024];

	memset(input, 'x', sizeof input);
	ck_assert_int_eq(try_start("wc -c", MTIME_MINUTE, text_of(input, sizeof input)), RC_OK);
	await_end();
	ck_assert_str_eq(output, "1048576\n");
	ck_assert_int_eq(last.exit.number, 0);
}
END_TEST

/* It has what it needs. */
START_TEST(input_that_is_not_read_delays_no_end)
{
	static char input[1024 * 1024];

	ck_assert_int_eq(try_start("sleep 1000 <&0 >/dev/null 2>&1 & echo $!; exit 3", MTIME_MINUTE,
				 text_of(input, sizeof input)),
		RC_OK);
	await_end();
	ck_assert_int_eq(last.exit.number, 3);
	ck_assert_int_eq(kill((pid_t)atoi(output), SIGKILL), 0);
	ck_assert_int_eq(
		try_start("exec <&-; echo", MTIME_MINUTE, text_of(input, sizeof input)), RC_OK);
	await_end();
	ck_assert_str_eq(output, "\n");
}
END_TEST

START_TEST(endless_output_ends_it)
{
	start("yes", MTIME_MINUTE);
	await_end();
	ck_assert(last.is_too_long);
	ck_assert_uint_le(last.output.len, OWN_COMMAND_OUTPUT);
	ck_assert_int_eq(last.exit.kind, EXIT_SIGNAL);
}
END_TEST

/* It has left a writer of its pipe behind. A signal to process 0 would be one to all of us. */
START_TEST(endless_output_of_one_that_has_ended_signals_nobody)
{
	start("head -c 3000000 /dev/zero & exit 3", MTIME_MINUTE);
	await_end();
	ck_assert(last.is_too_long);
	ck_assert_int_eq(last.exit.number, 3);
}
END_TEST

/* What is kept of stderr is bounded, too, and does not end it. */
START_TEST(long_stderr_is_cut)
{
	start("yes | head -c 1000000 >&2; echo done", MTIME_MINUTE);
	await_end();
	ck_assert_str_eq(output, "done\n");
	ck_assert_uint_le(last.errors.len, OWN_COMMAND_ERRORS);
	ck_assert_int_eq(last.exit.number, 0);
}
END_TEST

/* It may still report what it has done. */
START_TEST(time_limit_interrupts_it)
{
	start("trap 'echo interrupted; exit 75' TERM; while :; do sleep 0.01; done",
		200 * MTIME_MS);
	await_end();
	ck_assert(last.is_late);
	ck_assert_str_eq(output, "interrupted\n");
	ck_assert_int_eq(last.exit.number, 75);
}
END_TEST

START_TEST(close_kills_it)
{
	start("sleep 1000", MTIME_MINUTE);
	own_commands_close(own);
	ck_assert_uint_eq(ends, 1);
	ck_assert(last.is_cut);
	own_commands_close(own);
	ck_assert_uint_eq(ends, 1);
}
END_TEST

START_TEST(program_that_is_missing_is_a_failure)
{
	own_commands_free(own);
	own = own_commands_new(loop, reaper, "/none/such");
	start("echo", MTIME_MINUTE);
	await_end();
	ck_assert_int_eq(last.exit.kind, EXIT_NOT_STARTED);
	ck_assert_int_eq(last.exit.number, ENOENT);
	ck_assert(!own_commands_is_busy(own));
}
END_TEST

static void set_up(void)
{
	signal(SIGPIPE, SIG_IGN);
	loop = ev_default_loop(0);
	reaper = reaper_new(loop);
	own = own_commands_new(loop, reaper, "/bin/sh");
	ck_assert_ptr_nonnull(own);
}

static void tear_down(void)
{
	own_commands_free(own);
	reaper_free(reaper);
}

static Suite *suite(void)
{
	Suite *s = suite_create("process/own_commands");
	TCase *tcase = tcase_create("own_commands");
	static const TTest *const *const tests[] = {&input_outputs_and_exit_are_passed,
		&one_runs_at_a_time, &input_larger_than_a_pipe_is_passed,
		&input_that_is_not_read_delays_no_end, &endless_output_ends_it,
		&endless_output_of_one_that_has_ended_signals_nobody, &long_stderr_is_cut,
		&time_limit_interrupts_it, &close_kills_it, &program_that_is_missing_is_a_failure};
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
		tcase_add_test(tcase, *tests[i]);
	suite_add_tcase(s, tcase);
	return s;
}

UNIT_MAIN(suite)
