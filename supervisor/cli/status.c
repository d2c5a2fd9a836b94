/* `wpool status`: is it working, what is it doing, what is wrong. */
#include "cli/status.h"
#include "cli/commands.h"
#include "cli/figures.h"
#include "cli/inquiry.h"
#include "cli/pools.h"

#include <stdio.h>
#include <sysexits.h>

static const char help[] =
	"usage: wpool status [OPTION]...\n"
	"\n"
	"Asks a running wpool serve by its control socket whether it works, and if not, why not.\n"
	"\n" INQUIRY_OPTIONS "\n"
	"Exit status: 0 ready, 64 usage, 75 it answers, and is not ready," INQUIRY_EXITS "\n";

static void append_connection(
	const json_t *status, const char *name, const char *what, struct buf *out)
{
	char path[64];
	bool is_up;

	snprintf(path, sizeof path, "connections.%s.up", name);
	is_up = json_is_true(figure_find(status, path));
	buf_printf(out, "%s %s", what, is_up ? "connected" : "not connected");
}

void status_append_head(const json_t *status, struct buf *out)
{
	char pid[FIGURE_ROOM], up[FIGURE_ROOM], memory[FIGURE_ROOM], turn[FIGURE_ROOM];
	bool is_ready = json_is_true(figure_find(status, "ready"));
	bool is_serving = text_is(figure_text(status, "phase"), TEXT("serving"));

	buf_printf(out, "%s: wpool %.*s, pid %.*s, %.*s%s %.*s\n", is_ready ? "ready" : "NOT READY",
		TEXT_ARGS(figure_text(status, "version")),
		TEXT_ARGS(figure_plain(status, "pid", pid)),
		TEXT_ARGS(figure_text(status, "phase")), is_serving ? " for" : ", up for",
		TEXT_ARGS(figure_span(status, "uptime_s", up)));
	buf_append_text(out, TEXT("broker: "));
	append_connection(status, "consume", "consuming", out);
	append_connection(status, "publish", ", publishing", out);
	if (json_is_true(figure_find(status, "connections.publishes_blocked")))
		buf_append_text(out, TEXT(", which it blocks (an alarm)"));
	buf_printf(out, "; memory %.*s, longest turn %.*s\n",
		TEXT_ARGS(figure_size(status, "process.memory_bytes", memory)),
		TEXT_ARGS(figure_span(status, "longest_turn.total_s", turn)));
}

static void print_head(const json_t *status)
{
	struct buf head;

	buf_init(&head, SIZE_MAX);
	status_append_head(status, &head);
	fwrite(buf_text(&head).ptr ? buf_text(&head).ptr : "", 1, buf_len(&head), stdout);
	buf_release(&head);
}

/* of: "reasons", "warnings" */
static void print_lines(const json_t *status, const char *of)
{
	const json_t *lines = figure_find(status, of);
	size_t i;
	json_t *line;

	json_array_foreach(lines, i, line)
		printf("  %s\n", json_string_value(line) ? json_string_value(line) : "-");
}

static int print(const struct inquiry *q)
{
	json_t *status;
	int exit_code = inquiry_ask_json(q, "/v1/status", &status);
	bool is_ready;

	if (exit_code != EX_OK)
		return exit_code;
	is_ready = json_is_true(figure_find(status, "ready"));
	print_head(status);
	print_lines(status, "reasons");
	print_lines(status, "warnings");
	putchar('\n');
	json_decref(status);
	exit_code = pools_print(q, false);
	return exit_code == EX_OK && !is_ready ? EX_TEMPFAIL : exit_code;
}

/* As it came, and what it says of being ready as the exit code. */
static int print_json(const struct inquiry *q)
{
	struct buf out;
	json_t *status;
	bool is_ready;
	int exit_code;

	buf_init(&out, SIZE_MAX);
	exit_code = inquiry_ask(q, "/v1/status", &out);
	if (exit_code == EX_OK) {
		status = json_loadb(
			buf_text(&out).ptr ? buf_text(&out).ptr : "", buf_len(&out), 0, NULL);
		is_ready = json_is_true(figure_find(status, "ready"));
		json_decref(status);
		fwrite(buf_text(&out).ptr ? buf_text(&out).ptr : "", 1, buf_len(&out), stdout);
		exit_code = inquiry_flush(q);
		if (exit_code == EX_OK && !is_ready)
			exit_code = EX_TEMPFAIL;
	}
	buf_release(&out);
	return exit_code;
}

int status_main(int argc, char **argv)
{
	struct inquiry q = {.command = "status", .help = help};
	int exit_code = inquiry_read_options(&q, argc, argv);

	if (exit_code >= 0)
		return exit_code;
	return q.json ? print_json(&q) : print(&q);
}
