/* `wpool reload`: the configuration is read again, and what becomes of each pool. */
#include "cli/commands.h"
#include "cli/figures.h"
#include "cli/inquiry.h"
#include "cli/reload_words.h"
#include "cli/usage.h"

#include <stdio.h>
#include <sysexits.h>

#define COMMAND "reload"

static const char help[] =
	"usage: wpool reload [OPTION]...\n"
	"\n"
	"The supervisor reads its configuration again, from the file, the environment and the\n"
	"options of its start, checks it whole, and takes it over: pools are added, removed and\n"
	"changed while the others work, and no task is interrupted. A mistake changes nothing.\n"
	"Says what becomes of each pool, and returns when that has begun.\n"
	"\n"
	"  --dry-run      say what would be done, and do nothing\n" INQUIRY_OPTIONS "\n"
	"Exit status: 0 done, 75 refused, 78 the configuration is wrong,\n" INQUIRY_EXITS "\n";

enum { DRY_RUN = 1 };

static const struct option options[] = {
	{"dry-run", no_argument, NULL, DRY_RUN},
	INQUIRY_OPTION_TABLE,
};

static const struct grid_column columns[] = {
	{.title = "POOL"},
	{.title = "WHAT", .is_whole = true},
	{.title = "SETTINGS"},
};

/* -1: go on; else the exit code. */
static int read_options(struct inquiry *q, bool *ret_dry, int argc, char **argv)
{
	int option, exit_code = -1;

	while (exit_code < 0 &&
		(option = usage_next_option(COMMAND, ":", argc, argv, options)) != -1) {
		if (option == DRY_RUN)
			*ret_dry = true;
		else
			exit_code = inquiry_take_option(q, option);
	}
	if (exit_code < 0 && optind < argc)
		return usage_problem(COMMAND, "unexpected '%s'", argv[optind]);
	return exit_code;
}

static void add_row(struct grid *grid, const json_t *pool)
{
	struct buf settings;

	buf_init(&settings, SIZE_MAX);
	reload_append_settings(&settings, figure_find(pool, "settings"));
	grid_add(grid, figure_text(pool, "name"));
	grid_add(grid, figure_text(pool, "what"));
	grid_add(grid, buf_text(&settings));
	buf_release(&settings);
}

static void print_settings(const char *what, const json_t *settings)
{
	struct buf words;

	if (json_array_size(settings) == 0)
		return;
	buf_init(&words, SIZE_MAX);
	reload_append_settings(&words, settings);
	printf("%s: %.*s\n", what, TEXT_ARGS(buf_text(&words)));
	buf_release(&words);
}

static void print_doubts(const json_t *doubts)
{
	const json_t *doubt;
	size_t i;

	json_array_foreach(doubts, i, doubt) fprintf(stderr, "%s\n", json_string_value(doubt));
}

static int print(const struct inquiry *q, const char *path)
{
	json_t *answer;
	int exit_code = inquiry_ask_json(q, path, &answer);

	if (exit_code != EX_OK)
		return exit_code;
	exit_code = inquiry_print_rows(q, json_object_get(answer, "pools"), columns,
		sizeof columns / sizeof *columns, add_row);
	print_settings("changed for the whole", json_object_get(answer, "settings"));
	print_settings("needs a restart of wpool serve", json_object_get(answer, "needs_restart"));
	print_doubts(json_object_get(answer, "doubts"));
	json_decref(answer);
	return exit_code == EX_OK ? inquiry_flush(q) : exit_code;
}

int reload_main(int argc, char **argv)
{
	struct inquiry q = {.command = COMMAND, .help = help, .method = "POST"};
	bool is_dry = false;
	int exit_code = read_options(&q, &is_dry, argc, argv);
	const char *path = is_dry ? "/v1/reload?dry_run=true" : "/v1/reload";

	if (exit_code >= 0)
		return exit_code;
	return q.json ? inquiry_print(&q, path) : print(&q, path);
}
