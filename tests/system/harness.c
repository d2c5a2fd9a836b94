/* The harness itself, without wpool. */
#include "system/system.h"

#include "harness/child.h"
#include "harness/deadline.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define LETTERS 20

START_TEST(message_is_received_as_sent)
{
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "hello",
			.reply_to = "somewhere",
			.correlation_id = "id-1",
			.headers = {{"name", "value"}}});
	struct message *message = client_take(fixture.client, fixture.queue);
	ck_assert_str_eq(message->body, "hello");
	ck_assert(message_text_is(message->properties.reply_to, "somewhere"));
	ck_assert(message_text_is(message->properties.correlation_id, "id-1"));
	ck_assert(message_header_is(message, "name", "value"));
	ck_assert(!message_header_is(message, "name", "another"));
	ck_assert(!message->is_redelivered);
	message_free(message);
	ck_assert_int_eq(client_ready(fixture.client, fixture.queue), 0);
}
END_TEST

START_TEST(queues_are_counted)
{
	ck_assert_int_eq(client_ready(fixture.client, "no-such-queue"), -1);
	ck_assert_int_eq(broker_messages(fixture.broker, "no-such-queue"), -1);
	for (int i = 0; i < 3; i++)
		client_send(fixture.client, fixture.queue, "x");
	client_expect_ready(fixture.client, fixture.queue, 3);
	ck_assert_int_eq(broker_messages(fixture.broker, fixture.queue), 3);
	ck_assert_int_eq(client_consumers(fixture.client, fixture.queue), 0);
	client_purge(fixture.client, fixture.queue);
	client_expect_ready(fixture.client, fixture.queue, 0);
	ck_assert_int_eq(broker_messages(fixture.broker, fixture.queue), 0);
}
END_TEST

/* A queue that takes one message and nacks the next. */
static void declare_full_queue(const char *queue)
{
	char *expression = scratch_text(
		"{new, _} = rabbit_amqqueue:declare(rabbit_misc:r(<<\"/\">>, queue, <<\"%s\">>), "
		"true, false, [{<<\"x-max-length\">>, long, 1}, "
		"{<<\"x-overflow\">>, longstr, <<\"reject-publish\">>}], none, <<\"test\">>), ok",
		queue);
	client_delete(fixture.client, queue);
	free(broker_eval(fixture.broker, expression));
	client_send(fixture.client, queue, "filler");
	free(expression);
}

static void forget(void *context, const struct message *message)
{
	(void)context;
	(void)message;
}

/* Purge the queue from another process as soon as a message was nacked. */
static pid_t make_space_after(const volatile unsigned *nacks)
{
	pid_t pid = child_fork();
	if (pid > 0)
		return pid;
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	while (!*nacks && deadline_left(deadline) > 0)
		poll(NULL, 0, 1);
	client_drain(client_open(broker_url(fixture.broker)), fixture.replies, 1 + LETTERS, forget,
		NULL);
	_exit(0);
}

START_TEST(nacked_message_is_published_again)
{
	struct letter letters[LETTERS];
	unsigned *nacks = mmap(NULL, LETTERS * sizeof *nacks, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status;
	ck_assert_ptr_ne(nacks, MAP_FAILED);
	for (int i = 0; i < LETTERS; i++)
		letters[i] = (struct letter){.body = "x"};
	declare_full_queue(fixture.replies);
	pid_t pid = make_space_after(&nacks[LETTERS - 1]);
	client_post_all(fixture.client, fixture.replies, letters, LETTERS, nacks);
	for (int i = 0; i < LETTERS; i++)
		ck_assert_uint_ge(nacks[i], 1);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	broker_expect_messages(fixture.broker, fixture.replies, 0);
}
END_TEST

START_TEST(program_output_and_exit_code_are_read)
{
	const char *argv[] = {"sh", "-c", "echo one >&2; echo out; echo two >&2; exit 7", NULL};
	struct proc *proc = proc_start(fixture.folder, argv, NULL);
	proc_expect(proc, "one");
	proc_expect(proc, "two");
	ck_assert_int_eq(proc_wait(proc), 7);
	char *out = proc_stdout(proc);
	ck_assert_str_eq(out, "out\n");
	free(out);
	proc_free(proc);
}
END_TEST

START_TEST(signal_ends_program)
{
	const char *argv[] = {"sh", "-c", "echo $GREETING >&2; kill -STOP $$", NULL};
	const char *environment[] = {"GREETING=up", NULL};
	struct proc *proc = proc_start(fixture.folder, argv, environment);
	proc_expect(proc, "up");
	proc_signal(proc, SIGKILL);
	ck_assert_int_eq(proc_wait(proc), 128 + SIGKILL);
	proc_free(proc);
}
END_TEST

/* Until its exec the child has the handlers of check, which signal the group of the test. */
START_TEST(signal_before_exec_ends_only_program)
{
	static const int signals[] = {SIGINT, SIGTERM};
	const char *argv[] = {"sleep", "600", NULL};
	for (int i = 0; i < 50; i++) {
		struct proc *proc = proc_start(fixture.folder, argv, NULL);
		proc_signal(proc, signals[_i]);
		ck_assert_int_eq(proc_wait(proc), 128 + signals[_i]);
		proc_free(proc);
	}
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("harness", {message_is_received_as_sent, 1}, {queues_are_counted, 1},
		{nacked_message_is_published_again, 1}, {program_output_and_exit_code_are_read, 1},
		{signal_ends_program, 1}, {signal_before_exec_ends_only_program, 2});
}
