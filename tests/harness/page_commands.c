#include "harness/page_commands.h"

#include "harness/client.h"
#include "harness/fixture.h"
#include "harness/scratch.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_SIZE     4096
#define VARIABLES_MAX 16

size_t page_commands_blocks(const char *page, struct page_block ret_blocks[PAGE_BLOCKS_MAX])
{
	size_t count = 0;
	for (const char *at = page; (at = strstr(at, "\n```")) != NULL;) {
		const char *begin = strchr(at + 1, '\n') + 1, *end = strstr(begin - 1, "\n```");
		ck_assert_msg(end != NULL, "a block has no end: %.40s", begin);
		ck_assert_int_lt(count, PAGE_BLOCKS_MAX);
		struct page_block *block = &ret_blocks[count++];
		snprintf(block->language, sizeof block->language, "%.*s",
			(int)(begin - 1 - (at + 4)), at + 4);
		block->text = begin;
		block->len = (size_t)(end + 1 - begin);
		at = end + 4;
	}
	return count;
}

void page_commands_write_block(const struct page_block *block, const char *name)
{
	char *path = scratch_path(fixture.folder, name);
	char *text = scratch_text("%.*s", (int)block->len, block->text);
	scratch_write(path, text);
	free(text);
	free(path);
}

/* Start a shell that becomes the command, in the test's folder. */
static struct proc *start_line(const struct page_commands *page, const char *line)
{
	static char path[PATH_SIZE], url[PATH_SIZE], control[PATH_SIZE];
	char *folder = realpath(fixture_built(""), NULL);
	snprintf(path, sizeof path, "PATH=%s:/usr/bin:/bin", folder);
	free(folder);
	snprintf(url, sizeof url, "AMQP_URL=%s", broker_url(fixture.broker));
	snprintf(control, sizeof control, "WPOOL_CONTROL_SOCKET=%s/control.sock", fixture.folder);
	const char *const argv[] = {"env", "-C", fixture.folder, "bash", "-c", line, NULL};
	const char *environment[VARIABLES_MAX] = {path, url, control, "HTTP_LISTEN=127.0.0.1:0"};
	size_t count = 4;
	for (size_t i = 0; page->environment && page->environment[i]; i++) {
		ck_assert_uint_lt(count, VARIABLES_MAX - 1);
		environment[count++] = page->environment[i];
	}
	return proc_start(fixture.folder, argv, environment);
}

void page_commands_run_line(const struct page_commands *page, const char *line)
{
	struct proc *proc = start_line(page, line);
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

void page_commands_stop(struct proc *serve)
{
	fixture_stop(serve);
	if (proc_has_logged(serve, "asks for no reply"))
		ck_abort_msg("wpool warned: %s", proc_stderr(serve));
}

struct proc *page_commands_serve(
	const struct page_commands *page, const char *line, struct proc *previous)
{
	if (previous)
		page_commands_stop(previous);
	struct proc *serve = start_line(page, line);
	client_expect_consumers(fixture.client, page->queue, 1);
	proc_expect(serve, " ready");
	return serve;
}

static bool begins_with(const char *line, const char *begin)
{
	return strncmp(line, begin, strlen(begin)) == 0;
}

/* serve: the server that runs, or NULL. Return the one that runs then. */
static struct proc *run_command(
	const struct page_commands *page, const char *line, struct proc *serve)
{
	/* tools/lint checks the goals of make, and pip needs what a test cannot have. */
	if (!*line || begins_with(line, "make ") || begins_with(line, "pip "))
		return serve;
	if (strstr(line, "wpool serve ") || strstr(line, " worker "))
		return page_commands_serve(page, line, serve);
	page_commands_run_line(page, line);
	if (!begins_with(line, "wpool stop"))
		return serve;
	ck_assert_int_eq(proc_wait(serve), 0);
	return NULL;
}

static struct proc *run_block(
	const struct page_commands *page, const struct page_block *block, struct proc *serve)
{
	char *text = scratch_text("%.*s", (int)block->len, block->text);
	for (char *rest = text, *line; (line = strsep(&rest, "\n")) != NULL;)
		serve = run_command(page, line, serve);
	free(text);
	return serve;
}

void page_commands_link(const char *name, const char *to)
{
	char *path = scratch_path(fixture.folder, name), *target = realpath(to, NULL);
	ck_assert_int_eq(symlink(target, path), 0);
	free(target);
	free(path);
}

int page_commands_run(const struct page_commands *page)
{
	char *text = scratch_read(page->path, NULL);
	struct page_block blocks[PAGE_BLOCKS_MAX];
	size_t count = page_commands_blocks(text, blocks);
	struct proc *serve = NULL;
	int ran = 0;
	for (size_t i = 0; i < count; i++) {
		if (page->language && strcmp(blocks[i].language, page->language) == 0)
			page_commands_write_block(&blocks[i], page->file);
		else if (strcmp(blocks[i].language, "yaml") == 0)
			page_commands_write_block(&blocks[i], "wpool.yaml");
		else if (strcmp(blocks[i].language, "sh") == 0) {
			serve = run_block(page, &blocks[i], serve);
			ran++;
		}
	}
	page_commands_stop(serve);
	free(text);
	return ran;
}
