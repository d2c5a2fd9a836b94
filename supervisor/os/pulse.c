#include "os/pulse.h"

#include "base/log.h"
#include "os/clock.h"
#include "os/memory.h"

/* An idle loop has fewer turns in a second. */
#define CALM_TURNS 20

static double as_seconds(mtime span)
{
	return (double)span / MTIME_SECOND;
}

static double as_ms(mtime span)
{
	return (double)span / MTIME_MS;
}

static void on_turn_begin(struct ev_loop *loop, struct ev_check *watcher, int events)
{
	struct pulse *pulse = watcher->data;

	(void)loop;
	(void)events;
	pulse->begun = clock_turn_begins();
	pulse->turns++;
	if (clock_left_out() == pulse->left_out)
		return;
	log_warn(
		"wpool was not running for %.1f s (stopped, frozen or suspended); no time limit counts "
		"that",
		as_seconds(clock_left_out() - pulse->left_out));
	pulse->left_out = clock_left_out();
}

/* Signals, and so the ends of children, arrive through a descriptor of libev. If the kernel
 * refuses to watch it, at the start or when libev rebuilds its set, libev misses them. Starting
 * an ev_async makes libev watch it again, and sending one makes it handle what arrived
 * meanwhile. */
static void on_tick(struct ev_loop *loop, struct ev_timer *timer, int events)
{
	struct pulse *pulse = timer->data;
	bool is_busy = pulse->turns > CALM_TURNS;

	(void)events;
	/* Return memory to the kernel after a burst of work, and during it if there is too much. */
	if (pulse->was_busy || is_busy)
		memory_give_back(is_busy);
	pulse->was_busy = is_busy;
	pulse->turns = 0;
	ev_async_stop(loop, &pulse->signals);
	ev_async_start(loop, &pulse->signals);
	ev_async_send(loop, &pulse->signals);
}

static void on_signals(struct ev_loop *loop, struct ev_async *watcher, int events)
{
	(void)loop;
	(void)watcher;
	(void)events;
}

static void record_turn(struct pulse *pulse, mtime took, mtime computed)
{
	if (took <= pulse->longest)
		return;
	pulse->longest = took;
	pulse->longest_computed = mtime_min(computed, took);
	if (took > PULSE_LONG)
		log_warn(
			"a turn of the loop took %.0f ms, %.0f ms of it computing: workers and broker "
			"waited as long (where the rest is large, the machine is short of CPU)",
			as_ms(took), as_ms(computed));
}

/* CPU time of this thread since the latest sample. */
static mtime sample(struct pulse *pulse, mtime now)
{
	mtime before = pulse->computed;

	pulse->sampled_at = now;
	pulse->computed = clock_computed();
	return pulse->computed - before;
}

/* Of a turn with a suspension only the CPU time counts. Its clock costs a system call, so it is
 * read once a millisecond; CPU time since the latest sample before a turn counts for the turn. */
static void on_turn_end(struct ev_loop *loop, struct ev_prepare *watcher, int events)
{
	struct pulse *pulse = watcher->data;
	mtime now = clock_now(), took = now - pulse->begun;
	bool was_suspended = clock_left_out() != pulse->left_out;

	(void)loop;
	(void)events;
	if (pulse->begun && (took > pulse->longest || was_suspended)) {
		mtime computed = sample(pulse, now);
		record_turn(pulse, was_suspended ? computed : took, computed);
	} else if (now - pulse->sampled_at >= MTIME_MS) {
		sample(pulse, now);
	}
	pulse->begun = 0;
}

void pulse_start(struct pulse *pulse, struct ev_loop *loop)
{
	clock_watch();
	pulse->left_out = clock_left_out();
	ev_timer_init(&pulse->tick, on_tick, as_seconds(CLOCK_TICK), as_seconds(CLOCK_TICK));
	pulse->tick.data = pulse;
	ev_timer_start(loop, &pulse->tick);
	ev_async_init(&pulse->signals, on_signals);
	ev_async_start(loop, &pulse->signals);
	ev_check_init(&pulse->turn_begin, on_turn_begin);
	ev_set_priority(&pulse->turn_begin, EV_MAXPRI);
	pulse->turn_begin.data = pulse;
	ev_check_start(loop, &pulse->turn_begin);
	ev_prepare_init(&pulse->turn_end, on_turn_end);
	ev_set_priority(&pulse->turn_end, EV_MINPRI);
	pulse->turn_end.data = pulse;
	ev_prepare_start(loop, &pulse->turn_end);
}

void pulse_stop(struct pulse *pulse, struct ev_loop *loop)
{
	ev_timer_stop(loop, &pulse->tick);
	ev_async_stop(loop, &pulse->signals);
	ev_check_stop(loop, &pulse->turn_begin);
	ev_prepare_stop(loop, &pulse->turn_end);
}
