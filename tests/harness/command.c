#include "harness/command.h"

#include "harness/deadline.h"
#include "harness/fixture.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

char *command_run(int code, const char *const arguments[])
{
	struct proc *proc = fixture_wpool(arguments);
	int got = proc_wait(proc);
	char *said = proc_stderr(proc);
	ck_assert_msg(got == code, "%s ended with %d, not %d: %s", arguments[0], got, code, said);
	char *out = proc_stdout(proc);
	if (code == 0 || *out)
		ck_assert_str_eq(said, "");
	else
		out = said;
	fixture_free_program(proc);
	return out;
}

void command_expect_text(char *output, const char *text)
{
	ck_assert_msg(strstr(output, text) != NULL, "'%s' is not in: %s", text, output);
	free(output);
}

void command_expect_out(struct proc *proc, const char *needle)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	for (;;) {
		char *out = proc_stdout(proc);
		bool is_there = strstr(out, needle);
		ck_assert_msg(
			is_there || deadline_left(deadline) > 0, "'%s' is not in: %s", needle, out);
		free(out);
		if (is_there)
			return;
		poll(NULL, 0, 20);
	}
}
