/* The bench, with a few messages for each contestant: that all of them do what was asked, and that
 * the record is whole. How fast they were is not looked at. */
#include "system/system.h"

static void expect_success(const char *const argv[], const char *const environment[])
{
	struct proc *proc = proc_start(site.folder, argv, environment);
	int code = proc_wait(proc);
	char *out = proc_stdout(proc), *err = proc_stderr(proc);
	ck_assert_msg(code == 0, "%s ended with %d:\n%s%s", argv[0], code, out, err);
	free(out);
	free(err);
	proc_free(proc);
}

START_TEST(every_message_is_accounted_for_and_the_record_is_whole)
{
	const char *folder = getenv("WPOOL_TEST_NODE");
	char *node = scratch_text("WPOOL_TEST_NODE=%s", folder ? folder : "");
	const char *const environment[] = {node, NULL};
	const char *const run[] = {"tests/bench/run", "--small", "--build", site_built(""),
		"--output", site.folder, NULL};
	const char *const examine[] = {"tests/bench/examine", site.folder, NULL};
	expect_success(run, environment);
	expect_success(examine, NULL);
	free(node);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("bench", {every_message_is_accounted_for_and_the_record_is_whole, 1});
}
