/* A turn's length is what passed between the loop's news and its next wait, not the wait. */
#include "os/pulse.h"
#include "os/clock.h"
#include "os/loop.h"
#include "unit/unit.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAIT_S 0.2

static void compute_for(mtime span)
{
	mtime end = clock_now() + span;
	while (clock_now() < end)
		;
}

static mtime load;

static void on_timer(struct ev_loop *loop, struct ev_timer *timer, int events)
{
	(void)timer;
	(void)events;
	compute_for(load);
	ev_break(loop, EVBREAK_ALL);
}

/* One turn that waits first, then a second one, whose end the loop does not wait for. */
static struct pulse run(mtime span)
{
	struct ev_loop *loop = loop_default();
	struct pulse pulse = {0};
	struct ev_timer timer;
	load = span;
	pulse_start(&pulse, loop);
	ev_timer_init(&timer, on_timer, WAIT_S, 0);
	ev_timer_start(loop, &timer);
	ev_run(loop, 0);
	ev_run(loop, EVRUN_NOWAIT);
	pulse_stop(&pulse, loop);
	ev_loop_destroy(loop);
	return pulse;
}

START_TEST(computing_counts_as_part_of_a_turn)
{
	struct pulse pulse = run(30 * MTIME_MS);
	ck_assert_int_ge(pulse.longest, 30 * MTIME_MS);
	ck_assert_int_gt(pulse.longest_computed, 0);
	/* Both clocks tick on; they are read one after the other. */
	ck_assert_int_le(pulse.longest_computed, pulse.longest + MTIME_MS);
}
END_TEST

/* However slow the machine: the wait is not in it. */
START_TEST(waiting_does_not_count)
{
	mtime before = clock_now();
	struct pulse pulse = run(0);
	mtime all = clock_now() - before;
	ck_assert_int_gt(pulse.longest, 0);
	ck_assert_int_le(pulse.longest, all - (mtime)(WAIT_S / 2 * MTIME_SECOND));
}
END_TEST

/* Stops its parent, and lets it go on after a while. */
static void freeze_for(unsigned seconds)
{
	pid_t victim = getpid();
	pid_t helper = fork();
	ck_assert_int_ge(helper, 0);
	if (helper == 0) {
		kill(victim, SIGSTOP);
		sleep(seconds);
		kill(victim, SIGCONT);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(helper, NULL, 0), helper);
}

static void on_freeze(struct ev_loop *loop, struct ev_timer *timer, int events)
{
	(void)timer;
	(void)events;
	freeze_for(4);
	ev_break(loop, EVBREAK_ALL);
}

/* However long: what is left out is all of the gap but a tick, so at least 3 s. Of the turn into
 * which it fell nothing is left but the computing. */
START_TEST(a_suspension_does_not_count)
{
	struct ev_loop *loop = loop_default();
	struct pulse pulse = {0};
	struct ev_timer timer;
	pulse_start(&pulse, loop);
	ev_timer_init(&timer, on_freeze, 0.01, 0);
	ev_timer_start(loop, &timer);
	mtime before = clock_now();
	ev_run(loop, 0);
	mtime after = clock_now();
	ev_run(loop, EVRUN_NOWAIT);
	ck_assert_int_ge(clock_left_out(), 3 * MTIME_SECOND - 100 * MTIME_MS);
	ck_assert_int_ge(after, before);
	ck_assert_int_lt(after - before, 3 * MTIME_SECOND);
	ck_assert_int_gt(pulse.longest, 0);
	ck_assert_int_lt(pulse.longest, CLOCK_TICK);
	pulse_stop(&pulse, loop);
	ev_loop_destroy(loop);
}
END_TEST

START_TEST(a_pulse_that_never_started_can_be_stopped)
{
	struct ev_loop *loop = loop_default();
	struct pulse pulse = {0};
	pulse_stop(&pulse, loop);
	ev_loop_destroy(loop);
}
END_TEST

/* What lay there when the loop looked may have come since the look before. */
START_TEST(a_poll_without_a_wait_is_not_a_sleep)
{
	mtime first = clock_turn_begins();
	compute_for(MTIME_MS);
	mtime second = clock_turn_begins();
	ck_assert_int_gt(second, first);
	ck_assert_int_eq(clock_arrived_after(), first);
	poll(NULL, 0, 1);
	mtime third = clock_turn_begins();
	ck_assert_int_eq(clock_arrived_after(), third);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("os/pulse");
	UNIT_CASE(s, "pulse", computing_counts_as_part_of_a_turn, waiting_does_not_count,
		a_suspension_does_not_count, a_pulse_that_never_started_can_be_stopped,
		a_poll_without_a_wait_is_not_a_sleep);
	return s;
}

UNIT_MAIN(suite)
