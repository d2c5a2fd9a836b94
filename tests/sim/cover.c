#include "sim/cover.h"

#include "core/effects.h"
#include "core/tasks/settle.h"
#include "core/tasks/source.h"
#include "core/workers/life.h"
#include "sim/account.h"
#include "sim/cover_command.h"
#include "sim/cover_never.h"
#include "sim/order_takeover.h"
#include "sim/settings.h"

#include "amqp/connection.h"
#include <stdio.h>
#include <string.h>

static struct cover own;
struct cover *cover_here = &own;

/* ---------- names ---------- */

#define X(name) #name,
static const char *const events[] = {EVENT_KINDS(X)};
static const char *const source_states[] = {SOURCE_STATES(X) "OLDER_EPOCH"};
static const char *const parcels[] = {PARCEL_KINDS(X)};
static const char *const life_states[] = {LIFE_STATES(X) "OLDER_LIFE"};
static const char *const life_facts[] = {LIFE_FACTS(X)};
static const char *const outcomes[] = {OUTCOMES(X)};
static const char *const decisions[] = {PARCEL_KINDS(X) "ACK", "ACK_UNASKED", "ACK_DROPPED",
	"REJECT", "REQUEUE", "PARK", "BLOCK", "CONTINUE"};
static const char *const delivery_states[] = {DELIVERY_STATES(X)};
static const char *const notices[] = {NOTICE_KINDS(X)};
static const char *const amqp_events[] = {AMQP_EVENT_KINDS(X)};
static const char *const tempers[] = {TEMPERS(X)};
#undef X
#define X(reason, words) #reason,
static const char *const reasons[] = {REASONS(X)};
#undef X
#define X(trouble, name) name,
static const char *const troubles[] = {TROUBLES(X)};
#undef X

static const char *const phases[] = {"runs", "drains", "forced"};
static const char *const outbox_states[] = {"down", "idle", "sending", "probing"};
static const char *const losses[] = {"CONNECTION", "SHARED", "CLOSED", "CHANNEL"};
static const char *const loss_sent[] = {
	"none", "one", "many", "probing", "culprit", "dead-letter-culprit"};
static const char *const fates[FATE_COUNT] = {"published", "again", "confirmed",
	"confirmed-multiple", "confirmed-before-older", "returned", "nacked", "nacked-multiple",
	"orphaned", "lost-CONNECTION", "lost-SHARED", "lost-CLOSED", "lost-CHANNEL"};
static const char *const slot_events[] = {"READY", NULL, "ROOM-none", "ROOM", "OUTPUT", "PROGRESS",
	"BROKEN", NULL, "GONE", NULL, "MEMORY"};
static const char *const lefts[] = {"released", "rejected", "forgotten", "requeued", "taken"};
static const char *const arrivals[] = {"any", "redelivered", "counted", "tried-before", "renewed",
	"handed-back", "soft-limit", "invalid"};
static const char *const yes_no[] = {"yes", "no"};
static const char *const effect_names[EFFECT_COUNT] = {"send", "send-too-large", "send-no-memory",
	"ack", "ack-multiple", "reject-dead-letter", "reject-unstarted", "publish", "consume",
	"rest", "leave", "close", "spawn", "quit", "term", "kill", "switch", "cancel", "room",
	"room-none"};
#define X(id, name) [ROW_##id] = #name,
static const char *const commands[ROW_COUNT] = {COMMANDS(X)[ROW_SCALE_DOWN] = "scale-down",
	[ROW_SCALE_NOWHERE] = "scale-nowhere", [ROW_SCALE_RANGE] = "scale-range"};
#undef X
static const char *const situations[SITUATION_COUNT] = {
	"is-plain", "is-paused", "rolls", "shrinks", "stops"};
static const char *const connections[] = {"consume", "publish"};
static const char *const codes[] = {"320", "404", "406", "501", "504", "506", "530", "541"};
static const char *const closed[] = {"channel", "connection"};
static const char *const wires[WIRE_COUNT] = {"cut-between-frames", "cut-in-frame-out",
	"cut-with-bytes-in", "cut-in-handshake", "unread-under-alarm", "goodbye",
	"goodbye-unanswered"};
static const char *const operators[OPERATOR_COUNT] = {
	"start", "kill", "drain", "force", "freeze", "left"};
static const char *const supervisor_states[] = {"dead", "serves", "stops", "leaves"};
static const char *const ends[] = {
	"done", "replied", "dead", "dropped", "twice", "forgiven", "refused"};
static const char *const endings[ENDED_COUNT] = {
	"gone", "killed", "silent", "hung", "broken", "broken-named", "ordered", "last-answer"};
static const char *const open_tasks[] = {"none", "one", "several"};
static const char *const ids[ID_COUNT] = {"right", "missing", "answered", "foreign", "unknown"};
static const char *const concurrencies[] = {"one", "more"};
static const char *const limits[LIMIT_COUNT] = {
	"longer", "shorter", "past", "bad", "due", "ending"};
static const char *const suspects[SUSPECT_COUNT] = {"sent", "answered", "failed"};
static const char *const takeovers[TAKEOVER_COUNT] = {"orderly", "delayed", "careful", "lost",
	"guard-kills", "held", "named", "handed-paused", "handed-parked", "handed-blocked",
	"handed-rest", "handed-poison"};
static const char *const answers[] = {"starts", "waits", "holds", "stops", "settles"};
static const char *const asked[ASKED_COUNT] = {"first", "again", "session", "alone"};
static const char *const once[] = {"seen"};

#define NAMES(names) names, sizeof names / sizeof *names

struct table {
	const char *name;
	const char *const *rows;
	size_t row_count;
	const char *const *columns;
	size_t column_count;
	size_t row_first;
};

static const struct table tables[COVER_TABLE_COUNT] = {
	[COVER_EVENT] = {"event", NAMES(events), NAMES(phases), 0},
	[COVER_SOURCE] = {"source", events, OUTBOX_UP, NAMES(source_states), 0},
	[COVER_SOURCE_MOVE] = {"source-move", source_states, 4, source_states, 4, 0},
	[COVER_OUTBOX] = {"outbox", events, SLOT_READY, NAMES(outbox_states), OUTBOX_UP},
	[COVER_OUTBOX_MOVE] = {"outbox-move", NAMES(outbox_states), NAMES(outbox_states), 0},
	[COVER_LOSS] = {"outbox-loss", NAMES(losses), NAMES(loss_sent), 0},
	[COVER_PARCEL] = {"parcel", NAMES(parcels), NAMES(fates), 0},
	[COVER_SLOT] = {"slot", NAMES(slot_events), NAMES(life_states), 0},
	[COVER_LIFE] = {"life", life_states, LIFE_RETIRED + 1, NAMES(life_facts), 0},
	[COVER_SETTLE] = {"settle", NAMES(outcomes), NAMES(decisions), 0},
	[COVER_REASON] = {"reason", NAMES(reasons), NAMES(decisions), 0},
	[COVER_DELIVERY] = {"delivery", NAMES(delivery_states), NAMES(lefts), 0},
	[COVER_ARRIVAL] = {"arrival", NAMES(arrivals), NAMES(yes_no), 0},
	[COVER_NOTICE] = {"notice", NAMES(notices), NAMES(once), 0},
	[COVER_EFFECT] = {"effect", NAMES(effect_names), NAMES(once), 0},
	[COVER_AMQP] = {"amqp", NAMES(amqp_events), NAMES(connections), 0},
	[COVER_CODE] = {"code", NAMES(codes), NAMES(closed), 0},
	[COVER_WIRE] = {"wire", NAMES(wires), NAMES(connections), 0},
	[COVER_TROUBLE] = {"trouble", NAMES(troubles), NAMES(once), 0},
	[COVER_OPERATOR] = {"operator", NAMES(operators), NAMES(supervisor_states), 0},
	[COVER_COMMAND] = {"command", NAMES(commands), NAMES(situations), 0},
	[COVER_TEMPER] = {"temper", NAMES(tempers), NAMES(ends), 0},
	[COVER_ENDED] = {"worker-ended", NAMES(endings), NAMES(open_tasks), 0},
	[COVER_ID] = {"output-id", NAMES(ids), NAMES(concurrencies), 0},
	[COVER_LIMIT] = {"hard-limit", NAMES(limits), NAMES(concurrencies), 0},
	[COVER_SUSPECT] = {"suspect", NAMES(suspects), NAMES(yes_no), 0},
	[COVER_TAKEOVER] = {"takeover", NAMES(takeovers), NAMES(once), 0},
	[COVER_THROTTLE] = {"throttle", NAMES(answers), NAMES(asked), 0},
};

void cover_code(unsigned code, bool of_channel)
{
	char digits[] = {'0' + code / 100 % 10, '0' + code / 10 % 10, '0' + code % 10, 0};

	for (unsigned i = 0; i < sizeof codes / sizeof *codes; i++)
		if (strcmp(codes[i], digits) == 0)
			cover_mark(COVER_CODE, i, !of_channel);
}

void cover_add(struct cover *sum, const struct cover *cover)
{
	uint64_t *to = &sum->cells[0][0][0];
	const uint64_t *from = &cover->cells[0][0][0];

	for (size_t i = 0; i < sizeof sum->cells / sizeof *to; i++)
		to[i] += from[i];
}

/* ---------- the report ---------- */

struct tally {
	unsigned expected, seen, wrong;
	bool is_listed; /* each that is not as it should be */
};

static enum cover_hope hope_of(
	const struct table *table, size_t row, size_t column, const char **ret_why)
{
	return cover_hope(table->name, table->rows[row], table->columns[column], ret_why);
}

/* "-": nothing was seen, and nothing was to be. */
static void print_row(const struct table *table, size_t row, const uint64_t *counts)
{
	const char *why;

	printf("  %-26s", table->rows[row]);
	for (size_t column = 0; column < table->column_count; column++)
		if (counts[column] || hope_of(table, row, column, &why) == HOPE_EXPECTED)
			printf(" %12llu", (unsigned long long)counts[column]);
		else
			printf(" %12s", "-");
	putchar('\n');
}

static void print_table(const struct cover *cover, enum cover_table number)
{
	const struct table *table = &tables[number];

	printf("\n%-28s", table->name);
	for (size_t column = 0; column < table->column_count; column++)
		printf(" %12.12s", table->columns[column]);
	putchar('\n');
	for (size_t row = table->row_first; row < table->row_count; row++)
		if (table->rows[row])
			print_row(table, row, cover->cells[number][row]);
}

static void judge_cell(
	struct tally *tally, uint64_t count, const struct table *table, size_t row, size_t column)
{
	const char *why;
	enum cover_hope hope = hope_of(table, row, column, &why);

	tally->wrong += hope == HOPE_NEVER && count > 0;
	tally->expected += hope == HOPE_EXPECTED;
	tally->seen += hope == HOPE_EXPECTED && count > 0;
	if (!tally->is_listed)
		return;
	if (hope == HOPE_EXPECTED && count == 0)
		printf("simulator: never seen: %s, %s, %s\n", table->name, table->rows[row],
			table->columns[column]);
	else if (hope == HOPE_NEVER && count > 0)
		printf("simulator: seen, and not to be: %s, %s, %s (%s)\n", table->name,
			table->rows[row], table->columns[column], why);
}

unsigned cover_report(const struct cover *cover, bool whole, bool is_listed)
{
	struct tally tally = {.is_listed = is_listed};

	for (enum cover_table number = 0; whole && number < COVER_TABLE_COUNT; number++)
		print_table(cover, number);
	for (enum cover_table number = 0; number < COVER_TABLE_COUNT; number++) {
		const struct table *table = &tables[number];

		for (size_t row = table->row_first; row < table->row_count; row++)
			for (size_t column = 0; table->rows[row] && column < table->column_count;
				column++)
				judge_cell(&tally, cover->cells[number][row][column], table, row,
					column);
	}
	printf("simulator: %u of %u transitions seen\n", tally.seen, tally.expected);
	return tally.expected - tally.seen + tally.wrong;
}
