/* The fault proxy, without wpool or AMQP: the test has both ends, and checks what each receives. */
#include "fault/proxy.h"
#include "system/system.h"

#include "harness/deadline.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct rig {
	int listener; /* the broker's */
	struct proxy *proxy;
};

struct ends {
	int of[PROXY_WAYS]; /* bytes sent to of[way] go that way */
};

static struct sockaddr_in loopback(int port)
{
	return (struct sockaddr_in){.sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static struct rig start(void)
{
	struct sockaddr_in address = loopback(0);
	socklen_t size = sizeof address;
	struct rig rig = {.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
	ck_assert_int_eq(bind(rig.listener, (struct sockaddr *)&address, sizeof address), 0);
	ck_assert_int_eq(listen(rig.listener, 8), 0);
	ck_assert_int_eq(getsockname(rig.listener, (struct sockaddr *)&address, &size), 0);
	rig.proxy = proxy_start(ntohs(address.sin_port));
	return rig;
}

static void end(struct rig *rig)
{
	proxy_free(rig->proxy);
	close(rig->listener);
}

static int dial(const struct rig *rig)
{
	struct sockaddr_in address = loopback(proxy_port(rig->proxy));
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
	return fd;
}

static void await_input(int fd)
{
	struct pollfd wait = {.fd = fd, .events = POLLIN};
	ck_assert_msg(poll(&wait, 1, DEADLINE_DEFAULT_MS) == 1, "nothing comes");
}

static struct ends open_ends(const struct rig *rig)
{
	struct ends ends = {.of = {[PROXY_TO_BROKER] = dial(rig)}};
	await_input(rig->listener);
	ends.of[PROXY_TO_CLIENT] = accept4(rig->listener, NULL, NULL, SOCK_CLOEXEC);
	ck_assert_int_ge(ends.of[PROXY_TO_CLIENT], 0);
	return ends;
}

static void close_ends(const struct ends *ends)
{
	close(ends->of[0]);
	close(ends->of[1]);
}

static void say(int fd, const char *text)
{
	ck_assert_int_eq(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

static void expect(int fd, const char *text)
{
	char got[64];
	size_t size = 0;
	while (size < strlen(text)) {
		await_input(fd);
		ssize_t more = recv(fd, got + size, strlen(text) - size, 0);
		ck_assert_msg(more > 0, "it ended in '%.*s', not '%s'", (int)size, got, text);
		size += (size_t)more;
	}
	ck_assert_mem_eq(got, text, size);
}

static void expect_end(int fd, int error)
{
	char byte;
	await_input(fd);
	ssize_t got = recv(fd, &byte, 1, 0);
	ck_assert_int_eq(got, error ? -1 : 0);
	ck_assert(!error || errno == error);
}

/* Bytes of the other direction arrive after the proxy has read all that was there before. */
static void expect_nothing(const struct ends *ends, enum proxy_way way)
{
	char byte;
	say(ends->of[!way], "ping");
	expect(ends->of[way], "ping");
	ck_assert_int_eq(recv(ends->of[!way], &byte, 1, MSG_DONTWAIT), -1);
	ck_assert_int_eq(errno, EAGAIN);
}

START_TEST(bytes_and_ends_are_forwarded)
{
	struct rig rig = start();
	struct ends ends = open_ends(&rig);
	say(ends.of[_i], "question");
	expect(ends.of[!_i], "question");
	say(ends.of[!_i], "answer");
	expect(ends.of[_i], "answer");
	say(ends.of[_i], "last words");
	shutdown(ends.of[_i], SHUT_WR);
	expect(ends.of[!_i], "last words");
	expect_end(ends.of[!_i], 0);
	say(ends.of[!_i], "still heard");
	expect(ends.of[_i], "still heard");
	shutdown(ends.of[!_i], SHUT_WR);
	expect_end(ends.of[_i], 0);
	proxy_expect_links(rig.proxy, NULL, 0);
	close_ends(&ends);
	end(&rig);
}
END_TEST

START_TEST(connection_is_cut_after_byte_n)
{
	static const char text[] = "0123456789";
	for (int is_reset = 0; is_reset < 2; is_reset++) {
		struct rig rig = start();
		struct proxy_plan plan = PROXY_CLEAN;
		enum proxy_way way = _i % 2;
		size_t n = (size_t)_i / 2;
		plan.cut_at[way] = n;
		plan.is_reset = is_reset;
		proxy_plan_next(rig.proxy, &plan);
		struct ends ends = open_ends(&rig);
		char *passed = strndup(text, n);
		/* A link that is cut at 0 may be closed already. */
		ck_assert(send(ends.of[way], text, strlen(text), MSG_NOSIGNAL) > 0 || n == 0);
		expect(ends.of[!way], passed);
		ck_assert(proxy_await_cuts(rig.proxy, 1, DEADLINE_DEFAULT_MS));
		expect_end(ends.of[!way], is_reset ? ECONNRESET : 0);
		ck_assert_int_eq(proxy_links(rig.proxy, NULL), 0);
		ck_assert_int_eq(proxy_cuts(rig.proxy), 1);
		free(passed);
		close_ends(&ends);
		end(&rig);
	}
}
END_TEST

START_TEST(stalled_direction_resumes_without_loss)
{
	struct rig rig = start();
	struct ends ends = open_ends(&rig);
	enum proxy_flow flow[PROXY_WAYS] = {PROXY_PASS, PROXY_PASS};
	flow[_i] = PROXY_STALL;
	say(ends.of[_i], "before");
	expect(ends.of[!_i], "before");
	proxy_set_flow(rig.proxy, NULL, flow[0], flow[1]);
	say(ends.of[_i], "held");
	expect_nothing(&ends, _i);
	say(ends.of[_i], " back");
	proxy_set_flow(rig.proxy, NULL, PROXY_PASS, PROXY_PASS);
	expect(ends.of[!_i], "held back");
	close_ends(&ends);
	end(&rig);
}
END_TEST

START_TEST(stalled_sender_is_not_read)
{
	static char much[65536];
	struct rig rig = start();
	struct proxy_plan plan = PROXY_CLEAN;
	plan.flow[_i] = PROXY_STALL;
	proxy_plan_rest(rig.proxy, &plan);
	struct ends ends = open_ends(&rig);
	struct pollfd writable = {.fd = ends.of[_i], .events = POLLOUT};
	size_t sent = 0;
	/* Until the sockets are full: the kernel holds a few megabytes at most. */
	while (poll(&writable, 1, 0) == 1 && sent < (64 << 20)) {
		ssize_t more = send(ends.of[_i], much, sizeof much, MSG_DONTWAIT);
		sent += more > 0 ? (size_t)more : 0;
	}
	ck_assert_uint_lt(sent, 64 << 20);
	expect_nothing(&ends, _i);
	close_ends(&ends);
	end(&rig);
}
END_TEST

START_TEST(swallowed_bytes_and_end_are_not_forwarded)
{
	struct rig rig = start();
	struct ends ends = open_ends(&rig);
	enum proxy_flow flow[PROXY_WAYS] = {PROXY_PASS, PROXY_PASS};
	flow[_i] = PROXY_SWALLOW;
	proxy_set_flow(rig.proxy, NULL, flow[0], flow[1]);
	say(ends.of[_i], "gone");
	expect_nothing(&ends, _i);
	shutdown(ends.of[_i], SHUT_WR);
	expect_nothing(&ends, _i);
	ck_assert_int_eq(proxy_links(rig.proxy, NULL), 1);
	proxy_cut_held(rig.proxy);
	expect_end(ends.of[!_i], 0);
	close_ends(&ends);
	end(&rig);
}
END_TEST

START_TEST(slices_are_forwarded_in_order)
{
	struct rig rig = start();
	struct proxy_plan plan = PROXY_CLEAN;
	plan.is_sliced = true;
	proxy_plan_next(rig.proxy, &plan);
	struct ends ends = open_ends(&rig);
	say(ends.of[_i], "one by one");
	await_input(ends.of[!_i]);
	expect(ends.of[!_i], "one by one");
	ck_assert_int_eq(proxy_passed(rig.proxy, NULL, _i), strlen("one by one"));
	close_ends(&ends);
	end(&rig);
}
END_TEST

START_TEST(one_byte_is_corrupted)
{
	struct rig rig = start();
	struct proxy_plan plan = PROXY_CLEAN;
	plan.corrupt_at[_i] = 7;
	plan.mask = 'A' ^ 'B';
	proxy_plan_next(rig.proxy, &plan);
	struct ends ends = open_ends(&rig);
	say(ends.of[_i], "AAAA");
	expect(ends.of[!_i], "AAAA");
	say(ends.of[_i], "AAAAAA");
	expect(ends.of[!_i], "AAABAA");
	say(ends.of[!_i], "AAAAAAAAAAA");
	expect(ends.of[_i], "AAAAAAAAAAA");
	close_ends(&ends);
	end(&rig);
}
END_TEST

START_TEST(plans_are_used_in_order)
{
	struct rig rig = start();
	for (int n = 1; n <= 2; n++) {
		struct proxy_plan plan = PROXY_CLEAN;
		plan.cut_at[PROXY_TO_BROKER] = (uint64_t)n;
		proxy_plan_next(rig.proxy, &plan);
	}
	for (int n = 1; n <= 3; n++) {
		struct ends ends = open_ends(&rig);
		ck_assert(proxy_await_plans(rig.proxy, n < 2, DEADLINE_DEFAULT_MS));
		ck_assert(n > 1 || !proxy_await_plans(rig.proxy, 0, 1));
		say(ends.of[PROXY_TO_BROKER], "xyz");
		expect(ends.of[PROXY_TO_CLIENT], n == 1 ? "x" : n == 2 ? "xy" : "xyz");
		if (n < 3)
			expect_end(ends.of[PROXY_TO_CLIENT], 0);
		ck_assert_int_eq(proxy_links(rig.proxy, NULL), n == 3);
		close_ends(&ends);
	}
	ck_assert_int_eq(proxy_cuts(rig.proxy), 2);
	end(&rig);
}
END_TEST

START_TEST(links_have_the_name_of_their_client)
{
	struct rig rig = start();
	struct ends one = open_ends(&rig), other = open_ends(&rig);
	say(one.of[PROXY_TO_BROKER], "I am one");
	expect(one.of[PROXY_TO_CLIENT], "I am one");
	say(other.of[PROXY_TO_BROKER], "I am another");
	expect(other.of[PROXY_TO_CLIENT], "I am another");
	ck_assert_int_eq(proxy_links(rig.proxy, "I am"), 2);
	ck_assert_int_eq(proxy_links(rig.proxy, "am one"), 1);
	ck_assert_int_eq(proxy_passed(rig.proxy, "am one", PROXY_TO_BROKER), strlen("I am one"));
	proxy_cut(rig.proxy, "am one", _i);
	for (int way = 0; way < PROXY_WAYS; way++)
		expect_end(one.of[way], _i ? ECONNRESET : 0);
	ck_assert_int_eq(proxy_links(rig.proxy, "I am"), 1);
	say(other.of[PROXY_TO_CLIENT], "you live");
	expect(other.of[PROXY_TO_BROKER], "you live");
	ck_assert_int_eq(proxy_cuts(rig.proxy), 0);
	close_ends(&one);
	close_ends(&other);
	end(&rig);
}
END_TEST

START_TEST(connection_is_refused_without_broker)
{
	struct rig rig = start();
	close(rig.listener);
	int client = dial(&rig);
	expect_end(client, 0);
	ck_assert_int_eq(proxy_links(rig.proxy, NULL), 0);
	close(client);
	proxy_free(rig.proxy);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("fault tools: proxy", {bytes_and_ends_are_forwarded, 2},
		{connection_is_cut_after_byte_n, 2 * 10},
		{stalled_direction_resumes_without_loss, 2}, {stalled_sender_is_not_read, 2},
		{swallowed_bytes_and_end_are_not_forwarded, 2}, {slices_are_forwarded_in_order, 2},
		{one_byte_is_corrupted, 2}, {plans_are_used_in_order, 1},
		{links_have_the_name_of_their_client, 2},
		{connection_is_refused_without_broker, 1});
}
