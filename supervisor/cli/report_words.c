/* Exits, spans and changes as words for people. */
#include "cli/report.h"

#include <stdio.h>
#include <string.h>

/* Of the steps of a start those whose names say nothing to whoever wrote the command. */
static const char *stage_words(const char *stage)
{
	if (strcmp(stage, "exec") == 0)
		return "the command cannot be run";
	return strcmp(stage, "interpreter") == 0
		       ? "the command is there, its interpreter cannot be run"
		       : stage;
}

const char *report_exit(const struct exit_info *exit, char *buffer, size_t room)
{
	switch (exit->kind) {
	case EXIT_NONE:
		snprintf(buffer, room, "still running");
		break;
	case EXIT_STATUS:
		snprintf(buffer, room, "exit status %d", exit->number);
		break;
	case EXIT_SIGNAL:
		snprintf(buffer, room, "signal %d (%s)", exit->number,
			sigdescr_np(exit->number) ? sigdescr_np(exit->number) : "unknown");
		break;
	case EXIT_NOT_STARTED:
		snprintf(buffer, room, "%s: %s", stage_words(exit->stage), strerror(exit->number));
		break;
	}
	return buffer;
}

const char *report_end_of_life(
	const struct exit_info *exit, const char *why, char *buffer, size_t room)
{
	size_t len;

	report_exit(exit, buffer, room);
	len = strlen(buffer);
	if (why)
		snprintf(buffer + len, room - len, ", ended by us: %s", why);
	return buffer;
}

const char *report_span(mtime span, char *buffer, size_t room)
{
	if (span < MTIME_SECOND)
		snprintf(buffer, room, "%lld ms", (long long)(span / MTIME_MS));
	else if (span < 2 * MTIME_MINUTE)
		snprintf(buffer, room, "%.1f s", (double)span / MTIME_SECOND);
	else
		snprintf(buffer, room, "%lld min", (long long)(span / MTIME_MINUTE));
	return buffer;
}

const char *report_scaling(const struct scaling *scaling, char buffer[SCALING_WORDS_ROOM])
{
	char span[32];

	if (scaling->cause == SCALING_GREW)
		snprintf(buffer, SCALING_WORDS_ROOM, "every worker was busy, and %u task%s waited",
			scaling->figure, scaling->figure == 1 ? "" : "s");
	else if (scaling->cause == SCALING_SHRANK)
		snprintf(buffer, SCALING_WORDS_ROOM, "for %s not more than %u %s needed",
			report_span(scaling->span, span, sizeof span), scaling->figure,
			scaling->figure == 1 ? "was" : "were");
	else
		snprintf(buffer, SCALING_WORDS_ROOM, "by command");
	return buffer;
}
