/* What a pool says of itself: that it rests, is paused, scaled, restarted. */
#include "cli/report.h"

#include <stdio.h>

#define BOUNDS_ROOM 48

static const char *plural(const struct notice *notice)
{
	return notice->number == 1 ? "" : "s";
}

/* ", as many as are needed from 2 to 32"; nothing where that is not chosen. */
static const char *bounds_of(const struct scaling *scaling, char *buffer)
{
	*buffer = 0;
	if (scaling->least < scaling->most)
		snprintf(buffer, BOUNDS_ROOM, ", as many as are needed from %u to %u",
			scaling->least, scaling->most);
	return buffer;
}

static void say_scaling(enum log_level level, struct log_origin origin, const struct notice *notice)
{
	const struct scaling *scaling = notice->scaling;
	char bounds[BOUNDS_ROOM], why[SCALING_WORDS_ROOM];

	if (notice->kind == NOTICE_SCALED)
		log_line(level, origin, "scaled: %u worker%s wanted%s", notice->number,
			plural(notice), bounds_of(scaling, bounds));
	else
		log_line(level, origin, "%s from %u to %u workers: %s",
			notice->kind == NOTICE_GROWN ? "growing" : "shrinking", scaling->before,
			scaling->after, report_scaling(scaling, why));
}

void report_pool(enum log_level level, struct log_origin origin, const struct notice *notice,
	const char *command)
{
	switch (notice->kind) {
	case NOTICE_SOURCE_RESTS:
		log_line(level, origin, "no worker lives: not consuming until one is ready");
		break;
	case NOTICE_SOURCE_RESUMES:
		log_line(level, origin, "a worker is ready: consuming");
		break;
	case NOTICE_PAUSED:
		log_line(level, origin,
			"paused: no task is taken and none begun, those that workers have are "
			"finished; what waits goes back to the broker after a minute");
		break;
	case NOTICE_RESUMED:
		log_line(level, origin, "resumed");
		break;
	case NOTICE_SCALED:
	case NOTICE_GROWN:
	case NOTICE_SHRUNK:
		say_scaling(level, origin, notice);
		break;
	case NOTICE_GROWTH_REFUSED:
		log_line(level, origin,
			"%u workers are needed, and there is no memory for so many; tried again in "
			"10 s",
			notice->number);
		break;
	case NOTICE_ROLL_BEGINS:
		log_line(level, origin,
			"restarting %u worker%s one by one: a new one is ready before an old one "
			"leaves",
			notice->number, plural(notice));
		break;
	case NOTICE_ROLL_ENDS:
		log_line(level, origin, "restarted: all workers are new ones");
		break;
	case NOTICE_ROLL_STOPS:
		log_line(level, origin,
			"the restart is given up: %s (is \"%s\" right?); the workers that were not "
			"replaced yet stay",
			notice->what, command);
		break;
	case NOTICE_COMMAND_REFUSED:
		log_line(level, origin, "command refused: %s", notice->what);
		break;
	default: /* NOTICE_DRAINED */
		log_line(level, origin, "drained");
		break;
	}
}
