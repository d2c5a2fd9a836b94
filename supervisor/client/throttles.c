/* `wpool throttles`: how much of each limit is used. */
#include "client/api_command.h"
#include "client/json_table.h"
#include "commands.h"

#include <stdio.h>

static const char help[] =
	"The throttles that the pools of a running wpool serve use (docs/configuration.md): at most\n"
	"LIMIT tasks start in any PERIOD, in all or for each key. LEADER: with scope: cluster, whether\n"
	"this supervisor or another one grants the starts of all. STARTS are those in the current\n"
	"window, of all keys together; WAITING are tasks at the supervisor that wait for it, of a\n"
	"session its next one; RETRY AFTER is when the next one may start, where all keys share the\n"
	"limit; POSTPONED went into a retry queue since the start; KEYS are those remembered.\n";

static const struct json_column columns[] = {
	{{.title = "NAME", .is_whole = true}, JSON_TEXT, "name", NULL},
	{TEXT_TABLE_FIGURES("LIMIT"), JSON_NUMBER, "limit", NULL},
	{TEXT_TABLE_FIGURES("PERIOD"), JSON_TEXT, "period", NULL},
	{{.title = "SCOPE", .is_whole = true}, JSON_TEXT, "scope", NULL},
	{{.title = "LEADER", .is_whole = true}, JSON_TEXT, "leader", NULL},
	{TEXT_TABLE_FIGURES("STARTS"), JSON_NUMBER, "starts_in_window", NULL},
	{TEXT_TABLE_FIGURES("WAITING"), JSON_NUMBER, "waiting", NULL},
	{TEXT_TABLE_FIGURES("RETRY AFTER"), JSON_SPAN, "retry_after_s", NULL},
	{TEXT_TABLE_FIGURES("POSTPONED"), JSON_NUMBER, "totals.postponed", NULL},
	{TEXT_TABLE_FIGURES("KEYS"), JSON_NUMBER, "keys", NULL},
	{{.title = "KEY"}, JSON_TEXT, "key", NULL},
};

static int print_throttles(const struct api_command *q, const json_t *answer)
{
	const json_t *list = json_object_get(answer, "throttles");
	int exit_code =
		json_table_print(q->command, list, columns, sizeof columns / sizeof *columns);

	if (json_array_size(list) == 0)
		puts("no pool has a throttle");
	return exit_code;
}

int throttles_main(int argc, char **argv)
{
	struct api_command q = {
		.command = "throttles", .usage = "", .help = help, .exits = "0 done"};
	int exit_code = api_command_read(&q, argc, argv);

	return exit_code >= 0 ? exit_code : api_command_show(&q, "/v1/throttles", print_throttles);
}
