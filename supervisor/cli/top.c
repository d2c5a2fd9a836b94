/* `wpool top`: the pools and the workers of one of them, live, and keys to steer them. */
#include "cli/commands.h"
#include "cli/figures.h"
#include "cli/inquiry.h"
#include "cli/screen.h"
#include "cli/top_keys.h"
#include "cli/top_round.h"
#include "cli/top_view.h"
#include "cli/usage.h"
#include "io/clock.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <sysexits.h>
#include <unistd.h>

static const char help[] =
	"usage: wpool top [OPTION]...\n"
	"\n"
	"The pools of a running wpool serve and the workers of one of them, once a second, until\n"
	"q is typed. Other keys choose a pool, give it one worker more or fewer, pause and restart\n"
	"it, and sort: ? tells them.\n"
	"\n" INQUIRY_SOCKET INQUIRY_HELP "\n"
	"Exit status: 0 done, 64 usage, 74 the terminal is gone," INQUIRY_EXITS "\n";

struct top {
	struct screen screen;
	struct top_round round;
	struct top_model model;
	struct top_keys keys;
	int signals; /* a signalfd */
	bool is_over;
	int exit_code;
};

/* ---------- keys ---------- */

static void order(struct top *top, enum top_verb verb, int by)
{
	top_round_order(&top->round, &top->model, verb, by);
}

static void order_pause(struct top *top)
{
	const json_t *pool =
		top->model.chosen ? top_model_pool(&top->model, top->model.chosen) : NULL;
	bool is_paused = pool && text_is(figure_text(pool, "state"), TEXT("paused"));

	order(top, is_paused ? TOP_RESUME : TOP_PAUSE, 0);
}

static void move(struct top *top, int by)
{
	if (top_model_move(&top->model, by))
		top_round_hurry(&top->round);
}

static void act(struct top *top, enum top_key key)
{
	struct top_model *model = &top->model;

	switch (key) {
	case TOP_KEY_UP:
		move(top, -1);
		break;
	case TOP_KEY_DOWN:
		move(top, 1);
		break;
	case TOP_KEY_MORE:
		order(top, TOP_SCALE, 1);
		break;
	case TOP_KEY_FEWER:
		order(top, TOP_SCALE, -1);
		break;
	case TOP_KEY_PAUSE:
		order_pause(top);
		break;
	case TOP_KEY_RESTART:
		model->is_confirming = model->chosen;
		break;
	case TOP_KEY_SORT_POOLS:
		top_table_sort_next(&model->pools);
		break;
	case TOP_KEY_SORT_WORKERS:
		top_table_sort_next(&model->workers);
		break;
	case TOP_KEY_HELP:
		model->is_help = true;
		break;
	case TOP_KEY_QUIT:
		top->is_over = true;
		break;
	case TOP_KEY_YES:
	case TOP_KEY_OTHER:
	case TOP_KEY_NONE:
		break;
	}
}

static void take_key(struct top *top, enum top_key key)
{
	struct top_model *model = &top->model;

	if (key == TOP_KEY_NONE)
		return;
	model->message[0] = '\0';
	if (model->is_confirming) {
		model->is_confirming = false;
		if (key == TOP_KEY_YES)
			order(top, TOP_RESTART, 0);
	} else if (model->is_help && key != TOP_KEY_QUIT) {
		model->is_help = false;
	} else {
		act(top, key);
	}
}

static void end(struct top *top, int exit_code)
{
	top->is_over = true;
	top->exit_code = exit_code;
}

static void read_keys(struct top *top)
{
	uint8_t bytes[64];
	ssize_t len = read(STDIN_FILENO, bytes, sizeof bytes);

	if (len == 0 || (len < 0 && errno != EINTR && errno != EAGAIN))
		end(top, EX_IOERR);
	for (ssize_t i = 0; i < len && !top->is_over; i++)
		take_key(top, top_keys_feed(&top->keys, bytes[i]));
}

/* ---------- signals ---------- */

/* Stopped by the terminal's key as any other program; it comes back by SIGCONT. */
static void stop_for_a_while(struct top *top)
{
	screen_leave(&top->screen);
	raise(SIGSTOP);
}

static void take_signal(struct top *top, uint32_t number)
{
	switch (number) {
	case SIGWINCH:
		screen_measure(&top->screen);
		top_table_forget_widths(&top->model.pools);
		top_table_forget_widths(&top->model.workers);
		break;
	case SIGTSTP:
		stop_for_a_while(top);
		break;
	case SIGCONT:
		if (screen_enter(&top->screen) != RC_OK)
			end(top, EX_IOERR);
		break;
	default:
		end(top, EX_OK);
	}
}

static void read_signals(struct top *top)
{
	struct signalfd_siginfo info;

	while (!top->is_over && read(top->signals, &info, sizeof info) == sizeof info)
		take_signal(top, info.ssi_signo);
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

static void draw(struct top *top)
{
	struct buf page;

	if (!top->screen.is_on)
		return;
	buf_init(&page, SIZE_MAX);
	top_view_draw(&top->model, top->screen.width, top->screen.height, clock_now(), &page);
	if (!page.failed && screen_draw(&top->screen, buf_text(&page)) != RC_OK)
		end(top, EX_IOERR);
	buf_release(&page);
}

static void turn(struct top *top)
{
	struct curl_waitfd fds[] = {
		{.fd = STDIN_FILENO, .events = CURL_WAIT_POLLIN},
		{.fd = top->signals, .events = CURL_WAIT_POLLIN},
	};

	top_round_turn(&top->round, &top->model, fds, sizeof fds / sizeof *fds);
	if (fds[1].revents)
		read_signals(top);
	if (fds[0].revents && !top->is_over)
		read_keys(top);
	if (!top->is_over)
		draw(top);
}

static int watch(struct top *top)
{
	if (screen_enter(&top->screen) != RC_OK)
		end(top, EX_IOERR);
	while (!top->is_over)
		turn(top);
	screen_leave(&top->screen);
	if (top->exit_code == EX_IOERR)
		fputs("wpool top: the terminal is gone\n", stderr);
	return top->exit_code;
}

/* Nobody there is a mistake at the start, and trouble later: so the first status is asked for as
 * other commands ask. */
static int run(const struct inquiry *q)
{
	struct top top = {.signals = -1};
	const char *why;
	json_t *status;
	int exit_code = inquiry_ask_json(q, "/v1/status", &status);

	if (exit_code != EX_OK)
		return exit_code;
	json_decref(status);
	if (top_round_init(&top.round, q->socket, &why) != RC_OK) {
		fprintf(stderr, "wpool top: %s\n", why);
		return EX_SOFTWARE;
	}
	top_model_init(&top.model, clock_now());
	screen_init(&top.screen);
	exit_code = watch_signals(&top) ? watch(&top) : EX_OSERR;
	close(top.signals);
	screen_release(&top.screen);
	top_model_release(&top.model);
	top_round_release(&top.round);
	return exit_code;
}

int top_main(int argc, char **argv)
{
	struct inquiry q = {.command = "top", .help = help, .is_live = true};
	const char *obstacle;
	int exit_code = inquiry_read_options(&q, argc, argv);

	if (exit_code >= 0)
		return exit_code;
	obstacle = screen_obstacle();
	if (obstacle) {
		fprintf(stderr, "wpool top: %s; wpool status --json tells programs\n", obstacle);
		return EX_USAGE;
	}
	return run(&q);
}
