/* `wpool reload`: read the configuration again, and print what happens to each pool. */
#include "client/api_command.h"
#include "client/json_cells.h"
#include "commands.h"
#include "tty/console.h"
#include "tty/text_table.h"

#include <stdio.h>

static const char help[] =
	"The supervisor reads its configuration again, from the file, the environment and the\n"
	"options of its start, checks it as a whole, and applies it: pools are added, removed and\n"
	"changed while the others work, and no task is interrupted. A mistake changes nothing.\n"
	"Prints what happens to each pool, and returns when that has begun.\n";

enum { DRY_RUN = 1 };

static const struct option options[] = {
	{"dry-run", no_argument, NULL, DRY_RUN},
	API_COMMAND_OPTION_TABLE,
};

struct reload {
	struct api_command q;
	bool is_dry;
};

static int on_option(struct api_command *q, int option)
{
	(void)option; /* there is one */
	((struct reload *)q)->is_dry = true;
	return -1;
}

static struct text value_shown(const json_t *setting, const char *member)
{
	struct text value = json_cell_text(setting, member);

	return value.len > 0 ? value : TEXT("(none)");
}

/* Append [{"key", "from", "to"}] as "workers 2 -> 4, command (may hold a secret: not shown)". */
static void append_settings(struct buf *out, const json_t *settings)
{
	const json_t *setting;
	size_t i;

	json_array_foreach(settings, i, setting)
	{
		buf_printf(out, "%s%.*s", i > 0 ? ", " : "",
			TEXT_ARGS(json_cell_text(setting, "key")));
		if (json_cell_find(setting, "from"))
			buf_printf(out, " %.*s -> %.*s", TEXT_ARGS(value_shown(setting, "from")),
				TEXT_ARGS(value_shown(setting, "to")));
		else
			buf_append_text(out, TEXT(" (may hold a secret: not shown)"));
	}
}

static int print_pools(const struct api_command *q, const json_t *pools)
{
	static const struct text_table_column columns[] = {
		{.title = "POOL"}, {.title = "WHAT", .is_whole = true}, {.title = "SETTINGS"}};
	struct text_table table;
	struct buf text;
	const json_t *pool;
	size_t i;
	int exit_code;

	text_table_init(&table, columns, sizeof columns / sizeof *columns);
	buf_init(&text, SIZE_MAX);
	json_array_foreach(pools, i, pool)
	{
		buf_clear(&text);
		append_settings(&text, json_cell_find(pool, "settings"));
		text_table_add(&table, json_cell_text(pool, "name"));
		text_table_add(&table, json_cell_text(pool, "action"));
		text_table_add(&table, buf_text(&text));
	}
	exit_code = console_print_table(q->command, &table);
	buf_release(&text);
	text_table_release(&table);
	return exit_code;
}

static void print_settings(const char *what, const json_t *settings)
{
	struct buf text;

	if (json_array_size(settings) == 0)
		return;
	buf_init(&text, SIZE_MAX);
	append_settings(&text, settings);
	console_print(stdout, "%s: %.*s", what, TEXT_ARGS(buf_text(&text)));
	putchar('\n');
	buf_release(&text);
}

/* "throttle erp changed: limit 100 -> 50" */
static void print_throttles(const json_t *throttles)
{
	struct buf text;
	const json_t *throttle;
	size_t i;

	buf_init(&text, SIZE_MAX);
	json_array_foreach(throttles, i, throttle)
	{
		const json_t *settings = json_cell_find(throttle, "settings");
		buf_clear(&text);
		buf_printf(&text, "throttle %.*s %.*s%s",
			TEXT_ARGS(json_cell_text(throttle, "name")),
			TEXT_ARGS(json_cell_text(throttle, "action")),
			json_array_size(settings) > 0 ? ": " : "");
		append_settings(&text, settings);
		console_print(stdout, "%.*s", TEXT_ARGS(buf_text(&text)));
		putchar('\n');
	}
	buf_release(&text);
}

static int print_reload(const struct api_command *q, const json_t *answer)
{
	const json_t *warning;
	size_t i;
	int exit_code = print_pools(q, json_object_get(answer, "pools"));

	print_throttles(json_object_get(answer, "throttles"));
	print_settings("changed supervisor settings", json_object_get(answer, "settings"));
	print_settings("needs a restart of wpool serve", json_object_get(answer, "needs_restart"));
	json_array_foreach(json_object_get(answer, "warnings"), i, warning)
	{
		console_print(stderr, "warning: %s",
			json_is_string(warning) ? json_string_value(warning) : "-");
		fputc('\n', stderr);
	}
	if (((const struct reload *)q)->is_dry)
		puts("nothing was done (--dry-run)");
	return exit_code;
}

int reload_main(int argc, char **argv)
{
	struct reload reload = {
		.q = {.command = "reload",
			.usage = "",
			.help = help,
			.own = "  --dry-run      print what would be done, and do nothing\n",
			.exits = "0 begun, 75 refused, 78 the configuration is wrong",
			.options = options,
			.on_option = on_option,
			.is_post = true}};
	int exit_code = api_command_read(&reload.q, argc, argv);
	const char *path = reload.is_dry ? "/v1/reload?dry_run=true" : "/v1/reload";

	return exit_code >= 0 ? exit_code : api_command_show(&reload.q, path, print_reload);
}
