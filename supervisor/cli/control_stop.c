/* POST /v1/stop: what SIGTERM does, and with ?force=true what a second one does. With ?wait=true
 * the answer lasts until the end: a line each second, and one that tells how it ended. */
#include "cli/control_json.h"
#include "cli/control_routes.h"
#include "io/clock.h"

#include <stdlib.h>

#define EACH MTIME_SECOND

struct wait {
	const struct overview *overview;
	mtime told_at;
	enum phase told;
	bool has_begun, has_ended;
};

static bool is_over(const struct wait *wait)
{
	return *wait->overview->phase == STOPPED;
}

static bool has_to_wait(void *ctx)
{
	const struct wait *wait = ctx;

	return wait->has_begun && *wait->overview->phase == wait->told &&
	       clock_now() - wait->told_at < EACH;
}

/* What is still at work, of all pools. */
static json_t *standing(const struct overview *overview)
{
	json_int_t workers = 0, in_pipes = 0, unconfirmed = 0;
	struct station *station;

	for (size_t i = 0; (station = fleet_next(overview->fleet, &i));) {
		struct pool_facts facts = station_facts(station);
		workers += facts.ready;
		in_pipes += facts.in_pipes;
		unconfirmed += (json_int_t)facts.unconfirmed;
	}
	return json_pack("{s:s, s:I, s:I, s:I}", "phase", control_phase_words(*overview->phase),
		"workers", workers, "in_pipes", in_pipes, "unconfirmed", unconfirmed);
}

static bool next(void *ctx, struct buf *out)
{
	struct wait *wait = ctx;

	if (wait->has_ended)
		return false;
	wait->has_ended = is_over(wait);
	wait->has_begun = true;
	wait->told_at = clock_now();
	wait->told = *wait->overview->phase;
	control_json_append(out,
		wait->has_ended ? json_pack("{s:s, s:b}", "phase", control_phase_words(STOPPED),
					  "settled", wait->overview->is_settled)
				: standing(wait->overview));
	buf_append_byte(out, '\n');
	return true;
}

static const struct http_pieces pieces = {.next = next, .end = free, .waits = has_to_wait};

static void answer_until_the_end(
	const struct overview *overview, const struct http_request *request)
{
	struct wait *wait = malloc(sizeof *wait);

	if (!wait) {
		control_refuse(request, 503, "out of memory", NULL);
		return;
	}
	*wait = (struct wait){.overview = overview};
	http_answer_in_pieces(request, CONTROL_LINES_TYPE, &pieces, wait);
}

void control_answer_stop(const struct overview *overview, const struct http_request *request)
{
	bool waits = control_is_true(request, "wait");

	if (waits && http_following(request) >= CONTROL_WAITERS) {
		control_refuse(request, 503, CONTROL_CROWDED, NULL);
		return;
	}
	overview->stop(overview->ctx, control_is_true(request, "force"));
	if (waits)
		answer_until_the_end(overview, request);
	else
		control_answer_status(overview, request);
}
