/* `wpool sessions`: a line for each session of a pool, or their number. */
#include "client/api_command.h"
#include "client/json_cells.h"
#include "client/json_table.h"
#include "commands.h"
#include "tty/cli_options.h"
#include "tty/console.h"

#include <stdio.h>
#include <sysexits.h>

#define COMMAND "sessions"

static const char help[] =
	"The sessions of a pool of a running wpool serve (docs/ordering.md). FOR is how long it has\n"
	"been in its state; BACKLOG is how many tasks in hand wait behind the one at the front, HIGH\n"
	"of them in the high lane; ATTEMPTS, REASON and NEXT are about the task at the front: failed\n"
	"attempts, why the last one failed, and when the next one begins. ORDERS are the commands\n"
	"that it has to carry out: drain, close or abort, and pause.\n"
	"EXPR are conditions that must all hold, such as: state=parked backlog>100 key^=acme-\n"
	"(key, state, reason, backlog, high, normal, attempts, for; = != > < >= <= ^=).\n";

static const char own[] = "  --where EXPR   only those that match\n"
			  "  --count        only their number\n"
			  "  --limit N      at most N of them\n";

enum { WHERE = 1, COUNT, LIMIT };

static const struct option options[] = {
	{"where", required_argument, NULL, WHERE},
	{"count", no_argument, NULL, COUNT},
	{"limit", required_argument, NULL, LIMIT},
	API_COMMAND_OPTION_TABLE,
};

struct sessions {
	struct api_command q;
	const char *where, *limit;
	bool counts;
};

static const struct json_column columns[] = {
	{{.title = "KEY"}, JSON_TEXT, "key", NULL},
	{{.title = "STATE", .is_whole = true}, JSON_TEXT, "state", NULL},
	{TEXT_TABLE_FIGURES("FOR"), JSON_SPAN, "for_s", NULL},
	{TEXT_TABLE_FIGURES("BACKLOG"), JSON_NUMBER, "backlog", NULL},
	{TEXT_TABLE_FIGURES("HIGH"), JSON_NUMBER, "high", NULL},
	{TEXT_TABLE_FIGURES("ATTEMPTS"), JSON_NUMBER, "attempts", NULL},
	{{.title = "REASON", .is_whole = true}, JSON_TEXT, "reason", NULL},
	{TEXT_TABLE_FIGURES("NEXT"), JSON_SPAN, "due_s", NULL},
	{{.title = "ORDERS", .is_whole = true}, JSON_LIST, "orders", NULL},
};

static int on_option(struct api_command *q, int option)
{
	struct sessions *sessions = (struct sessions *)q;
	uint64_t number;

	if (option == WHERE) {
		sessions->where = optarg;
	} else if (option == COUNT) {
		sessions->counts = true;
	} else {
		sessions->limit = optarg;
		if (!text_read_decimal(text_from(optarg), UINT64_MAX, &number))
			return cli_problem(COMMAND, "--limit '%s' is no number from 0", optarg);
	}
	return -1;
}

static int print_sessions(const struct api_command *q, const json_t *answer)
{
	const struct sessions *sessions = (const struct sessions *)q;
	const char *note = json_string_value(json_object_get(answer, "note"));
	const json_t *list = json_object_get(answer, "sessions");
	char count[JSON_CELL_SIZE];
	int exit_code;

	if (json_object_get(answer, "count")) {
		console_print(stdout, "%.*s", TEXT_ARGS(json_cell_plain(answer, "count", count)));
		putchar('\n');
		return EX_OK;
	}
	exit_code = json_table_print(q->command, list, columns, sizeof columns / sizeof *columns);
	if (json_array_size(list) == 0)
		puts(sessions->where ? "no session matches" : "no sessions");
	if (exit_code == EX_OK && json_is_true(json_object_get(answer, "more")))
		puts("there are more (--limit)");
	if (note) {
		console_print(stdout, "%s", note);
		putchar('\n');
	}
	return exit_code;
}

int sessions_main(int argc, char **argv)
{
	struct sessions sessions = {
		.q = {.command = COMMAND,
			.usage = "POOL",
			.help = help,
			.own = own,
			.exits = "0 done, 65 no such pool, 75 it has no sessions",
			.options = options,
			.on_option = on_option,
			.arguments = {&sessions.q.pool}}};
	int exit_code = api_command_read(&sessions.q, argc, argv);
	struct buf path;

	if (exit_code < 0 && !sessions.q.pool)
		exit_code = cli_problem(COMMAND, "POOL is needed");
	if (exit_code >= 0)
		return exit_code;
	buf_init(&path, SIZE_MAX);
	buf_printf(&path, "/v1/pools/*/sessions?count=%s", sessions.counts ? "true" : "false");
	if (sessions.limit)
		buf_printf(&path, "&limit=%s", sessions.limit);
	if (sessions.where)
		buf_append_text(&path, TEXT("&where="));
	api_append_query_value(&path, text_from(sessions.where));
	buf_append_byte(&path, '\0');
	exit_code = path.failed
			    ? EX_SOFTWARE
			    : api_command_show(&sessions.q, buf_text(&path).ptr, print_sessions);
	buf_release(&path);
	return exit_code;
}
