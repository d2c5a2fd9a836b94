#include "cli/service.h"

#include "base/log.h"
#include "cli/health.h"
#include "io/clock.h"

/* Workers that load for longer, brokers that come later: the unit counts as started nevertheless.
 */
#define READY_PATIENCE (10 * MTIME_SECOND)
/* Of a status line: it follows, at most once a second, what may change with each task. */
#define TICK_S 1.0
/* For closing connections, and for what is left of workers. */
#define STOP_MARGIN (15 * MTIME_SECOND)

#define WORDS_LIMIT (1024 * 1024)

/* ---------- how it stands, in a line ---------- */

/* The first reason; of the others how many. */
static void add_reasons(struct buf *out, struct text reasons)
{
	size_t lines = 0, first = reasons.len;

	for (size_t i = reasons.len; i > 0; i--)
		if (reasons.ptr[i - 1] == '\n') {
			first = i - 1;
			lines++;
		}
	buf_printf(out, "not ready: %.*s", TEXT_ARGS(text_of(reasons.ptr, first)));
	if (lines > 1)
		buf_printf(out, " (and %zu more)", lines - 1);
}

static void add_strength(struct buf *out, const struct overview *overview)
{
	size_t pools = fleet_pools(overview->fleet);
	unsigned ready = 0, wanted = 0;
	struct station *station;

	for (size_t i = 0; (station = fleet_next(overview->fleet, &i));) {
		struct pool_facts facts = station_facts(station);
		if (station_is_leaving(station))
			continue;
		ready += facts.ready;
		wanted += facts.wanted;
	}
	buf_printf(out, "serving: %zu pool%s, %u of %u workers ready", pools, pools == 1 ? "" : "s",
		ready, wanted);
}

static void add_rest(struct buf *out, const struct overview *overview)
{
	static const char *const phases[] = {
#define X(phase, words) [phase] = words,
		PHASES(X)
#undef X
	};
	unsigned unsettled = 0;
	struct station *station;

	for (size_t i = 0; (station = fleet_next(overview->fleet, &i));)
		unsettled += station_facts(station).unacked;
	buf_printf(out, "%s: %u task%s in hand", phases[*overview->phase], unsettled,
		unsettled == 1 ? "" : "s");
}

static void add_words(struct buf *out, const struct overview *overview)
{
	struct buf reasons;

	if (*overview->phase != SERVING) {
		add_rest(out, overview);
		return;
	}
	buf_init(&reasons, WORDS_LIMIT);
	health_append_reasons(overview, &reasons);
	if (buf_len(&reasons) > 0)
		add_reasons(out, buf_text(&reasons));
	else
		add_strength(out, overview);
	buf_release(&reasons);
}

static void tell_status(struct service *service)
{
	struct buf words;

	buf_init(&words, WORDS_LIMIT);
	add_words(&words, service->overview);
	if (!words.failed)
		notify_status(&service->notify, buf_text(&words));
	buf_release(&words);
}

/* ---------- ready ---------- */

static void tell_ready(struct service *service)
{
	service->is_ready = true;
	notify_ready(&service->notify);
	tell_status(service);
}

static bool is_patience_over(const struct service *service)
{
	return clock_now() - service->overview->started >= READY_PATIENCE;
}

/* One that is told to stop before it was ready was never ready. */
static void consider_ready(struct service *service)
{
	if (service->is_ready || *service->overview->phase != SERVING)
		return;
	if (health_is_ready(service->overview)) {
		tell_ready(service);
	} else if (is_patience_over(service)) {
		log_info("not ready after %d s: the service manager is told that we serve "
			 "nevertheless, because we keep trying",
			(int)(READY_PATIENCE / MTIME_SECOND));
		tell_ready(service);
	}
}

static void on_tick(struct ev_loop *loop, struct ev_timer *timer, int events)
{
	(void)loop;
	(void)events;
	tell_status(timer->data);
}

/* ---------- life ---------- */

void service_open(struct service *service, struct ev_loop *loop)
{
	notify_open(&service->notify, loop);
}

void service_start(struct service *service, const struct overview *overview)
{
	service->overview = overview;
	if (!notify_is_heard(&service->notify))
		return;
	ev_timer_init(&service->tick, on_tick, TICK_S, TICK_S);
	service->tick.data = service;
	ev_timer_start(service->notify.loop, &service->tick);
	tell_status(service);
}

void service_turn(struct service *service)
{
	if (!notify_is_heard(&service->notify))
		return;
	consider_ready(service);
	notify_flush(&service->notify);
}

/* One that is not ready yet has nothing to come back to. */
void service_reloading(struct service *service)
{
	if (service->is_ready)
		notify_reloading(&service->notify);
}

void service_reloaded(struct service *service)
{
	if (service->is_ready)
		notify_ready(&service->notify);
}

void service_stopping(struct service *service, mtime span)
{
	if (!notify_is_heard(&service->notify))
		return;
	notify_stopping(&service->notify, mtime_after(span, STOP_MARGIN));
	tell_status(service);
}

void service_close(struct service *service)
{
	if (!notify_is_heard(&service->notify))
		return;
	ev_timer_stop(service->notify.loop, &service->tick);
	notify_close(&service->notify);
}
