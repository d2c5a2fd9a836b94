/* A process that hides its memory: it, and what it forks, can be neither read nor dumped; a program
 * that it executes can. */
#include "os/memory.h"
#include "unit/unit.h"

#include <sys/prctl.h>
#include <sys/wait.h>

/* The exit status of a child that runs this. */
static int in_child(int run(void))
{
	int status;
	pid_t pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		_exit(run());
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int dumpable(void)
{
	return prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
}

static int dumpable_when_hidden(void)
{
	return memory_hide() ? dumpable() : 10;
}

static int dumpable_when_forked(void)
{
	return memory_hide() ? in_child(dumpable) : 10;
}

static int dumpable_when_executed(void)
{
	if (!memory_hide())
		return 10;
	execl(unit_own_path(), "memory", "dumpable", (char *)NULL);
	return 11;
}

START_TEST(a_hidden_process_cannot_be_dumped)
{
#if defined __SANITIZE_ADDRESS__ /* memory.c has the reason */
	int hidden = 1;
#else
	int hidden = 0;
#endif
	ck_assert_int_eq(in_child(dumpable), 1);
	ck_assert_int_eq(in_child(dumpable_when_hidden), hidden);
	ck_assert_int_eq(in_child(dumpable_when_forked), hidden);
	ck_assert_int_eq(in_child(dumpable_when_executed), 1);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("os/memory");
	UNIT_CASE(s, "hide", a_hidden_process_cannot_be_dumped);
	return s;
}

int main(int argc, char **argv)
{
	(void)argv;
	return argc > 1 ? dumpable() : unit_run(suite());
}
