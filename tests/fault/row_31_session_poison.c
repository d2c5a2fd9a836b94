/* Messages that end their worker in each attempt, slices, rejected, failing and unfit messages
 * among good ones, in sessions, on a queue with a delivery limit of 20. First they are skipped,
 * while the channel is renewed as often as such a limit allows; then they block their sessions
 * until an operator skips them. The dead letters are exactly those messages, and everything of
 * their sessions is done in order. */
#include "fault/account.h"
#include "fault/keyed.h"
#include "fault/watch.h"

#include <stdio.h>

#define KEYS     40
#define LOAD     60 /* with one message that ends its worker */
#define FATES    "dddsdfdddxddudddsddddfdddddsdddddddxdddddddddfdddddsdddddddp"
#define WORK_MS  1
#define SETTINGS "workers: 8, pipeline: 4, prefetch: 200, retry: {attempts: 3, delay: [700ms]}"

static void set_limit(void)
{
	char *expression = scratch_text(
		"rabbit_policy:set(<<\"/\">>, <<\"%s\">>, <<\"^%s$\">>, [{<<\"delivery-limit\">>, 20}], "
		"0, <<\"queues\">>, <<\"guest\">>)",
		fixture.queue, fixture.queue);
	free(broker_eval(fixture.broker, expression));
	free(expression);
}

static void clear_limit(void)
{
	char *expression = scratch_text(
		"rabbit_policy:delete(<<\"/\">>, <<\"%s\">>, <<\"guest\">>)", fixture.queue);
	free(broker_eval(fixture.broker, expression));
	free(expression);
}

/* Return the repeats. */
static long be_skipped(struct keyed *keyed, struct tally *tally, long until)
{
	set_limit();
	struct proc *proc = keyed_serve(SETTINGS, "takeover_delay: none, max_unacked_age: 1s");
	keyed_await_consumer();
	while (tally->trials < until && fault_next(tally))
		keyed_post(keyed, LOAD, FATES, WORK_MS);
	keyed_await_settled();
	fixture_stop(proc);
	watch_note_turns(proc, tally);
	clear_limit();
	return keyed_close(keyed, tally);
}

static void skip_blocked(void)
{
	const char *const arguments[] = {
		"session", "skip", fixture.queue, "--where", "state=blocked", NULL};
	struct proc *proc = fixture_wpool(arguments);
	proc_wait(proc); /* it may find none */
	fixture_free_program(proc);
}

static long be_blocked(struct keyed *keyed, struct tally *tally)
{
	const char *queue[] = {fixture.queue, NULL};
	struct proc *proc = keyed_serve(
		SETTINGS, "takeover_delay: none, delivery_limit: none, on_failure: block");
	keyed_await_consumer();
	while (fault_next(tally))
		keyed_post(keyed, LOAD, FATES, WORK_MS);
	int64_t deadline = deadline_in(240000);
	while (broker_has_messages(fixture.broker, queue, 200)) {
		skip_blocked();
		ck_assert_msg(deadline_left(deadline) > 0, "blocked sessions are not skipped");
	}
	fixture_stop(proc);
	watch_note_turns(proc, tally);
	return keyed_close(keyed, tally);
}

static void run(struct tally *tally)
{
	struct keyed *keyed = keyed_new(KEYS);
	tally->unit = "messages";
	long skipped = be_skipped(keyed, tally, fault_trials() / 2);
	long blocked = be_blocked(keyed, tally);
	ck_assert_int_eq(blocked, 0);
	snprintf(tally->note, sizeof tally->note, "%ld repeats by renewals", skipped);
	keyed_free(keyed);
}

int main(void)
{
	return fault_main(&(struct fault){
		.row = 31, .name = "sessions: poison", .few = 20, .full = 200, .run = run});
}
