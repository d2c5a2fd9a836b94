/* What the supervisor logs about the durability of its queues when it starts to consume. */
#include "system/system.h"

#define UNKNOWN "; their type and policies are unknown to a client"

static void expect_logged(struct proc *serve, char *words)
{
	proc_expect(serve, words);
	free(words);
}

/* The first supervisor finds the queue of the test and declares the others; the second finds them
 * all. */
START_TEST(existing_queues_are_reported_as_unknown)
{
	static const char *const debug[] = {"--log-level", "debug", NULL};
	struct proc *serve = fixture_serve_echo(debug);
	expect_logged(serve, scratch_text("debug %s queues that were there already: \"%s\"" UNKNOWN,
				     fixture.queue, fixture.queue));
	fixture_stop(serve);
	serve = fixture_serve_echo(debug);
	expect_logged(serve,
		scratch_text(
			"debug %s queues that were there already: \"%s\", \"%s\", 1 for retries" UNKNOWN,
			fixture.queue, fixture.queue, fixture.dead));
	fixture_stop(serve);
	ck_assert_int_eq(proc_count_logged(serve, "there already"), 1);
	serve = fixture_serve_echo(NULL);
	fixture_stop(serve);
	ck_assert_int_eq(proc_count_logged(serve, "there already"), 0);
}
END_TEST

START_TEST(declared_queues_are_not_reported)
{
	client_delete(fixture.client, fixture.queue);
	struct proc *serve = fixture_serve_echo((const char *const[]){"--declare", "on", NULL});
	fixture_stop(serve);
	ck_assert(proc_has_logged(serve, "consuming queue"));
	ck_assert(!proc_has_logged(serve, "there already"));
	ck_assert(!proc_has_logged(serve, "dead-letter exchange"));
}
END_TEST

START_TEST(declared_queue_without_dead_letters_is_reported)
{
	client_delete(fixture.client, fixture.queue);
	struct proc *serve =
		fixture_serve_pool("declare: on, retry: {attempts: 1, dead_letter: broker}",
			fixture_built("workers/echo"));
	expect_logged(serve,
		scratch_text(
			"warn  tested queue \"%s\" was declared without a dead-letter exchange",
			fixture.queue));
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "hopeless", .headers = {{"X-Status", "400"}}});
	broker_expect_messages(fixture.broker, fixture.queue, 0);
	fixture_stop(serve);
	ck_assert_int_eq(broker_messages(fixture.broker, fixture.queue), 0);
	ck_assert_int_eq(broker_messages(fixture.broker, fixture.dead), -1);
}
END_TEST

START_TEST(existing_queue_without_dead_letters_is_reported)
{
	struct proc *serve = fixture_serve_pool(
		"retry: {attempts: 1, dead_letter: broker}", fixture_built("workers/echo"));
	expect_logged(
		serve, scratch_text("info  tested queues that were there already: \"%s\"" UNKNOWN,
			       fixture.queue));
	ck_assert(proc_has_logged(serve, "discarded if it has no dead-letter exchange"));
	fixture_stop(serve);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("durability", {existing_queues_are_reported_as_unknown, 1},
		{declared_queues_are_not_reported, 1},
		{declared_queue_without_dead_letters_is_reported, 1},
		{existing_queue_without_dead_letters_is_reported, 1});
}
