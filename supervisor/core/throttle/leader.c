#include "core/throttle/leader.h"

#include <assert.h>
#include <stdlib.h>

/* Own requests that come back in the time in which one must. */
#define PROOFS 4
/* In its silence, this time is at most so long. */
#define SILENT_TRUST_MAX (2 * MTIME_SECOND)
/* Enough for any period. */
#define PROOF_EVERY_MAX (5 * MTIME_SECOND)
/* After the end of a lease, what was not used of it has come back. */
#define RETURNS_WITHIN (5 * MTIME_MS)
/* So many starts take some milliseconds, late ones first. What a request asks for beyond that waits
 * for the next. No honest member has as many late ones. */
#define STARTS_A_REQUEST_MAX 100000
/* To count the starts of one takes some 100 ns. */
#define KEYS_COUNTED_MAX 1000
#define COUNT_EVERY      MTIME_SECOND

struct leader {
	struct throttle *rings; /* owned; NULL: it has proved nothing */
	struct throttle_figures figures;
	uint64_t hash_seed, member;
	mtime proved_at;    /* when the own request that came back last was sent */
	mtime proof_ends;   /* unless another one comes back before */
	mtime requested_at; /* the first request without a proof; MTIME_NEVER: there is none */
	mtime began_at;     /* when the rings were new, and what was before not known */
	mtime latest;       /* the end of all that was granted */
	mtime counted_at;   /* when the starts in the windows were counted; 0: not yet */
	struct throttle_answer answer;
};

struct leader *leader_new(
	const struct throttle_figures *figures, uint64_t hash_seed, uint64_t member)
{
	struct leader *leader = calloc(1, sizeof *leader);
	if (!leader)
		return NULL;
	leader->hash_seed = hash_seed;
	leader->member = member;
	leader->requested_at = MTIME_NEVER;
	leader_configure(leader, figures);
	return leader;
}

void leader_free(struct leader *leader)
{
	if (!leader)
		return;
	throttle_free(leader->rings);
	free(leader);
}

void leader_resign(struct leader *leader)
{
	throttle_free(leader->rings);
	leader->rings = NULL;
	leader->requested_at = MTIME_NEVER;
}

void leader_configure(struct leader *leader, const struct throttle_figures *figures)
{
	leader->figures = *figures;
	leader->proof_ends =
		mtime_min(leader->proof_ends, mtime_after(leader->proved_at, figures->period));
	if (leader->rings)
		throttle_configure(leader->rings, figures);
}

/* ---------- does it lead? ---------- */

bool leader_is_leading(const struct leader *leader, mtime now)
{
	return leader->rings && now < leader->proof_ends;
}

bool leader_is_silent(const struct leader *leader, mtime now)
{
	return leader_is_leading(leader, now) && throttle_is_unsure(leader->rings, now);
}

/* Another one that leads after a proof has granted nothing for so long. In the silence that is not
 * certain: an old leader may have come back meanwhile. */
static mtime trust(const struct leader *leader, mtime now)
{
	mtime period = leader->figures.period;
	return leader_is_silent(leader, now) ? mtime_min(period / 2, SILENT_TRUST_MAX) : period;
}

/* What was before that is not known. */
static enum rc start_rings(struct leader *leader, mtime missed_until)
{
	struct throttle *rings = throttle_new(&leader->figures, leader->hash_seed);
	if (!rings)
		return RC_MEMORY;
	throttle_missed(rings, missed_until);
	throttle_free(leader->rings);
	leader->rings = rings;
	leader->proof_ends = MTIME_NEVER;
	leader->latest = leader->counted_at = 0;
	return RC_OK;
}

enum rc leader_prove(struct leader *leader, mtime sent_at, mtime now)
{
	assert(now >= SHARED_PERIOD_MAX);
	if (!leader_is_leading(leader, now)) {
		if (start_rings(leader, now + LEASE_MAX) != RC_OK)
			return RC_MEMORY;
		leader->began_at = now;
	}
	leader->proved_at = sent_at;
	leader->proof_ends = mtime_after(sent_at, trust(leader, now));
	leader->requested_at = MTIME_NEVER;
	return RC_OK;
}

mtime leader_deadline(const struct leader *leader)
{
	mtime every = (leader->proof_ends - leader->proved_at) / PROOFS;
	if (leader->requested_at != MTIME_NEVER)
		return leader->requested_at;
	return leader->rings ? leader->proved_at + mtime_min(every, PROOF_EVERY_MAX) : MTIME_NEVER;
}

/* ---------- an orderly change ---------- */

struct writer {
	struct throttle_handover *handover;
	mtime begin; /* of the window */
	bool is_full;
};

static void write_starts(void *ctx, uint64_t key, uint32_t starts, mtime at)
{
	struct writer *writer = ctx;
	struct throttle_handover *handover = writer->handover;
	writer->is_full |= handover->count == HANDOVER_STARTS_MAX;
	if (!writer->is_full)
		handover->of[handover->count++] = (struct handed_starts){
			.key = key, .starts = starts, .after = at - writer->begin};
}

bool leader_hand_over(struct leader *leader, mtime now, struct throttle_handover *ret)
{
	struct writer writer = {.handover = ret, .begin = now - leader->figures.period};
	bool is_sure =
		leader_is_leading(leader, now) && throttle_knows_since(leader->rings, writer.begin);
	ret->leader = leader->member;
	ret->count = 0;
	ret->sure_for = leader->proof_ends - now;
	if (is_sure)
		throttle_each_start(leader->rings, writer.begin, write_starts, &writer);
	leader_resign(leader);
	return is_sure && !writer.is_full;
}

/* Until when the proof of the one that handed over holds, with the figures of this one: it wrote
 * after it was asked. */
static mtime inherited_proof(
	const struct leader *leader, const struct throttle_handover *handover, mtime asked_at)
{
	mtime shorter = handover->figures.period - leader->figures.period;
	return mtime_after(asked_at, handover->sure_for) - mtime_max(shorter, 0);
}

/* It wrote before now, so no start counts as earlier than it was. */
static void restore_starts(
	struct leader *leader, const struct throttle_handover *handover, mtime now)
{
	mtime begin = now - handover->figures.period;
	for (uint32_t i = 0; i < handover->count; i++) {
		const struct handed_starts *starts = &handover->of[i];
		mtime at = mtime_after(begin, starts->after);
		throttle_restore(leader->rings, starts->key, starts->starts, at);
		leader->latest = mtime_max(leader->latest, at);
	}
}

void leader_inherit(
	struct leader *leader, const struct throttle_handover *handover, mtime asked_at, mtime now)
{
	assert(now >= SHARED_PERIOD_MAX);
	mtime proof_ends = inherited_proof(leader, handover, asked_at);
	bool leads_already = leader_is_leading(leader, now) && !leader_is_silent(leader, now);
	if (leads_already || now >= proof_ends)
		return;
	if (start_rings(leader, now - handover->figures.period) != RC_OK)
		return;
	restore_starts(leader, handover, now);
	leader->proved_at = proof_ends - leader->figures.period;
	leader->proof_ends = proof_ends;
	leader->requested_at = MTIME_NEVER;
}

/* ---------- answers ---------- */

static void take_back(struct leader *leader, const struct throttle_request *request)
{
	for (uint32_t i = 0; i < request->unused_count; i++) {
		const struct unused *unused = &request->unused[i];
		throttle_take_back(leader->rings, unused->key, unused->stamp, unused->starts);
	}
}

/* Add as many as that at most; a key that has more may start no other for a period. Return how many
 * were added. */
static uint32_t add_late(
	struct leader *leader, const struct throttle_request *request, uint32_t most, mtime now)
{
	uint32_t starts = 0;
	for (uint32_t i = 0; i < request->count; i++) {
		const struct wanted *wanted = &request->keys[i];
		if (wanted->late > most - starts) {
			throttle_use_up(leader->rings, wanted->key, now);
		} else if (wanted->late > 0) {
			throttle_restore(leader->rings, wanted->key, wanted->late, now);
			starts += wanted->late;
		}
	}
	return starts;
}

/* A start that is granted and may still be used may also come back, so it is worth asking again
 * when its lease has ended. */
static mtime ask_again_at(const struct leader *leader, uint64_t key, mtime at, mtime now)
{
	mtime latest = throttle_latest(leader->rings, key);
	return latest > now ? mtime_min(at, latest + RETURNS_WITHIN) : at;
}

static uint32_t grant(struct leader *leader, const struct wanted *wanted, uint32_t most, mtime now,
	mtime *ret_wait)
{
	struct window *window;
	uint32_t starts = 0;
	while (starts < wanted->starts && starts < most) {
		mtime at = throttle_ask(leader->rings, wanted->key, now, &window);
		if (at > now) {
			*ret_wait = ask_again_at(leader, wanted->key, at, now) - now;
			break;
		}
		throttle_charge(leader->rings, window, now);
		starts++;
	}
	return starts;
}

/* Grant as many as that. Return how many it granted. */
static uint32_t answer_key(struct leader *leader, const struct wanted *wanted, uint32_t most,
	bool is_leading, mtime now)
{
	struct granted *granted = &leader->answer.keys[leader->answer.count++];
	*granted = (struct granted){.key = wanted->key};
	if (!is_leading) {
		granted->wait = LEASE_MIN;
		granted->is_unsure = true;
		return 0;
	}
	granted->starts = grant(leader, wanted, most, now, &granted->wait);
	granted->is_unsure = throttle_is_unsure(leader->rings, now);
	return granted->starts;
}

bool leader_in_windows(const struct leader *leader, mtime now, uint64_t *ret)
{
	return leader_is_leading(leader, now) &&
	       throttle_in_windows(leader->rings, now, KEYS_COUNTED_MAX, ret);
}

static void count_starts(struct leader *leader, mtime now)
{
	struct throttle_answer *answer = &leader->answer;
	if (leader->counted_at != 0 && now - leader->counted_at < COUNT_EVERY)
		return;
	leader->counted_at = now;
	if (!leader_in_windows(leader, now, &answer->in_windows))
		answer->in_windows = UINT64_MAX;
	answer->keys_known = throttle_keys(leader->rings);
}

/* What the one before knows may come at any time: ask again soon, but not just before the end of
 * the silence. */
static void shorten_waits(struct throttle_answer *answer, mtime lease)
{
	for (uint32_t i = 0; i < answer->count; i++)
		if (answer->keys[i].is_unsure && answer->keys[i].wait > 2 * lease)
			answer->keys[i].wait = lease;
}

struct throttle_answer *leader_answer(
	struct leader *leader, const struct throttle_request *request, mtime now)
{
	struct throttle_answer *answer = &leader->answer;
	bool is_leading = leader_is_leading(leader, now);
	assert(request->lease <= LEASE_MAX);
	answer->leader = leader->member;
	answer->member = request->member;
	answer->number = request->number;
	answer->count = 0;
	uint32_t most = STARTS_A_REQUEST_MAX, starts = 0;
	if (!is_leading)
		leader->requested_at = mtime_min(leader->requested_at, now);
	if (is_leading && request->leader == leader->member)
		take_back(leader, request);
	if (is_leading)
		most -= add_late(leader, request, most, now);
	for (uint32_t i = 0; i < request->count; i++)
		starts += answer_key(leader, &request->keys[i], most - starts, is_leading, now);
	if (now - leader->began_at < HANDOVER_WITHIN)
		shorten_waits(answer, request->lease);
	if (starts > 0) {
		leader->latest = mtime_max(leader->latest, now + request->lease);
		throttle_end_turn(leader->rings, leader->latest);
		answer->stamp = leader->latest;
	}
	if (is_leading)
		count_starts(leader, now);
	return answer;
}
