#include "core/tasks/settle.h"

#include "base/utf8.h"

#define RENEW_AT     10 /* returns; far below any delivery limit in use, RabbitMQ's own is 20 */
#define RENEWALS_MAX 10

bool settle_outcome(int32_t status, enum outcome *ret_outcome)
{
	if (status == STATUS_DONE || status == STATUS_DONE_LAST)
		*ret_outcome = OUTCOME_DONE;
	else if (status == STATUS_REPLY)
		*ret_outcome = OUTCOME_REPLY;
	else if (status >= STATUS_REJECTED && status <= STATUS_REJECTED + 99)
		*ret_outcome = OUTCOME_REJECTED;
	else if (status >= STATUS_FAILED && status <= STATUS_FAILED + 99)
		*ret_outcome = OUTCOME_FAILED;
	else
		return false;
	return true;
}

struct text settle_reply_target(const struct delivery *delivery, const struct output *output)
{
	return output->reply_queue.len ? output->reply_queue : delivery->reply_to;
}

struct decision settle_give_up(const struct settle_policy *policy, enum reason reason)
{
	return (struct decision){
		.verdict = policy->dead_letter_by_broker ? VERDICT_REJECT : VERDICT_PUBLISH,
		.parcel = PARCEL_DEAD_LETTER,
		.reason = reason,
	};
}

struct decision settle_refuse(
	const struct settle_policy *policy, const struct delivery *delivery, enum reason reason)
{
	if (policy->blocks_session && delivery->session)
		return (struct decision){.verdict = VERDICT_BLOCK, .reason = reason};
	return settle_give_up(policy, reason);
}

/* It waits in a wait queue. No attempt is counted. */
static struct decision wait_for(int64_t left_ms)
{
	return (struct decision){
		.verdict = VERDICT_PUBLISH, .parcel = PARCEL_LATER, .delay = left_ms * MTIME_MS};
}

/* A copy begins without the broker's count of returns. What is put off after fewer returns than
 * RENEW_AT may: it is not started yet, and what kills a supervisor when it starts is counted then.
 */
bool settle_arrival(const struct settle_policy *policy, const struct delivery *delivery,
	int64_t left_ms, struct decision *ret_decision)
{
	if (delivery->returns < RENEW_AT && left_ms == 0)
		return false;
	if (delivery->returns < RENEW_AT)
		*ret_decision = wait_for(left_ms);
	else if (delivery->renewed >= RENEWALS_MAX)
		*ret_decision = settle_give_up(policy, REASON_COMES_BACK);
	else
		*ret_decision =
			(struct decision){.verdict = VERDICT_PUBLISH, .parcel = PARCEL_RENEW};
	return true;
}

/* What the worker asked for goes before what is configured. */
static mtime choose_delay(const struct settle_policy *policy, const struct delivery *delivery,
	const struct output *output, enum reason reason)
{
	if (reason == REASON_FAILED && output && output->retry_after_ms >= 0)
		return retry_round_up(output->retry_after_ms);
	if (policy->delay_count == 0)
		return 0;
	bool is_beyond = delivery->attempt >= policy->delay_count;
	return policy->delays[is_beyond ? policy->delay_count - 1 : delivery->attempt];
}

static struct decision decide_retry(const struct settle_policy *policy,
	const struct delivery *delivery, const struct output *output, enum reason reason)
{
	return (struct decision){
		.verdict = delivery->session ? VERDICT_PARK : VERDICT_PUBLISH,
		.parcel = PARCEL_RETRY,
		.reason = reason,
		.delay = choose_delay(policy, delivery, output, reason),
	};
}

/* The one place that counts attempts: another try while the policy has one left for this reason. */
static struct decision decide_failure(const struct settle_policy *policy,
	const struct delivery *delivery, const struct output *output, enum reason reason)
{
	bool is_retried = policy->retried & 1u << reason;
	if (!is_retried || delivery->attempt + 1 >= policy->attempts)
		return settle_refuse(policy, delivery, reason);
	return decide_retry(policy, delivery, output, reason);
}

/* The operator decides, whatever attempts are left and even if such tasks block their sessions. */
static struct decision decide_killed(
	const struct settle_policy *policy, const struct delivery *delivery)
{
	return delivery->kill == KILL_AND_GIVE_UP
		       ? settle_give_up(policy, REASON_KILLED)
		       : decide_retry(policy, delivery, NULL, REASON_KILLED);
}

static bool is_postponed(const struct output *output)
{
	return output && output->status == STATUS_POSTPONED && output->postpone_ms >= 0;
}

/* It counts no attempt, however often. A task with a key keeps its place in its session. */
static struct decision decide_postponed(
	const struct delivery *delivery, const struct output *output)
{
	struct decision decision = wait_for(output->postpone_ms);
	decision.reason = REASON_POSTPONED;
	if (delivery->session)
		decision.verdict = VERDICT_PARK;
	return decision;
}

static bool is_hand_back(const struct settle_policy *policy, const struct output *output)
{
	return output->reply_queue.len && text_is(output->reply_queue, policy->queue);
}

/* Publisher and worker choose the queue of a reply, but it is published with the pool's rights. A
 * caller's direct reply-to is no queue that others could read. */
static bool may_reply_to(const struct settle_policy *policy, struct text target)
{
	if (!policy->reply_queues || text_is(target, policy->queue) ||
		text_starts(target, SETTLE_DIRECT_REPLY_TO))
		return true;
	for (char *const *pattern = policy->reply_queues; *pattern; pattern++)
		if (text_matches(target, text_from(*pattern)))
			return true;
	return false;
}

/* A short string of AMQP is UTF-8 without NUL (AMQP 0-9-1, 4.2.5.3); its length is checked where an
 * answer is read. */
static bool is_queue_name(struct text target)
{
	return !memchr(target.ptr, '\0', target.len) && utf8_is_valid(target);
}

/* Return why a reply must not be published to that queue, or NULL. */
static const char *refuse_target(const struct settle_policy *policy, struct text target)
{
	if (!is_queue_name(target))
		return "no queue can have that name";
	return may_reply_to(policy, target) ? NULL : "reply_queues does not allow it";
}

/* The rest of a task is work, not an answer: "drop" must not lose it. */
static struct decision decide_unroutable(const struct settle_policy *policy,
	const struct delivery *delivery, const struct output *output, enum reason reason)
{
	if (policy->unroutable == UNROUTABLE_DROP && !is_hand_back(policy, output))
		return (struct decision){.verdict = VERDICT_ACK, .reason = reason};
	if (policy->unroutable == UNROUTABLE_RETRY)
		return decide_failure(policy, delivery, NULL, reason);
	return settle_give_up(policy, reason);
}

static struct decision decide_reply(const struct settle_policy *policy,
	const struct delivery *delivery, const struct output *output)
{
	struct text target = settle_reply_target(delivery, output);
	if (target.len == 0)
		return (struct decision){.verdict = VERDICT_ACK, .no_reply_to = true};
	const char *refusal = refuse_target(policy, target);
	if (refusal) {
		struct decision decision =
			decide_unroutable(policy, delivery, output, REASON_UNROUTABLE);
		decision.what = refusal;
		return decision;
	}
	if (output->invalid)
		return decide_unroutable(policy, delivery, output, REASON_REPLY_INVALID);
	if (!is_hand_back(policy, output))
		return (struct decision){.verdict = VERDICT_PUBLISH, .parcel = PARCEL_REPLY};
	if (delivery->slice >= policy->slices)
		return settle_refuse(policy, delivery, REASON_SLICES);
	return (struct decision){
		.verdict = delivery->session ? VERDICT_CONTINUE : VERDICT_PUBLISH,
		.parcel = PARCEL_HAND_BACK,
	};
}

/* Who refuses a task must be able to tell its caller. */
static bool can_tell_caller(const struct settle_policy *policy, const struct delivery *delivery)
{
	return delivery->reply_to.len > 0 && !refuse_target(policy, delivery->reply_to);
}

bool settle_throttled(const struct settle_policy *policy, const struct delivery *delivery,
	enum throttle_excess excess, mtime wait, struct decision *ret_decision)
{
	if (excess == THROTTLE_DEAD_LETTER)
		*ret_decision = settle_refuse(policy, delivery, REASON_THROTTLED);
	else if (excess == THROTTLE_REPLY && can_tell_caller(policy, delivery))
		*ret_decision = (struct decision){
			.verdict = VERDICT_PUBLISH, .parcel = PARCEL_REFUSAL, .delay = wait};
	else
		return false;
	return true;
}

struct decision settle_postpone(mtime wait)
{
	return (struct decision){.verdict = VERDICT_PUBLISH,
		.parcel = PARCEL_POSTPONE,
		.delay = retry_round_up((wait + MTIME_MS - 1) / MTIME_MS)};
}

static struct decision decide(const struct settle_policy *policy, enum outcome outcome,
	const struct delivery *delivery, const struct output *output, enum reason reason)
{
	switch (outcome) {
	case OUTCOME_DONE:
		return (struct decision){.verdict = VERDICT_ACK};
	case OUTCOME_REPLY:
		return decide_reply(policy, delivery, output);
	case OUTCOME_REJECTED:
		return settle_refuse(policy, delivery, REASON_REJECTED);
	case OUTCOME_FAILED:
		if (is_postponed(output))
			return decide_postponed(delivery, output);
		return decide_failure(policy, delivery, output, REASON_FAILED);
	case OUTCOME_CRASHED:
		return decide_failure(policy, delivery, output, REASON_CRASHED);
	case OUTCOME_TIMED_OUT:
		return decide_failure(policy, delivery, output, REASON_TIMED_OUT);
	case OUTCOME_BROKEN:
		return decide_failure(policy, delivery, output, REASON_PROTOCOL);
	case OUTCOME_UNROUTABLE:
		return decide_unroutable(policy, delivery, output, reason);
	case OUTCOME_INVALID:
		return settle_refuse(policy, delivery, delivery->invalid);
	case OUTCOME_KILLED:
		return decide_killed(policy, delivery);
	case OUTCOME_UNSTARTED:
		break;
	}
	return (struct decision){.verdict = VERDICT_REQUEUE};
}

/* At most once: what would bring an accepted task again gives it up. */
static struct decision decide_accepted(const struct settle_policy *policy, enum outcome outcome,
	const struct delivery *delivery, const struct output *output, enum reason reason)
{
	struct decision decision = decide(policy, outcome, delivery, output, reason);
	if (decision.verdict == VERDICT_REQUEUE)
		return settle_give_up(policy, REASON_CRASHED);
	if (decision.verdict == VERDICT_PUBLISH && decision.parcel == PARCEL_RETRY)
		return settle_give_up(policy, decision.reason);
	return decision;
}

struct decision settle_decide(const struct settle_policy *policy, enum outcome outcome,
	const struct delivery *delivery, const struct output *output, enum reason reason)
{
	return delivery->is_accepted ? decide_accepted(policy, outcome, delivery, output, reason)
				     : decide(policy, outcome, delivery, output, reason);
}
