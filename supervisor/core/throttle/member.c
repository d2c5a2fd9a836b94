#include "core/throttle/member.h"

#include "core/throttle/leader.h"

#include <stdlib.h>

struct member {
	struct throttle *throttle; /* borrowed */
	struct leader *leader;     /* owned */
	uint64_t id;
	bool is_up;
	bool has_news; /* figures that the leader may not know, or it has heard of none yet */
	struct shared_figures figures;
	struct shared_figures configured; /* version 0 */
	uint32_t max_keys;                /* as configured */
	uint64_t places;                  /* for starts, in the rings of all keys */
};

struct member *member_new(struct throttle *throttle, uint64_t id)
{
	const struct throttle_figures *figures = throttle_figures(throttle);
	struct member *member = calloc(1, sizeof *member);
	if (!member)
		return NULL;
	member->throttle = throttle;
	member->id = id;
	member->max_keys = figures->max_keys;
	member->places = UINT64_MAX;
	member->figures = member->configured =
		(struct shared_figures){.limit = figures->limit, .period = figures->period};
	member->leader = leader_new(figures, throttle_seed(throttle), id);
	if (member->leader && grants_init(throttle, id) == RC_OK)
		return member;
	member_free(member);
	return NULL;
}

void member_free(struct member *member)
{
	if (!member)
		return;
	leader_free(member->leader);
	free(member);
}

void member_up(struct member *member)
{
	member->is_up = true;
	member->has_news = true;
	grants_up(member->throttle);
}

void member_down(struct member *member)
{
	member->is_up = false;
	grants_down(member->throttle);
	leader_resign(member->leader);
}

/* ---------- figures ---------- */

uint32_t member_keys_led(const struct member *member)
{
	uint64_t fit = member->places / member->figures.limit;
	if (fit >= member->max_keys)
		return member->max_keys;
	return fit > 0 ? (uint32_t)fit : 1;
}

static void use_figures(struct member *member, struct shared_figures figures)
{
	struct throttle_figures own = {
		.limit = figures.limit, .period = figures.period, .max_keys = member->max_keys};
	member->figures = figures;
	throttle_configure(member->throttle, &own);
	own.max_keys = member_keys_led(member);
	leader_configure(member->leader, &own);
}

void member_set(struct member *member, uint32_t limit, mtime period)
{
	uint64_t version = member->figures.version;
	use_figures(
		member, (struct shared_figures){.version = version + (version < SHARED_VERSION_MAX),
				.limit = limit,
				.period = period});
	member->has_news = true;
}

void member_set_keys(struct member *member, uint32_t max_keys, uint64_t places)
{
	if (max_keys == member->max_keys && places == member->places)
		return;
	member->max_keys = max_keys;
	member->places = places;
	use_figures(member, member->figures);
}

struct shared_figures member_figures(const struct member *member)
{
	return member->figures;
}

/* The one that leads goes by its own configuration, unless others have been set since: so the
 * figures of a new configuration hold when all have been restarted with it. */
static void use_configured(struct member *member)
{
	if (member->figures.version == 0)
		use_figures(member, member->configured);
}

/* ---------- requests and answers ---------- */

const struct throttle_request *member_request(struct member *member, mtime now)
{
	bool must_prove = now >= leader_deadline(member->leader);
	return grants_request(
		member->throttle, &member->figures, must_prove || member->has_news, now);
}

mtime member_deadline(const struct member *member)
{
	mtime deadline = grants_deadline(member->throttle);
	if (!member->is_up || grants_is_asking(member->throttle))
		return deadline;
	if (member->has_news)
		return 0;
	return mtime_min(deadline, leader_deadline(member->leader));
}

/* It reports them again if there is no answer. */
static bool has_late(const struct throttle_request *request)
{
	for (uint32_t i = 0; i < request->count; i++)
		if (request->keys[i].late > 0)
			return true;
	return false;
}

const struct throttle_answer *member_on_request(
	struct member *member, const struct throttle_request *request, mtime now)
{
	mtime sent_at = MTIME_NEVER;
	if (!member->is_up)
		return NULL;
	if (request->figures.version > member->figures.version)
		use_figures(member, request->figures);
	if (request->member == member->id)
		sent_at = grants_sent_at(member->throttle, request->number);
	bool led = leader_is_leading(member->leader, now);
	if (sent_at != MTIME_NEVER && leader_prove(member->leader, sent_at, now) != RC_OK)
		return NULL;
	bool leads = leader_is_leading(member->leader, now);
	if (leads && !led)
		use_configured(member);
	if (!leads && has_late(request))
		return NULL;
	struct throttle_answer *answer = leader_answer(member->leader, request, now);
	answer->figures = member->figures;
	return answer;
}

/* Another one leads if it answers. */
void member_on_answer(struct member *member, const struct throttle_answer *answer, mtime now)
{
	if (!grants_answer(member->throttle, answer, now))
		return;
	if (answer->leader != member->id)
		leader_resign(member->leader);
	if (answer->figures.version < member->figures.version)
		return;
	use_figures(member, answer->figures);
	member->has_news = false;
}

/* ---------- an orderly change of the leader ---------- */

bool member_hand_over(struct member *member, uint64_t to, mtime now, struct throttle_handover *ret)
{
	ret->member = to;
	ret->figures = member->figures;
	return leader_hand_over(member->leader, now, ret);
}

void member_inherit(
	struct member *member, const struct throttle_handover *handover, mtime asked_at, mtime now)
{
	if (!member->is_up || handover->member != member->id)
		return;
	if (handover->figures.version > member->figures.version)
		use_figures(member, handover->figures);
	use_configured(member);
	leader_inherit(member->leader, handover, asked_at, now);
}

uint64_t member_id(const struct member *member)
{
	return member->id;
}

bool member_in_windows(const struct member *member, mtime now, uint64_t *ret)
{
	return leader_in_windows(member->leader, now, ret);
}

struct member_facts member_facts(const struct member *member, mtime now)
{
	return (struct member_facts){.grants = grants_facts(member->throttle),
		.is_leading = leader_is_leading(member->leader, now),
		.is_silent = leader_is_silent(member->leader, now)};
}
