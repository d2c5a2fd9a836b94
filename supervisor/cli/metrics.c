#include "cli/metrics.h"

#include "cli/health.h"
#include "cli/metrics_pool.h"
#include "io/usage.h"

#include <inttypes.h>
#include <unistd.h>

/* ---------- of the whole ---------- */

static void write_info(const struct metric *metric)
{
	metric_sample(metric, "version=\"" WPOOL_VERSION "\"", 1);
}

static void write_start(const struct metric *metric)
{
	metric_sample(metric, "", metric->overview->started_wall_s);
}

static void write_ready(const struct metric *metric)
{
	metric_sample(metric, "", health_is_ready(metric->overview));
}

static void write_connected(const struct metric *metric)
{
	const struct links *links = metric->overview->links;

	metric_sample(metric, "connection=\"consume\"", links_consume_facts(links).is_up);
	metric_sample(metric, "connection=\"publish\"", links_publish_facts(links).is_up);
}

static void write_reconnects(const struct metric *metric)
{
	const struct links *links = metric->overview->links;

	metric_sample(metric, "connection=\"consume\"", links_consume_facts(links).reconnects);
	metric_sample(metric, "connection=\"publish\"", links_publish_facts(links).reconnects);
}

static void write_blocked(const struct metric *metric)
{
	metric_sample(metric, "", metric->overview->links->is_blocked);
}

static void write_loop_gap(const struct metric *metric)
{
	metric_span(metric, "", metric->overview->pulse->longest);
}

static void write_lines_lost(const struct metric *metric)
{
	metric_sample(metric, "", log_lost());
}

static void write_memory(const struct metric *metric)
{
	struct usage usage;

	if (usage_read(getpid(), &usage))
		metric_sample(metric, "", usage.memory_bytes);
}

static void write_cpu(const struct metric *metric)
{
	struct usage usage;

	if (usage_read(getpid(), &usage))
		metric_span(metric, "", usage.computed);
}

static const struct metric_family families[] = {
	{"wpool_info", "gauge", "Always 1; what runs is in the labels.", write_info, NULL},
	{"wpool_start_time_seconds", "gauge", "When it was started, in seconds since 1970.",
		write_start, NULL},
	{"wpool_ready", "gauge", "1: all pools work; 0: /readyz tells why not.", write_ready, NULL},
	{"wpool_connected", "gauge", "1: that connection to the broker is open.", write_connected,
		NULL},
	{"wpool_reconnects_total", "counter", "How often it was opened again.", write_reconnects,
		NULL},
	{"wpool_publishes_blocked", "gauge", "1: the broker takes no publishes, by an alarm.",
		write_blocked, NULL},
	{"wpool_loop_gap_seconds", "gauge", "The longest turn of the loop since the start.",
		write_loop_gap, NULL},
	{"wpool_log_lines_lost_total", "counter", "Log lines that could not be written.",
		write_lines_lost, NULL},
	{"wpool_resident_memory_bytes", "gauge", "Memory of the supervisor itself.", write_memory,
		NULL},
	{"wpool_cpu_seconds_total", "counter", "Processor time of the supervisor itself.",
		write_cpu, NULL},
};

#define WHOLE_COUNT (sizeof families / sizeof *families)

/* ---------- one after the other ---------- */

static const struct metric_family *family_at(size_t i)
{
	if (i < WHOLE_COUNT)
		return &families[i];
	return i - WHOLE_COUNT < metric_pool_family_count ? &metric_pool_families[i - WHOLE_COUNT]
							  : NULL;
}

/* Of those of one name the latest: counters that go down have begun anew. */
static bool is_shown(const struct metrics *at, const struct fleet *fleet, struct station *station)
{
	struct text name = text_from(station_config(station)->name);

	return fleet_find_as_of(fleet, name, at->newest) == station;
}

/* False: the family has no more pools. */
static bool write_next_pool(struct metrics *at, const struct metric *metric)
{
	const struct fleet *fleet = metric->overview->fleet;
	struct station *station = fleet_next(fleet, &at->place);

	if (station && is_shown(at, fleet, station))
		metric_write_pool(metric, station);
	return station;
}

static void begin_family(const struct metric_family *family, struct buf *out)
{
	buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", family->name, family->help, family->name,
		family->type);
}

bool metrics_next(struct metrics *at, const struct overview *overview, struct buf *out)
{
	const struct metric_family *family = family_at(at->family);
	struct metric metric = {.family = family, .overview = overview, .out = out};

	if (!family)
		return false;
	if (at->family == 0)
		at->newest = overview->fleet->serials;
	if (at->place == 0)
		begin_family(family, out);
	if (family->write)
		family->write(&metric);
	else if (write_next_pool(at, &metric))
		return true;
	at->place = 0;
	at->family++;
	return true;
}
