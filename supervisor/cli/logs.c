/* `wpool logs`: the supervisor's last log lines, and those that come. */
#include "base/log_format.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/inquiry.h"
#include "cli/usage.h"
#include "config/quantity.h"

#include <inttypes.h>
#include <stdio.h>
#include <sysexits.h>
#include <unistd.h>

#define COMMAND "logs"
/* Of those that were there already, for who follows. */
#define LINES_BEFORE 10
#define PATH_ROOM    128

static const char help[] =
	"usage: wpool logs [OPTION]...\n"
	"\n"
	"The last lines of a running wpool serve's log, those of its workers among them, from its\n"
	"memory (2 MiB), wherever else they go. Text on a terminal, else a JSON object on each line.\n"
	"\n"
	"  --follow         new lines, too, as they come, until Ctrl-C or the supervisor's end (-f)\n"
	"  --lines N        the last N; without it all, with --follow 10 (-n N)\n"
	"  --pool POOL      of this pool alone\n"
	"  --slot N         of the worker in this slot alone\n"
	"  --level LEVEL    this one and what is more urgent: debug, info, warn, error\n"
	"  --text           text, wherever it goes\n"
	"  --socket PATH    the supervisor's control socket; without it WPOOL_CONTROL_SOCKET tells,\n"
	"                   else it is looked for where it is by default\n"
	"  --json           JSON, on a terminal, too (docs/control.md)\n"
	"  --help           this text\n"
	"\n"
	"Exit status: 0 done (--follow: the supervisor has ended), " INQUIRY_EXITS "\n";

enum { FOLLOW = 'f', LINES = 'n', POOL = 1, SLOT, LEVEL, AS_TEXT };

static const struct option options[] = {
	{"follow", no_argument, NULL, FOLLOW},
	{"lines", required_argument, NULL, LINES},
	{"pool", required_argument, NULL, POOL},
	{"slot", required_argument, NULL, SLOT},
	{"level", required_argument, NULL, LEVEL},
	{"text", no_argument, NULL, AS_TEXT},
	INQUIRY_OPTION_TABLE,
};

struct logs {
	struct inquiry q;
	bool follows, as_text, has_colour;
	int64_t lines, slot; /* -1: not given */
	enum log_level least;
	struct buf text;
};

/* -1: go on; else the exit code. */
static int read_number(const char *option, int64_t most, int64_t *ret)
{
	if (quantity_read_integer(text_from(optarg), ret) && *ret >= 0 && *ret <= most)
		return -1;
	return usage_problem(
		COMMAND, "%s '%s' is no number from 0 to %" PRId64, option, optarg, most);
}

static int take_option(struct logs *logs, int option)
{
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
		if (log_level_find(optarg, &logs->least))
			return -1;
		return usage_problem(
			COMMAND, "--level '%s' is none of debug, info, warn, error", optarg);
	case AS_TEXT:
		logs->as_text = true;
		return -1;
	default:
		return inquiry_take_option(&logs->q, option);
	}
}

static int read_options(struct logs *logs, int argc, char **argv)
{
	int option, exit_code = -1;

	while (exit_code < 0 &&
		(option = usage_next_option(COMMAND, ":fn:", argc, argv, options)) != -1)
		exit_code = take_option(logs, option);
	if (exit_code < 0 && optind < argc)
		return usage_problem(COMMAND, "unexpected '%s'", argv[optind]);
	if (exit_code < 0 && logs->as_text && logs->q.json)
		return usage_problem(COMMAND, "--text and --json contradict each other");
	return exit_code;
}

static bool on_line(void *ctx, struct text line)
{
	struct logs *logs = ctx;

	buf_clear(&logs->text);
	if (logs->as_text)
		log_append_text(&logs->text, line, logs->has_colour);
	else
		buf_append_text(&logs->text, line);
	buf_append_byte(&logs->text, '\n');
	fwrite(buf_text(&logs->text).ptr, 1, buf_len(&logs->text), stdout);
	/* Each at once where somebody waits for it. */
	return !logs->follows || fflush(stdout) == 0;
}

static void make_path(const struct logs *logs, char path[PATH_ROOM])
{
	int64_t lines = logs->lines < 0 && logs->follows ? LINES_BEFORE : logs->lines;
	int len = snprintf(path, PATH_ROOM, "/v1/logs?level=%s&follow=%s",
		log_level_name(logs->least), logs->follows ? "true" : "false");

	if (lines >= 0)
		len += snprintf(path + len, PATH_ROOM - (size_t)len, "&lines=%" PRId64, lines);
	if (logs->slot >= 0)
		snprintf(path + len, PATH_ROOM - (size_t)len, "&slot=%" PRId64, logs->slot);
}

int logs_main(int argc, char **argv)
{
	struct logs logs = {.q = {.command = COMMAND, .help = help},
		.lines = -1,
		.slot = -1,
		.least = LOG_DEBUG};
	char path[PATH_ROOM];
	int exit_code = read_options(&logs, argc, argv);

	if (exit_code >= 0)
		return exit_code;
	logs.as_text = logs.as_text || (isatty(STDOUT_FILENO) && !logs.q.json);
	logs.has_colour = console_has_colour(STDOUT_FILENO);
	buf_init(&logs.text, SIZE_MAX);
	make_path(&logs, path);
	exit_code = inquiry_follow(&logs.q, path, on_line, &logs);
	buf_release(&logs.text);
	return exit_code == EX_OK ? inquiry_flush(&logs.q) : exit_code;
}
