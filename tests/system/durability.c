/* What the supervisor reports of the durability of its queues when it starts to consume, and
 * that it is true. */
#include "system/system.h"

#define UNKNOWN "; their type and policies are unknown to a client"

static void expect_said(struct proc *serve, char *words)
{
	proc_expect(serve, words);
	free(words);
}

/* What is there at its start is what the test made: the queue. What it makes itself, the next one
 * finds. */
START_TEST(of_queues_that_were_there_it_knows_nothing)
{
	struct proc *serve = site_serve_echo(NULL);
	expect_said(serve, scratch_text("info  %s queues that were there already: \"%s\"" UNKNOWN,
				   site.queue, site.queue));
	site_stop(serve);
	serve = site_serve_echo(NULL);
	expect_said(serve,
		scratch_text(
			"info  %s queues that were there already: \"%s\", \"%s\", 1 for retries" UNKNOWN,
			site.queue, site.queue, site.dead));
	site_stop(serve);
	ck_assert_int_eq(proc_count_said(serve, "there already"), 1);
}
END_TEST

START_TEST(of_queues_that_it_made_there_is_nothing_to_say)
{
	client_delete(site.client, site.queue);
	struct proc *serve = site_serve_echo((const char *const[]){"--declare", "on", NULL});
	site_stop(serve);
	ck_assert(proc_has_said(serve, "consuming queue"));
	ck_assert(!proc_has_said(serve, "there already"));
	ck_assert(!proc_has_said(serve, "dead-letter exchange"));
}
END_TEST

START_TEST(a_queue_that_it_made_without_dead_letters_discards_and_it_says_so)
{
	client_delete(site.client, site.queue);
	struct proc *serve =
		site_serve_pool("declare: on, retry: {attempts: 1, dead_letter: broker}",
			site_built("workers/echo"));
	expect_said(serve,
		scratch_text(
			"warn  tested queue \"%s\" was declared without a dead-letter exchange",
			site.queue));
	client_post(site.client, site.queue,
		&(struct letter){.body = "hopeless", .headers = {{"X-Status", "400"}}});
	broker_expect_messages(site.broker, site.queue, 0);
	site_stop(serve);
	ck_assert_int_eq(broker_messages(site.broker, site.queue), 0);
	ck_assert_int_eq(broker_messages(site.broker, site.dead), -1);
}
END_TEST

START_TEST(a_queue_that_was_there_may_discard_and_it_says_so)
{
	struct proc *serve = site_serve_pool(
		"retry: {attempts: 1, dead_letter: broker}", site_built("workers/echo"));
	expect_said(
		serve, scratch_text("info  tested queues that were there already: \"%s\"" UNKNOWN,
			       site.queue));
	ck_assert(proc_has_said(serve, "discarded if it has no dead-letter exchange"));
	site_stop(serve);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("durability", {of_queues_that_were_there_it_knows_nothing, 1},
		{of_queues_that_it_made_there_is_nothing_to_say, 1},
		{a_queue_that_it_made_without_dead_letters_discards_and_it_says_so, 1},
		{a_queue_that_was_there_may_discard_and_it_says_so, 1});
}
