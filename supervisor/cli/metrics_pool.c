#include "cli/metrics_pool.h"

#include "cli/health.h"
#include "io/clock.h"

#include <inttypes.h>
#include <stdio.h>

#define LABELS_ROOM 160
#define MICROS      1000000

struct metric_pool {
	const struct metric *metric;
	const struct station *station;
	const char *name; /* letters, digits, '.', '_', '-': as it is between quotes */
	const struct report *report;
	struct pool_facts facts;
};

/* ---------- samples ---------- */

static void begin(const struct metric *metric, const char *suffix, const char *labels)
{
	buf_printf(metric->out, "%s%s%s%s%s ", metric->family->name, suffix, *labels ? "{" : "",
		labels, *labels ? "}" : "");
}

static void append_span(struct buf *out, mtime span)
{
	buf_printf(out, "%" PRId64 ".%06" PRId64 "\n", span / MICROS, span % MICROS);
}

void metric_sample(const struct metric *metric, const char *labels, uint64_t value)
{
	begin(metric, "", labels);
	buf_printf(metric->out, "%" PRIu64 "\n", value);
}

void metric_span(const struct metric *metric, const char *labels, mtime span)
{
	begin(metric, "", labels);
	append_span(metric->out, span);
}

/* key: NULL, or a second label with this value. */
static const char *labels_of(
	const struct metric_pool *pool, const char *key, const char *value, char *room)
{
	if (key)
		snprintf(room, LABELS_ROOM, "pool=\"%s\",%s=\"%s\"", pool->name, key, value);
	else
		snprintf(room, LABELS_ROOM, "pool=\"%s\"", pool->name);
	return room;
}

static void put(const struct metric_pool *pool, const char *key, const char *value, uint64_t number)
{
	char labels[LABELS_ROOM];

	metric_sample(pool->metric, labels_of(pool, key, value, labels), number);
}

static void put_one(const struct metric_pool *pool, uint64_t number)
{
	put(pool, NULL, NULL, number);
}

/* ---------- workers ---------- */

/* The busy ones of the ready have a word of their own. */
static void write_workers(const struct metric_pool *pool)
{
	static const char *const words[] = {
		[LIFE_WAITING] = "waiting",
		[LIFE_STARTING] = "starting",
		[LIFE_READY] = "idle",
		[LIFE_QUITTING] = "quitting",
		[LIFE_STOPPING] = "terminating",
		[LIFE_KILLED] = "killed",
	};

	struct slot_counts counts = station_slot_counts(pool->station);

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		put(pool, "state", words[i],
			counts.by_state[i] - (i == LIFE_READY ? counts.busy : 0u));
	put(pool, "state", "busy", counts.busy);
}

static void write_wanted(const struct metric_pool *pool)
{
	put_one(pool, pool->facts.wanted);
}

static void write_bounds(const struct metric_pool *pool)
{
	put(pool, "bound", "min", pool->facts.least);
	put(pool, "bound", "max", pool->facts.most);
}

static void write_scalings(const struct metric_pool *pool)
{
	put(pool, "cause", "command", pool->report->counts[NOTICE_SCALED]);
	put(pool, "cause", "grew", pool->report->counts[NOTICE_GROWN]);
	put(pool, "cause", "shrank", pool->report->counts[NOTICE_SHRUNK]);
}

static void write_failing(const struct metric_pool *pool)
{
	put_one(pool, pool->facts.failing);
}

static void write_deaths(const struct metric_pool *pool)
{
	put(pool, "cause", "exit", pool->report->deaths[EXIT_STATUS]);
	put(pool, "cause", "signal", pool->report->deaths[EXIT_SIGNAL]);
	put(pool, "cause", "not-started", pool->report->deaths[EXIT_NOT_STARTED]);
}

static void write_recycled(const struct metric_pool *pool)
{
	for (int reason = RECYCLE_NOT + 1; reason < RECYCLE_REASON_COUNT; reason++)
		put(pool, "reason", recycle_words((enum recycle_reason)reason),
			pool->report->recycled[reason]);
}

static void write_ended(const struct metric_pool *pool)
{
	put(pool, "cause", "overdue", pool->report->counts[NOTICE_WORKER_OVERDUE]);
	put(pool, "cause", "protocol-error", pool->report->counts[NOTICE_WORKER_BROKEN]);
}

/* ---------- tasks ---------- */

static void write_consuming(const struct metric_pool *pool)
{
	put_one(pool, station_is_consuming(pool->station));
}

static void write_paused(const struct metric_pool *pool)
{
	put_one(pool, pool->facts.standing == POOL_IS_PAUSED);
}

static void write_deliveries(const struct metric_pool *pool)
{
	put_one(pool, pool->facts.deliveries);
}

/* Before the first there is no age. */
static void write_age(const struct metric_pool *pool)
{
	char labels[LABELS_ROOM];

	if (pool->facts.delivered_at != MTIME_NEVER)
		metric_span(pool->metric, labels_of(pool, NULL, NULL, labels),
			clock_now() - pool->facts.delivered_at);
}

static void write_backlog(const struct metric_pool *pool)
{
	const struct backlog *backlog = station_backlog(pool->station);

	if (backlog)
		put_one(pool, backlog->messages);
}

static void write_backlog_age(const struct metric_pool *pool)
{
	const struct backlog *backlog = station_backlog(pool->station);
	char labels[LABELS_ROOM];

	if (backlog)
		metric_span(pool->metric, labels_of(pool, NULL, NULL, labels),
			clock_now() - backlog->at);
}

static void write_waiting(const struct metric_pool *pool)
{
	put_one(pool, pool->facts.waiting);
}

static void write_in_pipes(const struct metric_pool *pool)
{
	put_one(pool, pool->facts.in_pipes);
}

static void write_unacked(const struct metric_pool *pool)
{
	put_one(pool, pool->facts.unacked);
}

static void write_window(const struct metric_pool *pool)
{
	put_one(pool, pool->facts.window);
}

static void write_unconfirmed(const struct metric_pool *pool)
{
	put_one(pool, pool->facts.unconfirmed);
}

static void write_unconfirmed_bytes(const struct metric_pool *pool)
{
	put_one(pool, pool->facts.unconfirmed_bytes);
}

static void write_settlements(const struct metric_pool *pool)
{
	static const struct {
		enum notice_kind kind;
		const char *words;
	} outcomes[] = {
		{NOTICE_TASK_DONE, "done"},
		{NOTICE_TASK_HANDED_BACK, "handed-back"},
		{NOTICE_TASK_RETRIED, "retried"},
		{NOTICE_TASK_GIVEN_UP, "given-up"},
		{NOTICE_TASK_RENEWED, "renewed"},
		{NOTICE_TASK_ORPHANED, "orphaned"},
		{NOTICE_TASK_UNSTARTED, "unstarted"},
		{NOTICE_TASK_CUT_SHORT, "cut-short"},
	};

	for (size_t i = 0; i < sizeof outcomes / sizeof *outcomes; i++)
		put(pool, "outcome", outcomes[i].words, pool->report->counts[outcomes[i].kind]);
}

static void put_reasons(const struct metric_pool *pool, const uint64_t counts[REASON_COUNT])
{
	for (int reason = REASON_NONE + 1; reason < REASON_COUNT; reason++)
		put(pool, "reason", reason_words((enum reason)reason), counts[reason]);
}

static void write_retries(const struct metric_pool *pool)
{
	put_reasons(pool, pool->report->retried);
}

static void write_dead_letters(const struct metric_pool *pool)
{
	put_reasons(pool, pool->report->given_up);
}

static void write_dropped(const struct metric_pool *pool)
{
	put_one(pool, pool->report->counts[NOTICE_REPLY_DROPPED]);
}

static void write_held_up(const struct metric_pool *pool)
{
	put_one(pool, pool->report->held_up);
}

/* ---------- lines ---------- */

static struct crew_lines lines_of(const struct metric_pool *pool)
{
	return station_lines(pool->station);
}

static void write_lines(const struct metric_pool *pool)
{
	put_one(pool, lines_of(pool).passed);
}

static void write_lines_dropped(const struct metric_pool *pool)
{
	put_one(pool, lines_of(pool).dropped);
}

/* ---------- histograms ---------- */

static void put_histogram(const struct metric_pool *pool, const struct histogram *histogram)
{
	const struct metric *metric = pool->metric;
	char labels[LABELS_ROOM];
	uint64_t below = 0;

	for (size_t i = 0; i <= HISTOGRAM_BOUND_COUNT; i++) {
		bool is_last = i == HISTOGRAM_BOUND_COUNT;
		below += histogram->counts[i];
		begin(metric, "_bucket",
			labels_of(pool, "le", is_last ? "+Inf" : histogram_bound_words(i), labels));
		buf_printf(metric->out, "%" PRIu64 "\n", below);
	}
	begin(metric, "_sum", labels_of(pool, NULL, NULL, labels));
	append_span(metric->out, histogram->sum);
	begin(metric, "_count", labels);
	buf_printf(metric->out, "%" PRIu64 "\n", below);
}

static void write_took(const struct metric_pool *pool)
{
	put_histogram(pool, &pool->report->took);
}

static void write_waited(const struct metric_pool *pool)
{
	put_histogram(pool, &pool->report->waited);
}

/* ---------- the table ---------- */

#define FAMILY(name, type, write, help)                                                            \
	{                                                                                          \
		"wpool_" name, type, help, NULL, write                                             \
	}

const struct metric_family metric_pool_families[] = {
	FAMILY("workers", "gauge", write_workers, "Worker slots by what their process is at."),
	FAMILY("workers_wanted", "gauge", write_wanted, "How many workers are wanted."),
	FAMILY("workers_bound", "gauge", write_bounds,
		"Between which the pool chooses that; equal: it does not."),
	FAMILY("scalings_total", "counter", write_scalings,
		"How often the number of workers wanted was changed."),
	FAMILY("workers_failing", "gauge", write_failing,
		"Slots whose last workers came to nothing: a crash loop."),
	FAMILY("worker_deaths_total", "counter", write_deaths,
		"Workers that ended and were not asked to, each started again."),
	FAMILY("workers_ended_total", "counter", write_ended,
		"Workers that were ended for being over a limit, or for breaking the protocol."),
	FAMILY("workers_recycled_total", "counter", write_recycled,
		"Workers that were replaced for what they had done, for their age, or their memory."),
	FAMILY("consuming", "gauge", write_consuming, "1: the broker has a consumer of the pool."),
	FAMILY("paused", "gauge", write_paused, "1: by an operator."),
	FAMILY("deliveries_total", "counter", write_deliveries, "Messages that came."),
	FAMILY("last_delivery_age_seconds", "gauge", write_age,
		"How long ago the last one came; nothing before the first."),
	FAMILY("backlog", "gauge", write_backlog,
		"Messages in the pool's queue that were handed to nobody; nothing if unknown."),
	FAMILY("backlog_age_seconds", "gauge", write_backlog_age,
		"How long ago the broker said so."),
	FAMILY("tasks_waiting", "gauge", write_waiting, "Tasks here that no worker has yet."),
	FAMILY("tasks_in_pipes", "gauge", write_in_pipes, "Tasks that a worker has."),
	FAMILY("tasks_unacked", "gauge", write_unacked, "Messages in flight: not settled yet."),
	FAMILY("window", "gauge", write_window, "How many messages the broker may hand over."),
	FAMILY("unconfirmed", "gauge", write_unconfirmed,
		"Replies and copies that the broker has not confirmed."),
	FAMILY("unconfirmed_bytes", "gauge", write_unconfirmed_bytes, "The memory they take."),
	FAMILY("settlements_total", "counter", write_settlements, "What became of tasks."),
	FAMILY("retries_total", "counter", write_retries, "Tasks tried again, by reason."),
	FAMILY("dead_letters_total", "counter", write_dead_letters, "Tasks given up, by reason."),
	FAMILY("replies_dropped_total", "counter", write_dropped,
		"Replies that reached no queue (unroutable: drop)."),
	FAMILY("tasks_held_up_total", "counter", write_held_up,
		"Tasks that waited in a pipe behind one that took too long."),
	FAMILY("worker_lines_total", "counter", write_lines,
		"Lines of workers that went into the log."),
	FAMILY("worker_lines_dropped_total", "counter", write_lines_dropped,
		"Lines of workers that were more than log_rate."),
	FAMILY("task_duration_seconds", "histogram", write_took, "How long attempts took."),
	FAMILY("queue_wait_seconds", "histogram", write_waited,
		"From a message's arrival until it was written to a worker's pipe."),
};

const size_t metric_pool_family_count = sizeof metric_pool_families / sizeof *metric_pool_families;

void metric_write_pool(const struct metric *metric, const struct station *station)
{
	struct metric_pool pool = {.metric = metric,
		.station = station,
		.name = station_config(station)->name,
		.report = station_report(station),
		.facts = station_facts(station)};

	metric->family->write_pool(&pool);
}
