#include "core/session_facts.h"

#include "core/pool_internal.h"

#include <assert.h>

/* Sessions that oldest_wait looks at although they show nothing about those behind them. */
#define PASSED_MAX 64

/* What waits in them cannot run before something else has happened. */
static const enum session_state stuck[] = {SESSION_PARKED, SESSION_BLOCKED, SESSION_PAUSED,
	SESSION_WAITING, SESSION_DETACHED, SESSION_HELD};

/* Sessions that go on with their turn stand at the head, the latest first; behind them stand the
 * others in the order in which they came. So `since` falls to the oldest one, and rises from there
 * on. Many may have come at the same time, and those that an order moved to the head at any. */
static mtime oldest_wait(const struct sessions *sessions)
{
	mtime oldest = MTIME_NEVER, oldest_moved = MTIME_NEVER;
	int passed = 0;
	for (const struct link *link = sessions->ring.next;
		link != &sessions->ring && passed < PASSED_MAX; link = link->next) {
		if (link == &sessions->unkeyed.place)
			continue;
		const struct session *session = CONTAINER_OF(link, struct session, turn.place);
		if (session->is_ending) {
			oldest_moved = mtime_min(oldest_moved, session->since);
			passed++;
			continue;
		}
		if (session->since > oldest)
			break;
		passed += session->since == oldest;
		oldest = session->since;
	}
	return mtime_min(oldest, oldest_moved);
}

struct session_counts pool_session_counts(const struct pool *pool)
{
	const struct sessions *sessions = pool->tasks.sessions;
	struct session_counts counts = {.oldest_wait = MTIME_NEVER};
	if (!sessions)
		return counts;
	counts = (struct session_counts){
		.is_standby = pool->tasks.is_standby,
		.remembered = sessions->count,
		.active = sessions->active,
		.begun = sessions->last_life,
		.held_until = sessions->held_until,
		.oldest_wait = oldest_wait(sessions),
		.used_up = sessions->used_up,
		.reattached = sessions->reattached,
		.given_up = sessions->given_up,
	};
	memcpy(counts.by_state, sessions->by_state, sizeof counts.by_state);
	memcpy(counts.ended, sessions->ended, sizeof counts.ended);
	memcpy(counts.renewals, sessions->renewals, sizeof counts.renewals);
	for (size_t i = 0; i < sizeof stuck / sizeof *stuck; i++)
		counts.stuck += sessions->waiting_in[stuck[i]];
	return counts;
}

/* How many wait in the high lane. The shorter lane is counted: the other one may be long. */
static uint32_t count_high(const struct session *session, uint32_t both)
{
	const struct link *high = &session->lanes[LANE_HIGH].waiting;
	const struct link *normal = &session->lanes[LANE_NORMAL].waiting;
	const struct link *one = high->next, *other = normal->next;
	uint32_t count = 0;
	for (; one != high && other != normal; one = one->next, other = other->next)
		count++;
	return one == high ? count : both - count;
}

static mtime due(const struct sessions *sessions, const struct session *session)
{
	if (session->state == SESSION_HELD && !session->is_unnamed)
		return sessions->held_until;
	if (session->state != SESSION_PARKED)
		return MTIME_NEVER;
	return session->group ? session->group->timer.at : session->timer.at;
}

/* Where a session is blocked, its task has not counted the last one. */
static uint32_t failed_attempts(const struct session *session)
{
	const struct delivery *front = session->front;
	return front ? front->attempt + session_has_uncounted(session) : 0;
}

static enum reason reason_of(const struct session *session)
{
	bool waits = session->state == SESSION_PARKED && session->group;
	return waits ? REASON_THROTTLED : session->reason;
}

struct session_facts pool_session_facts(const struct pool *pool, uint32_t number)
{
	const struct sessions *sessions = pool->tasks.sessions;
	assert(sessions && number < sessions->count);
	const struct session *session = sessions->all[number];
	bool is_front_queued = session->front && session->front->state == DELIVERY_QUEUED;
	uint32_t in_lanes = session->waiting - is_front_queued;
	uint32_t high = count_high(session, in_lanes);
	return (struct session_facts){
		.number = number,
		.life = session->life,
		.key = session_key(session),
		.state = session->state,
		.since = session->since,
		.due = due(sessions, session),
		.reason = reason_of(session),
		.attempts = failed_attempts(session),
		.is_paused = session->is_paused,
		.is_ending = session->is_ending,
		.ending = session->ending,
		.high = high,
		.normal = in_lanes - high,
		.front = session->front,
	};
}

bool pool_session_find(const struct pool *pool, struct text key, struct session_facts *ret)
{
	const struct sessions *sessions = pool->tasks.sessions;
	const struct session *session = sessions ? sessions_find(sessions, key) : NULL;
	if (session)
		*ret = pool_session_facts(pool, session->number);
	return session;
}

void pool_session_tasks(const struct pool *pool, uint32_t number,
	bool (*on_task)(void *ctx, const struct delivery *, bool is_front), void *ctx)
{
	const struct sessions *sessions = pool->tasks.sessions;
	assert(sessions && number < sessions->count);
	const struct session *session = sessions->all[number];
	if (session->front && !on_task(ctx, session->front, true))
		return;
	for (int lane = 0; lane < LANE_COUNT; lane++) {
		const struct link *waiting = &session->lanes[lane].waiting;
		for (const struct link *link = waiting->next; link != waiting; link = link->next)
			if (!on_task(ctx, CONTAINER_OF(link, struct delivery, place), false))
				return;
	}
}
