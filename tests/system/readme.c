/* The pages for the first steps work: every code block that can run is run, in order, as it is
 * printed. A comment "prints X" is what the command must print. */
#include "system/system.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BLOCKS_MAX 16
#define LINES_MAX  16
#define PATH_SIZE  4096
#define LONG_BODY  100000

struct block {
	char language[16];
	const char *text; /* borrowed from the page */
	size_t len;
};

static size_t read_blocks(const char *page, struct block ret_blocks[BLOCKS_MAX])
{
	size_t count = 0;
	for (const char *at = page; (at = strstr(at, "\n```")) != NULL;) {
		const char *begin = strchr(at + 1, '\n') + 1, *end = strstr(begin - 1, "\n```");
		ck_assert_msg(end != NULL, "a block has no end: %.40s", begin);
		ck_assert_int_lt(count, BLOCKS_MAX);
		struct block *block = &ret_blocks[count++];
		snprintf(block->language, sizeof block->language, "%.*s",
			(int)(begin - 1 - (at + 4)), at + 4);
		block->text = begin;
		block->len = (size_t)(end + 1 - begin);
		at = end + 4;
	}
	return count;
}

static void write_block(const struct block *block, const char *name)
{
	char *path = scratch_path(fixture.folder, name);
	char *text = scratch_text("%.*s", (int)block->len, block->text);
	scratch_write(path, text);
	free(text);
	free(path);
}

/* Start a shell that becomes the command, in the test's folder. */
static struct proc *start_line(const char *line)
{
	static char path[PATH_SIZE], url[PATH_SIZE], control[PATH_SIZE], packages[PATH_SIZE];
	char *folder = realpath(fixture_built(""), NULL);
	snprintf(path, sizeof path, "PATH=%s:/usr/bin:/bin", folder);
	free(folder);
	snprintf(url, sizeof url, "AMQP_URL=%s", broker_url(fixture.broker));
	snprintf(control, sizeof control, "WPOOL_CONTROL_SOCKET=%s/control.sock", fixture.folder);
	snprintf(packages, sizeof packages, "PKG_CONFIG_PATH=%s", fixture.folder);
	const char *const argv[] = {"env", "-C", fixture.folder, "bash", "-c", line, NULL};
	const char *const environment[] = {
		path, url, control, packages, "HTTP_LISTEN=127.0.0.1:0", NULL};
	return proc_start(fixture.folder, argv, environment);
}

static void run_line(const char *line)
{
	struct proc *proc = start_line(line);
	int code = proc_wait(proc);
	char *out = proc_stdout(proc), *err = proc_stderr(proc);
	ck_assert_msg(code == 0, "'%s' ended with %d: %s", line, code, err);
	const char *prints = strstr(line, "prints ");
	ck_assert_msg(
		!prints || strstr(out, prints + strlen("prints ")), "'%s' printed: %s", line, out);
	free(out);
	free(err);
	proc_free(proc);
}

/* End it. Each reply that a page's worker sent was asked for. */
static void stop_serve(struct proc *serve)
{
	fixture_stop(serve);
	if (proc_has_logged(serve, "asks for no reply"))
		ck_abort_msg("wpool warned: %s", proc_stderr(serve));
}

static struct proc *serve_line(const char *line, struct proc *previous)
{
	if (previous)
		stop_serve(previous);
	struct proc *serve = start_line(line);
	client_expect_consumers(fixture.client, "shout", 1);
	return serve;
}

static struct proc *run_block(const struct block *block, struct proc *serve)
{
	char *text = scratch_text("%.*s", (int)block->len, block->text);
	for (char *rest = text, *line; (line = strsep(&rest, "\n")) != NULL;) {
		if (!*line || strncmp(line, "make ", 5) == 0) /* tools/lint checks the goals */
			continue;
		if (strstr(line, "wpool serve "))
			serve = serve_line(line, serve);
		else
			run_line(line);
	}
	free(text);
	return serve;
}

/* Give the test's folder a name that the commands use. */
static void link_name(const char *name, const char *to)
{
	char *path = scratch_path(fixture.folder, name), *target = realpath(to, NULL);
	ck_assert_int_eq(symlink(target, path), 0);
	free(target);
	free(path);
}

/* Run the blocks of a page and return their number. */
static int run_page(const char *page, const char *code, const char *file)
{
	char *text = scratch_read(page, NULL);
	struct block blocks[BLOCKS_MAX];
	size_t count = read_blocks(text, blocks);
	struct proc *serve = NULL;
	int ran = 0;
	for (size_t i = 0; i < count; i++) {
		if (strcmp(blocks[i].language, code) == 0)
			write_block(&blocks[i], file);
		else if (strcmp(blocks[i].language, "yaml") == 0)
			write_block(&blocks[i], "wpool.yaml");
		else if (strcmp(blocks[i].language, "sh") == 0) {
			serve = run_block(&blocks[i], serve);
			ran++;
		}
	}
	stop_serve(serve);
	free(text);
	return ran;
}

START_TEST(commands_of_readme_run)
{
	link_name("worker-sdk", "worker-sdk");
	ck_assert_int_ge(run_page("README.md", "python", "shout.py"), 3);
}
END_TEST

/* Use the built SDK; a pkg-config file in the test's folder replaces the installed one. */
static void link_sdk(void)
{
	link_name("libs", fixture_built("sdk"));
	link_name("include", "worker-sdk/c/include");
	char *pc = scratch_path(fixture.folder, "wpool-worker.pc");
	char *text = scratch_text("Name: wpool-worker\nDescription: test\nVersion: 1\n"
				  "Libs: -L%s/libs -Wl,-rpath,%s/libs -lwpool-worker\n"
				  "Cflags: -I%s/include\n",
		fixture.folder, fixture.folder, fixture.folder);
	scratch_write(pc, text);
	free(text);
	free(pc);
}

START_TEST(commands_of_sdk_page_run)
{
	link_sdk();
	ck_assert_int_ge(run_page("worker-sdk/README.md", "c", "shout.c"), 1);
}
END_TEST

static void expect_long_answer(void)
{
	static char body[LONG_BODY + 1], expected[LONG_BODY];
	memset(body, 'a', LONG_BODY);
	memset(expected, 'A', LONG_BODY);
	struct message *reply =
		client_call(fixture.client, "shout", &(struct letter){.body = body});
	ck_assert_uint_eq(reply->size, LONG_BODY);
	ck_assert_int_eq(memcmp(reply->body, expected, LONG_BODY), 0);
	message_free(reply);
}

START_TEST(c_examples_answer_all_of_a_long_body)
{
	link_sdk();
	char *text = scratch_read("worker-sdk/README.md", NULL);
	struct block blocks[BLOCKS_MAX];
	size_t count = read_blocks(text, blocks);
	struct proc *serve = NULL;
	int ran = 0;
	for (size_t i = 0; i < count; i++) {
		if (strcmp(blocks[i].language, "c") != 0)
			continue;
		write_block(&blocks[i], "shout.c");
		run_line("cc shout.c -o shout $(pkg-config --cflags --libs wpool-worker)");
		char *line = scratch_text("wpool serve --queue shout --declare on %s -- ./shout",
			ran ? "--concurrency 10" : "");
		serve = serve_line(line, serve);
		free(line);
		expect_long_answer();
		ran++;
	}
	stop_serve(serve);
	free(text);
	ck_assert_int_eq(ran, 2);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("readme", {commands_of_readme_run, 1}, {commands_of_sdk_page_run, 1},
		{c_examples_answer_all_of_a_long_body, 1});
}
