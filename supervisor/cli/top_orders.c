#include "cli/top_orders.h"

#include "cli/figures.h"

#include <stdio.h>
#include <stdlib.h>

static const struct {
	const char *name, *done;
} verbs[] = {
	[TOP_PAUSE] = {"pause", "paused"},
	[TOP_RESUME] = {"resume", "resumed"},
	[TOP_RESTART] = {"restart", "restarting, one by one"},
	[TOP_SCALE] = {"scale", "wanted now"},
};

void top_orders_release(struct top_orders *orders)
{
	while (orders->count > 0)
		top_orders_drop(orders);
}

bool top_orders_add(struct top_orders *orders, enum top_verb verb, int by, const char *pool)
{
	char *copy = orders->count < TOP_ORDERS_MAX ? strdup(pool) : NULL;

	if (!copy)
		return false;
	orders->list[orders->count++] = (struct top_order){.verb = verb, .by = by, .pool = copy};
	return true;
}

void top_orders_path(const struct top_orders *orders, const json_t *pool, char path[TOP_PATH_ROOM])
{
	const struct top_order *order = &orders->list[0];
	const char *name = verbs[order->verb].name;

	if (order->verb == TOP_SCALE)
		snprintf(path, TOP_PATH_ROOM, "/v1/pools/*/%s?workers=%.0f", name,
			figure_value(pool, "workers.wanted") + order->by);
	else
		snprintf(path, TOP_PATH_ROOM, "/v1/pools/*/%s", name);
}

void top_orders_drop(struct top_orders *orders)
{
	free(orders->list[0].pool);
	orders->count--;
	memmove(&orders->list[0], &orders->list[1], orders->count * sizeof orders->list[0]);
}

void top_orders_words(const struct top_order *order, const json_t *pool, char *words, size_t room)
{
	char wanted[FIGURE_ROOM];

	if (order->verb == TOP_SCALE)
		snprintf(words, room, "%s: %.*s workers %s", order->pool,
			TEXT_ARGS(figure_number(pool, "workers.wanted", wanted)),
			verbs[order->verb].done);
	else
		snprintf(words, room, "%s: %s", order->pool, verbs[order->verb].done);
}
