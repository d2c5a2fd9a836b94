#include "runtime/health.h"

#include "base/utf8.h"
#include "broker/throttle/throttle_channel.h"
#include "config/dead_letter.h"
#include "core/failure_wait.h"
#include "core/session_facts.h"
#include "os/clock.h"
#include "runtime/report/texts.h"
#include "runtime/throttles/throttles.h"

#include <inttypes.h>
#include <string.h>

/* ---------- causes ---------- */

static unsigned bit(enum health_cause cause)
{
	return 1u << cause;
}

/* It lacks workers and a consumer on purpose. */
static bool is_finishing(const struct health *health)
{
	return health->causes & (bit(HEALTH_REMOVED) | bit(HEALTH_DRAINING) | bit(HEALTH_STOPPING));
}

struct health health_of_supervisor(const struct supervisor_view *view)
{
	struct link_facts consume = broker_links_consume_facts(view->broker_links),
			  publish = broker_links_publish_facts(view->broker_links);
	struct health health = {.consume_failure = consume.failure,
		.publish_failure = publish.failure,
		.consume_failure_kind = consume.failure_kind,
		.publish_failure_kind = publish.failure_kind};

	if (*view->phase != SERVING)
		health.causes |= bit(*view->phase == DRAINING ? HEALTH_DRAINING : HEALTH_STOPPING);
	if (!consume.is_up && !broker_links_is_any_consume_up(view->broker_links))
		health.causes |= bit(HEALTH_NO_CONSUMING);
	if (!publish.is_up)
		health.causes |= bit(HEALTH_NO_PUBLISHING);
	return health;
}

/* What keeps the messages of a pool with sessions in order. A cause is more exact than that the
 * queue is not consumed. */
static void judge_order(
	struct health *health, const struct pool_runtime *runtime, const struct pool_facts *facts)
{
	enum queue_order order = consumer_order(runtime->consumer);
	unsigned why = 0;

	if (order == QUEUE_ORDER_NONE)
		why = bit(HEALTH_NO_ORDER);
	else if (consumer_is_overfull(runtime->consumer))
		why = bit(HEALTH_OVERFULL);
	else if (consumer_waits_for_others(runtime->consumer) ||
		 (pool_runtime_backlog(runtime) && pool_runtime_backlog(runtime)->is_shared))
		why = bit(HEALTH_SHARED);
	else if (facts->state == POOL_IS_STANDBY && !pool_token_waits(&runtime->token) &&
		 !(health->causes & bit(HEALTH_NO_CONSUMING)))
		why = bit(HEALTH_NO_TOKEN);
	if (why && !is_finishing(health))
		health->causes = (health->causes & ~bit(HEALTH_NO_CONSUMER)) | why;
	if (order == QUEUE_ORDER_ALONE || order == QUEUE_ORDER_HIDDEN)
		health->warnings |= bit(HEALTH_NOT_SINGLE);
}

static void judge_sessions(
	struct health *health, const struct pool_runtime *runtime, const struct pool_facts *facts)
{
	struct session_counts sessions = pool_session_counts(runtime->pool);

	if (!runtime->pool_config.session.is_on)
		return;
	judge_order(health, runtime, facts);
	health->window = facts->window;
	health->prefetch = runtime->pool_config.prefetch;
	if (health->window > health->prefetch && facts->state != POOL_IS_STANDBY)
		health->warnings |= bit(HEALTH_WIDER_WINDOW);
	health->held = sessions.by_state[SESSION_HELD];
	health->parked = sessions.by_state[SESSION_PARKED];
	health->blocked = sessions.by_state[SESSION_BLOCKED];
	health->paused = sessions.by_state[SESSION_PAUSED];
	health->held_until = sessions.held_until;
	health->deliveries = facts->deliveries;
	health->key_place = runtime->config.session.key;
	if (health->blocked > 0)
		health->warnings |= bit(HEALTH_BLOCKED);
	if (health->held > 0)
		health->warnings |= bit(HEALTH_HELD);
	if (facts->deliveries > 0 && sessions.begun == 0)
		health->warnings |= bit(HEALTH_KEYLESS);
	/* After the loss of a channel nothing is unacked, and what is detached comes again. */
	if (facts->window > 0 && facts->unacked >= facts->window &&
		sessions.stuck >= facts->window && !is_finishing(health))
		health->causes |= bit(HEALTH_WINDOW_STUCK);
}

static const char *refused_text(const struct channel_refusal *refusal)
{
	return refusal->kind ? refusal->text : NULL;
}

/* Of the workers that wait for it, also where the last ones did not fail. */
static mtime next_start(const struct pool_runtime *runtime)
{
	mtime first = MTIME_NEVER;

	for (uint16_t i = 0; i < pool_slot_count(runtime->pool); i++)
		first = mtime_min(first, pool_slot_facts(runtime->pool, i).next_start);
	return first;
}

/* None is ready. */
static void judge_workers(
	struct health *health, const struct pool_runtime *runtime, const struct pool_facts *facts)
{
	health->causes |= bit(facts->failing > 0 ? HEALTH_CRASH_LOOP : HEALTH_NO_WORKER);
	if (facts->failing == 0)
		health->crash_loop.next_start = next_start(runtime);
}

static void judge_state(struct health *health, const struct pool_runtime *runtime,
	const struct pool_facts *facts, bool is_up)
{
	if (runtime->is_draining)
		health->causes |= bit(HEALTH_REMOVED);
	else if (facts->state == POOL_IS_DRAINING)
		health->causes |= bit(HEALTH_DRAINING);
	else if (facts->state == POOL_IS_STOPPING || facts->state == POOL_IS_STOPPED)
		health->causes |= bit(HEALTH_STOPPING);
	if (is_finishing(health))
		return;
	if (!is_up)
		health->causes |= bit(HEALTH_NO_CONSUMING);
	if (facts->state == POOL_IS_PAUSED)
		health->causes |= bit(HEALTH_PAUSED);
	else if (facts->ready == 0)
		judge_workers(health, runtime, facts);
	else if (is_up && facts->state != POOL_IS_STANDBY && !facts->closed_until &&
		 !facts->is_taken && !consumer_is_consuming(runtime->consumer))
		health->causes |= bit(HEALTH_NO_CONSUMER);
}

/* An operator has to decide about them. The pool works on. */
static void judge_dead_letters(struct health *health, const struct pool_runtime *runtime)
{
	const struct backlog *dead_letters = pool_runtime_dead_letters(runtime);

	if (!dead_letters || dead_letters->messages == 0)
		return;
	health->dead_letters = dead_letters->messages;
	health->dead_letter_queue = runtime->config.retry.dead_letter;
	health->warnings |= bit(HEALTH_DEAD_LETTERS);
}

/* A minute is longer than most limits need to let a task start. A closed throttle needs longer. */
static void judge_throttles(
	struct health *health, const struct pool_runtime *runtime, const struct pool_facts *facts)
{
	if (!facts->throttled_by)
		return;
	health->throttled = facts->throttled;
	health->throttled_by = facts->throttled_by;
	health->throttled_since = facts->throttled_since;
	health->is_silent = throttles_is_silent(runtime->throttles, facts->throttled_by);
	health->closed_until = facts->closed_until;
	if (facts->closed_until || clock_now() - facts->throttled_since >= MTIME_MINUTE)
		health->warnings |= bit(HEALTH_THROTTLED);
}

static void judge_leaders(struct health *health, const struct pool_runtime *runtime)
{
	health->unled = throttles_without_leader(runtime->throttles, &runtime->pool_config);
	if (health->unled && !is_finishing(health))
		health->causes |= bit(HEALTH_NO_LEADER);
}

struct health health_of_pool(const struct pool_runtime *runtime)
{
	struct pool_facts facts = pool_facts(runtime->pool);
	struct slot_counts counts = pool_slot_counts(runtime->pool);
	struct link_facts consume = consume_link_facts(runtime->consume_link);
	struct health health = {.pool = runtime->config.name,
		.queue = runtime->config.queue,
		.consume_failure = consume.failure,
		.publish_failure = "",
		.consume_failure_kind = consume.failure_kind,
		.publish_failure_kind = "",
		.refusal = refused_text(consumer_refusal(runtime->consumer)),
		.refusal_kind = consumer_refusal(runtime->consumer)->kind,
		.publish_refusal = refused_text(publisher_refusal(runtime->publisher)),
		.publish_refusal_kind = publisher_refusal(runtime->publisher)->kind,
		.difference = refused_text(consumer_difference(runtime->consumer)),
		.difference_kind = consumer_difference(runtime->consumer)->kind,
		.unbound = refused_text(consumer_refused_binding(runtime->consumer)),
		.unbound_kind = consumer_refused_binding(runtime->consumer)->kind,
		.statistics = &runtime->report.statistics,
		.program = runtime->report.command,
		.suspects = facts.suspects,
		.crash_loop = {facts.failing, facts.wanted, counts.failures_max,
			&runtime->report.statistics.last_death, counts.next_start,
			counts.recovering}};

	judge_state(&health, runtime, &facts, consume.is_up);
	if (facts.ready > 0 && facts.failing > 0)
		health.warnings |= bit(HEALTH_CRASH_LOOP);
	if (health.publish_refusal)
		health.warnings |= bit(HEALTH_NO_PUBLISHES);
	if (runtime->report.statistics.failure_share.is_high)
		health.warnings |= bit(HEALTH_FAILURES);
	if (runtime->report.statistics.failed_restart.why)
		health.warnings |= bit(HEALTH_RESTART_GIVEN_UP);
	if (pool_runtime_queue_durability(runtime) == QUEUE_TRANSIENT)
		health.warnings |= bit(HEALTH_TRANSIENT);
	if (health.difference)
		health.warnings |= bit(HEALTH_DIFFERS);
	if (health.unbound)
		health.warnings |= bit(HEALTH_UNBOUND);
	if (facts.suspects > 0)
		health.warnings |= bit(HEALTH_SUSPECTS);
	judge_leaders(&health, runtime);
	judge_throttles(&health, runtime, &facts);
	judge_dead_letters(&health, runtime);
	judge_sessions(&health, runtime, &facts);
	return health;
}

/* The pool that this one replaces, and that works until this one is ready; NULL: none. */
static const struct pool_runtime *find_replaced(
	const struct pool_set *pool_set, const struct pool_runtime *by)
{
	const struct pool_runtime *runtime;

	for (size_t i = 0; (runtime = pool_set_next(pool_set, &i));)
		if (runtime->is_replaced && !runtime->is_draining &&
			strcmp(runtime->config.name, by->config.name) == 0 &&
			health_of_pool(runtime).causes == 0)
			return runtime;
	return NULL;
}

static void cover_causes(struct health *health)
{
	health->covered = health->causes;
	health->warnings |= health->causes;
	health->causes = 0;
}

bool health_next(const struct supervisor_view *view, struct health_walk *walk)
{
	struct pool_runtime *runtime;

	if (!walk->has_begun) {
		walk->has_begun = true;
		walk->health = health_of_supervisor(view);
		return true;
	}
	do
		runtime = pool_set_next(view->pool_set, &walk->place);
	while (runtime && pool_runtime_is_retiring(runtime));
	if (!runtime)
		return false;
	walk->runtime = runtime;
	walk->health = health_of_pool(runtime);
	if (!broker_links_is_any_consume_up(view->broker_links))
		walk->health.causes &= ~bit(HEALTH_NO_CONSUMING);
	if (*view->phase != SERVING)
		walk->health.causes &= ~(bit(HEALTH_DRAINING) | bit(HEALTH_STOPPING));
	if (walk->health.causes && find_replaced(view->pool_set, runtime))
		cover_causes(&walk->health);
	return true;
}

void health_hide_details(struct health *health)
{
	health->consume_failure = health->consume_failure_kind;
	health->publish_failure = health->publish_failure_kind;
	health->refusal = health->refusal_kind;
	health->publish_refusal = health->publish_refusal_kind;
	health->difference = health->difference_kind;
	health->unbound = health->unbound_kind;
	health->program = NULL;
}

bool health_has(unsigned set, enum health_cause cause)
{
	return set & bit(cause);
}

const char *health_cause_name(enum health_cause cause)
{
#define NAME_OF(cause, name) [cause] = (name),
	static const char *const names[] = {HEALTH_CAUSES(NAME_OF)};
#undef NAME_OF

	return names[cause];
}

bool health_is_ready(const struct supervisor_view *view)
{
	struct health_walk walk = {0};

	while (health_next(view, &walk))
		if (walk.health.causes)
			return false;
	return true;
}

/* ---------- sentences ---------- */

static void append_connection(struct buf *out, const char *what, const char *failure)
{
	buf_printf(out, "no %s connection to the broker%s%s", what, *failure ? ": " : "", failure);
}

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
static void append_no_worker(struct buf *out, const struct crash_loop *loop)
{
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
static void append_crash_loop(struct buf *out, const struct crash_loop *loop)
{
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

static void append_unled(struct buf *out, const char *throttle)
{
	buf_printf(out,
		"no supervisor answers for the throttle %s, so no task starts: the queue " THROTTLE_QUEUE_PREFIX
		"%s is not consumed, or the broker does not take or answer "
		"requests in time; see the log",
		throttle, throttle);
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

static void append_throttle_sentence(
	struct buf *out, const struct health *health, enum health_cause cause)
{
	if (cause == HEALTH_NO_LEADER)
		append_unled(out, health->unled);
	else
		append_throttled(out, health);
}

static void append_failed_restart(struct buf *out, const struct health *health)
{
	const struct failed_restart *restart = &health->statistics->failed_restart;
	char why[RESTART_TEXT_SIZE], span[SPAN_TEXT_SIZE];

	buf_printf(out, "its last restart was given up %s ago: %s; former workers stay",
		span_text(clock_now() - restart->at, span),
		restart_text(restart, health->program, why));
}

static void append_failures(struct buf *out, const struct statistics *statistics)
{
	const struct failure_share *share = &statistics->failure_share;
	char span[SPAN_TEXT_SIZE];

	buf_printf(out,
		"%u of its last %u attempts failed, the last one %s ago (%s): the log names each, "
		"and wpool dead-letters what was given up",
		failure_share_failed(share), share->attempts,
		span_text(clock_now() - statistics->failed_at, span),
		reason_name(statistics->last_failure));
}

static void append_blocked(struct buf *out, unsigned blocked)
{
	buf_printf(out,
		"%u session%s blocked, because the task at the front failed for good; wpool "
		"session retry or skip decides",
		blocked, blocked == 1 ? " is" : "s are");
}

static void append_held(struct buf *out, unsigned held, mtime until)
{
	mtime left = until - clock_now();
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

/* Of a pool with sessions. */
static void append_session_sentence(
	struct buf *out, const struct health *health, enum health_cause cause)
{
	switch (cause) {
	case HEALTH_NO_TOKEN:
		buf_append_text(out, TEXT("cannot become the active one: the queue of its token is "
					  "not consumed, or refuses the token; see the log"));
		break;
	case HEALTH_SHARED:
		buf_printf(out,
			"its queue \"%s\" has another consumer, which knows no token: another "
			"program, a version of wpool before sessions, or a pool with "
			"takeover_delay none (stop it)",
			health->queue);
		break;
	case HEALTH_WIDER_WINDOW:
		buf_printf(out,
			"up to %u messages may be unacked, because a smaller window would break the "
			"order of what may come back; prefetch %u is used when nothing is unacked",
			health->window, health->prefetch);
		break;
	case HEALTH_NO_ORDER:
		buf_printf(out,
			"its queue \"%s\" does not keep the order of sessions: a quorum queue with "
			"a single active consumer does (docs/ordering.md)",
			health->queue);
		break;
	case HEALTH_OVERFULL:
		buf_printf(out,
			"the bodies of unacked messages exceeded twice memory, and a smaller window "
			"than %u messages would break the order: set memory higher",
			health->window);
		break;
	case HEALTH_WINDOW_STUCK:
		buf_printf(out,
			"all %u messages of its window (prefetch) wait in sessions that cannot run "
			"now: %u parked, %u blocked, %u paused, %u held by a takeover",
			health->window, health->parked, health->blocked, health->paused,
			health->held);
		if (health->throttled_by)
			buf_printf(out, "; the throttle %s holds back some", health->throttled_by);
		buf_append_text(out, TEXT("; see wpool sessions"));
		break;
	case HEALTH_BLOCKED:
		append_blocked(out, health->blocked);
		break;
	case HEALTH_HELD:
		append_held(out, health->held, health->held_until);
		break;
	case HEALTH_KEYLESS:
		append_keyless(out, health);
		break;
	case HEALTH_NOT_SINGLE:
		buf_printf(out,
			"its queue \"%s\" has no single active consumer: the last messages may run "
			"again when its channel is renewed; docs/ordering.md describes the move",
			health->queue);
		break;
	default:
		break;
	}
}

static void append_sentence(struct buf *out, const struct health *health, enum health_cause cause)
{
	switch (cause) {
	case HEALTH_DRAINING:
	case HEALTH_STOPPING:
		buf_append_text(out, text_from(health_cause_name(cause)));
		break;
	case HEALTH_NO_CONSUMING:
		append_connection(out, "consuming", health->consume_failure);
		break;
	case HEALTH_NO_PUBLISHING:
		append_connection(out, "publishing", health->publish_failure);
		break;
	case HEALTH_REMOVED:
		buf_append_text(
			out, TEXT("not configured any more: it finishes its tasks in hand"));
		break;
	case HEALTH_PAUSED:
		buf_append_text(out, TEXT("paused by an operator"));
		break;
	case HEALTH_NO_WORKER:
		append_no_worker(out, &health->crash_loop);
		break;
	case HEALTH_CRASH_LOOP:
		append_crash_loop(out, &health->crash_loop);
		break;
	case HEALTH_NO_CONSUMER:
		buf_printf(out, "not consuming its queue \"%s\": %s", health->queue,
			health->refusal ? health->refusal
					: "the broker has not answered its request yet");
		break;
	case HEALTH_NO_PUBLISHES:
		buf_printf(out, "some of its publishes are refused: %s", health->publish_refusal);
		break;
	case HEALTH_SUSPECTS:
		buf_printf(out,
			"%u task%s to run alone in a worker, since one ended with several open",
			health->suspects, health->suspects == 1 ? " waits" : "s wait");
		break;
	case HEALTH_DEAD_LETTERS:
		append_dead_letters(out, health);
		break;
	case HEALTH_TRANSIENT:
		buf_printf(out,
			"its queue \"%s\" is not durable: a restart of the broker loses it with its "
			"messages (docs/reliability.md)",
			health->queue);
		break;
	case HEALTH_DIFFERS:
	case HEALTH_UNBOUND:
		buf_append_text(out,
			text_from(cause == HEALTH_DIFFERS ? health->difference : health->unbound));
		break;
	case HEALTH_NO_LEADER:
	case HEALTH_THROTTLED:
		append_throttle_sentence(out, health, cause);
		break;
	case HEALTH_RESTART_GIVEN_UP:
		append_failed_restart(out, health);
		break;
	case HEALTH_FAILURES:
		append_failures(out, health->statistics);
		break;
	case HEALTH_NO_TOKEN:
	case HEALTH_SHARED:
	case HEALTH_WIDER_WINDOW:
	case HEALTH_NO_ORDER:
	case HEALTH_OVERFULL:
	case HEALTH_WINDOW_STUCK:
	case HEALTH_BLOCKED:
	case HEALTH_HELD:
	case HEALTH_KEYLESS:
	case HEALTH_NOT_SINGLE:
		append_session_sentence(out, health, cause);
		break;
	case HEALTH_CAUSE_COUNT:
		break;
	}
}

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
	append_sentence(&sentence, health, cause);
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
