/* The tests' own tools, without wpool: what the other programs here build on must itself be right.
 */
#include "system/system.h"

#include "harness/deadline.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define LETTERS 20

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

/* Has room for one message and nacks the next. */
static void declare_full_queue(const char *queue)
{
	char *expression = scratch_text(
		"{new, _} = rabbit_amqqueue:declare(rabbit_misc:r(<<\"/\">>, queue, <<\"%s\">>), "
		"true, false, [{<<\"x-max-length\">>, long, 1}, "
		"{<<\"x-overflow\">>, longstr, <<\"reject-publish\">>}], none, <<\"test\">>), ok",
		queue);
	client_delete(site.client, queue);
	free(broker_eval(site.broker, expression));
	client_send(site.client, queue, "filler");
	free(expression);
}

static void forget(void *context, const struct message *message)
{
	(void)context;
	(void)message;
}

/* Another process, which takes all as soon as a letter was nacked. */
static pid_t make_room_after(const volatile unsigned *nacks)
{
	pid_t pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid > 0)
		return pid;
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	while (!*nacks && deadline_left(deadline) > 0)
		poll(NULL, 0, 1);
	client_drain(client_open(broker_url(site.broker)), site.replies, 1 + LETTERS, forget, NULL);
	_exit(0);
}

START_TEST(what_is_nacked_is_published_again)
{
	struct letter letters[LETTERS];
	unsigned *nacks = mmap(NULL, LETTERS * sizeof *nacks, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status;
	ck_assert_ptr_ne(nacks, MAP_FAILED);
	for (int i = 0; i < LETTERS; i++)
		letters[i] = (struct letter){.body = "x"};
	declare_full_queue(site.replies);
	pid_t pid = make_room_after(&nacks[LETTERS - 1]);
	client_post_all(site.client, site.replies, letters, LETTERS, nacks);
	for (int i = 0; i < LETTERS; i++)
		ck_assert_uint_ge(nacks[i], 1);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	broker_expect_messages(site.broker, site.replies, 0);
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
		{queues_are_counted, 1}, {what_is_nacked_is_published_again, 1},
		{a_program_is_heard_and_ends, 1}, {a_program_is_signalled, 1});
}
