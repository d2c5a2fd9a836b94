/* Misbehaving workers: the task of such a worker ends as expected, all other tasks are done, and
 * the supervisor stops cleanly. */
#include "harness/bad_worker.h"
#include "system/system.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NEIGHBOURS 6

/* A task that must succeed gets a limit that no slow machine reaches. The other tasks have attempts
 * to spare. */
static struct proc *serve_evil(const char *behaviour)
{
	char *command =
		scratch_text("%s\", \"%s\", \"EVIL", fixture_built("workers/evil"), behaviour);
	char *settings = scratch_text(
		"limits: {hard: %s, grace: 300ms, boot: 1s}, retry: {attempts: 3, delay: [100ms]}",
		bad_worker_is_harmless(behaviour) ? "1min" : "1s");
	struct proc *serve = fixture_serve_pool(settings, command);
	free(settings);
	free(command);
	return serve;
}

static void expect_burned(const char *behaviour)
{
	struct message *dead = client_take(fixture.client, fixture.dead);
	ck_assert_msg(strcmp(dead->body, "EVIL") == 0, "%s: %s is dead", behaviour, dead->body);
	message_free(dead);
}

/* A retry returns to the queue also without a supervisor. */
static void expect_nothing_waits(void)
{
	char *waiting = scratch_text("%s.retry.100ms", fixture.queue);
	if (broker_messages(fixture.broker, waiting) > 0)
		broker_expect_messages(fixture.broker, waiting, 0);
	free(waiting);
}

/* From the summary at the end. An answer without a task may settle the task that is just being
 * sent, because a frame does not name its task. */
static long done_by(struct proc *serve)
{
	char *said = proc_stderr(serve);
	const char *sums = strstr(said, "drained: ");
	ck_assert_ptr_nonnull(sums);
	long done = strtol(sums + strlen("drained: "), NULL, 10);
	free(said);
	return done;
}

static void try_behaviour(const char *behaviour)
{
	struct proc *serve = serve_evil(behaviour);
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "EVIL", .reply_to = fixture.replies});
	for (int i = 0; i < NEIGHBOURS; i++)
		client_send(fixture.client, fixture.queue, "good");
	if (bad_worker_never_works(behaviour)) {
		proc_expect(serve, "starting another in");
	} else {
		/* Another task may be repeated: the worker died while it was at the head of its
		 * pipe. */
		broker_expect_messages(fixture.broker, fixture.queue, 0);
		expect_nothing_waits();
		broker_expect_messages(fixture.broker, fixture.queue, 0);
		if (!bad_worker_is_harmless(behaviour))
			expect_burned(behaviour);
	}
	fixture_stop(serve);
	expect_nothing_waits();
	long left = broker_messages(fixture.broker, fixture.queue);
	long dead = client_ready(fixture.client, fixture.dead), done = done_by(serve);
	if (strcmp(behaviour, "answer-without-task") != 0 && bad_worker_never_works(behaviour))
		ck_assert_int_eq(done, 0);
	if (bad_worker_never_works(behaviour))
		ck_assert_msg(left + (dead > 0 ? dead : 0) + done == NEIGHBOURS + 1,
			"%s: %ld left, %ld dead and %ld done of %d", behaviour, left, dead, done,
			NEIGHBOURS + 1);
	else
		ck_assert_msg(
			left == 0 && dead <= 0, "%s: %ld left, %ld dead", behaviour, left, dead);
	client_purge(fixture.client, fixture.queue);
}

/* An eighth of the behaviours in each loop, so that a hang names few of them. */
START_TEST(every_bad_worker_is_survived)
{
	static struct bad_behaviours manners;
	bad_worker_read(&manners);
	for (int i = _i; i < manners.count; i += 8)
		try_behaviour(manners.names[i]);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("bad_workers", {every_bad_worker_is_survived, 8});
}
