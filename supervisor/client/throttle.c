/* `wpool throttle`: another limit for a throttle, from now on. */
#include "client/api_command.h"
#include "client/json_cells.h"
#include "commands.h"
#include "config/config_throttle.h"
#include "config/value/quantity.h"
#include "tty/cli_options.h"
#include "tty/console.h"

#include <inttypes.h>
#include <stdio.h>
#include <sysexits.h>

#define COMMAND "throttle"

static const char help[] =
	"Another limit, another period or both for a throttle, from now on: what has started so far\n"
	"counts. They hold until another figure is configured, or the supervisor ends. Prints what\n"
	"holds then.\n";

static const char own[] = "  --limit N      at most so many task starts, 1 to 1000000\n"
			  "  --period T     in so long a time, such as 10s\n";

enum { LIMIT = 1, PERIOD };

static const struct option options[] = {
	{"limit", required_argument, NULL, LIMIT},
	{"period", required_argument, NULL, PERIOD},
	API_COMMAND_OPTION_TABLE,
};

struct change {
	struct api_command q;
	int64_t limit, period; /* 0: stays */
};

static int on_option(struct api_command *q, int option)
{
	struct change *change = (struct change *)q;

	if (option == LIMIT) {
		if (!quantity_read_integer(text_from(optarg), &change->limit) ||
			change->limit < 1 || change->limit > CONFIG_THROTTLE_LIMIT_MAX)
			return cli_problem(COMMAND, "--limit '%s' is no number from 1 to %d",
				optarg, CONFIG_THROTTLE_LIMIT_MAX);
		return -1;
	}
	if (!quantity_read_duration(text_from(optarg), &change->period) ||
		change->period < CONFIG_PERIOD_MIN || change->period > CONFIG_PERIOD_MAX)
		return cli_problem(
			COMMAND, "--period '%s' is no duration from 1ms to 365d", optarg);
	return -1;
}

/* "erp: at most 50 starts in 10s" */
static int print_change(const struct api_command *q, const json_t *answer)
{
	const json_t *throttle = json_array_get(json_object_get(answer, "throttles"), 0);
	char limit[JSON_CELL_SIZE];

	(void)q;
	console_print(stdout, "%.*s: at most %.*s start%s in %.*s%s",
		TEXT_ARGS(json_cell_text(throttle, "name")),
		TEXT_ARGS(json_cell_number(throttle, "limit", limit)),
		json_cell_value(throttle, "limit") == 1 ? "" : "s",
		TEXT_ARGS(json_cell_text(throttle, "period")),
		json_is_null(json_cell_find(throttle, "key")) ? "" : " for each key");
	putchar('\n');
	return EX_OK;
}

int throttle_main(int argc, char **argv)
{
	struct change change = {.q = {.command = COMMAND,
					.usage = "THROTTLE",
					.help = help,
					.own = own,
					.exits = "0 it holds, 65 no such throttle, 75 refused",
					.options = options,
					.on_option = on_option,
					.arguments = {&change.q.pool},
					.is_post = true}};
	int exit_code = api_command_read(&change.q, argc, argv);
	char path[100]; /* of numbers, however long the options were */

	if (exit_code < 0 && !change.q.pool)
		exit_code = cli_problem(COMMAND, "THROTTLE is needed; see wpool throttles");
	else if (exit_code < 0 && !change.limit && !change.period)
		exit_code = cli_problem(COMMAND, "--limit or --period is needed");
	if (exit_code >= 0)
		return exit_code;
	int len = snprintf(path, sizeof path, "/v1/throttles/*?");
	if (change.limit)
		len += snprintf(
			path + len, sizeof path - (size_t)len, "limit=%" PRId64 "&", change.limit);
	if (change.period)
		len += snprintf(path + len, sizeof path - (size_t)len, "period=%" PRId64 "us&",
			change.period);
	path[len - 1] = '\0';
	return api_command_show(&change.q, path, print_change);
}
