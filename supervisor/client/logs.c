/* `wpool logs`: the supervisor's last log lines, and new ones. */
#include "base/json.h"
#include "base/log_format.h"
#include "client/api_command.h"
#include "commands.h"
#include "config/value/quantity.h"
#include "tty/cli_options.h"
#include "tty/console.h"

#include <inttypes.h>
#include <stdio.h>
#include <sysexits.h>
#include <unistd.h>

#define COMMAND "logs"
/* The default of --lines with --follow. */
#define LINES_BEFORE 10
#define PATH_SIZE    128

static const char help[] =
	"The last lines of a running wpool serve's log with those of its workers, from its memory\n"
	"(2 MiB), wherever else they go. Text on a terminal, else a JSON object on each line.\n";

static const char own[] =
	"  --follow       also new lines, until Ctrl-C or the supervisor's end (-f)\n"
	"  --lines N      the last N; by default all, with --follow 10 (-n N)\n"
	"  --pool POOL    of this pool\n"
	"  --slot N       of the worker in this slot\n"
	"  --level LEVEL  of this level and more severe ones: debug, info, warn, error\n"
	"  --text         text, even if stdout is not a terminal\n";

enum { FOLLOW = 'f', LINES = 'n', POOL = 1, SLOT, LEVEL, AS_TEXT };

static const struct option options[] = {
	{"follow", no_argument, NULL, FOLLOW},
	{"lines", required_argument, NULL, LINES},
	{"pool", required_argument, NULL, POOL},
	{"slot", required_argument, NULL, SLOT},
	{"level", required_argument, NULL, LEVEL},
	{"text", no_argument, NULL, AS_TEXT},
	API_COMMAND_OPTION_TABLE,
};

struct logs {
	struct api_command q;
	bool follows, as_text, has_colour;
	int64_t lines, slot; /* -1: not given */
	enum log_level min;
	struct buf text;
};

/* -1: continue; else an exit code. */
static int read_number(const char *option, int64_t max, int64_t *ret)
{
	if (quantity_read_integer(text_from(optarg), ret) && *ret >= 0 && *ret <= max)
		return -1;
	return cli_problem(COMMAND, "%s '%s' is no number from 0 to %" PRId64, option, optarg, max);
}

static int on_option(struct api_command *q, int option)
{
	struct logs *logs = (struct logs *)q;

	switch (option) {
	case FOLLOW:
		logs->follows = true;
		return -1;
	case LINES:
		return read_number("--lines", INT32_MAX, &logs->lines);
	case POOL:
		logs->q.pool = optarg;
		return -1;
	case SLOT:
		return read_number("--slot", UINT16_MAX, &logs->slot);
	case LEVEL:
		if (log_level_find(optarg, &logs->min))
			return -1;
		return cli_problem(
			COMMAND, "--level '%s' is none of debug, info, warn, error", optarg);
	default: /* AS_TEXT */
		logs->as_text = true;
		return -1;
	}
}

static bool on_line(void *ctx, struct text line)
{
	struct logs *logs = ctx;

	buf_clear(&logs->text);
	if (logs->as_text)
		log_append_text(&logs->text, line, logs->has_colour);
	else
		json_append_written(&logs->text, line);
	buf_append_byte(&logs->text, '\n');
	fwrite(buf_text(&logs->text).ptr, 1, buf_len(&logs->text), stdout);
	/* A follower gets each line at once. */
	return !logs->follows || fflush(stdout) == 0;
}

static void make_path(const struct logs *logs, char path[PATH_SIZE])
{
	int64_t lines = logs->lines < 0 && logs->follows ? LINES_BEFORE : logs->lines;
	int len = snprintf(path, PATH_SIZE, "/v1/logs?level=%s&follow=%s",
		log_level_name(logs->min), logs->follows ? "true" : "false");

	if (lines >= 0)
		len += snprintf(path + len, PATH_SIZE - (size_t)len, "&lines=%" PRId64, lines);
	if (logs->slot >= 0)
		snprintf(path + len, PATH_SIZE - (size_t)len, "&slot=%" PRId64, logs->slot);
}

int logs_main(int argc, char **argv)
{
	struct logs logs = {.q = {.command = COMMAND,
				    .usage = "",
				    .help = help,
				    .own = own,
				    .json = "  --json         JSON, even on a terminal "
					    "(docs/control.md)\n",
				    .exits = "0 done (--follow: the supervisor has ended), "
					     "65 no such pool",
				    .options = options,
				    .letters = ":fn:",
				    .on_option = on_option},
		.lines = -1,
		.slot = -1,
		.min = LOG_DEBUG};
	char path[PATH_SIZE];
	int exit_code = api_command_read(&logs.q, argc, argv);

	if (exit_code < 0 && logs.as_text && logs.q.wants_json)
		exit_code = cli_problem(COMMAND, "--text and --json contradict each other");
	if (exit_code >= 0)
		return exit_code;
	logs.as_text = logs.as_text || (isatty(STDOUT_FILENO) && !logs.q.wants_json);
	logs.has_colour = console_has_colour(STDOUT_FILENO);
	buf_init(&logs.text, SIZE_MAX);
	make_path(&logs, path);
	exit_code = api_command_follow(&logs.q, path, on_line, &logs);
	buf_release(&logs.text);
	return exit_code == EX_OK ? api_command_flush(&logs.q) : exit_code;
}
