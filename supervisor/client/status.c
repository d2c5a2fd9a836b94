/* `wpool status`: whether it works, what it does, what is wrong. */
#include "client/status.h"

#include "client/api_command.h"
#include "client/findings.h"
#include "client/json_cells.h"
#include "client/pools.h"
#include "commands.h"
#include "config/url/addresses.h"
#include "tty/console.h"

#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

static const char help[] =
	"Whether a running wpool serve works, and if not, why not; then its pools. A reason is why it\n"
	"is not ready; a warning is wrong, too, but does not keep it from working; a note is what\n"
	"only an operator can find out.\n";

void status_append_verdict(const json_t *status, struct buf *out)
{
	char pid[JSON_CELL_SIZE], up[JSON_CELL_SIZE];
	bool is_ready = json_is_true(json_cell_find(status, "ready"));
	bool is_serving = text_is(json_cell_text(status, "phase"), TEXT("serving"));

	buf_printf(out, "%s: wpool %.*s, pid %.*s, %.*s%s %.*s", is_ready ? "ready" : "NOT READY",
		TEXT_ARGS(json_cell_text(status, "version")),
		TEXT_ARGS(json_cell_plain(status, "pid", pid)),
		TEXT_ARGS(json_cell_text(status, "phase")), is_serving ? " for" : ", up for",
		TEXT_ARGS(json_cell_span(status, "uptime_s", up)));
}

void status_append_broker(const json_t *status, struct buf *out)
{
	char memory[JSON_CELL_SIZE], turn[JSON_CELL_SIZE];
	bool consumes = json_is_true(json_cell_find(status, "connections.consume.up"));
	bool publishes = json_is_true(json_cell_find(status, "connections.publish.up"));
	bool is_blocked = json_is_true(json_cell_find(status, "connections.publishes_blocked"));

	buf_printf(out, "broker: consuming %s, publishing %s%s; memory %.*s, longest turn %.*s",
		consumes ? "connected" : "not connected", publishes ? "connected" : "not connected",
		is_blocked ? ", blocked by an alarm" : "",
		TEXT_ARGS(json_cell_size(status, "process.memory_bytes", memory)),
		TEXT_ARGS(json_cell_span(status, "longest_turn.total_s", turn)));
}

void status_append_configuration(const json_t *status, struct buf *out)
{
	bool has_file = json_is_string(json_cell_find(status, "configuration"));

	buf_append_text(out, TEXT("configuration: "));
	buf_append_text(out, has_file ? json_cell_text(status, "configuration")
				      : TEXT("the options and variables of its start"));
}

static void print_findings(const json_t *status)
{
	struct finding finding;

	for (size_t at = 0; findings_next(status, &at, &finding);) {
		console_print(stdout, "  %s: %s", finding.label, finding.text);
		putchar('\n');
	}
}

/* What only an operator can find out. */
static void print_unknown(const json_t *pools)
{
	const json_t *pool;
	size_t i;

	json_array_foreach(pools, i, pool)
	{
		if (!json_is_true(json_object_get(pool, "consuming")) ||
			!text_is(json_cell_text(pool, "queue_durable"), TEXT("unknown")))
			continue;
		console_print(stdout,
			"  " FINDING_NOTE
			": pool %.*s: unknown whether its queue is durable (no right to configure "
			"it): rabbitmqctl list_queues name type durable policy",
			TEXT_ARGS(json_cell_text(pool, "name")));
		putchar('\n');
	}
}

/* Those that status names connect to the broker themselves. */
static void print_address_needed(const json_t *status, const json_t *pools)
{
	struct text from = json_cell_text(status, "broker_address");
	const json_t *pool;
	bool has_dead_letters = false;
	size_t i;

	json_array_foreach(pools, i, pool) has_dead_letters |=
		json_integer_value(json_cell_find(pool, "tasks.dead_letters")) > 0;
	if (!has_dead_letters || strcmp(addresses_source(environ), "default") != 0 ||
		!(text_is(from, TEXT("environment")) || text_is(from, TEXT("option"))))
		return;
	puts("  " FINDING_NOTE
	     ": wpool dead-letters needs AMQP_URL or --broker here: the supervisor "
	     "has its broker's address from its own options or environment");
}

static int exit_code_of(const json_t *status)
{
	return json_is_true(json_cell_find(status, "ready")) ? EX_OK : EX_TEMPFAIL;
}

/* The status and the pools come in one answer. */
static int print_status(const struct api_command *q, const json_t *answer)
{
	const json_t *status = json_object_get(answer, "status");
	struct buf head;
	int exit_code;

	buf_init(&head, SIZE_MAX);
	status_append_verdict(status, &head);
	buf_append_byte(&head, '\n');
	status_append_broker(status, &head);
	buf_append_byte(&head, '\n');
	status_append_configuration(status, &head);
	console_print_lines(stdout, buf_text(&head));
	buf_release(&head);
	print_findings(status);
	print_unknown(json_object_get(answer, "pools"));
	print_address_needed(status, json_object_get(answer, "pools"));
	putchar('\n');
	exit_code = pools_print(q->command, json_object_get(answer, "pools"), false);
	return exit_code == EX_OK ? exit_code_of(status) : exit_code;
}

int status_main(int argc, char **argv)
{
	struct api_command q = {
		.command = "status", .usage = "", .help = help, .exits = "0 ready, 75 not ready"};
	int exit_code = api_command_read(&q, argc, argv);

	if (exit_code >= 0)
		return exit_code;
	return q.wants_json ? api_command_print(&q, "/v1/status", exit_code_of)
			    : api_command_show(&q, "/v1/pools?status=true", print_status);
}
