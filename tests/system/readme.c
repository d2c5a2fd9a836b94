/* The pages for the first steps work: every code block that can run is run. */
#include "harness/page_commands.h"
#include "system/system.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LONG_BODY 100000

static struct page_commands page_of(const char *path, const char *language, const char *file)
{
	static char packages[4096];
	static const char *const environment[] = {packages, NULL};
	snprintf(packages, sizeof packages, "PKG_CONFIG_PATH=%s", fixture.folder);
	return (struct page_commands){.path = path,
		.language = language,
		.file = file,
		.queue = "shout",
		.environment = environment};
}

START_TEST(commands_of_readme_run)
{
	struct page_commands page = page_of("README.md", "python", "shout.py");
	page_commands_link("worker-sdk", "worker-sdk");
	ck_assert_int_ge(page_commands_run(&page), 3);
}
END_TEST

/* Use the built SDK; a pkg-config file in the test's folder replaces the installed one. */
static void link_sdk(void)
{
	page_commands_link("libs", fixture_built("sdk"));
	page_commands_link("include", "worker-sdk/c/include");
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
	struct page_commands page = page_of("worker-sdk/README.md", "c", "shout.c");
	ck_assert_int_ge(page_commands_run(&page), 1);
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
	struct page_commands page = page_of("worker-sdk/README.md", "c", "shout.c");
	char *text = scratch_read(page.path, NULL);
	struct page_block blocks[PAGE_BLOCKS_MAX];
	size_t count = page_commands_blocks(text, blocks);
	struct proc *serve = NULL;
	int ran = 0;
	for (size_t i = 0; i < count; i++) {
		if (strcmp(blocks[i].language, "c") != 0)
			continue;
		page_commands_write_block(&blocks[i], page.file);
		page_commands_run_line(
			&page, "cc shout.c -o shout $(pkg-config --cflags --libs wpool-worker)");
		char *line = scratch_text("wpool serve --queue shout --declare on %s -- ./shout",
			ran ? "--concurrency 10" : "");
		serve = page_commands_serve(&page, line, serve);
		free(line);
		expect_long_answer();
		ran++;
	}
	page_commands_stop(serve);
	free(text);
	ck_assert_int_eq(ran, 2);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("readme", {commands_of_readme_run, 1}, {commands_of_sdk_page_run, 1},
		{c_examples_answer_all_of_a_long_body, 1});
}
