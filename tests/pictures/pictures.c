/* Draws the pictures of the pages from running programs, into the folder WPOOL_PICTURES: `make
 * pictures`. PICTURES_SECONDS: how long the programs run before. */
#include "harness/browser.h"
#include "harness/child.h"
#include "harness/control.h"
#include "harness/deadline.h"
#include "harness/http.h"
#include "pictures/drawing.h"
#include "system/system.h"

#include <math.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#define ADDRESS        "127.0.0.1:9464"
#define STEP_MS        200
#define STATUS_COLUMNS 148 /* a reason is long */
#define STATUS_ROWS    10
#define TOP_COLUMNS    120
#define TOP_ROWS       22
#define BATCH_LARGEST  64

/* What the workers are taken to do. */
static const struct trade {
	const char *pool, *program;
	int workers;
	double a_second, min_ms, max_ms;
} trades[] = {
	{"mail", "./send-mail", 4, 60, 8, 45},
	{"invoices", "./print-invoice", 2, 5, 80, 350},
	{"thumbnails", "./make-thumbnail", 8, 14, 120, 700},
	{"search-index", "./index-page", 3, 32, 4, 30},
};

enum { TRADES = sizeof trades / sizeof *trades };

static const char *folder;
static struct browser *browser;

static char *queue_of(const struct trade *trade)
{
	return scratch_text("%s.%s", fixture.queue, trade->pool);
}

/* ---------- at work ---------- */

static void serve(void)
{
	static const char *const environment[] = {"WPOOL_HTTP_LISTEN=" ADDRESS, NULL};
	char *pools = scratch_text("%s", "");

	ck_assert_int_eq(chdir(fixture.folder), 0);
	for (size_t i = 0; i < TRADES; i++) {
		ck_assert_int_eq(
			symlink(fixture_built("workers/echo"), trades[i].program + strlen("./")),
			0);
		pools = scratch_text(
			"%s- {name: %s, queue: %s, declare: on, command: [%s], workers: %d}\n",
			pools, trades[i].pool, queue_of(&trades[i]), trades[i].program,
			trades[i].workers);
	}
	proc_expect(
		fixture_serve_program("wpool", environment, pools), "page, metrics and health: ");
	control_await("/readyz", 200);
}

static double chance(void)
{
	return (double)rand() / RAND_MAX;
}

/* More at times and less at others; of a hundred one fails once, of some hundreds one for good. */
static void feed(struct client *client, const struct trade *trade, double t)
{
	static char names[BATCH_LARGEST][32], sleeps[BATCH_LARGEST][16];
	struct letter letters[BATCH_LARGEST];
	double swing = 1 + 0.35 * sin(t / 23) + 0.2 * sin(t / 7 + trade->min_ms);
	double wanted = trade->a_second * swing * STEP_MS / 1000;
	size_t count = (size_t)(wanted + chance());

	for (size_t i = 0; i < count; i++) {
		double ms = trade->min_ms + pow(chance(), 3) * (trade->max_ms - trade->min_ms);
		double luck = chance();
		snprintf(names[i], sizeof names[i], "%s-%d", trade->pool, rand() % 100000);
		snprintf(sleeps[i], sizeof sleeps[i], "%.0f", ms);
		letters[i] = (struct letter){.body = "x",
			.correlation_id = names[i],
			.headers = {{"X-Sleep-Ms", sleeps[i]}}};
		if (luck < 0.004)
			letters[i].headers[1].name = "X-Status",
			letters[i].headers[1].value = luck < 0.001 ? "400" : "500";
	}
	if (count > 0)
		client_post_all(client, queue_of(trade), letters, count, NULL);
}

/* By a process of its own, until the test ends: while pictures are made, work goes on. */
static pid_t start_work(void)
{
	struct client *client;
	pid_t tester = getpid(), pid = child_fork();
	int64_t begin = deadline_now_ms(), now;

	if (pid != 0)
		return pid;
	client = client_open(broker_url(fixture.broker));
	while (getppid() == tester) {
		now = deadline_now_ms();
		for (size_t i = 0; i < TRADES; i++)
			feed(client, &trades[i], (double)(now - begin) / 1000);
		poll(NULL, 0, (int)(STEP_MS - (deadline_now_ms() - now) % STEP_MS));
	}
	_exit(0);
}

/* A bad release: the program is another one, and is no worker. */
static void spoil(const struct trade *trade)
{
	json_t *answer = control_get_json(scratch_text("/v1/workers?pool=%s", trade->pool));

	ck_assert_int_eq(unlink(trade->program), 0);
	ck_assert_int_eq(symlink("/bin/false", trade->program), 0);
	for (int i = 0; i < trade->workers; i++)
		kill((pid_t)control_number(
			     control_member(answer, "workers", (size_t)i), "process", "pid"),
			SIGKILL);
}

/* ---------- pictures ---------- */

static char *picture(const char *name)
{
	return scratch_text("%s/%s", folder, name);
}

static void look(const char *name, int width, int height, const char *scheme)
{
	browser_resize(browser, width, height, false);
	browser_emulate(browser, "prefers-color-scheme", scheme);
	json_decref(browser_value(browser,
		"new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"));
	browser_picture(browser, picture(name));
}

static const char *const *command(const char *verb)
{
	static const char *argv[5];

	argv[0] = fixture_built("wpool");
	argv[1] = verb;
	argv[2] = "--socket";
	argv[3] = control_socket();
	return argv;
}

/* Of a supervisor that is not ready. */
static void draw_status(const char *name)
{
	struct terminal *terminal =
		terminal_start(STATUS_COLUMNS, STATUS_ROWS + 1, command("status"));

	ck_assert_int_eq(terminal_wait(terminal), EX_TEMPFAIL);
	drawing_write(picture(name), "wpool status", terminal, STATUS_ROWS, STATUS_COLUMNS);
	terminal_free(terminal);
}

/* Of its second look, which knows rates. */
static void draw_top(const char *name)
{
	struct terminal *terminal = terminal_start(TOP_COLUMNS, TOP_ROWS, command("top"));

	terminal_expect(terminal, "> mail");
	terminal_type(terminal, "jj");
	terminal_expect(terminal, "> thumbnails");
	terminal_expect(terminal, "busy");
	terminal_expect(terminal, " 0 %");
	drawing_write(picture(name), "wpool top", terminal, TOP_ROWS, TOP_COLUMNS);
	terminal_free(terminal);
}

START_TEST(pictures_of_work_and_of_trouble)
{
	const char *seconds = getenv("PICTURES_SECONDS");
	pid_t feeder;

	folder = getenv("WPOOL_PICTURES");
	ck_assert_ptr_nonnull(folder);
	serve();
	browser = browser_start(fixture.folder);
	browser_resize(browser, 1280, 900, false);
	browser_open(browser, "http://" ADDRESS "/");
	browser_await(browser, "document.querySelectorAll('[data-pool]').length === 4");
	feeder = start_work();
	poll(NULL, 0, 1000 * (seconds ? atoi(seconds) : 300));
	look("page.png", 1280, 800, "light");
	look("page-dark.png", 1280, 800, "dark");
	look("page-phone.png", 390, 844, "light");
	draw_top("top.svg");
	spoil(&trades[1]);
	http_request(control_socket(), "POST", "/v1/pools/search-index/pause");
	browser_await(browser,
		"document.querySelector('#verdict').textContent === 'Not ready, for 2 reasons'");
	browser_await(browser,
		"document.querySelector('#reasons').textContent.includes('up to 3 times')");
	look("page-trouble.png", 1280, 800, "light");
	draw_status("status-trouble.svg");
	kill(feeder, SIGKILL);
	browser_free(browser);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("pictures", {pictures_of_work_and_of_trouble, 1});
}
