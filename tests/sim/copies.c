#include "sim/copies.h"

#include "sim/fail.h"
#include "sim/world.h"

#define RETURNS_MAX  10
#define RENEWALS_MAX 10

int64_t copies_choose_output(uint32_t id)
{
	static const int64_t wishes[] = {-1, -1, -1, 0, 1, 4000, 10000000};

	return wishes[id % (sizeof wishes / sizeof *wishes)];
}

int64_t copies_choose_postpone(uint32_t id)
{
	static const int64_t wishes[] = {100, 101, 1234, 29990, 90000};

	return wishes[id % (sizeof wishes / sizeof *wishes)];
}

static mtime time_of(int64_t wall_ms)
{
	return (wall_ms - WORLD_WALL_MS) * MTIME_MS;
}

void copies_check_postponed(const struct delivery *delivery, mtime delay, mtime now)
{
	uint32_t id = account_id(delivery->body);

	sim_require(delay == copies_choose_postpone(id) * MTIME_MS,
		"message %u is postponed by %lld us", id, (long long)delay);
	if (delivery->session)
		return;
	sim_require(time_of(delivery->not_before_ms) >= now + delay &&
			    time_of(delivery->not_before_ms) <= now + delay + MTIME_MS,
		"message %u is postponed by %lld us to another time", id, (long long)delay);
}

/* Each step ends before the time, or hardly after it: 0.2 %, or 20 ms. */
static mtime check_step(const struct parcel *parcel, mtime not_before, mtime now)
{
	static const int64_t steps_ms[] = {10, 30, 100, 300, 1000, 3000, 10000, 30000, 120000,
		600000, 3600000, 21600000, 86400000, 604800000, 2592000000};
	mtime left = not_before - now, late = mtime_max(left / 500, 20 * MTIME_MS), longest = 0;

	for (size_t i = 0; i < sizeof steps_ms / sizeof *steps_ms; i++)
		if (i == 0 || steps_ms[i] * MTIME_MS <= left + late + MTIME_MS)
			longest = steps_ms[i] * MTIME_MS;
	sim_require(parcel->delay == 0 ? left <= 0
				       : parcel->delay <= longest && parcel->delay * 8 > longest,
		"message %u waits %lld us, and its time comes in %lld us",
		account_id(parcel->delivery->body), (long long)parcel->delay, (long long)left);
	return not_before;
}

/* Seconds: 1 to an hour, as written for users. */
static mtime on_ladder(int64_t wish_ms)
{
	static const int64_t steps[] = {1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600};
	size_t i = 0;

	if (wish_ms == 0)
		return 0;
	while (i < sizeof steps / sizeof *steps - 1 && steps[i] * 1000 < wish_ms)
		i++;
	return steps[i] * MTIME_SECOND;
}

static mtime delay_after(
	const struct settle_policy *policy, enum reason reason, uint32_t id, uint32_t failed)
{
	if (reason == REASON_FAILED && copies_choose_output(id) >= 0)
		return on_ladder(copies_choose_output(id));
	if (policy->delay_count == 0)
		return 0;
	return policy->delays[(failed < policy->delay_count ? failed : policy->delay_count) - 1];
}

static bool is_retried(const struct settle_policy *policy, enum reason reason)
{
	return policy->retried >> reason & 1;
}

void copies_check_retry(const struct settle_policy *policy, uint32_t id, enum reason reason,
	mtime delay, uint32_t failed)
{
	bool is_ordered = reason == REASON_KILLED;

	failed++;
	sim_require(is_ordered || is_retried(policy, reason), "message %u is tried again after %s",
		id, reason_name(reason));
	sim_require(is_ordered || failed < policy->attempts,
		"message %u is tried again after attempt %u of %u", id, failed, policy->attempts);
	sim_require(delay == delay_after(policy, reason, id, failed),
		"message %u waits %lld us after attempt %u (%s)", id, (long long)delay, failed,
		reason_name(reason));
}

/* Last words or an answer: never one for the other. With a key it may be an older attempt that has
 * failed, whose answer is not kept. */
static void check_output(const struct parcel *parcel)
{
	bool died = parcel->reason == REASON_CRASHED || parcel->reason == REASON_TIMED_OUT ||
		    parcel->reason == REASON_PROTOCOL;

	sim_require(!died || !parcel->output || parcel->output->status == 0,
		"an answer of a worker that died");
	sim_require(parcel->reason != REASON_FAILED ||
			    (parcel->output ? parcel->output->status >= STATUS_FAILED
					    : parcel->delivery->key.len > 0),
		"a task that failed without an answer");
}

void copies_check_renewal(const struct delivery *delivery)
{
	sim_require(
		delivery->returns >= RETURNS_MAX, "renewed after %u returns", delivery->returns);
}

struct copy_facts copies_of(const struct settle_policy *policy, const struct parcel *parcel,
	const struct copy_facts *known, mtime now)
{
	struct copy_facts facts = *known;

	switch (parcel->kind) {
	case PARCEL_REPLY:
	case PARCEL_HAND_BACK:
		return (struct copy_facts){0};
	case PARCEL_REFUSAL:
		return (struct copy_facts){.refuses = account_id(parcel->delivery->body)};
	case PARCEL_RETRY:
		copies_check_retry(policy, account_id(parcel->delivery->body), parcel->reason,
			parcel->delay, known->attempt);
		check_output(parcel);
		facts.attempt++;
		facts.suspect =
			parcel->reason == REASON_CRASHED || parcel->reason == REASON_TIMED_OUT;
		facts.not_before = mtime_max(facts.not_before, now + parcel->delay);
		break;
	case PARCEL_RENEW:
		sim_require(
			known->renewed < RENEWALS_MAX, "renewed after %u renewals", known->renewed);
		facts.renewed++;
		break;
	case PARCEL_POSTPONE:
		facts.not_before = mtime_max(facts.not_before, now + parcel->delay);
		break;
	case PARCEL_LATER:
		facts.not_before = check_step(parcel,
			mtime_max(facts.not_before, time_of(parcel->delivery->not_before_ms)), now);
		break;
	case PARCEL_DEAD_LETTER:
		check_output(parcel);
		break;
	}
	return facts;
}

static bool may_be_given_up(
	const struct settle_policy *policy, enum reason reason, const struct copy_facts *known)
{
	bool is_last = known->attempt + 1u >= policy->attempts || !is_retried(policy, reason);

	switch (reason) {
	case REASON_NONE:
		return false;
	case REASON_FAILED:
	case REASON_CRASHED:
	case REASON_TIMED_OUT:
	case REASON_PROTOCOL:
		return is_last;
	case REASON_UNROUTABLE:
	case REASON_REPLY_INVALID:
		return is_last || policy->unroutable != UNROUTABLE_RETRY;
	case REASON_COMES_BACK:
		return known->renewed >= RENEWALS_MAX;
	case REASON_THROTTLED: /* throttles.h knows whether it may be */
	default: /* REPLY_REFUSED: a copy that costs channels has nowhere else to go */
		return true;
	}
}

void copies_give_up(const struct settle_policy *policy, struct message_account *message,
	enum reason reason, const struct copy_facts *known)
{
	sim_require(may_be_given_up(policy, reason, known),
		"given up (%s) after %u failed attempts before and %u renewals",
		reason_name(reason), known->attempt, known->renewed);
	message->excused |= reason == REASON_COMES_BACK || !is_retried(policy, reason);
}
