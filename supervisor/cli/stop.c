/* `wpool stop`: what SIGTERM does, from anywhere that has the control socket, and its end. */
#include "cli/commands.h"
#include "cli/figures.h"
#include "cli/inquiry.h"
#include "cli/usage.h"

#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#define COMMAND "stop"

static const char help[] =
	"usage: wpool stop [OPTION]...\n"
	"\n"
	"As SIGTERM: the supervisor takes no more messages, finishes what is in hand, hands back\n"
	"the rest, and leaves. Returns when it has gone; on a terminal it shows what is still at\n"
	"work. To stop waiting (Ctrl-C) does not end the stop.\n"
	"\n"
	"  --force        at once, as a second SIGTERM: unfinished tasks go back to the broker\n"
	"  --no-wait      return when it has begun\n" INQUIRY_SOCKET
	"  --json         a line of JSON each second and at the end (docs/control.md)\n" INQUIRY_HELP
	"\n"
	"Exit status: 0 gone, and everything is settled (--no-wait: begun), 75 gone before\n"
	"everything was settled, 64 usage," INQUIRY_EXITS "\n";

enum { FORCE = 1, NO_WAIT };

static const struct option options[] = {
	{"force", no_argument, NULL, FORCE},
	{"no-wait", no_argument, NULL, NO_WAIT},
	INQUIRY_OPTION_TABLE,
};

struct stop {
	struct inquiry q;
	bool at_once, returns_at_once;
	bool is_drawn; /* there is a line on the terminal that the next one replaces */
	bool has_ended, is_settled;
};

/* -1: go on; else the exit code. */
static int read_options(struct stop *stop, int argc, char **argv)
{
	int option, exit_code = -1;

	while (exit_code < 0 &&
		(option = usage_next_option(COMMAND, ":", argc, argv, options)) != -1) {
		if (option == FORCE)
			stop->at_once = true;
		else if (option == NO_WAIT)
			stop->returns_at_once = true;
		else
			exit_code = inquiry_take_option(&stop->q, option);
	}
	if (exit_code < 0 && optind < argc)
		return usage_problem(COMMAND, "unexpected '%s'", argv[optind]);
	return exit_code;
}

static void draw(struct stop *stop, const json_t *line)
{
	char workers[FIGURE_ROOM], tasks[FIGURE_ROOM], unconfirmed[FIGURE_ROOM];

	printf("\r%.*s: workers %.*s, tasks they have %.*s, to be confirmed %.*s\033[K",
		TEXT_ARGS(figure_text(line, "phase")),
		TEXT_ARGS(figure_number(line, "workers", workers)),
		TEXT_ARGS(figure_number(line, "in_pipes", tasks)),
		TEXT_ARGS(figure_number(line, "unconfirmed", unconfirmed)));
	stop->is_drawn = true;
}

static void show(struct stop *stop, const json_t *line)
{
	if (!stop->has_ended && isatty(STDOUT_FILENO))
		draw(stop, line);
	else if (stop->has_ended)
		printf("%s%s\n", stop->is_drawn ? "\r\033[K" : "",
			stop->is_settled ? "stopped, everything is settled"
					 : "stopped before everything was settled; the broker "
					   "delivers the rest again");
}

static bool on_line(void *ctx, struct text text)
{
	struct stop *stop = ctx;
	json_t *line = json_loadb(text.len ? text.ptr : "", text.len, 0, NULL);

	stop->has_ended = text_is(figure_text(line, "phase"), TEXT("stopped"));
	stop->is_settled = json_is_true(figure_find(line, "settled"));
	if (stop->q.json)
		printf("%.*s\n", TEXT_ARGS(text));
	else
		show(stop, line);
	json_decref(line);
	return inquiry_flush(&stop->q) == EX_OK;
}

static int wait_for_end(struct stop *stop)
{
	int exit_code = inquiry_follow(&stop->q,
		stop->at_once ? "/v1/stop?wait=true&force=true" : "/v1/stop?wait=true", on_line,
		stop);

	if (stop->is_drawn && !stop->has_ended)
		putchar('\n');
	if (exit_code != EX_OK)
		return exit_code;
	if (ferror(stdout))
		return EX_IOERR;
	if (stop->has_ended)
		return stop->is_settled ? EX_OK : EX_TEMPFAIL;
	fprintf(stderr, "wpool " COMMAND ": the answer broke off: was the supervisor killed?\n");
	return EX_PROTOCOL;
}

static int begin(const struct stop *stop)
{
	const char *path = stop->at_once ? "/v1/stop?force=true" : "/v1/stop";
	json_t *status;
	int exit_code;

	if (stop->q.json)
		return inquiry_print(&stop->q, path);
	exit_code = inquiry_ask_json(&stop->q, path, &status);
	if (exit_code != EX_OK)
		return exit_code;
	printf("%.*s\n", TEXT_ARGS(figure_text(status, "phase")));
	json_decref(status);
	return inquiry_flush(&stop->q);
}

int stop_main(int argc, char **argv)
{
	struct stop stop = {.q = {.command = COMMAND, .help = help, .method = "POST"}};
	int exit_code = read_options(&stop, argc, argv);

	if (exit_code >= 0)
		return exit_code;
	return stop.returns_at_once ? begin(&stop) : wait_for_end(&stop);
}
