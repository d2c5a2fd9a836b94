#include "io/log_gate.h"

#include "io/clock.h"
#include "io/loop.h"

#include <inttypes.h>

static void say(struct log_gate *gate)
{
	struct log_origin origin = {.pool = gate->pool, .slot = -1};
	uint64_t dropped = gate->dropped - gate->told;

	gate->told = gate->dropped;
	log_line(LOG_WARN, origin,
		"%" PRIu64 " lines of workers were dropped: there were more than %" PRId64
		" in a second (log_rate)",
		dropped, *gate->lines);
}

/* Once more each second, until there was nothing to say. */
static void on_tell(struct ev_loop *loop, struct ev_timer *timer, int events)
{
	struct log_gate *gate = timer->data;

	(void)events;
	if (gate->dropped == gate->told)
		return;
	say(gate);
	loop_start_timer(loop, timer, MTIME_SECOND);
}

void log_gate_init(
	struct log_gate *gate, struct ev_loop *loop, const char *pool, const int64_t *lines)
{
	*gate = (struct log_gate){
		.loop = loop, .pool = pool, .lines = lines, .rate = rate_of(*lines, clock_now())};
	ev_timer_init(&gate->tell, on_tell, 0, 0);
	gate->tell.data = gate;
}

void log_gate_release(struct log_gate *gate)
{
	ev_timer_stop(gate->loop, &gate->tell);
	if (gate->dropped != gate->told)
		say(gate);
}

static void drop(struct log_gate *gate)
{
	gate->dropped++;
	if (!ev_is_active(&gate->tell))
		loop_start_timer(gate->loop, &gate->tell, MTIME_SECOND);
}

void log_gate_tell(
	struct log_gate *gate, struct log_origin origin, const struct log_worker_line *line)
{
	if (!log_is_on(line->level, origin.pool))
		return;
	gate->rate.per_second = *gate->lines;
	if (!rate_take(&gate->rate, clock_now())) {
		drop(gate);
		return;
	}
	gate->passed++;
	log_tell_worker_line(origin, line);
}
