/* The tests' own tools, without wpool: what the other programs here build on must itself be right.
 */
#include "system/system.h"

#include <signal.h>
#include <string.h>

START_TEST(a_message_comes_back_as_it_was_sent)
{
	client_post(site.client, site.queue,
		&(struct letter){.body = "hello",
			.reply_to = "somewhere",
			.correlation_id = "id-1",
			.headers = {{"name", "value"}}});
	struct message *message = client_take(site.client, site.queue);
	ck_assert_str_eq(message->body, "hello");
	ck_assert(message_text_is(message->properties.reply_to, "somewhere"));
	ck_assert(message_text_is(message->properties.correlation_id, "id-1"));
	ck_assert(message_header_is(message, "name", "value"));
	ck_assert(!message_header_is(message, "name", "another"));
	ck_assert(!message->is_redelivered);
	message_free(message);
	ck_assert_int_eq(client_ready(site.client, site.queue), 0);
}
END_TEST

START_TEST(queues_are_counted)
{
	ck_assert_int_eq(client_ready(site.client, "no-such-queue"), -1);
	ck_assert_int_eq(broker_messages(site.broker, "no-such-queue"), -1);
	for (int i = 0; i < 3; i++)
		client_send(site.client, site.queue, "x");
	client_expect_ready(site.client, site.queue, 3);
	ck_assert_int_eq(broker_messages(site.broker, site.queue), 3);
	ck_assert_int_eq(client_consumers(site.client, site.queue), 0);
	client_purge(site.client, site.queue);
	client_expect_ready(site.client, site.queue, 0);
	ck_assert_int_eq(broker_messages(site.broker, site.queue), 0);
}
END_TEST

START_TEST(a_program_is_heard_and_ends)
{
	const char *argv[] = {"sh", "-c", "echo one >&2; echo out; echo two >&2; exit 7", NULL};
	struct proc *proc = proc_start(site.folder, argv, NULL);
	proc_expect(proc, "one");
	proc_expect(proc, "two");
	ck_assert_int_eq(proc_wait(proc), 7);
	char *out = proc_stdout(proc);
	ck_assert_str_eq(out, "out\n");
	free(out);
	proc_free(proc);
}
END_TEST

START_TEST(a_program_is_signalled)
{
	const char *argv[] = {"sh", "-c", "echo $GREETING >&2; kill -STOP $$", NULL};
	const char *environment[] = {"GREETING=up", NULL};
	struct proc *proc = proc_start(site.folder, argv, environment);
	proc_expect(proc, "up");
	proc_signal(proc, SIGKILL);
	ck_assert_int_eq(proc_wait(proc), 128 + SIGKILL);
	proc_free(proc);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("harness", {a_message_comes_back_as_it_was_sent, 1},
		{queues_are_counted, 1}, {a_program_is_heard_and_ends, 1},
		{a_program_is_signalled, 1});
}
