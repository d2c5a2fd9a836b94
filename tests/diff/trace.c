#include "diff/run.h"

#include <stdio.h>
#include <stdlib.h>

void trace_release(struct trace *trace)
{
	for (size_t i = 0; i < trace->count; i++) {
		events_clear(trace->steps[i]->events);
		free(trace->steps[i]->events);
		free(trace->steps[i]);
	}
	trace->count = 0;
}

static bool is_same_event(const struct event *a, const struct event *b)
{
	return a->connection == b->connection && a->channel == b->channel &&
	       strcmp(a->text, b->text) == 0;
}

static bool is_same_step(const struct step *a, const struct step *b)
{
	if (a->events->count != b->events->count || memcmp(a->counts, b->counts, sizeof a->counts))
		return false;
	for (size_t i = 0; i < a->events->count; i++)
		if (!is_same_event(&a->events->list[i], &b->events->list[i]))
			return false;
	return true;
}

size_t trace_compare(const struct trace *a, const struct trace *b)
{
	size_t both = a->count < b->count ? a->count : b->count;

	for (size_t i = 0; i < both; i++)
		if (!is_same_step(a->steps[i], b->steps[i]))
			return i;
	return a->count == b->count ? SIZE_MAX : both;
}

void trace_print_step(
	const struct step *step, const struct step *before, const struct script *script)
{
	char line[256];

	for (size_t i = step->first; i < step->end; i++) {
		script_describe(&script->commands[i], line, sizeof line);
		if (step->performed[i - step->first])
			printf("%3zu %s\n", i, line);
	}
	for (size_t i = 0; i < step->events->count; i++)
		printf("        %u.%u %s\n", step->events->list[i].connection,
			step->events->list[i].channel, step->events->list[i].text);
	for (size_t i = 0; i < SCRIPT_QUEUES; i++)
		if (!before || strcmp(step->counts[i], before->counts[i]))
			printf("        = %s\n", step->counts[i]);
}
