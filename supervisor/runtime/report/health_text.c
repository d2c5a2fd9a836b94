#include "runtime/report/health_text.h"

#include "base/utf8.h"
#include "broker/throttle/throttle_channel.h"
#include "config/dead_letter.h"
#include "core/failure_wait.h"
#include "os/clock.h"
#include "runtime/health.h"
#include "runtime/report/texts.h"

#include <inttypes.h>

/* ---------- connections ---------- */

static void append_connection(struct buf *out, const char *what, const char *failure)
{
	buf_printf(out, "no %s connection to the broker%s%s", what, *failure ? ": " : "", failure);
}

static void append_no_consuming(struct buf *out, const struct health *health)
{
	append_connection(out, "consuming", health->consume_failure);
}

static void append_no_publishing(struct buf *out, const struct health *health)
{
	append_connection(out, "publishing", health->publish_failure);
}

/* ---------- a pool and its workers ---------- */

static void append_last_death(struct buf *out, const struct last_death *last)
{
	char exit[EXIT_TEXT_SIZE], span[SPAN_TEXT_SIZE];

	buf_printf(out, ", last %s ago: %s", span_text(clock_now() - last->at, span),
		exit_text(&last->exit, last->why, exit));
}

static void append_next_start(struct buf *out, mtime next_start)
{
	char span[SPAN_TEXT_SIZE];
	mtime now = clock_now();

	buf_printf(out, "; next start in %s",
		span_text(next_start > now ? next_start - now : 0, span));
}

/* A worker that did something before it ended has not failed, and waits for its next start. */
static void append_no_worker(struct buf *out, const struct health *health)
{
	const struct crash_loop *loop = &health->crash_loop;

	buf_append_text(out, TEXT("no worker is ready"));
	if (!loop->last || loop->last->exit.kind == EXIT_NONE || loop->next_start == MTIME_NEVER)
		return;
	buf_append_text(out, TEXT(": its workers ended"));
	append_last_death(out, loop->last);
	append_next_start(out, loop->next_start);
}

/* It may fail again at once, so the loop is over only after a task or some time. */
static void append_recovery(struct buf *out, const struct crash_loop *loop)
{
	if (loop->recovering == loop->failing)
		buf_printf(out, "; %s ready again", loop->failing == 1 ? "it is" : "they are");
	else
		buf_printf(out, "; %u of them %s ready again", loop->recovering,
			loop->recovering == 1 ? "is" : "are");
	buf_printf(out, "; over when each has answered a task, or been ready for %d s",
		(int)(LIFE_IS_LONG / MTIME_SECOND));
}

/* One failure is not a loop yet. */
static void append_crash_loop(struct buf *out, const struct health *health)
{
	const struct crash_loop *loop = &health->crash_loop;

	buf_printf(out, "%s%u of %u worker%s failed", loop->failures > 1 ? "crash loop: " : "",
		loop->failing, loop->wanted, loop->wanted == 1 ? "" : "s");
	if (loop->failures > 1)
		buf_printf(out, "%s %u times in a row", loop->failing > 1 ? " up to" : "",
			loop->failures);
	if (loop->last->exit.kind != EXIT_NONE)
		append_last_death(out, loop->last);
	if (loop->next_start != MTIME_NEVER)
		append_next_start(out, loop->next_start);
	if (loop->recovering > 0)
		append_recovery(out, loop);
}

static void append_restart_given_up(struct buf *out, const struct health *health)
{
	const struct failed_restart *restart = &health->statistics->failed_restart;
	char why[RESTART_TEXT_SIZE], span[SPAN_TEXT_SIZE];

	buf_printf(out, "its last restart was given up %s ago: %s; former workers stay",
		span_text(clock_now() - restart->at, span),
		restart_text(restart, health->program, why));
}

static void append_failures(struct buf *out, const struct health *health)
{
	const struct statistics *statistics = health->statistics;
	const struct failure_share *share = &statistics->failure_share;
	char span[SPAN_TEXT_SIZE];

	buf_printf(out,
		"%u of its last %u attempts failed, the last one %s ago (%s): the log names each, "
		"and wpool dead-letters what was given up",
		failure_share_failed(share), share->attempts,
		span_text(clock_now() - statistics->failed_at, span),
		reason_name(statistics->last_failure));
}

static void append_suspects(struct buf *out, const struct health *health)
{
	buf_printf(out, "%u task%s to run alone in a worker, since one ended with several open",
		health->suspects, health->suspects == 1 ? " waits" : "s wait");
}

/* ---------- its queues ---------- */

static void append_no_consumer(struct buf *out, const struct health *health)
{
	buf_printf(out, "not consuming its queue \"%s\": %s", health->queue,
		health->refusal ? health->refusal : "the broker has not answered its request yet");
}

static void append_no_publishes(struct buf *out, const struct health *health)
{
	buf_printf(out, "some of its publishes are refused: %s", health->publish_refusal);
}

static void append_transient(struct buf *out, const struct health *health)
{
	buf_printf(out,
		"its queue \"%s\" is not durable: a restart of the broker loses it with its "
		"messages (docs/reliability.md)",
		health->queue);
}

static void append_differs(struct buf *out, const struct health *health)
{
	buf_append_text(out, text_from(health->difference));
}

static void append_unbound(struct buf *out, const struct health *health)
{
	buf_append_text(out, text_from(health->unbound));
}

/* A queue of another name has to be given to the command. */
static void append_dead_letters(struct buf *out, const struct health *health)
{
	const char *queue = health->dead_letter_queue, *of = health->queue;

	buf_printf(out,
		"%u message%s in its dead-letter queue \"%s\": wpool dead-letters list --queue %s",
		health->dead_letters, health->dead_letters == 1 ? " is" : "s are", queue, of);
	if (!dead_letter_is_default(of, queue))
		buf_printf(out, " --dead-letters %s", queue);
}

/* ---------- throttles ---------- */

static void append_no_leader(struct buf *out, const struct health *health)
{
	buf_printf(out,
		"no supervisor answers for the throttle %s, so no task starts: the queue " THROTTLE_QUEUE_PREFIX
		"%s is not consumed, or the broker does not take or answer "
		"requests in time; see the log",
		health->unled, health->unled);
}

static void append_throttled(struct buf *out, const struct health *health)
{
	char span[SPAN_TEXT_SIZE];

	if (health->is_silent)
		buf_printf(out,
			"the throttle %s lets no task start, because what was started before its "
			"leader began is not known: until one period is over (wpool throttles)",
			health->throttled_by);
	else if (health->closed_until)
		buf_printf(out,
			"not consuming its queue \"%s\" for %s: the throttle %s lets too few tasks "
			"start (wpool throttles)",
			health->queue, span_text(health->closed_until - clock_now(), span),
			health->throttled_by);
	else
		buf_printf(out,
			"the throttle %s has held back tasks for %s, %u now: more come than its limit lets "
			"start (wpool throttles)",
			health->throttled_by,
			span_text(clock_now() - health->throttled_since, span), health->throttled);
}

/* ---------- sessions ---------- */

static void append_shared(struct buf *out, const struct health *health)
{
	buf_printf(out,
		"its queue \"%s\" has another consumer, which knows no token: another "
		"program, a version of wpool before sessions, or a pool with "
		"takeover_delay none (stop it)",
		health->queue);
}

static void append_wider_window(struct buf *out, const struct health *health)
{
	buf_printf(out,
		"up to %u messages may be unacked, because a smaller window would break the "
		"order of what may come back; prefetch %u is used when nothing is unacked",
		health->window, health->prefetch);
}

static void append_no_order(struct buf *out, const struct health *health)
{
	buf_printf(out,
		"its queue \"%s\" does not keep the order of sessions: a quorum queue with "
		"a single active consumer does (docs/ordering.md)",
		health->queue);
}

static void append_overfull(struct buf *out, const struct health *health)
{
	buf_printf(out,
		"the bodies of unacked messages exceeded twice memory, and a smaller window "
		"than %u messages would break the order: set memory higher",
		health->window);
}

static void append_window_stuck(struct buf *out, const struct health *health)
{
	buf_printf(out,
		"all %u messages of its window (prefetch) wait in sessions that cannot run "
		"now: %u parked, %u blocked, %u paused, %u held by a takeover",
		health->window, health->parked, health->blocked, health->paused, health->held);
	if (health->throttled_by)
		buf_printf(out, "; the throttle %s holds back some", health->throttled_by);
	buf_append_text(out, TEXT("; see wpool sessions"));
}

static void append_not_single(struct buf *out, const struct health *health)
{
	buf_printf(out,
		"its queue \"%s\" has no single active consumer: the last messages may run "
		"again when its channel is renewed; docs/ordering.md describes the move",
		health->queue);
}

static void append_blocked(struct buf *out, const struct health *health)
{
	unsigned blocked = health->blocked;

	buf_printf(out,
		"%u session%s blocked, because the task at the front failed for good; wpool "
		"session retry or skip decides",
		blocked, blocked == 1 ? " is" : "s are");
}

static void append_held(struct buf *out, const struct health *health)
{
	unsigned held = health->held;
	mtime left = health->held_until - clock_now();
	char span[SPAN_TEXT_SIZE];

	buf_printf(out, "%u session%s held", held, held == 1 ? " is" : "s are");
	if (left > 0)
		buf_printf(out,
			" for %s: a former active supervisor may still run what was delivered "
			"before (takeover_delay)",
			span_text(left, span));
	else
		buf_append_text(out,
			TEXT(": supervisors died in a row, so what was delivered before runs one "
			     "message at a time"));
}

static void append_keyless(struct buf *out, const struct health *health)
{
	if (health->deliveries == 1)
		buf_append_text(out, TEXT("its only message so far had no key"));
	else
		buf_printf(out, "none of its %" PRIu64 " messages had a key", health->deliveries);
	buf_printf(out,
		": session.key is %s, and publishers must put it there (wpool publish "
		"--session-key); without a key there is no order",
		health->key_place);
}

/* ---------- all of them ---------- */

static const struct {
	const char *text; /* NULL: append() writes it, with figures */
	void (*append)(struct buf *, const struct health *);
} sentences[HEALTH_CAUSE_COUNT] = {
	[HEALTH_DRAINING] = {.text = "draining"},
	[HEALTH_STOPPING] = {.text = "stopping"},
	[HEALTH_NO_CONSUMING] = {.append = append_no_consuming},
	[HEALTH_NO_PUBLISHING] = {.append = append_no_publishing},
	[HEALTH_REMOVED] = {.text = "not configured any more: it finishes its tasks in hand"},
	[HEALTH_PAUSED] = {.text = "paused by an operator"},
	[HEALTH_NO_WORKER] = {.append = append_no_worker},
	[HEALTH_CRASH_LOOP] = {.append = append_crash_loop},
	[HEALTH_NO_CONSUMER] = {.append = append_no_consumer},
	[HEALTH_NO_TOKEN] =
		{.text = "cannot become the active one: the queue of its token is not consumed or refuses the "
			 "token, or no channel is left to publish it; see the log"},
	[HEALTH_NO_LEADER] = {.append = append_no_leader},
	[HEALTH_SHARED] = {.append = append_shared},
	[HEALTH_NO_ORDER] = {.append = append_no_order},
	[HEALTH_OVERFULL] = {.append = append_overfull},
	[HEALTH_WINDOW_STUCK] = {.append = append_window_stuck},
	[HEALTH_SUSPECTS] = {.append = append_suspects},
	[HEALTH_BLOCKED] = {.append = append_blocked},
	[HEALTH_HELD] = {.append = append_held},
	[HEALTH_KEYLESS] = {.append = append_keyless},
	[HEALTH_WIDER_WINDOW] = {.append = append_wider_window},
	[HEALTH_NOT_SINGLE] = {.append = append_not_single},
	[HEALTH_THROTTLED] = {.append = append_throttled},
	[HEALTH_RESTART_GIVEN_UP] = {.append = append_restart_given_up},
	[HEALTH_FAILURES] = {.append = append_failures},
	[HEALTH_TRANSIENT] = {.append = append_transient},
	[HEALTH_DIFFERS] = {.append = append_differs},
	[HEALTH_UNBOUND] = {.append = append_unbound},
	[HEALTH_NO_PUBLISHES] = {.append = append_no_publishes},
	[HEALTH_DEAD_LETTERS] = {.append = append_dead_letters},
};

/* Failures and queues' names come from others: one line must stay one. */
static void append_escaped(
	struct buf *out, const struct health *health, enum health_cause cause, const char *pool)
{
	struct buf sentence;

	buf_init(&sentence, SIZE_MAX);
	if (pool)
		buf_printf(&sentence, "pool %s: ", pool);
	if (health_has(health->covered, cause))
		buf_append_text(&sentence,
			TEXT("its new configuration is not ready, and the former one works on: "));
	if (sentences[cause].text)
		buf_append_text(&sentence, text_from(sentences[cause].text));
	else
		sentences[cause].append(&sentence, health);
	utf8_append_escaped(out, buf_text(&sentence));
	out->failed |= sentence.failed;
	buf_release(&sentence);
}

void health_append_text(struct buf *out, const struct health *health, enum health_cause cause)
{
	append_escaped(out, health, cause, NULL);
}

void health_append_named_text(struct buf *out, const struct health *health, enum health_cause cause)
{
	append_escaped(out, health, cause, health->pool);
}
