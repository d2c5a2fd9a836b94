/* The headers of a distributed trace go from a message to its task to its reply as they came, and
 * the log names the trace. */
#include "system/system.h"

#include <string.h>

#define ID    "4bf92f3577b34da6a3ce929d0e0e4736"
#define PLACE "00-" ID "-00f067aa0ba902b7-01"
#define STATE "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"

static struct message *call(const char *header, const char *value)
{
	return client_call(fixture.client, fixture.queue,
		&(struct letter){.body = "x",
			.correlation_id = "traced",
			.headers = {{"traceparent", PLACE}, {"tracestate", STATE},
				{"X-Status", "201"}, {header, value}}});
}

static void expect_trace(const struct message *message)
{
	ck_assert(message_header_is(message, "traceparent", PLACE));
	ck_assert(message_header_is(message, "tracestate", STATE));
}

START_TEST(trace_reaches_worker_and_reply)
{
	struct proc *serve = fixture_serve_echo(NULL);
	struct message *reply = call("X-Report", "task");
	ck_assert_ptr_nonnull(strstr(reply->body, PLACE));
	ck_assert_ptr_nonnull(strstr(reply->body, STATE));
	expect_trace(reply);
	message_free(reply);
	fixture_stop(serve);
}
END_TEST

START_TEST(worker_may_set_its_own_trace)
{
	struct proc *serve = fixture_serve_echo(NULL);
	struct message *reply = call("X-Reply-Header", "traceparent=its-own");
	ck_assert(message_header_is(reply, "traceparent", "its-own"));
	ck_assert_ptr_null(message_header(reply, "tracestate"));
	message_free(reply);
	fixture_stop(serve);
}
END_TEST

START_TEST(trace_survives_failed_attempt)
{
	struct proc *serve = fixture_serve_pool(
		"properties: true, retry: {delay: 100ms}", fixture_built("workers/echo"));
	struct message *reply = call("X-Fail-Until", "1");
	proc_expect(serve, "task traced (trace " ID ") failed with status 500");
	expect_trace(reply);
	message_free(reply);
	fixture_stop(serve);
}
END_TEST

START_TEST(dead_letter_keeps_its_trace)
{
	struct proc *serve = fixture_serve_echo(NULL);
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "x",
			.headers = {{"traceparent", PLACE}, {"tracestate", STATE},
				{"X-Status", "400"}}});
	struct message *dead = client_take(fixture.client, fixture.dead);
	expect_trace(dead);
	message_free(dead);
	fixture_stop(serve);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("trace", {trace_reaches_worker_and_reply, 1},
		{worker_may_set_its_own_trace, 1}, {trace_survives_failed_attempt, 1},
		{dead_letter_keeps_its_trace, 1});
}
