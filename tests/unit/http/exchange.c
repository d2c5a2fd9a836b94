/* Requests with a body, and answers that come later. This program has a clock of its own, which
 * moves only when the test moves it. */
#include "unit/support/http/http_rig.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define PLACES      (4 * HTTP_EXCHANGES_MAX) /* no crowd */
#define BODY_MAX    8
#define TURNS_MAX   1000
#define ANSWER_SIZE 1024
#define LARGE       (1024 * 1024) /* does not fit into a socket */

static mtime now = MTIME_MINUTE;
static unsigned begun; /* requests */
static struct http_exchange *deferred[HTTP_EXCHANGES_MAX];
static unsigned deferred_count;
static char answer[ANSWER_SIZE];

/* Replaces the one of the C library: for clock_now, for libev and for libmicrohttpd. */
int clock_gettime(clockid_t which, struct timespec *ret)
{
	(void)which;
	ret->tv_sec = now / MTIME_SECOND;
	ret->tv_nsec = now % MTIME_SECOND * 1000;
	return 0;
}

/* ---------- the handler ---------- */

static void begin_request(const struct http_request *request)
{
	begun++;
	if (!http_read_body(request, BODY_MAX))
		http_answer(request, 503, "text/plain", TEXT("too many"), NULL);
}

static void on_request(void *ctx, const struct http_request *request)
{
	(void)ctx;
	if (!request->exchange) {
		begin_request(request);
	} else if (strcmp(request->path, "/now") == 0) {
		http_answer(request, 200, "text/plain", request->body, NULL);
	} else if (strcmp(request->path, "/soon") == 0) { /* before the handler has returned */
		http_defer(request);
		http_answer_later(request->exchange, 422, "text/plain", request->body);
	} else {
		http_defer(request);
		deferred[deferred_count++] = request->exchange;
	}
}

static void set_up(void)
{
	http_rig_begin(PLACES, on_request);
}

/* ---------- clients, in the same loop ---------- */

static int client(const char *request)
{
	size_t len = strlen(request);
	int fd = http_rig_connect();

	ck_assert_int_eq(send(fd, request, len, 0), (ssize_t)len);
	return fd;
}

static int post(const char *where)
{
	char request[200];

	snprintf(request, sizeof request,
		"POST %s HTTP/1.0\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody", where);
	return client(request);
}

static void turn(void)
{
	now += MTIME_MS;
	ev_run(loop, EVRUN_NOWAIT);
}

static void run_turns(unsigned count)
{
	while (count-- > 0)
		turn();
}

static void await(const unsigned *count, unsigned wanted)
{
	for (unsigned i = 0; i < TURNS_MAX && *count < wanted; i++)
		turn();
	ck_assert_uint_eq(*count, wanted);
}

/* Run the loop until the peer has closed. Return the status, or 0; the answer is in answer. */
static int read_answer(int fd)
{
	size_t len = 0;
	ssize_t got = -1;
	int status;

	for (unsigned i = 0; i < TURNS_MAX && got != 0 && (got > 0 || errno == EAGAIN || i == 0);
		i++) {
		turn();
		got = recv(fd, answer + len, ANSWER_SIZE - 1 - len, 0);
		len += got > 0 ? (size_t)got : 0;
	}
	ck_assert_int_eq(got, 0);
	close(fd);
	answer[len] = '\0';
	return sscanf(answer, "HTTP/1.%*d %d ", &status) == 1 ? status : 0;
}

static bool is_answer(const char *body)
{
	const char *at = strstr(answer, "\r\n\r\n");

	return at && strcmp(at + 4, body) == 0;
}

/* Whether the peer has closed, though we have not read all of its answer. */
static bool is_closed(int fd)
{
	static char bytes[LARGE];
	ssize_t got;

	while ((got = recv(fd, bytes, sizeof bytes, 0)) > 0)
		;
	return got == 0 || errno != EAGAIN;
}

static void answer_all(struct text body)
{
	for (unsigned i = 0; i < deferred_count; i++)
		http_answer_later(deferred[i], 200, "text/plain", body);
	deferred_count = 0;
}

/* ---------- tests ---------- */

START_TEST(body_is_there_when_the_handler_is_called_again)
{
	ck_assert_int_eq(read_answer(post("/now")), 200);
	ck_assert(is_answer("body"));
	int fd = client("POST /now HTTP/1.0\r\nHost: x\r\nContent-Length: 8\r\n\r\none ");
	await(&begun, 2);
	run_turns(10);
	ck_assert_int_eq(send(fd, "two ", 4, 0), 4);
	ck_assert_int_eq(read_answer(fd), 200);
	ck_assert(is_answer("one two "));
}
END_TEST

START_TEST(request_without_a_body_is_complete)
{
	ck_assert_int_eq(read_answer(client("GET /now HTTP/1.0\r\nHost: x\r\n\r\n")), 200);
	ck_assert(is_answer(""));
}
END_TEST

START_TEST(larger_body_is_refused)
{
	ck_assert_int_eq(
		read_answer(client(
			"POST /now HTTP/1.0\r\nHost: x\r\nContent-Length: 9\r\n\r\n123456789")),
		413);
}
END_TEST

START_TEST(answer_may_come_before_the_handler_returns)
{
	ck_assert_int_eq(read_answer(post("/soon")), 422);
	ck_assert(is_answer("body"));
}
END_TEST

START_TEST(answer_comes_later)
{
	int fd = post("/later");
	await(&deferred_count, 1);
	now += 10 * HTTP_SILENCE; /* it waits for the handler as long as that takes */
	run_turns(10);
	ck_assert(!is_closed(fd));
	http_answer_later(deferred[0], 200, "text/plain", TEXT("done"));
	ck_assert_int_eq(read_answer(fd), 200);
	ck_assert(is_answer("done"));
}
END_TEST

START_TEST(exchanges_have_a_limit)
{
	int fds[HTTP_EXCHANGES_MAX];
	for (unsigned i = 0; i < HTTP_EXCHANGES_MAX; i++)
		fds[i] = post("/later");
	await(&deferred_count, HTTP_EXCHANGES_MAX);
	ck_assert_int_eq(read_answer(post("/later")), 503);
	answer_all(TEXT("done"));
	for (unsigned i = 0; i < HTTP_EXCHANGES_MAX; i++)
		ck_assert_int_eq(read_answer(fds[i]), 200);
	ck_assert_int_eq(read_answer(post("/now")), 200);
}
END_TEST

START_TEST(clients_that_leave_keep_no_exchange)
{
	int fds[HTTP_EXCHANGES_MAX];
	for (unsigned i = 0; i < HTTP_EXCHANGES_MAX; i++)
		fds[i] = i % 2 ? post("/later")
			       : client("POST /later HTTP/1.0\r\nHost: x\r\n"
					"Content-Length: 4\r\n\r\nbo");
	await(&begun, HTTP_EXCHANGES_MAX);
	await(&deferred_count, HTTP_EXCHANGES_MAX / 2);
	for (unsigned i = 0; i < HTTP_EXCHANGES_MAX; i++)
		close(fds[i]);
	run_turns(10);
	answer_all(TEXT("done"));
	for (unsigned i = 0; i < HTTP_EXCHANGES_MAX; i++)
		fds[i] = post("/later");
	await(&deferred_count, HTTP_EXCHANGES_MAX);
	answer_all(TEXT("done"));
	for (unsigned i = 0; i < HTTP_EXCHANGES_MAX; i++)
		ck_assert_int_eq(read_answer(fds[i]), 200);
}
END_TEST

/* From the answer on, its time is limited as that of any other. */
START_TEST(later_answer_has_to_be_read_in_time)
{
	static char large[LARGE];
	int fds[HTTP_EXCHANGES_MAX];
	for (unsigned i = 0; i < HTTP_EXCHANGES_MAX; i++)
		fds[i] = post("/later");
	await(&deferred_count, HTTP_EXCHANGES_MAX);
	answer_all(text_of(large, sizeof large));
	run_turns(10);
	ck_assert_int_eq(read_answer(post("/now")), 503);
	now += HTTP_SILENCE;
	run_turns(10);
	ck_assert_int_eq(read_answer(post("/now")), 200);
	for (unsigned i = 0; i < HTTP_EXCHANGES_MAX; i++) {
		ck_assert(is_closed(fds[i]));
		close(fds[i]);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("http/exchange");
	TCase *tcase = tcase_create("exchange");
	static const TTest *const *const tests[] = {&body_is_there_when_the_handler_is_called_again,
		&request_without_a_body_is_complete, &larger_body_is_refused,
		&answer_may_come_before_the_handler_returns, &answer_comes_later,
		&exchanges_have_a_limit, &clients_that_leave_keep_no_exchange,
		&later_answer_has_to_be_read_in_time};

	tcase_add_checked_fixture(tcase, set_up, http_rig_end);
	for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
		tcase_add_test(tcase, *tests[i]);
	suite_add_tcase(s, tcase);
	return s;
}

UNIT_MAIN(suite)
