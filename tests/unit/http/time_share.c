/* The HTTP server uses at most a twentieth of the time, however many clients ask. This program has
 * a clock of its own, which moves only while a request is handled and when the test moves it. So
 * the test does not depend on how fast the machine is. */
#include "os/clock.h"
#include "unit/support/http/http_rig.h"

#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>

#define PLACES     32 /* connections at once */
#define CLIENTS    (3 * PLACES)
#define SHARE      20
#define REQUEST    ((mtime)100) /* microseconds that a request takes */
#define TURN       ((mtime)1)   /* between two turns of the loop */
#define TURNS_MAX  100          /* in which the server handles no request */
#define REST_STEPS 10
#define STEP_TURNS 4 /* so many are enough to end a rest and to handle requests */

static mtime now = MTIME_MINUTE;
static unsigned handled, others;

/* Replaces the one of the C library: for clock_now, for libev and for libmicrohttpd. */
int clock_gettime(clockid_t which, struct timespec *ret)
{
	(void)which;
	ret->tv_sec = now / MTIME_SECOND;
	ret->tv_nsec = now % MTIME_SECOND * 1000;
	return 0;
}

static void on_request(void *ctx, const struct http_request *request)
{
	(void)ctx;
	handled++;
	now += REQUEST;
	http_answer(request, 200, "text/plain", TEXT("done"), NULL);
}

static void on_other(struct ev_loop *l, struct ev_io *io, int events)
{
	(void)l;
	(void)io;
	(void)events;
	others++;
}

static void set_up(void)
{
	http_rig_begin(PLACES, on_request);
}

/* Connect and send a request, without a turn of the loop. */
static int ask(void)
{
	static const char request[] = "GET /a HTTP/1.0\r\n\r\n";
	int fd = http_rig_connect();
	ck_assert_int_eq(send(fd, request, sizeof request - 1, 0), sizeof request - 1);
	return fd;
}

/* Run one turn of the loop, in which the other event must be handled. Return how long requests
 * took. */
static mtime turn(void)
{
	unsigned before = others;
	now += TURN;
	mtime begun = now;
	ev_run(loop, EVRUN_NOWAIT);
	ck_assert_uint_eq(others, before + 1);
	return now - begun;
}

/* Run turns until the server handles requests. Return how long these took. */
static mtime turn_with_requests(void)
{
	mtime took = 0;
	for (int i = 0; i < TURNS_MAX && took == 0; i++)
		took = turn();
	ck_assert_msg(took > 0, "no request is handled after %u of %u", handled, CLIENTS);
	return took;
}

/* After each turn with requests the server handles none for 19 times as long, up to the last
 * microsecond. */
START_TEST(requests_get_a_twentieth_of_the_time)
{
	int fds[CLIENTS];
	struct ev_io other;
	int always_readable = eventfd(1, EFD_CLOEXEC);
	ck_assert_int_ge(always_readable, 0);
	ev_io_init(&other, on_other, always_readable, EV_READ);
	ev_io_start(loop, &other);
	for (int i = 0; i < CLIENTS; i++)
		fds[i] = ask();
	while (handled < CLIENTS) {
		unsigned before = handled;
		mtime rest = turn_with_requests() * (SHARE - 1), rest_begins = now;
		ck_assert_uint_le(handled - before, PLACES);
		for (int step = 1; step <= REST_STEPS; step++) {
			now = rest_begins + rest * step / REST_STEPS - (STEP_TURNS + 1) * TURN;
			for (int i = 0; i < STEP_TURNS; i++) {
				mtime took = turn();
				ck_assert_int_eq(took, 0);
			}
		}
		now = rest_begins + rest;
	}
	for (int i = 0; i < CLIENTS; i++)
		close(fds[i]);
	ev_io_stop(loop, &other);
	close(always_readable);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("http/time_share");
	TCase *tcase = tcase_create("time share");
	tcase_add_checked_fixture(tcase, set_up, http_rig_end);
	tcase_add_test(tcase, requests_get_a_twentieth_of_the_time);
	suite_add_tcase(s, tcase);
	return s;
}

UNIT_MAIN(suite)
