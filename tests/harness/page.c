#include "harness/page.h"

#include "harness/scratch.h"

#include <stdlib.h>
#include <string.h>

static char *where;

const char *page_address(void)
{
	return where;
}

struct proc *page_serve(const char *pools, int port)
{
	return page_serve_with(NULL, pools, port);
}

struct proc *page_serve_with(const char *variable, const char *pools, int port)
{
	const char *const environment[] = {
		scratch_text("WPOOL_HTTP_LISTEN=127.0.0.1:%d", port), variable, NULL};
	struct proc *proc = fixture_serve_program("wpool", environment, pools);

	proc_expect(proc, "page, metrics and health: ");
	if (port == 0)
		port = atoi(strstr(proc_stderr(proc), "(port ") + strlen("(port "));
	where = scratch_text("127.0.0.1:%d", port);
	return proc;
}

char *page_echo_pool(const char *name, int workers)
{
	return scratch_text("- {name: %s, queue: '%s', command: ['%s'], workers: %d, "
			    "retry: {delay: 100ms, attempts: 2, dead_letter: %s}}\n",
		name, fixture.queue, fixture_built("workers/echo"), workers, fixture.dead);
}

struct browser *page_open(void)
{
	struct browser *browser = browser_start(fixture.folder);

	browser_resize(browser, 1280, 900, false);
	browser_open(browser, scratch_text("http://%s/", where));
	return browser;
}

struct browser *page_open_ready(void)
{
	struct browser *browser = page_open();

	browser_await(browser, "document.querySelector('#verdict').textContent === 'Ready'");
	return browser;
}

void page_expect_no_warnings(const struct browser *browser)
{
	char *said = json_dumps(browser_warnings(browser), 0);

	ck_assert_str_eq(said, "[]");
	free(said);
}
