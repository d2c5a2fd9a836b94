#include "diff/client.h"
#include "sim/fail.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void events_add(struct events *events, const struct event *event, const char *format, ...)
{
	va_list arguments;
	struct event *new = &events->list[events->count];

	sim_require(events->count < EVENTS_MAX, "too many events in a step");
	*new = *event;
	va_start(arguments, format);
	sim_require(vasprintf(&new->text, format, arguments) >= 0, "out of memory");
	va_end(arguments);
	events->count++;
}

void events_clear(struct events *events)
{
	for (size_t i = 0; i < events->count; i++)
		free(events->list[i].text);
	events->count = 0;
}

static bool comes_after(const struct event *a, const struct event *b)
{
	int order = a->connection - b->connection;

	order = order ? order : a->channel - b->channel;
	order = order ? order : (int)a->group - (int)b->group;
	order = order ? order : strcmp(a->consumer, b->consumer);
	if (order == 0 && a->group == GROUP_CONFIRM)
		return a->number > b->number;
	return order > 0;
}

/* An insertion sort keeps the order of equal events. */
void events_sort(struct events *events)
{
	for (size_t i = 1; i < events->count; i++) {
		struct event event = events->list[i];
		size_t place = i;

		for (; place > 0 && comes_after(&events->list[place - 1], &event); place--)
			events->list[place] = events->list[place - 1];
		events->list[place] = event;
	}
}
