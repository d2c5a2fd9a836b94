/* POST /v1/publish: a message by HTTP, confirmed before the answer. */
#include "harness/control.h"
#include "harness/deadline.h"
#include "harness/http.h"
#include "system/system.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LARGEST (1024 * 1024)
#define MANY    40
#define LANES   16 /* channels of the supervisor's publisher */

static int post(const char *query, const char *headers, const char *body, size_t len)
{
	int fd = http_connect(control_socket());
	char *head = scratch_text("POST /v1/publish?%s HTTP/1.0\r\nHost: wpool\r\n%s"
				  "Content-Length: %zu\r\n\r\n",
		query, headers, len);
	http_send(fd, head, strlen(head));
	if (len > 0)
		http_send(fd, body, len);
	free(head);
	return fd;
}

static void expect_answer(int fd, int status, const char *words)
{
	struct http_reply reply = http_read(fd);
	ck_assert_msg(reply.status == status && strstr(reply.body, words),
		"%d, not %d with \"%s\": %s", reply.status, status, words, reply.body);
	http_release(&reply);
}

static void expect(const char *query, int status, const char *words)
{
	expect_answer(post(query, "", "body", 4), status, words);
}

static char *to_queue(const char *queue, const char *more)
{
	return scratch_text("queue=%s%s", queue, more);
}

/* Binary, so that nothing on the way may take it for a text. */
START_TEST(message_has_all_that_the_request_gives_it)
{
	fixture_serve_echo(NULL);
	char *query = to_queue(fixture.replies,
		"&header=colour%3Dblue%20%3D&header=size%3D&type=order&priority=7&reply_to=back"
		"&content_type=application/json&message_id=m-1&correlation_id=c-1&expiration=1h"
		"&session=acme&session_key=header:account");
	expect_answer(
		post(query, "", "a\0\xff", 3), 200, "{\"confirmed\":true,\"message_id\":\"m-1\"}");
	struct message *message = client_take(fixture.client, fixture.replies);
	ck_assert_uint_eq(message->size, 3);
	ck_assert_int_eq(memcmp(message->body, "a\0\xff", 3), 0);
	ck_assert(message_header_is(message, "colour", "blue ="));
	ck_assert(message_header_is(message, "size", ""));
	ck_assert(message_header_is(message, "account", "acme"));
	ck_assert(message_text_is(message->properties.type, "order"));
	ck_assert(message_text_is(message->properties.content_type, "application/json"));
	ck_assert(message_text_is(message->properties.message_id, "m-1"));
	ck_assert(message_text_is(message->properties.correlation_id, "c-1"));
	ck_assert(message_text_is(message->properties.reply_to, "back"));
	ck_assert(message_text_is(message->properties.expiration, "3600000"));
	ck_assert_int_eq(message->properties.priority, 7);
	ck_assert_int_eq(message->properties.delivery_mode, AMQP_DELIVERY_PERSISTENT);
	message_free(message);
	free(query);
}
END_TEST

START_TEST(exchange_and_routing_key_lead_to_a_queue)
{
	fixture_serve_echo(NULL);
	client_bind(fixture.client, fixture.replies, "amq.direct", fixture.replies);
	char *query = scratch_text("exchange=amq.direct&routing_key=%s", fixture.replies);
	expect(query, 200, "\"message_id\"");
	client_expect(fixture.client, fixture.replies, "body");
	free(query);
}
END_TEST

/* Each on its own channel: the one after it is published all the same. */
START_TEST(what_the_broker_refuses_is_answered_with_its_reason)
{
	fixture_serve_echo(NULL);
	expect("queue=no-such-queue", 422, "312 NO_ROUTE");
	expect("exchange=no-such-exchange", 422, "no exchange 'no-such-exchange'");
	expect("exchange=amq.direct", 422, "312 NO_ROUTE");
	char *query = to_queue(fixture.replies, "");
	expect(query, 200, "confirmed");
	client_expect(fixture.client, fixture.replies, "body");
	free(query);
}
END_TEST

static const struct {
	const char *query, *words;
} mistakes[] = {
	{"", "a queue or an exchange is needed"},
	{"queue=", "queue '' is no name of a queue"},
	{"queue", "queue has no value"},
	{"queue=a&queue=b", "queue 'b' is given twice"},
	{"queue=a&exchange=b", "a queue is without exchange and routing key"},
	{"queue=a&priorty=1", "priorty '1' is no parameter of this request"},
	{"queue=a&priority=256", "priority '256' is no number from 0 to 255"},
	{"queue=a&expiration=10", "expiration '10' is no duration"},
	{"queue=a&header=x", "header 'x' is not KEY=VALUE"},
	{"queue=a&session_key=x", "session_key 'x' is not header:NAME"},
	{"queue=a&session=x&header=session%3Dy", "the key of the session is also set"},
	{"queue=a&high=1", "high '1' is not true or false"},
};

START_TEST(mistakes_are_named)
{
	fixture_serve_echo(NULL);
	for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++)
		expect(mistakes[i].query, 400, mistakes[i].words);
}
END_TEST

START_TEST(bodies_have_a_limit)
{
	fixture_serve_echo(NULL);
	char *query = to_queue(fixture.replies, ""), *body = malloc(LARGEST + 1);
	ck_assert_ptr_nonnull(body);
	memset(body, 'x', LARGEST + 1);
	expect_answer(post(query, "", body, LARGEST), 200, "confirmed");
	struct message *message = client_take(fixture.client, fixture.replies);
	ck_assert_uint_eq(message->size, LARGEST);
	message_free(message);
	/* The announcement is enough, and without one the bytes count. */
	expect_answer(post(query, "Content-Length: 1048577\r\n", "", 0), 413, "at most 1 MiB");
	int fd = http_connect(control_socket());
	char *head =
		scratch_text("POST /v1/publish?%s HTTP/1.1\r\nHost: wpool\r\nConnection: close\r\n"
			     "Transfer-Encoding: chunked\r\n\r\n100001\r\n",
			query);
	http_send(fd, head, strlen(head));
	http_send(fd, body, LARGEST + 1);
	http_send(fd, "\r\n0\r\n\r\n", 7);
	expect_answer(fd, 413, "too large");
	expect(query, 200, "confirmed");
	client_expect(fixture.client, fixture.replies, "body");
	free(head);
	free(body);
	free(query);
}
END_TEST

START_TEST(pages_and_others_are_refused)
{
	static const char *const environment[] = {"WPOOL_HTTP_LISTEN=127.0.0.1:0", NULL};
	struct proc *serve = fixture_serve_program("wpool", environment,
		scratch_text("- {queue: %s, command: [\"%s\"], workers: 1}\n", fixture.queue,
			fixture_built("workers/echo")));
	char *query = to_queue(fixture.replies, "");
	proc_expect(serve, "http://127.0.0.1:0 (port ");
	expect_answer(post(query, "Origin: http://127.0.0.1\r\n", "", 0), 403, "browser");
	char *where = scratch_text(
		"127.0.0.1:%d", atoi(strstr(proc_stderr(serve), "(port ") + strlen("(port ")));
	char *path = scratch_text("/v1/publish?%s", query);
	struct http_reply reply = http_request(where, "POST", path);
	ck_assert_int_eq(reply.status, 403);
	http_release(&reply);
	ck_assert_int_eq(broker_messages(fixture.broker, fixture.replies), 0);
	free(path);
	free(query);
}
END_TEST

/* More than there are channels: some wait for others. */
START_TEST(many_at_once_are_all_confirmed)
{
	fixture_serve_echo(NULL);
	int fds[MANY];
	char *query = to_queue(fixture.replies, "");
	for (size_t i = 0; i < MANY; i++)
		fds[i] = post(query, "", "body", 4);
	for (size_t i = 0; i < MANY; i++)
		expect_answer(fds[i], 200, "confirmed");
	client_expect_ready(fixture.client, fixture.replies, MANY);
	free(query);
}
END_TEST

START_TEST(an_unconfirmed_message_is_not_called_published)
{
	fixture_use_own_broker();
	struct proc *serve = fixture_serve_echo(NULL);
	char *query = to_queue(fixture.replies, "");
	expect(query, 200, "confirmed"); /* there is a connection */
	broker_control_queue(fixture.broker, fixture.replies, "suspend");
	int fd = post(query, "", "body", 4);
	control_get("/v1/status", 200); /* the request before it has been read */
	if (_i == 0) {
		broker_close_connections(fixture.broker);
		expect_answer(fd, 504, "the connection was lost before the confirm");
	} else {
		proc_signal(serve, SIGTERM);
		expect_answer(fd, 504, "the supervisor stops");
		ck_assert_int_eq(proc_wait(serve), 0);
	}
	broker_control_queue(fixture.broker, fixture.replies, "resume");
	free(query);
}
END_TEST

START_TEST(a_queue_that_confirms_nothing_delays_no_other)
{
	fixture_use_own_broker();
	fixture_serve_echo(NULL);
	int fds[LANES];
	char *query = to_queue(fixture.replies, ""), *other = to_queue(fixture.queue, "");
	expect(query, 200, "confirmed"); /* there is a connection */
	broker_control_queue(fixture.broker, fixture.replies, "suspend");
	for (size_t i = 0; i < LANES; i++)
		fds[i] = post(query, "", "body", 4);
	for (size_t i = 0; i < LANES; i++)
		expect_answer(fds[i], 504, "did not confirm it in time");
	expect(other, 200, "confirmed");
	broker_control_queue(fixture.broker, fixture.replies, "resume");
	expect(query, 200, "confirmed");
	free(query);
	free(other);
}
END_TEST

START_TEST(a_broker_that_is_away_or_blocked_is_named)
{
	fixture_use_own_broker();
	struct proc *serve = fixture_serve_echo(NULL);
	char *query = to_queue(fixture.replies, "");
	free(broker_eval(
		fixture.broker, "vm_memory_monitor:set_vm_memory_high_watermark(0.00001)"));
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	for (int status = 0; status != 503;) { /* the broker still reads the first one */
		struct http_reply reply = http_read(post(query, "", "body", 4));
		status = reply.status;
		ck_assert_msg(status == 200 || status == 504 || status == 503, "%d: %s", status,
			reply.body);
		http_release(&reply);
		fixture_poll(deadline, 20, "the broker accepts no messages");
	}
	expect(query, 503, "the broker accepts no messages now");
	broker_command(fixture.broker, "kill");
	control_await("/readyz", 503);
	expect(query, 503, "no connection to the broker");
	proc_signal(serve, SIGKILL);
	free(query);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("control_publish", {message_has_all_that_the_request_gives_it, 1},
		{exchange_and_routing_key_lead_to_a_queue, 1},
		{what_the_broker_refuses_is_answered_with_its_reason, 1}, {mistakes_are_named, 1},
		{bodies_have_a_limit, 1}, {pages_and_others_are_refused, 1},
		{many_at_once_are_all_confirmed, 1},
		{an_unconfirmed_message_is_not_called_published, 2},
		{a_queue_that_confirms_nothing_delays_no_other, 1},
		{a_broker_that_is_away_or_blocked_is_named, 1});
}
