#include "runtime/report/texts.h"

#include "runtime/statistics.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The steps of a start whose names mean nothing to the author of the command. */
static const char *stage_text(const char *stage)
{
	if (strcmp(stage, "exec") == 0)
		return "the command cannot be run";
	return strcmp(stage, "interpreter") == 0
		       ? "the command is there, its interpreter cannot be run"
		       : stage;
}

/* worker/preload.c has logged what it did. */
static const char *preload_text(int error)
{
	return error == ESRCH    ? "the preloaded process ended before it forked it"
	       : error == ECHILD ? "it ended as soon as the preloaded process had forked it"
	       : error == EPROTO ? "the preloaded process broke the protocol"
				 : "the preloaded process did not fork it";
}

const char *exit_text(const struct exit_info *exit, const char *why, char buffer[EXIT_TEXT_SIZE])
{
	size_t size = EXIT_TEXT_SIZE, len;

	switch (exit->kind) {
	case EXIT_NONE:
		snprintf(buffer, size, "still running");
		break;
	case EXIT_STATUS:
		snprintf(buffer, size, "exit status %d", exit->number);
		break;
	case EXIT_SIGNAL:
		snprintf(buffer, size, "signal %d (%s)%s%s", exit->number,
			sigdescr_np(exit->number) ? sigdescr_np(exit->number) : "unknown",
			exit->stage ? ", " : "", exit->stage ? exit->stage : "");
		break;
	case EXIT_NOT_STARTED:
		if (strcmp(exit->stage, "preload") == 0)
			snprintf(buffer, size, "%s", preload_text(exit->number));
		else
			snprintf(buffer, size, "%s: %s", stage_text(exit->stage),
				strerror(exit->number));
		break;
	}
	len = strlen(buffer);
	if (why)
		snprintf(buffer + len, size - len, ", ended by wpool: %s", why);
	return buffer;
}

const char *span_text(mtime span, char buffer[SPAN_TEXT_SIZE])
{
	if (span < MTIME_SECOND)
		snprintf(buffer, SPAN_TEXT_SIZE, "%lld ms", (long long)(span / MTIME_MS));
	else if (span < 2 * MTIME_MINUTE)
		snprintf(buffer, SPAN_TEXT_SIZE, "%.1f s", (double)span / MTIME_SECOND);
	else
		snprintf(buffer, SPAN_TEXT_SIZE, "%lld min", (long long)(span / MTIME_MINUTE));
	return buffer;
}

const char *scaling_text(const struct scaling *scaling, char buffer[SCALING_TEXT_SIZE])
{
	char span[SPAN_TEXT_SIZE];
	const char *plural = scaling->figure == 1 ? "" : "s";

	if (scaling->cause == SCALING_GREW)
		snprintf(buffer, SCALING_TEXT_SIZE, "no worker was free and %u task%s waited",
			scaling->figure, plural);
	else if (scaling->cause == SCALING_SHRANK)
		snprintf(buffer, SCALING_TEXT_SIZE, "at most %u worker%s needed for %s",
			scaling->figure, scaling->figure == 1 ? " was" : "s were",
			span_text(scaling->span, span));
	else
		snprintf(buffer, SCALING_TEXT_SIZE, "by command");
	return buffer;
}

static bool is_stage(const struct exit_info *exit, const char *stage)
{
	return exit->kind == EXIT_NOT_STARTED && strcmp(exit->stage, stage) == 0;
}

/* What to do before the next restart, around the name of the program. */
struct advice {
	const char *before, *after;
};

static struct advice restart_advice(const struct last_death *last)
{
	bool is_late = last->why && strcmp(last->why, "boot limit") == 0;

	if (is_stage(&last->exit, "exec"))
		return (struct advice){"correct the path ", ""};
	if (is_stage(&last->exit, "interpreter"))
		return (struct advice){"correct the first line of ", ""};
	if (is_stage(&last->exit, "preload") && is_late)
		return (struct advice){"let ", " load within limits.boot, or raise that"};
	if (is_stage(&last->exit, "preload"))
		return (struct advice){"wpool logs has what ", " did: correct it"};
	if (last->exit.kind == EXIT_NOT_STARTED)
		return (struct advice){"correct what keeps ", " from its start"};
	if (is_late)
		return (struct advice){"let ",
			" open the pipe that its first line of input names, or raise limits.boot"};
	return (struct advice){"wpool logs has what ", " wrote: correct it"};
}

const char *restart_text(
	const struct failed_restart *restart, const char *program, char buffer[RESTART_TEXT_SIZE])
{
	const struct last_death *last = &restart->last;
	const char *line = last->stderr_line;
	struct advice advice;
	char exit[EXIT_TEXT_SIZE];
	int len = snprintf(buffer, RESTART_TEXT_SIZE, "%s", restart->why);

	if (last->exit.kind == EXIT_NONE)
		return buffer;
	len += snprintf(buffer + len, RESTART_TEXT_SIZE - (size_t)len, ", the last one: %s",
		exit_text(&last->exit, last->why, exit));
	if (!program)
		return buffer;
	advice = restart_advice(last);
	snprintf(buffer + len, RESTART_TEXT_SIZE - (size_t)len,
		"%s%s (%s\"%s\"%s, then restart again)", *line ? "; last stderr line: " : "", line,
		advice.before, program, advice.after);
	return buffer;
}
