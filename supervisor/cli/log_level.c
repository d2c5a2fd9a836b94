/* `wpool log-level`: how much is logged, and less or more from now on. */
#include "base/log.h"
#include "cli/commands.h"
#include "cli/inquiry.h"
#include "cli/usage.h"

#include <stdio.h>
#include <sysexits.h>

#define COMMAND   "log-level"
#define PATH_ROOM 64

static const char help[] =
	"usage: wpool log-level [OPTION]... [LEVEL [POOL]]\n"
	"\n"
	"The least level that a running wpool serve logs. With LEVEL (debug, info, warn or error)\n"
	"that is so from now on, until the supervisor's end: for one pool with its workers, or for\n"
	"all, and then what was said of single pools is forgotten.\n"
	"\n" INQUIRY_OPTIONS "\n"
	"Exit status: 0 done, " INQUIRY_EXITS "\n";

static const struct option options[] = {INQUIRY_OPTION_TABLE};

/* -1: go on; else the exit code. */
static int read_options(struct inquiry *q, int argc, char **argv, enum log_level *ret)
{
	int option, exit_code = -1;

	while (exit_code < 0 &&
		(option = usage_next_option(COMMAND, ":", argc, argv, options)) != -1)
		exit_code = inquiry_take_option(q, option);
	if (exit_code >= 0)
		return exit_code;
	if (optind < argc) {
		q->method = "POST";
		if (!log_level_find(argv[optind], ret))
			return usage_problem(
				COMMAND, "'%s' is none of debug, info, warn, error", argv[optind]);
		optind++;
	}
	if (optind < argc)
		q->pool = argv[optind++];
	if (optind < argc)
		return usage_problem(COMMAND, "unexpected '%s'", argv[optind]);
	return -1;
}

static const char *level_in(const json_t *json)
{
	const char *words = json_string_value(json);

	return words ? words : "-";
}

static int print(const struct inquiry *q, const char *path)
{
	json_t *answer, *level;
	const char *pool;
	int exit_code = inquiry_ask_json(q, path, &answer);

	if (exit_code != EX_OK)
		return exit_code;
	puts(level_in(json_object_get(answer, "level")));
	json_object_foreach(json_object_get(answer, "pools"), pool, level)
		printf("%s: %s\n", pool, level_in(level));
	json_decref(answer);
	return inquiry_flush(q);
}

int log_level_main(int argc, char **argv)
{
	struct inquiry q = {.command = COMMAND, .help = help};
	char path[PATH_ROOM] = "/v1/log-level";
	enum log_level level;
	int exit_code = read_options(&q, argc, argv, &level);

	if (exit_code >= 0)
		return exit_code;
	if (q.method)
		snprintf(path, sizeof path,
			q.pool ? "/v1/pools/*/log-level?level=%s" : "/v1/log-level?level=%s",
			log_level_name(level));
	return q.json ? inquiry_print(&q, path) : print(&q, path);
}
