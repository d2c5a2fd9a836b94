#include "worker/log_gate.h"

#include "config/value/quantity.h"
#include "os/clock.h"
#include "os/loop.h"

#include <inttypes.h>

static void report_dropped(struct log_gate *gate)
{
	struct log_origin origin = {.pool = gate->pool, .slot = -1};
	uint64_t dropped = gate->dropped - gate->reported;
	struct buf size;

	buf_init(&size, 64);
	quantity_append_size(&size, gate->allowed->bytes);
	gate->reported = gate->dropped;
	log_line(LOG_WARN, origin,
		"%" PRIu64 " lines of workers were dropped: there were more than %" PRId64
		", or than %.*s, in a second (log_rate)",
		dropped, gate->allowed->lines, TEXT_ARGS(buf_text(&size)));
	buf_release(&size);
}

/* Repeated each second until no line was dropped. */
static void on_report(struct ev_loop *loop, struct ev_timer *timer, int events)
{
	struct log_gate *gate = timer->data;

	(void)events;
	if (gate->dropped == gate->reported)
		return;
	report_dropped(gate);
	loop_start_timer(loop, timer, MTIME_SECOND);
}

void log_gate_init(struct log_gate *gate, struct ev_loop *loop, const char *pool,
	const struct log_rate *allowed)
{
	*gate = (struct log_gate){.loop = loop,
		.pool = pool,
		.allowed = allowed,
		.lines = rate_of(allowed->lines, clock_now()),
		.bytes = rate_of(allowed->bytes, clock_now())};
	ev_timer_init(&gate->report, on_report, 0, 0);
	gate->report.data = gate;
}

void log_gate_release(struct log_gate *gate)
{
	ev_timer_stop(gate->loop, &gate->report);
	if (gate->dropped != gate->reported)
		report_dropped(gate);
}

void log_gate_log(
	struct log_gate *gate, struct log_origin origin, const struct log_worker_line *line)
{
	mtime now = clock_now();
	size_t size;

	if (!log_is_on(line->level, origin.pool))
		return;
	gate->lines.per_second = gate->allowed->lines;
	gate->bytes.per_second = gate->allowed->bytes;
	if (!rate_has_left(&gate->bytes, now) || !rate_take(&gate->lines, now)) {
		gate->dropped++;
		if (!ev_is_active(&gate->report))
			loop_start_timer(gate->loop, &gate->report, MTIME_SECOND);
		return;
	}
	size = log_write_worker_line(origin, line);
	rate_spend(&gate->bytes, (int64_t)size);
	gate->passed++;
	gate->passed_bytes += size;
}
