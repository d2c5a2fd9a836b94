/* wpool dead-letters under difficulties: another consumer, a silent queue, terminal escapes in
 * messages, messages dead-lettered by a policy. */
#include "system/system.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* `wpool dead-letters VERB --queue fixture.queue OPTION...`, started. */
static struct proc *start(const char *verb, const char *const options[])
{
	const char *arguments[16] = {"dead-letters", verb, "--queue", fixture.queue, "--broker",
		broker_url(fixture.broker)};
	for (size_t i = 0, at = 6; options && options[i]; i++)
		arguments[at++] = options[i];
	return fixture_wpool(arguments);
}

#define START(verb, ...) start(verb, (const char *const[]){__VA_ARGS__, NULL})

static void expect_in(char *output, const char *words)
{
	ck_assert_msg(strstr(output, words) != NULL, "'%s' is not in: %s", words, output);
	free(output);
}

static void post_dead(int count, const char *target)
{
	for (int i = 0; i < count; i++)
		client_post(fixture.client, fixture.dead,
			&(struct letter){.body = "b", .headers = {{"x-wpool-queue", target}}});
}

/* A queue whose process is suspended confirms nothing. */
static void declare_silent(const char *queue)
{
	client_delete(fixture.client, queue);
	client_declare(fixture.client, queue, CLIENT_CLASSIC);
	broker_control_queue(fixture.broker, queue, "suspend");
}

/* A single active consumer has the queue, with what it was given; the others stay there. */
START_TEST(queue_of_single_active_consumer_is_left)
{
	char declare[400];
	const char *held = fixture.dead;
	snprintf(declare, sizeof declare,
		"element(1, rabbit_amqqueue:declare(rabbit_misc:r(<<\"/\">>, queue, <<\"%s\">>), "
		"true, false, [{<<\"x-queue-type\">>, longstr, <<\"quorum\">>}, "
		"{<<\"x-single-active-consumer\">>, bool, true}], none, <<\"guest\">>))",
		held);
	free(broker_eval(fixture.broker, declare));
	for (int i = 0; i < 100; i++)
		client_post(fixture.client, held,
			&(struct letter){.body = "b", .headers = {{"X-Sleep-Ms", "600000"}}});
	const char *arguments[] = {"serve", "--queue", held, "--workers", "1", "--broker",
		broker_url(fixture.broker), "--", fixture_built("workers/echo"), NULL};
	struct proc *other = fixture_wpool(arguments);
	client_expect_consumers(fixture.client, held, 1);
	while (client_ready(fixture.client, held) == 100)
		poll(NULL, 0, 10);
	struct proc *list = START("list", "--wait", "1s");
	ck_assert_int_eq(proc_wait(list), 75);
	expect_in(proc_stderr(list), "another consumer may have the queue for itself");
	proc_signal(other, SIGKILL);
	proc_wait(other);
}
END_TEST

static bool has_unconfirmed(int wanted)
{
	int count = -1;
	char *got =
		broker_eval(fixture.broker, "lists:sum([N || [{messages_unconfirmed, N}] <- "
					    "rabbit_channel:info_all([messages_unconfirmed])])");
	ck_assert_msg(sscanf(got, "{ok, %d}", &count) == 1, "eval said %s", got);
	free(got);
	return count == wanted;
}

/* Ctrl-C is answered, also where all is sent and only confirms are missing. */
START_TEST(interrupted_replay_waits_for_confirms)
{
	client_declare(fixture.client, fixture.dead, CLIENT_QUORUM);
	post_dead(5, fixture.queue);
	declare_silent(fixture.queue);
	struct proc *replay = start("replay", NULL);
	while (!has_unconfirmed(5))
		poll(NULL, 0, 10);
	proc_signal(replay, SIGINT);
	proc_expect(replay, "interrupted; waiting for the confirms of what was sent");
	broker_control_queue(fixture.broker, fixture.queue, "resume");
	ck_assert_int_eq(proc_wait(replay), 0);
	expect_in(proc_stdout(replay), "5 matched, 5 replayed, 0 returned, 0 refused; 0 left");
	ck_assert_int_eq(broker_messages(fixture.broker, fixture.dead), 0);
	client_expect_ready(fixture.client, fixture.queue, 5);
}
END_TEST

/* Acks have no answer: after a lost connection nobody knows which of them arrived. */
START_TEST(uncertain_counts_are_reported_as_such)
{
	client_declare(fixture.client, fixture.dead, CLIENT_QUORUM);
	post_dead(10, fixture.replies);
	post_dead(10, fixture.queue);
	declare_silent(fixture.queue);
	struct proc *replay = start("replay", NULL);
	broker_expect_messages(fixture.broker, fixture.dead, 10);
	broker_close_connections(fixture.broker); /* our own client's, too */
	broker_control_queue(fixture.broker, fixture.queue, "resume");
	fixture.client = client_open(broker_url(fixture.broker));
	ck_assert_int_eq(proc_wait(replay), 75);
	expect_in(proc_stdout(replay), "20 matched, 10 replayed, ");
	expect_in(proc_stdout(replay), "; at least 10 left in ");
	client_expect_ready(fixture.client, fixture.dead, 10);
	replay = START("replay", "--json");
	ck_assert_int_eq(proc_wait(replay), 0);
	expect_in(proc_stdout(replay), "\"certain\":true,\"matched\":10,\"replayed\":10,");
}
END_TEST

START_TEST(terminal_escapes_are_neutralised)
{
	client_declare(fixture.client, fixture.dead, CLIENT_QUORUM);
	post_dead(1, "\033[31mred");
	struct proc *replay = start("replay", NULL);
	ck_assert_int_eq(proc_wait(replay), 69);
	ck_assert(!proc_has_logged(replay, "\033"));
	expect_in(proc_stderr(replay), "no queue \\x1b[31mred takes it: 312 NO_ROUTE");
}
END_TEST

/* A queue's own policy, twice: out of one queue, then out of the next. It goes back to the latter.
 */
START_TEST(message_dead_lettered_by_policy_is_replayed)
{
	char declare[500];
	char *const queues[] = {fixture.queue, fixture.replies};
	const char *const next[] = {fixture.replies, fixture.dead};
	client_declare(fixture.client, fixture.dead, CLIENT_QUORUM);
	for (size_t i = 0; i < 2; i++) {
		client_delete(fixture.client, queues[i]);
		snprintf(declare, sizeof declare,
			"element(1, rabbit_amqqueue:declare(rabbit_misc:r(<<\"/\">>, queue, "
			"<<\"%s\">>), true, false, [{<<\"x-dead-letter-exchange\">>, longstr, "
			"<<>>}, {<<\"x-dead-letter-routing-key\">>, longstr, <<\"%s\">>}, "
			"{<<\"x-message-ttl\">>, long, 1}], none, <<\"guest\">>))",
			queues[i], next[i]);
		free(broker_eval(fixture.broker, declare));
	}
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "b", .headers = {{"mine", "kept"}}});
	client_expect_ready(fixture.client, fixture.dead, 1);
	struct proc *list = start("list", NULL);
	ck_assert_int_eq(proc_wait(list), 0);
	expect_in(proc_stdout(list), fixture.replies);
	client_delete(fixture.client, fixture.replies);
	client_declare(fixture.client, fixture.replies, CLIENT_CLASSIC);
	struct proc *replay = start("replay", NULL);
	ck_assert_int_eq(proc_wait(replay), 0);
	struct message *message = client_take(fixture.client, fixture.replies);
	ck_assert(message_header_is(message, "mine", "kept"));
	ck_assert_ptr_null(message_header(message, "x-death"));
	message_free(message);
}
END_TEST

/* Nobody could read the account: exit 74 alone would not say why. */
START_TEST(failed_write_of_summary_is_an_error)
{
	static const char *const verbs[] = {"replay", "drop --yes"};
	char line[1000];
	client_declare(fixture.client, fixture.dead, CLIENT_QUORUM);
	for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
		post_dead(1, fixture.queue);
		snprintf(line, sizeof line,
			"exec %s dead-letters %s --queue %s --broker %s >/dev/full",
			fixture_built("wpool"), verbs[i], fixture.queue,
			broker_url(fixture.broker));
		struct proc *proc = proc_start(
			fixture.folder, (const char *const[]){"/bin/sh", "-c", line, NULL}, NULL);
		ck_assert_int_eq(proc_wait(proc), 74);
		expect_in(proc_stderr(proc), "standard output: No space left on device");
		proc_free(proc);
	}
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("dead letters, oddities", {queue_of_single_active_consumer_is_left, 1},
		{interrupted_replay_waits_for_confirms, 1},
		{uncertain_counts_are_reported_as_such, 1}, {terminal_escapes_are_neutralised, 1},
		{message_dead_lettered_by_policy_is_replayed, 1},
		{failed_write_of_summary_is_an_error, 1});
}
