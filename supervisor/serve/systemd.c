#include "serve/systemd.h"

#include "base/log.h"
#include "os/clock.h"
#include "runtime/health.h"
#include "runtime/report/health_text.h"

/* After this time the unit counts as started, even if workers still load or the broker is
 * missing. */
#define READY_WAIT (10 * MTIME_SECOND)
/* The status line may change with each task, so it is updated at most once a second. */
#define TICK_S 1.0
/* For closing connections and killing the remaining workers. */
#define STOP_MARGIN (15 * MTIME_SECOND)

#define STATUS_LIMIT (1024 * 1024)

/* ---------- the status line ---------- */

/* Append the first cause and the number of others. False: there is none. */
static bool append_causes(struct buf *out, const struct supervisor_view *view)
{
	struct health_walk walk = {0};
	unsigned count = 0;

	while (health_next(view, &walk))
		for (enum health_cause cause = 0; cause < HEALTH_CAUSE_COUNT; cause++) {
			if (!health_has(walk.health.causes, cause) || count++ > 0)
				continue;
			buf_append_text(out, TEXT("not ready: "));
			health_append_named_text(out, &walk.health, cause);
		}
	if (count > 1)
		buf_printf(out, " (and %u more)", count - 1);
	return count > 0;
}

static void append_workers(struct buf *out, const struct supervisor_view *view)
{
	size_t pools = pool_set_pools(view->pool_set);
	unsigned ready = 0, wanted = 0;
	struct pool_runtime *runtime;

	for (size_t i = 0; (runtime = pool_set_next(view->pool_set, &i));) {
		struct pool_facts facts = pool_facts(runtime->pool);
		if (pool_runtime_is_retiring(runtime))
			continue;
		ready += facts.ready;
		wanted += facts.wanted;
	}
	buf_printf(out, "serving: %zu pool%s, %u of %u workers ready", pools, pools == 1 ? "" : "s",
		ready, wanted);
}

static void append_rest(struct buf *out, const struct supervisor_view *view)
{
	unsigned unsettled = 0;
	struct pool_runtime *runtime;

	for (size_t i = 0; (runtime = pool_set_next(view->pool_set, &i));)
		unsettled += pool_facts(runtime->pool).unacked;
	buf_printf(out, "%s: %u task%s in hand", phase_name(*view->phase), unsettled,
		unsettled == 1 ? "" : "s");
}

static void send_status(struct systemd *systemd)
{
	const struct supervisor_view *view = systemd->view;
	struct buf status;

	buf_init(&status, STATUS_LIMIT);
	if (*view->phase != SERVING)
		append_rest(&status, view);
	else if (!append_causes(&status, view))
		append_workers(&status, view);
	if (!status.failed)
		notify_status(&systemd->notify, buf_text(&status));
	buf_release(&status);
}

/* ---------- ready ---------- */

static void send_ready(struct systemd *systemd)
{
	systemd->is_ready = true;
	notify_ready(&systemd->notify);
	send_status(systemd);
}

static void on_tick(struct ev_loop *loop, struct ev_timer *timer, int events)
{
	(void)loop;
	(void)events;
	send_status(timer->data);
}

/* ---------- life ---------- */

void systemd_open(struct systemd *systemd, struct ev_loop *loop)
{
	notify_open(&systemd->notify, loop);
}

void systemd_start(struct systemd *systemd, const struct supervisor_view *view)
{
	systemd->view = view;
	if (!notify_has_socket(&systemd->notify))
		return;
	ev_timer_init(&systemd->tick, on_tick, TICK_S, TICK_S);
	systemd->tick.data = systemd;
	ev_timer_start(systemd->notify.loop, &systemd->tick);
	send_status(systemd);
}

void systemd_turn(struct systemd *systemd)
{
	if (!notify_has_socket(&systemd->notify))
		return;
	/* A supervisor that stops before it was ready never notifies READY. */
	bool may_become_ready = !systemd->is_ready && *systemd->view->phase == SERVING;
	if (may_become_ready && health_is_ready(systemd->view)) {
		send_ready(systemd);
	} else if (may_become_ready && clock_now() - systemd->view->started >= READY_WAIT) {
		log_info("not ready after %d s: reporting ready to the service manager anyway, and "
			 "trying further",
			(int)(READY_WAIT / MTIME_SECOND));
		send_ready(systemd);
	}
	notify_flush(&systemd->notify);
}

/* Before READY was sent there is no RELOADING to report. */
void systemd_reloading(struct systemd *systemd)
{
	if (systemd->is_ready)
		notify_reloading(&systemd->notify);
}

void systemd_reloaded(struct systemd *systemd)
{
	if (systemd->is_ready)
		notify_ready(&systemd->notify);
}

void systemd_stopping(struct systemd *systemd, mtime span)
{
	if (!notify_has_socket(&systemd->notify))
		return;
	notify_stopping(&systemd->notify, mtime_after(span, STOP_MARGIN));
	send_status(systemd);
}

void systemd_close(struct systemd *systemd)
{
	if (!notify_has_socket(&systemd->notify))
		return;
	ev_timer_stop(systemd->notify.loop, &systemd->tick);
	notify_close(&systemd->notify);
}
