#include "cli/standing.h"

#include "cli/report.h"
#include "cli/station.h"

#include <stdio.h>

#define WORDS_ROOM 160

static const char *say_workers(
	const struct station *station, const struct pool_facts *facts, char *words)
{
	struct slot_counts counts = station_slot_counts(station);
	const uint16_t *slots = counts.by_state;

	snprintf(words, WORDS_ROOM,
		"workers: %u wanted, %u ready, %u of them busy, %u starting, %u waiting to start, %u "
		"leaving%s",
		facts->wanted, facts->ready, counts.busy, slots[LIFE_STARTING], slots[LIFE_WAITING],
		slots[LIFE_QUITTING] + slots[LIFE_STOPPING] + slots[LIFE_KILLED],
		facts->is_rolling ? ", being replaced one by one" : "");
	return words;
}

static const char *say_tasks(
	const struct station *station, const struct pool_facts *facts, char *words)
{
	const struct backlog *backlog = station_backlog(station);
	char count[32] = "unknown";

	if (backlog)
		snprintf(count, sizeof count, "%u", backlog->messages);
	snprintf(words, WORDS_ROOM,
		"backlog: %s; tasks: %u with workers, %u waiting, %u unacked (window %u), %zu unconfirmed",
		count, facts->in_pipes, facts->waiting, facts->unacked, facts->window,
		facts->unconfirmed);
	return words;
}

static const char *say_latest(const struct pool_facts *facts, mtime now, char *words)
{
	char span[32];

	if (facts->delivered_at == MTIME_NEVER)
		snprintf(words, WORDS_ROOM, "no delivery yet");
	else
		snprintf(words, WORDS_ROOM, "last delivery %s ago",
			report_span(now - facts->delivered_at, span, sizeof span));
	return words;
}

void standing_say(const struct station *station, mtime now)
{
	const struct report *report = station_report(station);
	const uint64_t *counts = report->counts;
	struct pool_facts facts = station_facts(station);
	char workers[WORDS_ROOM], tasks[WORDS_ROOM], latest[WORDS_ROOM];

	log_line(LOG_INFO, (struct log_origin){.pool = report->pool, .slot = -1},
		"%s; %s; %s; %s; %llu done, %llu tried again, %llu given up",
		pool_standing_words(facts.standing), say_workers(station, &facts, workers),
		say_tasks(station, &facts, tasks), say_latest(&facts, now, latest),
		(unsigned long long)counts[NOTICE_TASK_DONE],
		(unsigned long long)counts[NOTICE_TASK_RETRIED],
		(unsigned long long)counts[NOTICE_TASK_GIVEN_UP]);
}
