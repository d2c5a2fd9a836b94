#include "cli/health.h"

#include "io/clock.h"

#include <stdio.h>

#define REASONS_LIMIT (1024 * 1024)
#define PREFIX_ROOM   80

/* prefix: before each line; empty where it is clear what is meant. */
static void add(struct buf *out, const char *prefix, const char *what)
{
	buf_printf(out, "%s%s%s\n", prefix, *prefix ? ": " : "", what);
}

static void add_phase(const struct overview *overview, struct buf *out)
{
	if (*overview->phase != SERVING)
		add(out, "", *overview->phase == DRAINING ? "draining" : "stopping");
}

static void add_connection(
	struct link_facts facts, const char *prefix, const char *what, struct buf *out)
{
	if (!facts.is_up)
		buf_printf(out, "%s%sno %s connection to the broker%s%s\n", prefix,
			*prefix ? ": " : "", what, *facts.failure ? ": " : "", facts.failure);
}

/* A line's end: how many of how often came to nothing, how the last one ended, when it goes on. */
static void add_failing(
	const struct station *station, const struct pool_facts *facts, struct buf *out)
{
	const struct report_death *death = &station_report(station)->last_death;
	struct slot_counts counts = station_slot_counts(station);
	mtime now = clock_now();
	char exit[REPORT_EXIT_ROOM], span[REPORT_SPAN_ROOM];

	buf_printf(out, "%u of %u come to nothing, up to %u times in a row", facts->failing,
		facts->wanted, counts.most_failures);
	if (death->exit.kind != EXIT_NONE)
		buf_printf(out, "; the last one %s ago: %s",
			report_span(now - death->at, span, sizeof span),
			report_end_of_life(&death->exit, death->why, exit, sizeof exit));
	if (counts.next_start != MTIME_NEVER)
		buf_printf(out, "; next start in %s",
			report_span(counts.next_start > now ? counts.next_start - now : 0, span,
				sizeof span));
	buf_append_byte(out, '\n');
}

static void add_no_worker(const struct station *station, const struct pool_facts *facts,
	const char *prefix, struct buf *out)
{
	if (facts->failing == 0) {
		add(out, prefix, "no worker is ready");
		return;
	}
	buf_printf(out, "%s%sno worker is ready: ", prefix, *prefix ? ": " : "");
	add_failing(station, facts, out);
}

static void add_pool(const struct station *station, const char *prefix, struct buf *out)
{
	struct pool_facts facts = station_facts(station);

	if (station_is_draining(station))
		add(out, prefix, "not configured any more: it finishes what it has in hand");
	else if (facts.standing == POOL_IS_PAUSED)
		add(out, prefix, "paused by an operator");
	else if (facts.ready == 0)
		add_no_worker(station, &facts, prefix, out);
	else if (feed_facts(station_feed(station)).is_up && !station_is_consuming(station))
		buf_printf(out,
			"%s%snot consuming its queue \"%s\", which may be missing; the log says why\n",
			prefix, *prefix ? ": " : "", station_config(station)->queue);
}

void health_append_pool_reasons(const struct station *station, struct buf *out)
{
	if (!feed_facts(station_feed(station)).is_up && !station_is_draining(station))
		add(out, "", "no connection to the broker");
	add_pool(station, "", out);
}

static const char *name_of(const struct station *station, char prefix[PREFIX_ROOM])
{
	snprintf(prefix, PREFIX_ROOM, "pool %s", station_config(station)->name);
	return prefix;
}

void health_append_reasons(const struct overview *overview, struct buf *out)
{
	bool is_any_up = links_is_any_feed_up(overview->links);
	struct station *station;

	add_phase(overview, out);
	if (!is_any_up)
		add_connection(links_consume_facts(overview->links), "", "consuming", out);
	add_connection(links_publish_facts(overview->links), "", "publishing", out);
	for (size_t i = 0; (station = fleet_next(overview->fleet, &i));) {
		char prefix[PREFIX_ROOM];
		if (station_is_leaving(station))
			continue;
		name_of(station, prefix);
		if (is_any_up)
			add_connection(feed_facts(station_feed(station)), prefix, "consuming", out);
		add_pool(station, prefix, out);
	}
}

static void add_warnings(const struct station *station, const char *prefix, struct buf *out)
{
	struct pool_facts facts = station_facts(station);

	if (facts.ready > 0 && facts.failing > 0) {
		buf_printf(out, "%s%sof its workers ", prefix, *prefix ? ": " : "");
		add_failing(station, &facts, out);
	}
}

void health_append_pool_warnings(const struct station *station, struct buf *out)
{
	add_warnings(station, "", out);
}

void health_append_warnings(const struct overview *overview, struct buf *out)
{
	struct station *station;

	for (size_t i = 0; (station = fleet_next(overview->fleet, &i));) {
		char prefix[PREFIX_ROOM];
		if (!station_is_leaving(station))
			add_warnings(station, name_of(station, prefix), out);
	}
}

/* Out of memory is no way to be ready. */
static bool is_nothing(struct buf *reasons)
{
	bool is_empty = buf_len(reasons) == 0 && !reasons->failed;

	buf_release(reasons);
	return is_empty;
}

bool health_is_ready(const struct overview *overview)
{
	struct buf reasons;

	buf_init(&reasons, REASONS_LIMIT);
	health_append_reasons(overview, &reasons);
	return is_nothing(&reasons);
}

bool health_is_pool_ready(const struct station *station)
{
	struct buf reasons;

	buf_init(&reasons, REASONS_LIMIT);
	health_append_pool_reasons(station, &reasons);
	return is_nothing(&reasons);
}
