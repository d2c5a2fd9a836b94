/* Where the kernel refuses to watch descriptors, they are watched again, and the loop hardly waits
 * for it, however many they are. And a timer counts from where it is started. */
#include "os/loop.h"
#include "os/clock.h"
#include "unit/unit.h"

#include <time.h>
#include <unistd.h>

#define MANY 300

static int pauses;

/* In the place of libc's: how often the loop stood still. */
int nanosleep(const struct timespec *span, struct timespec *rest)
{
	(void)span, (void)rest;
	pauses++;
	return 0;
}

static int errors, news;

static void on_io(struct ev_loop *loop, struct ev_io *io, int events)
{
	errors += (events & EV_ERROR) != 0;
	news += (events & EV_READ) != 0;
	loop_keep_watching(loop, io, events);
}

/* As libev tells of a refusal: the watcher is stopped, its callback hears EV_ERROR once. */
static void refuse(struct ev_loop *loop, struct ev_io *io)
{
	ev_io_stop(loop, io);
	ev_feed_event(loop, io, EV_ERROR);
}

START_TEST(a_turn_pauses_once_for_all_refused_descriptors)
{
	struct ev_loop *loop = loop_default();
	static struct ev_io ios[MANY];
	int ends[2];
	ck_assert_int_eq(pipe(ends), 0);
	for (int i = 0; i < MANY; i++) {
		ev_io_init(&ios[i], on_io, ends[0], EV_READ);
		ev_io_start(loop, &ios[i]);
	}
	for (int turn = 1; turn <= 2; turn++) {
		for (int i = 0; i < MANY; i++)
			refuse(loop, &ios[i]);
		ev_run(loop, EVRUN_NOWAIT);
		ck_assert_int_eq(errors, turn * MANY);
		ck_assert_int_eq(pauses, turn);
	}
	ck_assert_int_eq(news, 0);
	ck_assert_int_eq(write(ends[1], "x", 1), 1);
	ev_run(loop, EVRUN_NOWAIT);
	ck_assert_int_eq(news, MANY);
	for (int i = 0; i < MANY; i++)
		ev_io_stop(loop, &ios[i]);
	close(ends[0]);
	close(ends[1]);
	ev_loop_destroy(loop);
}
END_TEST

static mtime went_off;

static void on_end(struct ev_loop *loop, struct ev_timer *timer, int events)
{
	(void)timer, (void)events;
	went_off = clock_now();
	ev_break(loop, EVBREAK_ALL);
}

/* The loop has last looked at the clock before the turn's work. */
START_TEST(a_timer_counts_from_its_start)
{
	static const mtime spans[] = {0, -MTIME_SECOND, 20 * MTIME_MS, 40 * MTIME_MS};
	struct ev_loop *loop = loop_default();
	struct ev_timer timer;
	ev_init(&timer, on_end);
	for (size_t i = 0; i < sizeof spans / sizeof *spans; i++) {
		ev_run(loop, EVRUN_NOWAIT);
		mtime begun = clock_now() + 60 * MTIME_MS;
		while (clock_now() < begun)
			;
		loop_start_timer(loop, &timer, MTIME_MINUTE); /* what is started again counts */
		loop_start_timer(loop, &timer, spans[i]);
		ev_run(loop, 0);
		ck_assert_int_ge(went_off - begun, spans[i]);
	}
	ev_loop_destroy(loop);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("os/loop");
	UNIT_CASE(s, "loop", a_turn_pauses_once_for_all_refused_descriptors,
		a_timer_counts_from_its_start);
	return s;
}

UNIT_MAIN(suite)
