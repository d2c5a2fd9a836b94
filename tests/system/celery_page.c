/* docs/celery.md works: its commands run as they are printed, on the sample application, which
 * answers alike under Celery's own worker and under wpool. */
#include "harness/page_commands.h"
#include "system/system.h"

#include <stdio.h>
#include <string.h>

#define PYTHON    "/usr/bin/python3"
#define PATH_SIZE 4096

/* The environment of everybody: the adapter is where Python finds it. */
static const char *const *environment(void)
{
	static char packages[2 * PATH_SIZE], scratch[PATH_SIZE];
	static const char *const variables[] = {
		packages, scratch, "PYTHONDONTWRITEBYTECODE=1", "PYTHONWARNINGS=ignore", NULL};
	char *sdks = realpath("worker-sdk", NULL);
	snprintf(packages, sizeof packages, "PYTHONPATH=%s/python:%s/python-celery", sdks, sdks);
	snprintf(scratch, sizeof scratch, "TMPDIR=%s", fixture.folder);
	free(sdks);
	return variables;
}

static struct page_commands page(void)
{
	page_commands_link("shop.py", "samples/celery/shop.py");
	page_commands_link("samples", "samples");
	return (struct page_commands){
		.path = "docs/celery.md", .queue = "shop", .environment = environment()};
}

START_TEST(commands_of_the_page_run)
{
	struct page_commands commands = page();
	ck_assert_int_ge(page_commands_run(&commands), 7);
}
END_TEST

/* What the script of the sample prints. Moves out. */
static char *order(void)
{
	const char *const argv[] = {PYTHON, "samples/celery/order.py", NULL};
	const char *variables[8] = {scratch_text("AMQP_URL=%s", broker_url(fixture.broker))};
	for (size_t i = 0; environment()[i]; i++)
		variables[i + 1] = environment()[i];
	struct proc *proc = proc_start(fixture.folder, argv, variables);
	int code = proc_wait(proc);
	char *output = proc_stdout(proc);
	ck_assert_msg(code == 0, "order.py ended with %d: %s%s", code, output, proc_stderr(proc));
	proc_free(proc);
	return output;
}

START_TEST(sample_answers_as_under_celery)
{
	struct page_commands commands = page();
	struct proc *worker =
		page_commands_serve(&commands, "exec celery -A shop worker -c 2 -l INFO", NULL);
	char *of_celery = order();
	struct proc *serve = page_commands_serve(
		&commands, "exec wpool serve --config samples/celery/wpool.yaml", worker);
	char *of_wpool = order();
	ck_assert_ptr_nonnull(strstr(of_wpool, "\nended: TimeLimitExceeded"));
	ck_assert_str_eq(of_wpool, of_celery);
	page_commands_stop(serve);
	free(of_celery);
	free(of_wpool);
}
END_TEST

START_TEST(table_has_each_option)
{
	const char *const argv[] = {PYTHON, "tests/celery/options.py", "docs/celery.md", NULL};
	struct proc *proc = proc_start(fixture.folder, argv, environment());
	if (proc_wait(proc) != 0)
		fixture_fail(proc_stderr(proc));
	proc_free(proc);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("celery_page", {commands_of_the_page_run, 1},
		{sample_answers_as_under_celery, 1}, {table_has_each_option, 1});
}
