#include "cli/health.h"

#include <stdio.h>

#define REASONS_LIMIT (1024 * 1024)

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

static void add_connection(const struct link_facts *facts, const char *what, struct buf *out)
{
	if (facts->is_up)
		return;
	buf_printf(out, "no %s connection to the broker%s%s\n", what, *facts->failure ? ": " : "",
		facts->failure);
}

static void add_pool(const struct overview *overview, const struct station *station,
	const char *prefix, struct buf *out)
{
	struct pool_facts facts = station_facts(station);

	if (facts.standing == POOL_IS_PAUSED)
		add(out, prefix, "paused by an operator");
	else if (facts.ready == 0)
		add(out, prefix, "no worker is ready");
	else if (links_consume_facts(overview->links).is_up && !station_is_consuming(station))
		add(out, prefix, "not consuming its queue");
}

void health_append_pool_reasons(
	const struct overview *overview, const struct station *station, struct buf *out)
{
	if (!links_consume_facts(overview->links).is_up)
		add(out, "", "no connection to the broker");
	add_pool(overview, station, "", out);
}

void health_append_reasons(const struct overview *overview, struct buf *out)
{
	struct link_facts consume = links_consume_facts(overview->links),
			  publish = links_publish_facts(overview->links);
	struct station *station;

	add_phase(overview, out);
	add_connection(&consume, "consuming", out);
	add_connection(&publish, "publishing", out);
	for (size_t i = 0; (station = fleet_next(overview->fleet, &i));) {
		char prefix[80];
		if (station_is_leaving(station))
			continue;
		snprintf(prefix, sizeof prefix, "pool %s", station_config(station)->name);
		add_pool(overview, station, prefix, out);
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

bool health_is_pool_ready(const struct overview *overview, const struct station *station)
{
	struct buf reasons;

	buf_init(&reasons, REASONS_LIMIT);
	health_append_pool_reasons(overview, station, &reasons);
	return is_nothing(&reasons);
}
