/* GET /metrics: Prometheus' text format 0.0.4. Written family by family and, in each, pool by pool,
 * so that a thousand pools make no long turn. Labels are names of pools and fixed words: never a
 * process id, never a message's text. */
#include "control/answer.h"
#include "control/figures.h"
#include "control/routes.h"
#include "control/throttles.h"
#include "os/proc_usage.h"
#include "runtime/health.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TYPE        "text/plain; version=0.0.4; charset=utf-8"
#define LABELS_SIZE 160

/* ---------- samples ---------- */

/* labels may be empty. */
static void begin_sample(struct buf *out, const char *name, const char *suffix, const char *labels)
{
	buf_printf(out, *labels ? "wpool_%s%s{%s} " : "wpool_%s%s%s ", name, suffix, labels);
}

static void append_count(struct buf *out, const char *name, const char *labels, uint64_t value)
{
	begin_sample(out, name, "", labels);
	buf_printf(out, "%" PRIu64 "\n", value);
}

static void append_seconds(
	struct buf *out, const char *name, const char *suffix, const char *labels, mtime span)
{
	begin_sample(out, name, suffix, labels);
	buf_printf(out, "%" PRId64 ".%06" PRId64 "\n", span / MTIME_SECOND, span % MTIME_SECOND);
}

static void append_family(struct buf *out, const char *name, const char *help, bool is_histogram)
{
	size_t len = strlen(name);
	bool is_counter = len > 6 && strcmp(name + len - 6, "_total") == 0;

	buf_printf(out, "# HELP wpool_%s %s\n# TYPE wpool_%s %s\n", name, help, name,
		is_histogram ? "histogram"
		: is_counter ? "counter"
			     : "gauge");
}

/* ---------- the supervisor ---------- */

static void append_broker(struct buf *out, const struct broker_links *broker_links)
{
	struct link_facts consume = broker_links_consume_facts(broker_links);
	struct link_facts publish = broker_links_publish_facts(broker_links);
	int64_t certificate_end = broker_links_certificate_end(broker_links);

	append_family(out, "connected", "1: that connection to the broker is open.", false);
	append_count(out, "connected", "connection=\"consume\"", consume.is_up);
	append_count(out, "connected", "connection=\"publish\"", publish.is_up);
	append_family(out, "reconnects_total", "How often it was opened again.", false);
	append_count(out, "reconnects_total", "connection=\"consume\"", consume.reconnects);
	append_count(out, "reconnects_total", "connection=\"publish\"", publish.reconnects);
	append_family(
		out, "publishes_blocked", "1: an alarm of the broker blocks publishes.", false);
	append_count(out, "publishes_blocked", "", broker_links->is_blocked);
	append_family(out, "certificate_end_seconds",
		"When the client certificate ends, in seconds since 1970.", false);
	if (certificate_end > 0)
		append_count(out, "certificate_end_seconds", "", (uint64_t)certificate_end);
}

static void append_supervisor(struct buf *out, const struct supervisor_view *view)
{
	struct proc_usage usage;
	bool is_known = proc_usage_read(getpid(), &usage);

	append_family(out, "info", "Always 1; the label is the version.", false);
	append_count(out, "info", "version=\"" WPOOL_VERSION "\"", 1);
	append_family(
		out, "start_time_seconds", "Time of the start, in seconds since 1970.", false);
	append_count(out, "start_time_seconds", "", view->started_wall_s);
	append_family(out, "ready", "1: all pools work; 0: /readyz has the reasons.", false);
	append_count(out, "ready", "", health_is_ready(view));
	append_broker(out, view->broker_links);
	append_family(
		out, "loop_gap_seconds", "The longest turn of the loop since the start.", false);
	append_seconds(out, "loop_gap_seconds", "", "", view->pulse->longest);
	append_family(out, "log_lines_lost_total", "Log lines that could not be written.", false);
	append_count(out, "log_lines_lost_total", "", log_lost());
	append_family(out, "resident_memory_bytes", "Memory of the supervisor itself.", false);
	if (is_known)
		append_count(out, "resident_memory_bytes", "", usage.memory_bytes);
	append_family(out, "cpu_seconds_total", "Processor time of the supervisor itself.", false);
	if (is_known)
		append_seconds(out, "cpu_seconds_total", "", "", usage.computed);
}

/* ---------- health ---------- */

static const struct health_family {
	const char *name, *help;
	bool of_warnings;
} health_families[] = {
	{"not_ready", "1: this reason keeps the supervisor or a pool from being ready.", false},
	{"warning", "1: /v1/status has this warning of the supervisor or a pool.", true},
};
#define HEALTH_FAMILIES (sizeof health_families / sizeof *health_families)

/* Only those that hold: a thousand pools have few. */
static void append_causes(
	struct buf *out, const struct health *health, const struct health_family *family)
{
	unsigned set = family->of_warnings ? health->warnings : health->causes;
	char labels[LABELS_SIZE];

	for (enum health_cause cause = 0; cause < HEALTH_CAUSE_COUNT; cause++) {
		if (!health_has(set, cause))
			continue;
		snprintf(labels, sizeof labels, "%s%s%sreason=\"%s\"",
			health->pool ? "pool=\"" : "", health->pool ? health->pool : "",
			health->pool ? "\"," : "", health_cause_name(cause));
		append_count(out, family->name, labels, 1);
	}
}

/* ---------- throttles ---------- */

/* Of those that pools use now, at most. */
#define THROTTLES_MAX (2 * CONFIG_THROTTLES_MAX)

static const struct throttle_family {
	const char *name, *help;
	size_t offset; /* of an int64_t in struct throttle_view */
} throttle_families[] = {
#define VALUE(member) offsetof(struct throttle_view, member)
	{"throttle_limit", "Task starts that a throttle lets happen in a period.", VALUE(limit)},
	{"throttle_window_starts", "Task starts in the current window, of all keys together.",
		VALUE(in_windows)},
	{"throttle_keys", "Keys that a throttle remembers.", VALUE(keys)},
	{"throttle_waiting", "Tasks at the supervisor that a throttle lets start later.",
		VALUE(waiting)},
	{"throttle_starts_total", "Task starts that a throttle has counted.", VALUE(starts)},
	{"throttle_delayed_total", "Tasks that had to wait, each once.", VALUE(delayed)},
	{"throttle_postponed_total", "Tasks that come back later, because too many waited.",
		VALUE(postponed)},
	{"throttle_refused_total", "Tasks whose caller was told to come again.", VALUE(refused)},
	{"throttle_requested_total", "Task starts that the leader was asked for.",
		VALUE(requested)},
	{"throttle_granted_total", "Task starts that the leader granted.", VALUE(granted)},
	{"throttle_unused_total", "Granted task starts that were not used in time.", VALUE(unused)},
	{"throttle_leads", "1: this supervisor leads the throttle, with scope: cluster.",
		VALUE(leads)},
	{"throttle_late_total", "Task starts that happened after their grant had ended.",
		VALUE(late)},
#undef VALUE
};

/* A name has only letters, digits, '.', '_', '-'. */
static const char *throttle_labels(const struct throttle_view *throttle, char labels[LABELS_SIZE])
{
	snprintf(labels, LABELS_SIZE, "throttle=\"%s\"", throttle->named->name);
	return labels;
}

static void append_throttle_family(struct buf *out, const struct throttle_family *family,
	const struct throttle_view *views, size_t count)
{
	char labels[LABELS_SIZE];
	int64_t value;

	append_family(out, family->name, family->help, false);
	for (size_t i = 0; i < count; i++) {
		memcpy(&value, (const char *)&views[i] + family->offset, sizeof value);
		if (value != MTIME_NEVER)
			append_count(out, family->name, throttle_labels(&views[i], labels),
				(uint64_t)value);
	}
}

static void append_throttles(struct buf *out, const struct supervisor_view *view)
{
	struct throttle_view views[THROTTLES_MAX];
	char labels[LABELS_SIZE];
	size_t count = 0, place = 0;

	while (count < THROTTLES_MAX && throttle_view_next(view, &place, &views[count]))
		count++;
	append_family(out, "throttle_period_seconds", "The period of that limit.", false);
	for (size_t i = 0; i < count; i++)
		append_seconds(out, "throttle_period_seconds", "",
			throttle_labels(&views[i], labels), views[i].period);
	for (size_t i = 0; i < sizeof throttle_families / sizeof *throttle_families; i++)
		append_throttle_family(out, &throttle_families[i], views, count);
}

/* ---------- pools ---------- */

/* One figure of one pool while it is written. */
struct sample {
	struct buf *out;
	const char *metric, *pool;
};

/* Names of pools have only letters, digits, '.', '_', '-', so nothing is escaped. */
static const char *labels_of(
	const struct sample *sample, const char *label, const char *value, char labels[LABELS_SIZE])
{
	if (value)
		snprintf(labels, LABELS_SIZE, "pool=\"%s\",%s=\"%s\"", sample->pool, label, value);
	else
		snprintf(labels, LABELS_SIZE, label ? "pool=\"%s\",%s" : "pool=\"%s\"",
			sample->pool, label);
	return labels;
}

static void append_labelled(void *ctx, const char *label, const char *value, uint64_t count)
{
	const struct sample *sample = ctx;
	char labels[LABELS_SIZE];

	append_count(sample->out, sample->metric, labels_of(sample, label, value, labels), count);
}

static void append_bucket(const struct sample *sample, const char *bound, uint64_t count)
{
	char labels[LABELS_SIZE];

	begin_sample(
		sample->out, sample->metric, "_bucket", labels_of(sample, "le", bound, labels));
	buf_printf(sample->out, "%" PRIu64 "\n", count);
}

static void append_times(const struct sample *sample, const struct histogram *histogram)
{
	char labels[LABELS_SIZE];

	for (size_t i = 0; i < HISTOGRAM_BOUND_COUNT; i++)
		append_bucket(sample, histogram_bound_label(i), histogram_count_to(histogram, i));
	append_bucket(sample, "+Inf", histogram->count);
	labels_of(sample, NULL, NULL, labels);
	append_seconds(sample->out, sample->metric, "_sum", labels, histogram->sum);
	begin_sample(sample->out, sample->metric, "_count", labels);
	buf_printf(sample->out, "%" PRIu64 "\n", histogram->count);
}

static void append_figure(struct buf *out, struct pool_view *p, enum api_figure_id id)
{
	const struct api_figure *figure = &api_figures[id];
	struct sample sample = {out, figure->metric, p->runtime->config.name};
	char labels[LABELS_SIZE];
	int64_t value;

	if (!figure_is_of(p, id))
		return;
	if (figure->unit == API_TIMES) {
		append_times(&sample, figure_times(p, id));
		return;
	}
	if (figure->unit == API_BY_LABEL) {
		figure_each_label(p, id, append_labelled, &sample);
		return;
	}
	value = figure_value(p, id);
	if (value == MTIME_NEVER)
		return;
	labels_of(&sample, figure->label, NULL, labels);
	if (figure->unit == API_SECONDS)
		append_seconds(out, figure->metric, "", labels, value);
	else
		append_count(out, figure->metric, labels, (uint64_t)value);
}

/* ---------- one piece after the other ---------- */

/* The pools are those that exist at the beginning: a later one may have the name of one that was
 * written already. */
struct metrics {
	const struct supervisor_view *view;
	bool has_begun;
	struct health_walk walk;
	size_t health_family;
	size_t figure;   /* the first of its metric */
	size_t place;    /* of the next pool */
	uint32_t newest; /* serial */
};

static bool is_same_metric(size_t a, size_t b)
{
	return api_figures[a].metric && api_figures[b].metric &&
	       strcmp(api_figures[a].metric, api_figures[b].metric) == 0;
}

/* Of several pools with one name, only the latest counts: otherwise counters would go down. */
static bool is_latest(const struct metrics *m, const struct pool_runtime *runtime)
{
	return pool_set_find_as_of(m->view->pool_set, text_from(runtime->config.name), m->newest) ==
	       runtime;
}

static bool append_next_pool(struct metrics *m, struct buf *out)
{
	const struct pool_set *set = m->view->pool_set;
	struct pool_runtime *runtime = pool_set_next(set, &m->place);
	struct pool_view p;

	if (!runtime)
		return false;
	if (!is_latest(m, runtime))
		return true;
	p = pool_view_of(runtime);
	for (size_t i = m->figure; i < API_FIGURE_COUNT && is_same_metric(i, m->figure); i++)
		append_figure(out, &p, i);
	return true;
}

/* The next pool of a family of the health, or the supervisor. False: no family is left. */
static bool append_next_health(struct metrics *m, struct buf *out)
{
	const struct health_family *family = &health_families[m->health_family];

	if (m->health_family == HEALTH_FAMILIES)
		return false;
	if (!m->walk.has_begun)
		append_family(out, family->name, family->help, false);
	if (!health_next(m->view, &m->walk)) {
		m->walk = (struct health_walk){0};
		m->health_family++;
	} else if (!m->walk.runtime || is_latest(m, m->walk.runtime)) {
		append_causes(out, &m->walk.health, family);
	}
	return true;
}

static bool append_next(void *ctx, struct buf *out)
{
	struct metrics *m = ctx;
	const struct api_figure *figure = &api_figures[m->figure];
	size_t first = m->figure;

	if (!m->has_begun) {
		m->newest = m->view->pool_set->serials;
		m->has_begun = true;
		append_supervisor(out, m->view);
		append_throttles(out, m->view);
		return true;
	}
	if (append_next_health(m, out))
		return true;
	if (m->figure == API_FIGURE_COUNT)
		return false;
	if (figure->metric && m->place == 0)
		append_family(out, figure->metric,
			figure->metric_help ? figure->metric_help : figure->help,
			figure->unit == API_TIMES);
	if (figure->metric && append_next_pool(m, out))
		return true;
	m->place = 0;
	do
		m->figure++;
	while (m->figure < API_FIGURE_COUNT && is_same_metric(first, m->figure));
	return true;
}

static const struct http_pieces pieces = {.next = append_next, .end = free};

void control_answer_metrics(const struct supervisor_view *view, const struct http_request *request)
{
	struct metrics *m = malloc(sizeof *m);

	if (!m) {
		control_refuse_memory(request);
		return;
	}
	*m = (struct metrics){.view = view};
	http_answer_in_pieces(request, TYPE, &pieces, m);
}
