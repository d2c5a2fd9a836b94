/* Workers with bad manners: whatever one does to its task, the task ends where it should, the tasks
 * beside it are done, and the supervisor stops in order. */
#include "system/system.h"

#include <stdio.h>
#include <string.h>

#define NEIGHBOURS      6
#define MOST_BEHAVIOURS 128

/* How an evil task ends. Done: the behaviour hurts only the supervisor, or comes after the answer.
 */
static const char *const done_all_the_same[] = {"byte-by-byte", "exit-after-answer", "flood-stdout",
	"flood-stderr", "endless-line", "binary-stdout", "close-outputs", "outstay",
	"leave-grandchild", "leave-group-member", "header-not-utf8", "header-ours", "header-cc",
	"header-bcc", "two-answers", NULL};
/* No worker of these ever takes a task: nothing may be burned. */
static const char *const never_take[] = {"never-connect", "exit-before-connect",
	"crash-before-connect", "exit-after-connect", "answer-without-task", "never-read", NULL};

static bool is_in(const char *const list[], const char *name)
{
	for (size_t i = 0; list[i]; i++)
		if (strcmp(list[i], name) == 0)
			return true;
	return false;
}

/* The behaviours that tests/workers/evil knows of, by its --list: a new one is tested at once. */
static int read_behaviours(char names[MOST_BEHAVIOURS][64])
{
	const char *argv[] = {site_built("workers/evil"), "--list", NULL};
	struct proc *lister = proc_start(site.folder, argv, NULL);
	ck_assert_int_eq(proc_wait(lister), 0);
	char *text = proc_stdout(lister);
	int count = 0;
	for (char *at = strtok(text, "\n"); at; at = strtok(NULL, "\n")) {
		ck_assert_int_lt(count, MOST_BEHAVIOURS);
		snprintf(names[count++], sizeof *names, "%s", at);
	}
	free(text);
	proc_free(lister);
	ck_assert_int_gt(count, 40);
	return count;
}

static struct proc *serve_evil(const char *behaviour)
{
	char *command = scratch_text("%s\", \"%s\", \"EVIL", site_built("workers/evil"), behaviour);
	struct proc *serve = site_serve_pool(
		"limits: {hard: 1s, grace: 300ms, boot: 1s}, retry: {attempts: 2, delay: [100ms]}",
		command);
	free(command);
	return serve;
}

static void expect_burned(const char *behaviour)
{
	struct message *dead = client_take(site.client, site.dead);
	ck_assert_msg(strcmp(dead->body, "EVIL") == 0, "%s: %s is dead", behaviour, dead->body);
	message_free(dead);
}

/* What waits for its next attempt comes back to the queue, with or without us. */
static void expect_nothing_waits(void)
{
	char *waiting = scratch_text("%s.retry.100ms", site.queue);
	if (broker_messages(site.broker, waiting) > 0)
		broker_expect_messages(site.broker, waiting, 0);
	free(waiting);
}

static void try_behaviour(const char *behaviour)
{
	struct proc *serve = serve_evil(behaviour);
	client_post(site.client, site.queue,
		&(struct letter){.body = "EVIL", .reply_to = site.replies});
	for (int i = 0; i < NEIGHBOURS; i++)
		client_send(site.client, site.queue, "good");
	if (is_in(never_take, behaviour)) {
		proc_expect(serve, "again in");
	} else {
		/* A neighbour may have to come a second time: it stood at the head when its worker
		 * left. */
		broker_expect_messages(site.broker, site.queue, 0);
		expect_nothing_waits();
		broker_expect_messages(site.broker, site.queue, 0);
		if (!is_in(done_all_the_same, behaviour))
			expect_burned(behaviour);
	}
	site_stop(serve);
	expect_nothing_waits();
	long left = broker_messages(site.broker, site.queue);
	long dead = client_ready(site.client, site.dead);
	if (is_in(never_take, behaviour))
		ck_assert_msg(left + (dead > 0 ? dead : 0) == NEIGHBOURS + 1,
			"%s: %ld left and %ld dead of %d", behaviour, left, dead, NEIGHBOURS + 1);
	else
		ck_assert_msg(
			left == 0 && dead <= 0, "%s: %ld left, %ld dead", behaviour, left, dead);
	client_purge(site.client, site.queue);
}

/* Every eighth each, so that a hang names a few, not all. */
START_TEST(every_behaviour_is_survived)
{
	static char names[MOST_BEHAVIOURS][64];
	int count = read_behaviours(names);
	for (int i = _i; i < count; i += 8)
		try_behaviour(names[i]);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("evil", {every_behaviour_is_survived, 8});
}
