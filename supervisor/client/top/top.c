/* `wpool top`: the pools and the workers of one of them, live, and keys to control them. */
#include "client/api_command.h"
#include "client/json_cells.h"
#include "client/top/top_keys.h"
#include "client/top/top_requests.h"
#include "client/top/top_view.h"
#include "commands.h"
#include "os/clock.h"
#include "tty/screen.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sysexits.h>
#include <unistd.h>

static const char help[] =
	"The pools of a running wpool serve and the workers of one of them, once a second, until\n"
	"q is typed. Other keys choose a pool, give it one worker more or fewer, pause and restart\n"
	"it, kill the task of a worker, and sort: ? lists them.\n";

struct top {
	struct screen screen;
	struct top_requests requests;
	struct top_model model;
	struct top_keys keys;
	int signals; /* a signalfd */
	bool is_over;
	int exit_code;
};

/* ---------- keys ---------- */

static void choose_pool(struct top *top, int by)
{
	if (top_model_move(&top->model, by))
		top_requests_hurry(&top->requests);
}

/* The second key of a verb is one worker fewer. */
static void handle_command_key(struct top *top, int key)
{
	struct top_model *model = &top->model;
	const struct api_verb *verb;
	const json_t *pool;

	switch (key) {
	case TOP_KEY_UP:
		choose_pool(top, -1);
		break;
	case TOP_KEY_DOWN:
		choose_pool(top, 1);
		break;
	case 's':
		top_table_sort_next(&model->pools);
		break;
	case 'S':
		top_table_sort_next(&model->workers);
		break;
	case '?':
	case 'h':
		model->is_help = true;
		break;
	case 'q':
		top->is_over = true;
		break;
	default:
		pool = model->chosen ? top_model_pool(model, model->chosen) : NULL;
		verb = key < 256 ? api_verb_of_key((char)key, json_cell_text(pool, "state")) : NULL;
		top_model_clear_slot(model);
		if (verb && (verb->question || verb->takes_slot))
			model->asks = model->chosen ? verb : NULL;
		else if (verb)
			top_requests_order(
				&top->requests, model, verb, key == verb->keys[0] ? 1 : -1);
	}
}

/* The digits of a slot, then what follows; any other key leaves it. */
static void handle_slot_key(struct top *top, const struct api_verb *verb, int key)
{
	struct top_model *model = &top->model;
	bool is_end = key == 'r' || key == 'g';

	if (key >= '0' && key <= '9' && top_model_type_slot(model, (char)key))
		model->asks = verb;
	else if (is_end && *model->slot)
		top_requests_kill(&top->requests, model, verb, key == 'g');
}

static void handle_key(struct top *top, int key)
{
	struct top_model *model = &top->model;
	const struct api_verb *asked = model->asks;

	if (key == TOP_KEY_NONE)
		return;
	model->message[0] = '\0';
	model->asks = NULL;
	if (asked && asked->takes_slot)
		handle_slot_key(top, asked, key);
	else if (asked && key == 'y')
		top_requests_order(&top->requests, model, asked, 0);
	else if (!asked && model->is_help && key != 'q')
		model->is_help = false;
	else if (!asked)
		handle_command_key(top, key);
}

static void end_top(struct top *top, int exit_code)
{
	top->is_over = true;
	top->exit_code = exit_code;
}

static void read_keys(struct top *top)
{
	uint8_t bytes[64];
	ssize_t len = read(STDIN_FILENO, bytes, sizeof bytes);

	if (len == 0 || (len < 0 && errno != EINTR && errno != EAGAIN))
		end_top(top, EX_IOERR);
	for (ssize_t i = 0; i < len && !top->is_over; i++)
		handle_key(top, top_keys_feed(&top->keys, bytes[i]));
}

/* ---------- signals ---------- */

static void handle_signal(struct top *top, uint32_t number)
{
	switch (number) {
	case SIGWINCH:
		screen_measure(&top->screen);
		top_table_forget_widths(&top->model.pools);
		top_table_forget_widths(&top->model.workers);
		break;
	case SIGTSTP: /* by the terminal's key; SIGCONT continues */
		screen_leave(&top->screen);
		raise(SIGSTOP);
		break;
	case SIGCONT:
		if (screen_enter(&top->screen) != RC_OK)
			end_top(top, EX_IOERR);
		break;
	default:
		end_top(top, EX_OK);
	}
}

static bool watch_signals(struct top *top)
{
	static const int watched[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof watched / sizeof *watched; i++)
		sigaddset(&set, watched[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	top->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return top->signals >= 0;
}

/* ---------- the loop ---------- */

static void run_turn(struct top *top)
{
	struct curl_waitfd fds[] = {
		{.fd = STDIN_FILENO, .events = CURL_WAIT_POLLIN},
		{.fd = top->signals, .events = CURL_WAIT_POLLIN},
	};
	struct signalfd_siginfo info;
	struct buf page;

	top_requests_turn(&top->requests, &top->model, fds, sizeof fds / sizeof *fds);
	while (!top->is_over && read(top->signals, &info, sizeof info) == sizeof info)
		handle_signal(top, info.ssi_signo);
	if (fds[0].revents && !top->is_over)
		read_keys(top);
	if (top->is_over || !top->screen.is_on)
		return;
	buf_init(&page, SIZE_MAX);
	top_view_draw(&top->model, top->screen.width, top->screen.height, clock_now(), &page);
	if (!page.failed && screen_draw(&top->screen, buf_text(&page)) != RC_OK)
		end_top(top, EX_IOERR);
	buf_release(&page);
}

/* A missing supervisor is an error at the start, and trouble that may end later: so the first
 * status is requested as other commands request it. */
static int run_top(const struct api_command *q)
{
	struct top top = {.signals = -1};
	const char *why;
	json_t *status;
	int exit_code = api_command_ask(q, "/v1/status", &status);

	if (exit_code != EX_OK)
		return exit_code;
	json_decref(status);
	if (top_requests_init(&top.requests, q->socket, &why) != RC_OK) {
		fprintf(stderr, "wpool top: %s\n", why);
		return EX_SOFTWARE;
	}
	top_model_init(&top.model, clock_now());
	screen_init(&top.screen);
	if (!watch_signals(&top))
		end_top(&top, EX_OSERR);
	else if (screen_enter(&top.screen) != RC_OK)
		end_top(&top, EX_IOERR);
	while (!top.is_over)
		run_turn(&top);
	close(top.signals);
	screen_release(&top.screen);
	if (top.exit_code == EX_IOERR)
		fputs("wpool top: the terminal is gone\n", stderr);
	top_model_release(&top.model);
	top_requests_release(&top.requests);
	return top.exit_code;
}

int top_main(int argc, char **argv)
{
	struct api_command q = {.command = "top",
		.usage = "",
		.help = help,
		.exits = "0 done",
		.is_interactive = true};
	const char *obstacle;
	int exit_code = api_command_read(&q, argc, argv);

	if (exit_code >= 0)
		return exit_code;
	obstacle = screen_obstacle();
	if (obstacle) {
		fprintf(stderr, "wpool top: %s; programs can use wpool status --json\n", obstacle);
		return EX_USAGE;
	}
	return run_top(&q);
}
