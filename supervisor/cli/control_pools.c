/* GET /v1/pools: each pool, what it is at and what it did. */
#include "cli/control_json.h"
#include "cli/control_list.h"
#include "cli/control_routes.h"
#include "cli/health.h"
#include "io/clock.h"

#define REASONS_LIMIT (64 * 1024)

static json_int_t counted(const struct report *report, enum notice_kind kind)
{
	return (json_int_t)report->counts[kind];
}

/* null: there was none. */
static json_t *change_of(const struct scaling *scaling)
{
	static const char *const causes[] = {
#define X(cause, words) [cause] = words,
		SCALING_CAUSES(X)
#undef X
	};
	char why[SCALING_WORDS_ROOM];

	if (scaling->cause == SCALING_NONE)
		return json_null();
	return json_pack("{s:s, s:s, s:i, s:i, s:o}", "cause", causes[scaling->cause], "why",
		report_scaling(scaling, why), "from", scaling->before, "to", scaling->after,
		"age_s", control_json_span(clock_now() - scaling->at));
}

static json_t *workers_of(const struct station *station, const struct pool_facts *facts)
{
	struct slot_counts counts = station_slot_counts(station);
	const uint16_t *slots = counts.by_state;

	return json_pack("{s:i, s:i, s:i, s:o, s:i, s:i, s:i, s:i, s:i, s:i, s:I, s:o, s:b}",
		"wanted", facts->wanted, "min", facts->least, "max", facts->most, "last_change",
		change_of(&facts->scaling), "ready", slots[LIFE_READY], "busy", counts.busy,
		"starting", slots[LIFE_STARTING], "waiting", slots[LIFE_WAITING], "leaving",
		slots[LIFE_QUITTING] + slots[LIFE_STOPPING] + slots[LIFE_KILLED], "failing",
		facts->failing, "failures_in_row", (json_int_t)counts.most_failures, "next_start_s",
		control_json_until(counts.next_start), "restarting", facts->is_rolling);
}

static json_t *tasks_of(const struct station *station, const struct pool_facts *facts)
{
	const struct backlog *backlog = station_backlog(station);

	return json_pack("{s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:I}", "backlog",
		backlog ? json_integer(backlog->messages) : json_null(), "backlog_age_s",
		control_json_since(backlog ? backlog->at : MTIME_NEVER), "waiting",
		(json_int_t)facts->waiting, "in_pipes", (json_int_t)facts->in_pipes, "unacked",
		(json_int_t)facts->unacked, "unconfirmed", (json_int_t)facts->unconfirmed,
		"unconfirmed_bytes", (json_int_t)facts->unconfirmed_bytes, "window",
		(json_int_t)facts->window);
}

/* Only reasons that there were. */
static json_t *by_reason(const uint64_t counts[REASON_COUNT])
{
	json_t *object = json_object();

	for (int reason = 0; reason < REASON_COUNT; reason++)
		if (counts[reason] && json_object_set_new(object, reason_words((enum reason)reason),
					      json_integer((json_int_t)counts[reason])) != 0) {
			json_decref(object);
			return NULL;
		}
	return object;
}

static json_t *done_of(const struct report *report, const struct pool_facts *facts)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "deliveries",
		(json_int_t)facts->deliveries, "done", counted(report, NOTICE_TASK_DONE),
		"handed_back", counted(report, NOTICE_TASK_HANDED_BACK), "retried",
		counted(report, NOTICE_TASK_RETRIED), "given_up",
		counted(report, NOTICE_TASK_GIVEN_UP), "replies_dropped",
		counted(report, NOTICE_REPLY_DROPPED), "orphaned",
		counted(report, NOTICE_TASK_ORPHANED), "unstarted",
		counted(report, NOTICE_TASK_UNSTARTED), "cut_short",
		counted(report, NOTICE_TASK_CUT_SHORT), "worker_deaths",
		counted(report, NOTICE_WORKER_DIED));
}

/* Pairs, from the shortest: a bound, and how many lie up to it and above the one before. */
static json_t *buckets_of(const struct histogram *histogram)
{
	json_t *buckets = json_array();

	for (size_t i = 0; i <= HISTOGRAM_BOUND_COUNT; i++)
		if (json_array_append_new(
			    buckets, json_pack("[o, I]", control_json_span(histogram_bound(i)),
					     (json_int_t)histogram->counts[i])) != 0) {
			json_decref(buckets);
			return NULL;
		}
	return buckets;
}

static json_t *times_of(const struct histogram *histogram)
{
	return json_pack("{s:I, s:o, s:o, s:o, s:o, s:o}", "count",
		(json_int_t)histogram_count(histogram), "sum_s", control_json_span(histogram->sum),
		"p50_s", control_json_span(histogram_quantile(histogram, 0.5)), "p95_s",
		control_json_span(histogram_quantile(histogram, 0.95)), "p99_s",
		control_json_span(histogram_quantile(histogram, 0.99)), "buckets",
		buckets_of(histogram));
}

/* Null: none died. What it said may be of the message that it had: not for everybody. */
static json_t *last_death_of(const struct control_list *list, const struct report *report)
{
	const struct report_death *death = &report->last_death;
	char exit[REPORT_EXIT_ROOM];

	if (death->exit.kind == EXIT_NONE)
		return json_null();
	return json_pack("{s:s, s:o, s:o}", "exit",
		report_end_of_life(&death->exit, death->why, exit, sizeof exit), "age_s",
		control_json_since(death->at), "words",
		list->is_local && *death->words ? control_json_text(text_from(death->words))
						: json_null());
}

static json_t *warnings_of(const struct station *station)
{
	struct buf warnings;

	buf_init(&warnings, REASONS_LIMIT);
	health_append_pool_warnings(station, &warnings);
	return control_json_lines(&warnings);
}

static json_t *reasons_of(const struct station *station)
{
	struct buf reasons;

	buf_init(&reasons, REASONS_LIMIT);
	health_append_pool_reasons(station, &reasons);
	return control_json_lines(&reasons);
}

static json_t *lines_of(const struct station *station)
{
	struct crew_lines lines = station_lines(station);

	return json_pack("{s:I, s:I}", "logged", (json_int_t)lines.passed, "dropped",
		(json_int_t)lines.dropped);
}

static json_t *pool_of(const struct control_list *list, const struct station *station)
{
	const struct config_pool *config = station_config(station);
	const struct report *report = station_report(station);
	struct pool_facts facts = station_facts(station);

	return json_pack(
		"{s:s, s:s, s:s, s:s, s:b, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
		"name", config->name, "queue", config->queue, "program", config->command[0],
		"state", pool_standing_words(facts.standing), "consuming",
		station_is_consuming(station), "ready", health_is_pool_ready(station), "connection",
		control_json_link(feed_facts(station_feed(station))), "reasons",
		reasons_of(station), "warnings", warnings_of(station), "workers",
		workers_of(station, &facts), "last_death", last_death_of(list, report), "tasks",
		tasks_of(station, &facts), "last_delivery_age_s",
		control_json_since(facts.delivered_at), "totals", done_of(report, &facts),
		"retried_by_reason", by_reason(report->retried), "given_up_by_reason",
		by_reason(report->given_up), "task_time", times_of(&report->took), "queue_wait",
		times_of(&report->waited), "worker_lines", lines_of(station));
}

static bool append_next(struct control_list *list, struct buf *out)
{
	const struct station *station = fleet_next(list->overview->fleet, &list->place);

	if (!station)
		return false;
	if (control_list_wants(list, station)) {
		control_list_separate(list, out);
		control_json_append(out, pool_of(list, station));
	}
	return true;
}

void control_answer_pools(const struct overview *overview, const struct http_request *request)
{
	control_list_answer(overview, request, "pools", append_next);
}

void control_answer_pools_only(
	const struct overview *overview, const struct http_request *request, uint32_t only)
{
	control_list_answer_only(overview, request, "pools", append_next, only);
}
