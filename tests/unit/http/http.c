/* The HTTP server in the loop answers and refuses requests; no client delays another one. */
#include "http/flood.h"
#include "os/clock.h"
#include "unit/support/http/http_rig.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define LIMIT       (20 * MTIME_SECOND)
#define ANSWER_SIZE (4 * 1024 * 1024)
#define LONG_LIST   40000
#define FOLLOWERS   8
#define PLACES      32 /* connections at once */

static unsigned asked, ended;
static char answer[ANSWER_SIZE];

struct lines {
	unsigned at;
};

static bool next_line(void *ctx, struct buf *out)
{
	struct lines *lines = ctx;
	if (lines->at == LONG_LIST)
		return false;
	buf_printf(out, "line %u\n", lines->at++);
	return true;
}

static void end_lines(void *ctx)
{
	free(ctx);
	ended++;
}

static const struct http_pieces pieces = {.next = next_line, .end = end_lines};

/* An answer that takes 30 ms of work before its first byte. */
static bool next_work(void *ctx, struct buf *out)
{
	struct lines *lines = ctx;
	mtime end = clock_now() + MTIME_MS / 10;
	while (clock_now() < end)
		;
	if (++lines->at < 300)
		return true;
	buf_append_text(out, TEXT("found"));
	return false;
}

static const struct http_pieces worked = {.next = next_work, .end = end_lines};

/* The lines so far of an answer to follow. */
static unsigned lines_so_far;

static bool waits_for_line(void *ctx)
{
	return ((struct lines *)ctx)->at == lines_so_far;
}

static const struct http_pieces followed = {
	.next = next_line, .end = end_lines, .waits = waits_for_line};

static void on_request(void *ctx, const struct http_request *request)
{
	(void)ctx;
	asked++;
	ck_assert(request->is_local || strcmp(request->path, "/tcp") == 0);
	if (strcmp(request->path, "/long") == 0) {
		http_answer_in_pieces(
			request, "text/plain", &pieces, calloc(1, sizeof(struct lines)));
		return;
	}
	if (strcmp(request->path, "/work") == 0) {
		http_answer_in_pieces(
			request, "text/plain", &worked, calloc(1, sizeof(struct lines)));
		return;
	}
	if (strcmp(request->path, "/follow") == 0 && http_waiting_answers(request) >= FOLLOWERS) {
		http_answer(request, 503, "text/plain", TEXT("crowded"), NULL);
		return;
	}
	if (strcmp(request->path, "/follow") == 0) {
		http_answer_in_pieces(
			request, "text/plain", &followed, calloc(1, sizeof(struct lines)));
		return;
	}
	if (strcmp(request->path, "/who") == 0) {
		http_answer(request, 200, "text/plain",
			request->is_refused ? TEXT("refused") : TEXT("admitted"), NULL);
		return;
	}
	const char *query = http_query(request, "q");
	char text[200];
	snprintf(
		text, sizeof text, "%s %s %s", request->method, request->path, query ? query : "-");
	http_answer(request, strcmp(request->path, "/no") == 0 ? 405 : 200, "text/plain",
		text_from(text), strcmp(request->path, "/no") == 0 ? "GET" : NULL);
}

static void set_up(void)
{
	http_rig_begin(PLACES, on_request);
}

/* ---------- a client, in the same loop ---------- */

/* Send all bytes; run the loop while the socket is full. False: the peer has closed it. */
static bool send_all(int fd, const char *bytes, size_t len)
{
	while (len > 0) {
		ssize_t sent = send(fd, bytes, len, MSG_NOSIGNAL);
		if (sent < 0 && errno != EAGAIN)
			return false;
		bytes += sent > 0 ? sent : 0;
		len -= sent > 0 ? (size_t)sent : 0;
		ev_run(loop, EVRUN_NOWAIT);
	}
	return true;
}

static void on_tick(struct ev_loop *l, struct ev_timer *timer, int events)
{
	(void)l;
	(void)timer;
	(void)events;
}

/* Run the loop until the peer closes. Return the status, or 0; the whole answer is in answer. */
static int read_answer(int fd)
{
	struct ev_timer tick; /* so that the loop does not sleep while we have something to read */
	size_t len = 0;
	mtime end = clock_now() + LIMIT;
	ssize_t got = -1;
	ev_timer_init(&tick, on_tick, 0.001, 0.001);
	ev_timer_start(loop, &tick);
	errno = EAGAIN;
	while (got != 0 && (got > 0 || errno == EAGAIN)) {
		ck_assert_int_lt(clock_now(), end);
		got = recv(fd, answer + len, ANSWER_SIZE - 1 - len, 0);
		len += got > 0 ? (size_t)got : 0;
		if (got < 0 && errno == EAGAIN) {
			ev_run(loop, EVRUN_ONCE);
			errno = EAGAIN;
		}
	}
	ev_timer_stop(loop, &tick);
	close(fd);
	answer[len] = '\0';
	int status = 0;
	return sscanf(answer, "HTTP/1.%*d %d ", &status) == 1 ? status : 0;
}

/* Run the loop until the answer contains the needle. */
static void read_until(int fd, const char *needle)
{
	struct ev_timer tick;
	mtime end = clock_now() + LIMIT;
	size_t len = 0;
	ev_timer_init(&tick, on_tick, 0.001, 0.001);
	ev_timer_start(loop, &tick);
	for (answer[0] = '\0'; !strstr(answer, needle); answer[len] = '\0') {
		ck_assert_int_lt(clock_now(), end);
		ssize_t got = recv(fd, answer + len, ANSWER_SIZE - 1 - len, 0);
		ck_assert_int_ne(got, 0);
		len += got > 0 ? (size_t)got : 0;
		ev_run(loop, EVRUN_ONCE);
	}
	ev_timer_stop(loop, &tick);
}

static int follow(void)
{
	int fd = http_rig_connect();
	ck_assert(send_all(fd, "GET /follow HTTP/1.0\r\n\r\n", 24));
	return fd;
}

static int ask(const char *request)
{
	int fd = http_rig_connect();
	ck_assert(send_all(fd, request, strlen(request)));
	return read_answer(fd);
}

/* ---------- tests ---------- */

START_TEST(a_request_is_answered)
{
	ck_assert_int_eq(ask("GET /a?q=b%20c HTTP/1.0\r\n\r\n"), 200);
	ck_assert_ptr_nonnull(strstr(answer, "\r\n\r\nGET /a b c"));
	ck_assert_ptr_nonnull(strstr(answer, "Content-Type: text/plain\r\n"));
	ck_assert_int_eq(ask("PUT /no HTTP/1.0\r\n\r\n"), 405);
	ck_assert_ptr_nonnull(strstr(answer, "Allow: GET\r\n"));
}
END_TEST

START_TEST(a_request_body_is_not_awaited)
{
	ck_assert_int_eq(
		ask("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n"), 200);
	ck_assert_ptr_nonnull(strstr(answer, "POST /a -"));
}
END_TEST

START_TEST(a_long_answer_arrives_whole)
{
	char line[32];
	ck_assert_int_eq(ask("GET /long HTTP/1.0\r\n\r\n"), 200);
	const char *at = strstr(answer, "\r\n\r\n") + 4;
	for (unsigned i = 0; i < LONG_LIST; i++) {
		int len = snprintf(line, sizeof line, "line %u\n", i);
		ck_assert_int_eq(strncmp(at, line, (size_t)len), 0);
		at += len;
	}
	ck_assert_str_eq(at, "");
	ck_assert_uint_eq(ended, 1);
}
END_TEST

START_TEST(an_answer_that_takes_work_delays_no_other)
{
	int fd = http_rig_connect();
	ck_assert(send_all(fd, "GET /work HTTP/1.0\r\n\r\n", 22));
	ck_assert_int_eq(ask("GET /a HTTP/1.0\r\n\r\n"), 200);
	ck_assert_uint_eq(ended, 0);
	ck_assert_int_eq(read_answer(fd), 200);
	ck_assert_ptr_nonnull(strstr(answer, "\r\n\r\nfound"));
	ck_assert_uint_eq(ended, 1);
}
END_TEST

/* Its answer does not fit into the socket. */
START_TEST(a_client_that_does_not_read_delays_no_other)
{
	int fd = http_rig_connect();
	ck_assert(send_all(fd, "GET /long HTTP/1.0\r\n\r\n", 22));
	ck_assert_int_eq(ask("GET /a HTTP/1.0\r\n\r\n"), 200);
	close(fd);
	ck_assert_int_eq(ask("GET /a HTTP/1.0\r\n\r\n"), 200);
	ck_assert_uint_eq(ended, 1);
}
END_TEST

START_TEST(oversized_requests_are_refused)
{
	static char large[64 * 1024];
	memset(large, 'x', sizeof large);
	int fd = http_rig_connect();
	send_all(fd, "GET /", 5);
	send_all(fd, large, sizeof large);
	int status = read_answer(fd);
	ck_assert_msg(status == 0 || status >= 400, "%d", status);
	ck_assert_uint_eq(asked, 0);
	ck_assert_int_eq(ask("GET /a HTTP/1.0\r\n\r\n"), 200);
}
END_TEST

/* Halves of requests take all places and more: the oldest ones are closed, and a whole request is
 * answered. */
START_TEST(half_requests_do_not_keep_their_connection)
{
	enum { MANY = 2 * PLACES };
	int fds[MANY];
	for (int i = 0; i < MANY; i++) {
		fds[i] = http_rig_connect();
		ck_assert(send_all(fds[i], "GET /a HTTP/1.0\r\nX-", 19));
	}
	ck_assert_int_eq(ask("GET /a HTTP/1.0\r\n\r\n"), 200);
	for (int i = 0; i < MANY; i++)
		close(fds[i]);
	ck_assert_int_eq(ask("GET /a HTTP/1.0\r\n\r\n"), 200);
}
END_TEST

/* A connection over TCP from this address. */
static int tcp_client(const struct listener *to, const char *from)
{
	struct sockaddr_in name = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(inet_pton(AF_INET, from, &name.sin_addr), 1);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&name, sizeof name), 0);
	ck_assert_int_eq(inet_pton(AF_INET, "127.0.0.1", &name.sin_addr), 1);
	name.sin_port = htons((uint16_t)listener_port(to));
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&name, sizeof name), 0);
	ck_assert_int_eq(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	return fd;
}

/* The crowd is one address; whoever comes later from it is answered, and a silent connection from
 * another address stays, though it is the oldest. */
START_TEST(a_crowd_pushes_out_its_own)
{
	static const char request[] = "GET /tcp HTTP/1.0\r\n\r\n";
	enum { MANY = 3 * PLACES };
	struct listener tcp;
	int fds[MANY], other, newcomer;
	ck_assert_int_eq(listener_open_address("127.0.0.1:0", &tcp), RC_OK);
	http_listen(http, tcp.fd);
	other = tcp_client(&tcp, "127.0.0.2");
	for (int i = 0; i < MANY; i++)
		fds[i] = tcp_client(&tcp, "127.0.0.1");
	newcomer = tcp_client(&tcp, "127.0.0.1");
	ck_assert(send_all(newcomer, request, sizeof request - 1));
	ck_assert_int_eq(read_answer(newcomer), 200);
	ck_assert(send_all(other, request, sizeof request - 1));
	ck_assert_int_eq(read_answer(other), 200);
	for (int i = 0; i < MANY; i++)
		close(fds[i]);
	http_free(http);
	listener_close(&tcp);
	http = http_new(loop, PLACES, on_request, NULL);
	http_listen(http, listener.fd);
}
END_TEST

/* A listener whose queue has so many places. */
static struct listener listen_with(int places)
{
	struct listener tcp;
	ck_assert_int_eq(listener_open_address("127.0.0.1:0", &tcp), RC_OK);
	ck_assert_int_eq(listen(tcp.fd, places), 0);
	return tcp;
}

/* The queue is full of connections from one address, and one of another is the last in it: it is
 * answered in its turn, not behind all the others. */
START_TEST(a_flood_is_turned_away)
{
	static const char request[] = "GET /tcp HTTP/1.0\r\n\r\n";
	enum { MANY = 60 };
	struct listener tcp = listen_with(MANY + 4);
	int fds[MANY];
	for (int i = 0; i < MANY; i++) {
		fds[i] = tcp_client(&tcp, "127.0.0.1");
		ck_assert(send_all(fds[i], request, sizeof request - 1));
	}
	int scraper = tcp_client(&tcp, "127.0.0.2");
	ck_assert(send_all(scraper, request, sizeof request - 1));
	http_listen(http, tcp.fd);
	ck_assert_int_eq(read_answer(scraper), 200);
	ck_assert_uint_le(asked, 1 + FLOOD_SHARE);
	for (int i = 0; i < MANY; i++)
		close(fds[i]);
	http_free(http);
	listener_close(&tcp);
	http = http_new(loop, PLACES, on_request, NULL);
	http_listen(http, listener.fd);
}
END_TEST

/* Half of the queue is no flood: nobody is turned away. */
START_TEST(a_short_queue_is_answered_whole)
{
	static const char request[] = "GET /tcp HTTP/1.0\r\n\r\n";
	enum { MANY = 16 };
	struct listener tcp = listen_with(2 * MANY);
	int fds[MANY];
	for (int i = 0; i < MANY; i++) {
		fds[i] = tcp_client(&tcp, "127.0.0.1");
		ck_assert(send_all(fds[i], request, sizeof request - 1));
	}
	http_listen(http, tcp.fd);
	for (int i = 0; i < MANY; i++)
		ck_assert_int_eq(read_answer(fds[i]), 200);
	http_free(http);
	listener_close(&tcp);
	http = http_new(loop, PLACES, on_request, NULL);
	http_listen(http, listener.fd);
}
END_TEST

static bool is_admitted;

static bool admits(void *ctx, int fd)
{
	(void)ctx;
	ck_assert_int_ge(fd, 0);
	return is_admitted;
}

/* The handler learns it, and decides. */
START_TEST(a_peer_that_is_not_admitted_is_marked)
{
	http_set_admission(http, admits);
	for (int i = 0; i < 2; i++) {
		is_admitted = i;
		ck_assert_int_eq(ask("GET /who HTTP/1.0\r\n\r\n"), 200);
		ck_assert_ptr_nonnull(strstr(answer, i ? "admitted" : "refused"));
	}
}
END_TEST

START_TEST(http_free_closes_all_connections)
{
	int idle = http_rig_connect(), half = http_rig_connect(), silent = http_rig_connect();
	send_all(half, "GET /", 5);
	send_all(silent, "GET /long HTTP/1.0\r\n\r\n", 22);
	while (asked == 0)
		ev_run(loop, EVRUN_ONCE);
	http_free(http);
	ck_assert_uint_eq(ended, 1);
	char byte;
	ck_assert_int_le(recv(half, &byte, 1, 0), 0);
	close(idle);
	close(half);
	close(silent);
	http = http_new(loop, PLACES, on_request, NULL);
	http_listen(http, listener.fd);
	ck_assert_int_eq(ask("GET /a HTTP/1.0\r\n\r\n"), 200);
}
END_TEST

START_TEST(a_waiting_answer_goes_on_when_woken)
{
	lines_so_far = 1;
	int fd = follow(), other = follow();
	read_until(fd, "line 0\n");
	read_until(other, "line 0\n");
	for (lines_so_far = 2; lines_so_far < 5; lines_so_far++) {
		char line[32];
		snprintf(line, sizeof line, "line %u\n", lines_so_far - 1);
		http_wake(http);
		read_until(fd, line);
		read_until(other, line);
	}
	close(fd);
	close(other);
}
END_TEST

/* Also when it is never woken. */
START_TEST(a_waiting_answer_ends_with_its_peer)
{
	int fds[FOLLOWERS];
	mtime end = clock_now() + LIMIT;
	lines_so_far = 1;
	for (int i = 0; i < FOLLOWERS; i++) {
		fds[i] = follow();
		read_until(fds[i], "line 0\n");
	}
	ck_assert_int_eq(ask("GET /follow HTTP/1.0\r\n\r\n"), 503);
	for (int i = 0; i < FOLLOWERS; i++)
		close(fds[i]);
	while (ended < FOLLOWERS) {
		ck_assert_int_lt(clock_now(), end);
		ev_run(loop, EVRUN_ONCE);
	}
	int again = follow();
	read_until(again, "line 0\n");
	close(again);
}
END_TEST

/* It has closed only its sending side. */
START_TEST(a_half_closed_peer_still_gets_its_answer)
{
	lines_so_far = 1;
	int fd = follow();
	ck_assert_int_eq(shutdown(fd, SHUT_WR), 0);
	read_until(fd, "line 0\n");
	lines_so_far = 2;
	http_wake(http);
	read_until(fd, "line 1\n");
	close(fd);
}
END_TEST

START_TEST(http_finish_ends_waiting_answers)
{
	lines_so_far = 1;
	int fd = http_rig_connect();
	ck_assert(send_all(fd, "GET /follow HTTP/1.1\r\nHost: x\r\n\r\n", 33));
	read_until(fd, "line 0\n");
	lines_so_far = 3;
	http_finish(http, LIMIT);
	ck_assert_uint_eq(ended, 1);
	read_until(fd, "line 1\nline 2\n");
	if (!strstr(answer, "\r\n0\r\n\r\n"))
		read_until(fd, "0\r\n\r\n");
	close(fd);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("http/http");
	TCase *tcase = tcase_create("http");
	static const TTest *const *const tests[] = {&a_request_is_answered,
		&a_request_body_is_not_awaited, &a_long_answer_arrives_whole,
		&an_answer_that_takes_work_delays_no_other,
		&a_client_that_does_not_read_delays_no_other, &oversized_requests_are_refused,
		&half_requests_do_not_keep_their_connection, &a_crowd_pushes_out_its_own,
		&a_flood_is_turned_away, &a_short_queue_is_answered_whole,
		&a_peer_that_is_not_admitted_is_marked, &http_free_closes_all_connections,
		&a_waiting_answer_goes_on_when_woken, &a_waiting_answer_ends_with_its_peer,
		&a_half_closed_peer_still_gets_its_answer, &http_finish_ends_waiting_answers};
	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, set_up, http_rig_end);
	for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
		tcase_add_test(tcase, *tests[i]);
	suite_add_tcase(s, tcase);
	return s;
}

UNIT_MAIN(suite)
