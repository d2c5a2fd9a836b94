/* `wpool status`, `pools`, `workers`: tables, JSON, and why there is neither. */
#include "harness/control.h"
#include "system/system.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

static char *run(const char *const arguments[], int code)
{
	struct proc *proc = site_wpool(arguments);
	int got = proc_wait(proc);
	char *said = proc_stderr(proc);
	ck_assert_msg(got == code, "%s ended with %d, not %d: %s", arguments[0], got, code, said);
	if (code == 0)
		ck_assert_str_eq(said, "");
	char *out = code == 0 ? proc_stdout(proc) : said;
	site_forget(proc);
	return out;
}

#define RUN(code, ...) run((const char *const[]){__VA_ARGS__, NULL}, code)

START_TEST(commands_show_it)
{
	site_serve_echo((const char *const[]){"--workers", "1", NULL});
	pid_t pid = site_worker_pid();
	control_post_slow("the long one");
	control_await("/readyz", 200);
	char *status = RUN(0, "status"), *pools = RUN(0, "pools"), *workers = RUN(0, "workers");
	ck_assert_int_eq(strncmp(status, "ready: wpool ", 13), 0);
	control_expect_words(status, "consuming connected, publishing connected");
	control_expect_words(status, strndup(pools, strcspn(pools, "\n")));
	control_expect_words(pools, site.queue);
	control_expect_words(pools, "consuming");
	control_expect_words(pools, "1/1");
	control_expect_words(workers, "busy");
	control_expect_words(workers, "the long one");
	control_expect_words(workers, scratch_text(" %d ", (int)pid));
	ck_assert_str_eq(
		control_words(control_parse(RUN(0, "status", "--json")), "phase"), "serving");
	ck_assert_str_eq(
		control_words(control_member(control_parse(RUN(0, "pools", "--json", site.queue)),
				      "pools", 0),
			"name"),
		site.queue);
	ck_assert_int_eq(control_number(control_member(control_parse(RUN(0, "workers", "--json")),
						"workers", 0),
				 "process", "pid"),
		pid);
	control_expect_words(RUN(65, "workers", "nobody's pool&x=y"), "no pool of that name");
}
END_TEST

START_TEST(commands_say_why_not)
{
	control_expect_words(RUN(69, "status"), "no supervisor listens at");
	control_expect_words(
		RUN(69, "pools", "--socket", "/nowhere/x"), "/nowhere/x: No such file");
	control_expect_words(RUN(64, "workers", "--sockte", "x"), "did you mean --socket?");
	control_expect_words(RUN(64, "status", "x"), "unexpected 'x'");
	site_serve(NULL, (const char *const[]){"/bin/false", NULL});
	while (access(control_socket(), F_OK) != 0)
		poll(NULL, 0, 20);
	control_await("/livez", 200);
	char *status = RUN(0, "status");
	ck_assert_int_eq(strncmp(status, "NOT READY: wpool ", 17), 0);
	control_expect_words(status, "no worker is ready");
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("control_commands", {commands_show_it, 1}, {commands_say_why_not, 1});
}
