/* The three pipe forms, with workers in C, in Python, and in the style of existing programs. */
#include "system/system.h"

static void call_fibonacci(const char *value, const char *answer)
{
	char *body = scratch_text("{\"Value\": %s}", value);
	struct message *reply = client_call(fixture.client, fixture.queue,
		&(struct letter){.body = body, .correlation_id = value});
	ck_assert_str_eq(reply->body, answer);
	ck_assert(message_text_is(reply->properties.correlation_id, value));
	message_free(reply);
	free(body);
}

static void call_and_stop(struct proc *serve)
{
	call_fibonacci("20", "6765");
	call_fibonacci("-8", "-21");
	call_fibonacci("0", "0");
	fixture_stop(serve);
	ck_assert_int_eq(broker_messages(fixture.broker, fixture.queue), 0);
}

static const char *const forms[] = {"path", "fifo", "corefx"};

START_TEST(form_in_c)
{
	const char *const worker[] = {fixture_built("samples/fibonacci"), NULL};
	const char *const options[] = {"--workers", "2", "--pipe", forms[_i], NULL};
	call_and_stop(fixture_serve_ready(options, worker));
}
END_TEST

START_TEST(form_in_python)
{
	const char *const worker[] = {"/usr/bin/python3", "samples/python/fibonacci.py", NULL};
	const char *const options[] = {"--workers", "2", "--pipe", forms[_i], NULL};
	call_and_stop(fixture_serve_ready(options, worker));
}
END_TEST

/* A body of "reply X" is answered with 201 and X, "fail" fails, all else is done. */
static void serve_existing(const char *const worker[])
{
	const char *const options[] = {"--workers", "2", "--pipe", "corefx", NULL};
	struct proc *serve = fixture_serve_ready(options, worker);
	for (int i = 0; i < 10; i++)
		client_send(fixture.client, fixture.queue, "plain");
	client_post(fixture.client, fixture.queue,
		&(struct letter){
			.body = "reply gr\xc3\xbc\xc3\x9f dich", .reply_to = fixture.replies});
	client_expect(fixture.client, fixture.replies, "gr\xc3\xbc\xc3\x9f dich");
	/* Without a correlation id, with bytes that are no UTF-8, with headers of no text. */
	client_publish(fixture.client, fixture.queue, "\xff\xfe", 2, NULL);
	/* Acked, all of them: what is not begun when it stops is handed back. */
	broker_expect_messages(fixture.broker, fixture.queue, 0);
	fixture_stop(serve);
	ck_assert_int_eq(broker_messages(fixture.broker, fixture.queue), 0);
	ck_assert_int_le(client_ready(fixture.client, fixture.dead), 0);
}

START_TEST(existing_python_worker)
{
	serve_existing(
		(const char *const[]){"/usr/bin/python3", "tests/workers/legacy_python.py", NULL});
}
END_TEST

START_TEST(existing_strict_worker)
{
	serve_existing((const char *const[]){fixture_built("workers/legacy_strict"), NULL});
}
END_TEST

START_TEST(existing_dotnet_worker)
{
	serve_existing((const char *const[]){fixture_built("workers/legacy_dotnet"), NULL});
}
END_TEST

START_TEST(text_without_status_is_a_failure)
{
	const char *const worker[] = {fixture_built("workers/legacy_dotnet"), NULL};
	const char *const options[] = {"--workers", "1", "--pipe", "corefx", NULL};
	struct proc *serve = fixture_serve_ready(options, worker);
	client_send(fixture.client, fixture.queue, "fail");
	proc_expect(serve, "attempt 3 of 3; given up");
	client_expect(fixture.client, fixture.dead, "fail");
	ck_assert_int_eq(proc_count_logged(serve, "worker died"), 0);
	fixture_stop(serve);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("pipes", {form_in_c, 3}, {form_in_python, 3}, {existing_python_worker, 1},
		{existing_strict_worker, 1}, {existing_dotnet_worker, 1},
		{text_without_status_is_a_failure, 1});
}
