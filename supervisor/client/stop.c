/* `wpool stop`: stop as by SIGTERM, and wait for the end. */
#include "client/api_command.h"
#include "client/json_cells.h"
#include "client/status.h"
#include "commands.h"
#include "tty/console.h"

#include <stdio.h>
#include <sysexits.h>
#include <unistd.h>

static const char help[] =
	"As SIGTERM: the supervisor takes no more messages, finishes what workers have, hands back\n"
	"the rest, and leaves. Returns when it has gone; on a terminal it shows what is still at\n"
	"work. Ending this command (Ctrl-C) does not end the stop. The end names the supervisor by its\n"
	"process id and configuration: after it another one may have the same control socket.\n";

static const char own[] =
	"  --force        at once, as a second SIGTERM: unfinished tasks go back to the broker,\n"
	"                 those that are accepted are lost\n"
	"  --no-wait      return when it has begun\n";

enum { FORCE = 1, NO_WAIT };

static const struct option options[] = {
	{"force", no_argument, NULL, FORCE},
	{"no-wait", no_argument, NULL, NO_WAIT},
	API_COMMAND_OPTION_TABLE,
};

struct stop {
	struct api_command q;
	bool is_forced, returns_at_once;
	bool is_drawn; /* the terminal has a line that the next one replaces */
	bool has_ended, is_settled;
	struct buf who; /* is stopped: "pid 7 (configuration: /etc/wpool.yaml)" */
};

static int on_option(struct api_command *q, int option)
{
	struct stop *stop = (struct stop *)q;

	if (option == FORCE)
		stop->is_forced = true;
	else
		stop->returns_at_once = true;
	return -1;
}

static bool on_line(void *ctx, struct text text)
{
	struct stop *stop = ctx;
	json_t *line = json_loadb(text.len ? text.ptr : "", text.len, 0, NULL);
	char workers[JSON_CELL_SIZE], tasks[JSON_CELL_SIZE], unconfirmed[JSON_CELL_SIZE];

	stop->has_ended = text_is(json_cell_text(line, "phase"), TEXT("stopped"));
	stop->is_settled = json_is_true(json_cell_find(line, "settled"));
	if (stop->q.wants_json) {
		api_command_print_json(text);
	} else if (!stop->has_ended && isatty(STDOUT_FILENO)) {
		putchar('\r');
		console_print(stdout, "%.*s: %.*s workers, %.*s tasks with them, %.*s unconfirmed",
			TEXT_ARGS(json_cell_text(line, "phase")),
			TEXT_ARGS(json_cell_number(line, "workers", workers)),
			TEXT_ARGS(json_cell_number(line, "in_pipes", tasks)),
			TEXT_ARGS(json_cell_number(line, "unconfirmed", unconfirmed)));
		fputs("\033[K", stdout);
		stop->is_drawn = true;
	}
	json_decref(line);
	return api_command_flush(&stop->q) == EX_OK;
}

static void print_end(const struct stop *stop)
{
	if (stop->is_drawn)
		fputs(stop->has_ended ? "\r\033[K" : "\n", stdout);
	if (!stop->has_ended || stop->q.wants_json)
		return;
	console_print(stdout, "%.*s: %s", TEXT_ARGS(buf_text(&stop->who)),
		stop->is_settled ? "stopped, everything is settled"
				 : "stopped before everything was settled; the broker delivers the "
				   "rest again");
	putchar('\n');
}

static void append_who(const json_t *status, struct buf *out)
{
	char pid[JSON_CELL_SIZE];

	buf_printf(out, "pid %.*s (", TEXT_ARGS(json_cell_plain(status, "pid", pid)));
	status_append_configuration(status, out);
	buf_append_byte(out, ')');
}

/* Before the stop: then there may be no answer any more. */
static int find_out_who(struct stop *stop)
{
	json_t *status;
	int exit_code;

	stop->q.is_post = false;
	exit_code = api_command_ask(&stop->q, "/v1/status", &status);
	stop->q.is_post = true;
	if (exit_code != EX_OK)
		return exit_code;
	append_who(status, &stop->who);
	json_decref(status);
	return EX_OK;
}

static int wait_for_end(struct stop *stop)
{
	int exit_code = find_out_who(stop);

	if (exit_code != EX_OK)
		return exit_code;
	stop->q.until_exit = true;
	exit_code = api_command_follow(&stop->q,
		stop->is_forced ? "/v1/stop?wait=true&force=true" : "/v1/stop?wait=true", on_line,
		stop);
	print_end(stop);
	if (exit_code != EX_OK)
		return exit_code;
	if (ferror(stdout) || api_command_flush(&stop->q) != EX_OK)
		return EX_IOERR;
	if (stop->has_ended)
		return stop->is_settled ? EX_OK : EX_TEMPFAIL;
	fprintf(stderr, "wpool stop: the answer broke off: was the supervisor killed?\n");
	return EX_PROTOCOL;
}

static int print_phase(const struct api_command *q, const json_t *status)
{
	struct buf who;

	(void)q;
	buf_init(&who, SIZE_MAX);
	append_who(status, &who);
	console_print(stdout, "%.*s: %.*s", TEXT_ARGS(buf_text(&who)),
		TEXT_ARGS(json_cell_text(status, "phase")));
	putchar('\n');
	buf_release(&who);
	return EX_OK;
}

int stop_main(int argc, char **argv)
{
	struct stop stop = {
		.q = {.command = "stop",
			.usage = "",
			.help = help,
			.own = own,
			.json = "  --json         a line of JSON each second and at the "
				"end (docs/control.md)\n",
			.exits = "0 gone, and everything is settled (--no-wait: "
				 "begun),\n75 gone before everything was settled",
			.options = options,
			.on_option = on_option,
			.is_post = true}};
	int exit_code = api_command_read(&stop.q, argc, argv);

	if (exit_code >= 0)
		return exit_code;
	if (stop.returns_at_once)
		return api_command_show(
			&stop.q, stop.is_forced ? "/v1/stop?force=true" : "/v1/stop", print_phase);
	buf_init(&stop.who, SIZE_MAX);
	exit_code = wait_for_end(&stop);
	buf_release(&stop.who);
	return exit_code;
}
