/* POST /v1/stop: as SIGTERM, and with ?force=true as a second one. With ?wait=true the answer lasts
 * until the end: a line each second and at each phase, and one about how it ended. */
#include "control/answer.h"
#include "control/routes.h"
#include "os/clock.h"

#include <stdlib.h>

#define INTERVAL MTIME_SECOND

struct wait {
	const struct supervisor_view *view;
	mtime sent_at;
	enum phase sent;
	bool has_begun, has_ended;
};

static bool has_to_wait(void *ctx)
{
	const struct wait *wait = ctx;

	return wait->has_begun && *wait->view->phase == wait->sent &&
	       clock_now() - wait->sent_at < INTERVAL;
}

/* The workers and unfinished tasks of all pools together. */
static json_t *json_of_work(const struct supervisor_view *view)
{
	json_int_t workers = 0, in_pipes = 0, unconfirmed = 0;
	struct pool_runtime *runtime;

	for (size_t i = 0; (runtime = pool_set_next(view->pool_set, &i));) {
		struct pool_facts facts = pool_facts(runtime->pool);
		workers += facts.ready;
		in_pipes += facts.in_pipes;
		unconfirmed += (json_int_t)facts.unconfirmed;
	}
	return json_pack("{s:s, s:I, s:I, s:I}", "phase", phase_name(*view->phase), "workers",
		workers, "in_pipes", in_pipes, "unconfirmed", unconfirmed);
}

static bool append_next(void *ctx, struct buf *out)
{
	struct wait *wait = ctx;

	if (wait->has_ended)
		return false;
	wait->sent = *wait->view->phase;
	wait->sent_at = clock_now();
	wait->has_begun = true;
	wait->has_ended = wait->sent == STOPPED;
	json_append(out, wait->has_ended ? json_pack("{s:s, s:b}", "phase", phase_name(STOPPED),
						   "settled", wait->view->is_settled)
					 : json_of_work(wait->view));
	buf_append_byte(out, '\n');
	return true;
}

static const struct http_pieces pieces = {.next = append_next, .end = free, .waits = has_to_wait};

void control_answer_stop(const struct supervisor_view *view, const struct http_request *request)
{
	bool waits, is_forced;
	struct wait *wait;

	if (!control_read_bool(request, "wait", &waits) ||
		!control_read_bool(request, "force", &is_forced))
		return;
	if (waits && http_waiting_answers(request) >= CONTROL_WAITERS) {
		control_refuse(request, 503, CONTROL_CROWDED, NULL);
		return;
	}
	view->stop(view->ctx, is_forced);
	if (!waits) {
		control_answer_status(view, request);
		return;
	}
	wait = malloc(sizeof *wait);
	if (!wait) {
		control_refuse_memory(request);
		return;
	}
	*wait = (struct wait){.view = view};
	http_answer_in_pieces(request, CONTROL_LINES_TYPE, &pieces, wait);
}
