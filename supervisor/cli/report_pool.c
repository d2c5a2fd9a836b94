/* What a pool says of itself: that it rests, is paused, scaled, restarted. */
#include "cli/report.h"

static const char *plural(const struct notice *notice)
{
	return notice->number == 1 ? "" : "s";
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
		log_line(level, origin, "scaled: %u worker%s wanted", notice->number,
			plural(notice));
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
