#include "core/sessions/sessions_internal.h"

#include "base/keyed_hash.h"
#include "core/tasks/source.h"

#include <assert.h>
#include <stdlib.h>

#define SIZE_AT_FIRST  64
#define SPARES_MAX     1024
#define ENDS_PER_TURN  1000
#define SPARE_KEY_SIZE 40 /* a UUID has 36 */

struct sessions *sessions_new(const struct pool_config *config, struct outbox *outbox)
{
	struct sessions *sessions = calloc(1, sizeof *sessions);
	if (!sessions)
		return NULL;
	sessions->config = config;
	sessions->outbox = outbox;
	list_init(&sessions->ring);
	list_init(&sessions->unkeyed.place);
	list_init(&sessions->idle);
	list_init(&sessions->waiting);
	list_init(&sessions->held);
	list_init(&sessions->unnamed);
	list_init(&sessions->overdue);
	list_init(&sessions->lost);
	list_init(&sessions->keyed_lost);
	list_init(&sessions->spares);
	return sessions;
}

/* A delivery in a pipe or sent by the outbox becomes an orphan, and one on a channel is freed with
 * the ledger. */
static void abandon(struct sessions *sessions, struct link *open)
{
	struct link *link;
	while ((link = list_first(open))) {
		struct delivery *delivery = lane_delivery(link);
		bool is_elsewhere = delivery->state == DELIVERY_SENT ||
				    delivery->parcel.seq.number || delivery->source;
		list_remove(link);
		if (!delivery->source)
			list_remove(&delivery->unacked);
		delivery->session = NULL;
		if (is_elsewhere)
			continue;
		if (delivery->state == DELIVERY_ANSWERED)
			outbox_take(sessions->outbox, &delivery->parcel);
		list_remove(&delivery->place);
		delivery_free(delivery);
	}
}

/* While the idle time is short, sessions end as fast as others begin. So some are kept: those with
 * a key of a common size. */
static void session_free(struct sessions *sessions, struct session *session)
{
	session_disinherit(session);
	if (session->key_size > SPARE_KEY_SIZE || sessions->spare_count == SPARES_MAX) {
		free(session);
		return;
	}
	list_prepend(&sessions->spares, &session->turn.place);
	sessions->spare_count++;
}

static struct session *take_spare(struct sessions *sessions)
{
	struct link *spare = list_first(&sessions->spares);
	if (!spare)
		return NULL;
	list_remove(spare);
	sessions->spare_count--;
	return CONTAINER_OF(spare, struct session, turn.place);
}

static void free_spares(struct sessions *sessions)
{
	struct session *session;
	while ((session = take_spare(sessions)))
		free(session);
}

void sessions_free(struct sessions *sessions)
{
	if (!sessions)
		return;
	for (uint32_t i = 0; i < sessions->count; i++) {
		for (int lane = 0; lane < LANE_COUNT; lane++)
			abandon(sessions, &sessions->all[i]->lanes[lane].open);
		session_free(sessions, sessions->all[i]);
	}
	free_spares(sessions);
	abandon(sessions, &sessions->lost);
	free(sessions->all);
	timers_release(&sessions->timers);
	key_table_release(&sessions->by_key);
	free(sessions);
}

/* ---------- the table ---------- */

/* Publishers choose keys, and must not be able to choose keys of one place. */
static uint64_t hash_of(const struct sessions *sessions, struct text key)
{
	return keyed_hash(sessions->config->session.hash_seed, key);
}

struct session *sessions_find(const struct sessions *sessions, struct text key)
{
	return key_table_find(&sessions->by_key, hash_of(sessions, key), key);
}

static bool make_space(struct sessions *sessions)
{
	if (timers_reserve(&sessions->timers, sessions->count + 1) != RC_OK ||
		key_table_reserve(&sessions->by_key, sessions->count + 1) != RC_OK)
		return false;
	if (sessions->count < sessions->size)
		return true;
	uint32_t size = sessions->size ? 2 * sessions->size : SIZE_AT_FIRST;
	struct session **all = realloc(sessions->all, size * sizeof *all);
	if (!all)
		return false;
	sessions->all = all;
	sessions->size = size;
	return true;
}

static struct session *session_new(struct sessions *sessions, struct text key, mtime now)
{
	bool is_spare_size = key.len <= SPARE_KEY_SIZE;
	struct session *session = is_spare_size ? take_spare(sessions) : NULL;
	if (!session)
		session = malloc(sizeof *session + (is_spare_size ? SPARE_KEY_SIZE : key.len));
	if (!session)
		return NULL;
	*session =
		(struct session){.since = now, .key_size = (uint8_t)key.len, .state = SESSION_IDLE};
	list_init(&session->turn.place);
	list_init(&session->in_group);
	for (int lane = 0; lane < LANE_COUNT; lane++) {
		list_init(&session->lanes[lane].waiting);
		list_init(&session->lanes[lane].open);
	}
	session->timer.at = MTIME_NEVER;
	memcpy(session->key, key.ptr, key.len);
	return session;
}

/* ---------- the states ---------- */

static struct delivery *first_waiting(const struct session *session)
{
	struct delivery *high = lane_first(&session->lanes[LANE_HIGH]);
	return high ? high : lane_first(&session->lanes[LANE_NORMAL]);
}

struct delivery *session_next(const struct session *session)
{
	return session->front ? session->front : first_waiting(session);
}

bool session_has_place_for(const struct sessions *sessions, const struct session *session)
{
	uint32_t max = sessions->config->session.max_active;
	return session->has_place || max == 0 || sessions->active < max;
}

/* Of those that have not ended, the one of the lane that would come back first. */
static bool has_lane_come_back(const struct session *session, int lane)
{
	const struct delivery *front = session->front;
	bool is_front = front && front->is_high == (lane == LANE_HIGH);
	const struct delivery *first = is_front ? front : lane_first(&session->lanes[lane]);
	return first && first->redelivered;
}

/* A former holder may still run what came back of one lane, so that the other one waits, too. What
 * comes back waits before all else of its lane. */
static bool has_come_back(const struct session *session)
{
	return has_lane_come_back(session, LANE_HIGH) || has_lane_come_back(session, LANE_NORMAL);
}

bool session_is_held(const struct sessions *sessions, const struct session *session, mtime now)
{
	return now < sessions->held_until && has_come_back(session);
}

static enum session_state state_of(
	const struct sessions *sessions, const struct session *session, mtime now)
{
	if (session_is_at_work(session))
		return SESSION_RUNNING;
	if (session->is_blocked)
		return SESSION_BLOCKED;
	if (session->is_paused)
		return SESSION_PAUSED;
	if (session->timer.place)
		return SESSION_PARKED;
	const struct delivery *next = session_next(session);
	if (!next)
		return SESSION_IDLE;
	if (delivery_is_detached(next))
		return SESSION_DETACHED;
	if (!session_has_place_for(sessions, session))
		return SESSION_WAITING;
	if (session_is_held(sessions, session, now))
		return SESSION_HELD;
	if (session->group && !session->is_due)
		return SESSION_PARKED;
	return sessions_must_name(sessions, next, now) ? SESSION_HELD : SESSION_READY;
}

static uint64_t quantum_of(const struct sessions *sessions)
{
	const struct session_config *config = &sessions->config->session;
	return config->quantum ? config->quantum : (uint64_t)config->quantum_time;
}

/* True: it goes to the head of the ring, because its turn goes on. */
static bool keeps_turn(struct sessions *sessions, struct session *session)
{
	if (session->state != SESSION_RUNNING) {
		session->turn.used = 0;
		return false;
	}
	if (session->is_ending || session->turn.used < quantum_of(sessions))
		return true;
	session->turn.used = 0;
	sessions->used_up += !list_is_empty(&sessions->ring);
	return false;
}

static void enter_ring(struct sessions *sessions, struct session *session)
{
	if (keeps_turn(sessions, session))
		list_prepend(&sessions->ring, &session->turn.place);
	else
		list_append(&sessions->ring, &session->turn.place);
	sessions->active += !session->has_place;
	session->has_place = true;
}

static void count_state(
	struct sessions *sessions, const struct session *session, int32_t difference)
{
	sessions->by_state[session->state] += difference;
	sessions->waiting_in[session->state] += difference * session->waiting;
}

/* HELD for no other reason. */
static bool is_unnamed_in(const struct sessions *sessions, const struct session *session,
	enum session_state state, mtime now)
{
	return state == SESSION_HELD && !session_is_held(sessions, session, now);
}

static void set_state(
	struct sessions *sessions, struct session *session, enum session_state state, mtime now)
{
	bool is_unnamed = is_unnamed_in(sessions, session, state, now);
	list_remove(&session->turn.place);
	if (state == SESSION_READY)
		enter_ring(sessions, session);
	else if (state == SESSION_IDLE)
		list_append(&sessions->idle, &session->turn.place);
	else if (state == SESSION_WAITING)
		list_append(&sessions->waiting, &session->turn.place);
	else if (state == SESSION_HELD)
		list_append(
			is_unnamed ? &sessions->unnamed : &sessions->held, &session->turn.place);
	count_state(sessions, session, -1);
	session->state = (uint8_t)state;
	session->is_unnamed = is_unnamed;
	session->since = now;
	session->is_over = false;
	count_state(sessions, session, 1);
}

/* Only the throttle keeps its next task from its turn, or that it must be named. */
static bool stays_in_group(const struct sessions *sessions, const struct session *session,
	enum session_state state, mtime now)
{
	bool waits = state == SESSION_PARKED || state == SESSION_READY ||
		     is_unnamed_in(sessions, session, state, now);
	return waits && session_next(session) == session->throttled;
}

/* Something of the session has changed: it may have another state. */
void session_update(struct sessions *sessions, struct session *session, mtime now)
{
	enum session_state state = state_of(sessions, session, now);
	if (session->group && !stays_in_group(sessions, session, state, now)) {
		session_leave_group(sessions, session, now);
		state = state_of(sessions, session, now);
	}
	if (state != session->state ||
		session->is_unnamed != is_unnamed_in(sessions, session, state, now))
		set_state(sessions, session, state, now);
}

void session_count_waiting(struct sessions *sessions, struct session *session, int32_t difference)
{
	session->waiting += difference;
	sessions->waiting_count += difference;
	sessions->waiting_in[session->state] += difference;
}

/* ---------- begin and end ---------- */

static void give_place(struct sessions *sessions, mtime now)
{
	struct link *first;
	while ((first = list_first(&sessions->waiting))) {
		struct session *session = CONTAINER_OF(first, struct session, turn.place);
		if (!session_has_place_for(sessions, session))
			break;
		session_update(sessions, session, now);
	}
}

/* Nothing of it is unacked. */
static void end(struct sessions *sessions, struct session *session, enum session_end why, mtime now)
{
	assert(session->unacked == 0 && !session->front && session->waiting == 0);
	assert(!session->group);
	struct session *last = sessions->all[--sessions->count];
	last->number = session->number;
	sessions->all[last->number] = last;
	list_remove(&session->turn.place);
	count_state(sessions, session, -1);
	key_table_remove(&sessions->by_key, session);
	if (sessions->naming.session == session)
		sessions->naming.session = NULL;
	sessions->active -= session->has_place;
	sessions->ended[why]++;
	session_free(sessions, session);
	give_place(sessions, now);
}

/* False: it has messages that are not acked, or that have not come back. */
static bool may_end(const struct session *session)
{
	return session->unacked == 0 && !session->inherited;
}

/* The idle session is over: it ends now, or with its last ack. */
static void end_idle(
	struct sessions *sessions, struct session *session, enum session_end why, mtime now)
{
	if (may_end(session)) {
		end(sessions, session, why, now);
		return;
	}
	list_remove(&session->turn.place);
	session->is_over = true;
	session->ending = (uint8_t)why;
}

/* Its last ack was sent. */
void session_end_if_over(struct sessions *sessions, struct session *session, mtime now)
{
	if (session->is_over && may_end(session))
		end(sessions, session, session->ending, now);
}

static void forget_oldest(struct sessions *sessions, mtime now)
{
	struct link *first = list_first(&sessions->idle);
	if (first)
		end_idle(sessions, CONTAINER_OF(first, struct session, turn.place),
			SESSION_END_FORGOTTEN, now);
}

struct session *sessions_open(struct sessions *sessions, struct text key, mtime now)
{
	uint64_t hash = hash_of(sessions, key);
	struct session *session = key_table_find(&sessions->by_key, hash, key);
	if (session)
		return session;
	if (sessions->count >= sessions->config->session.max_sessions)
		forget_oldest(sessions, now);
	if (!make_space(sessions) || !(session = session_new(sessions, key, now)))
		return NULL;
	session->life = ++sessions->last_life;
	session->number = sessions->count;
	sessions->all[sessions->count++] = session;
	session->hash = hash;
	key_table_add(&sessions->by_key, session);
	list_append(&sessions->idle, &session->turn.place);
	count_state(sessions, session, 1);
	return session;
}

/* The next life of the session begins: with a turn of its own, and behind those that wait for a
 * place. */
static void begin_next_life(struct sessions *sessions, struct session *session, mtime now)
{
	sessions->ended[session->ending]++;
	session->life = ++sessions->last_life;
	session->turn.used = 0;
	sessions->active -= session->has_place;
	session->has_place = false;
	give_place(sessions, now);
}

/* What waits, if anything does, is of the next life. */
static void end_life(struct sessions *sessions, struct session *session, mtime now)
{
	if (!session->is_ending || session->ends_after > 0)
		return;
	assert(!session_is_at_work(session)); /* its running task counts in ends_after */
	session->is_ending = false;
	if (session->state == SESSION_IDLE) {
		end_idle(sessions, session, session->ending, now);
		return;
	}
	if (session->state == SESSION_READY)
		set_state(sessions, session, SESSION_PAUSED, now); /* out of the ring */
	begin_next_life(sessions, session, now);
	session_update(sessions, session, now);
}

void session_expect_no_more(struct sessions *sessions, struct session *session, mtime now)
{
	uint32_t left = session->waiting + session_is_at_work(session);
	if (!session->is_ending || session->ends_after <= left)
		return;
	session->ends_after = left;
	end_life(sessions, session, now);
}

/* ---------- tasks that wait, and the ring ---------- */

void sessions_append(struct sessions *sessions, struct delivery *delivery, mtime now)
{
	struct session *session = delivery->session;
	if (session->is_over && session->unacked > 0)
		begin_next_life(sessions, session, now);
	delivery->state = DELIVERY_QUEUED;
	session->unacked++;
	struct lane *lane = lane_of(delivery);
	list_append(&lane->open, &delivery->in_lane);
	list_append(&lane->waiting, &delivery->place);
	session_count_waiting(sessions, session, 1);
	if (session->inherited)
		session_inherit(sessions, delivery, now);
	session_update(sessions, session, now);
}

void sessions_put_back(struct sessions *sessions, struct delivery *delivery, mtime now)
{
	struct session *session = delivery->session;
	assert(session->front == delivery);
	delivery->state = DELIVERY_QUEUED;
	timers_set(&sessions->timers, &session->timer, MTIME_NEVER);
	if (!delivery->is_later) {
		session->front = NULL;
		list_prepend(&lane_of(delivery)->waiting, &delivery->place);
	}
	session_count_waiting(sessions, session, 1);
	session_update(sessions, session, now);
	if (session->rest_goes == REST_IS_KEPT) {
		session->rest_goes = REST_IS_RETRIED;
		session->ends_after = 0;
		end_life(sessions, session, now);
	}
}

struct delivery *sessions_next(const struct sessions *sessions, struct delivery *unkeyed)
{
	struct link *first = list_first(&sessions->ring);
	if (!first)
		return NULL;
	if (first == &sessions->unkeyed.place)
		return unkeyed;
	return session_next(CONTAINER_OF(first, struct session, turn.place));
}

void sessions_begin(struct sessions *sessions, struct delivery *delivery, mtime now)
{
	struct session *session = delivery->session;
	if (session->group)
		session_leave_group(sessions, session, now);
	list_remove(&delivery->place);
	session->front = delivery;
	session_count_waiting(sessions, session, -1);
	set_state(sessions, session, SESSION_RUNNING, now);
}

void sessions_unkeyed_waits(struct sessions *sessions)
{
	if (!list_is_empty(&sessions->unkeyed.place))
		return;
	list_append(&sessions->ring, &sessions->unkeyed.place);
}

/* What those that were sent by now take is not charged to a later turn: they may run for long, and
 * would end one turn after the other. */
static void end_unkeyed_turn(struct sessions *sessions)
{
	list_remove(&sessions->unkeyed.place);
	sessions->unkeyed.used = 0;
	sessions->unkeyed_before = sessions->unkeyed_last;
}

/* The tasks without a key have used so much more of their quantum. */
static void charge_unkeyed(struct sessions *sessions, uint64_t used)
{
	struct turn *turn = &sessions->unkeyed;
	turn->used += used;
	if (turn->used < quantum_of(sessions))
		return;
	end_unkeyed_turn(sessions);
	sessions->used_up += !list_is_empty(&sessions->ring);
	list_append(&sessions->ring, &turn->place);
}

void sessions_unkeyed_begins(struct sessions *sessions, uint64_t last_id, bool is_empty)
{
	sessions->unkeyed_last = last_id;
	if (is_empty)
		end_unkeyed_turn(sessions);
	else if (sessions->config->session.quantum)
		charge_unkeyed(sessions, 1);
}

/* Their turn goes on in which the task was sent. */
static bool is_of_turn(const struct sessions *sessions, const struct delivery *unkeyed)
{
	return unkeyed->id > sessions->unkeyed_before && unkeyed->id <= sessions->unkeyed_last;
}

void sessions_charge(struct sessions *sessions, const struct delivery *delivery, mtime took)
{
	bool is_in_tasks = sessions->config->session.quantum > 0;
	if (delivery->session)
		delivery->session->turn.used += is_in_tasks ? 1 : (uint64_t)took;
	else if (!is_in_tasks && is_of_turn(sessions, delivery))
		charge_unkeyed(sessions, (uint64_t)took);
}

/* ---------- commands ---------- */

void sessions_end_after(struct sessions *sessions, struct session *session, uint32_t tasks,
	enum session_end why, mtime now)
{
	session->is_ending = true;
	session->ends_after = tasks;
	session->ending = (uint8_t)why;
	if (session->state == SESSION_READY) {
		list_remove(&session->turn.place);
		list_prepend(&sessions->ring, &session->turn.place);
	}
	end_life(sessions, session, now);
}

void sessions_abort(struct sessions *sessions, struct session *session, enum session_rest goes,
	bool is_begun, mtime now)
{
	session->rest_goes = goes;
	timers_set(&sessions->timers, &session->timer,
		is_begun ? mtime_after(now, sessions->config->grace) : MTIME_NEVER);
}

struct delivery *sessions_take_overdue(struct sessions *sessions)
{
	struct link *first = list_first(&sessions->overdue);
	if (!first)
		return NULL;
	list_remove(first);
	return CONTAINER_OF(first, struct session, turn.place)->front;
}

void sessions_pause(struct sessions *sessions, struct session *session, bool is_paused, mtime now)
{
	session->is_paused = is_paused;
	session_update(sessions, session, now);
}

void sessions_retry(struct sessions *sessions, struct session *session, mtime now)
{
	session->is_blocked = false;
	timers_set(&sessions->timers, &session->timer, MTIME_NEVER);
	session_update(sessions, session, now);
}

struct delivery *sessions_take_waiting(
	struct sessions *sessions, struct session *session, mtime now)
{
	bool is_at_work = session_is_at_work(session);
	struct delivery *delivery = is_at_work ? first_waiting(session) : session_next(session);
	if (!delivery)
		return NULL;
	list_remove(&delivery->place);
	session_count_waiting(sessions, session, -1);
	if (delivery == session->front)
		sessions_leave(sessions, delivery, now);
	else
		session_update(sessions, session, now);
	return delivery;
}

/* ---------- after an attempt ---------- */

void sessions_leave(struct sessions *sessions, struct delivery *delivery, mtime now)
{
	struct session *session = delivery->session;
	if (session->front != delivery)
		return;
	session->front = NULL;
	session->is_blocked = false;
	session->reason = REASON_NONE;
	session->rest_goes = REST_IS_RETRIED;
	delivery->is_later = false;
	timers_set(&sessions->timers, &session->timer, MTIME_NEVER);
	assert(!session->is_ending || session->ends_after > 0);
	session->ends_after -= session->is_ending;
	session_update(sessions, session, now);
	end_life(sessions, session, now);
}

static void keep_in_front(struct sessions *sessions, struct delivery *delivery, enum reason reason)
{
	struct session *session = delivery->session;
	assert(session->front == delivery);
	delivery->state = DELIVERY_QUEUED;
	delivery->is_later = true;
	session->reason = (uint8_t)reason;
	session_count_waiting(sessions, session, 1);
}

void sessions_park(struct sessions *sessions, struct delivery *delivery, enum reason reason,
	mtime delay, mtime now)
{
	struct session *session = delivery->session;
	keep_in_front(sessions, delivery, reason);
	if (delay > 0)
		timers_set(&sessions->timers, &session->timer, mtime_after(now, delay));
	session_update(sessions, session, now);
}

void sessions_block(
	struct sessions *sessions, struct delivery *delivery, enum reason reason, mtime now)
{
	keep_in_front(sessions, delivery, reason);
	delivery->session->is_blocked = true;
	session_update(sessions, delivery->session, now);
}

void sessions_continue(struct sessions *sessions, struct delivery *delivery, mtime now)
{
	delivery->is_later = false;
	delivery->session->reason = REASON_NONE; /* its attempts begin again */
	sessions_put_back(sessions, delivery, now);
}

static void release(struct delivery *delivery)
{
	list_remove(&delivery->in_lane);
	source_release(delivery);
}

/* Acks in another order than that of the lane would be out of order when what is not acked runs
 * again; but what was disposed of has not run. */
void lane_release(struct lane *lane, struct delivery *settled)
{
	struct link *first;
	if (settled->is_disposed && settled->state == DELIVERY_SETTLED && settled->source)
		release(settled);
	while ((first = list_first(&lane->open))) {
		struct delivery *delivery = lane_delivery(first);
		if (delivery->state != DELIVERY_SETTLED || !delivery->source)
			break;
		release(delivery);
	}
}

void sessions_settle(struct sessions *sessions, struct delivery *delivery)
{
	delivery->state = DELIVERY_SETTLED;
	sessions->settled += !delivery->source;
	if (delivery->session)
		lane_release(lane_of(delivery), delivery);
}

void sessions_remove(struct sessions *sessions, struct delivery *delivery, mtime now)
{
	struct session *session = delivery->session;
	sessions_leave(sessions, delivery, now);
	session->unacked--;
	list_remove(&delivery->in_lane);
	delivery_free(delivery);
	session_end_if_over(sessions, session, now);
}

/* ---------- time ---------- */

void sessions_hold(struct sessions *sessions, mtime until)
{
	sessions->held_until = until;
}

void sessions_configured(struct sessions *sessions, mtime now)
{
	while (sessions->count > sessions->config->session.max_sessions &&
		!list_is_empty(&sessions->idle))
		forget_oldest(sessions, now);
	give_place(sessions, now);
}

static void end_timers(struct sessions *sessions, mtime now)
{
	while (timers_deadline(&sessions->timers) <= now) {
		struct session *session =
			CONTAINER_OF(timers_first(&sessions->timers), struct session, timer);
		timers_set(&sessions->timers, &session->timer, MTIME_NEVER);
		if (session->state == SESSION_RUNNING)
			list_append(&sessions->overdue, &session->turn.place);
		else
			session_update(sessions, session, now);
	}
}

static void wake_held(struct sessions *sessions, mtime now)
{
	struct link *first;
	while (now >= sessions->held_until && (first = list_first(&sessions->held)))
		session_update(sessions, CONTAINER_OF(first, struct session, turn.place), now);
}

/* When the first idle session is over. */
static mtime idle_deadline(const struct sessions *sessions)
{
	struct link *first = list_first(&sessions->idle);
	if (!first)
		return MTIME_NEVER;
	const struct session *session = CONTAINER_OF(first, struct session, turn.place);
	return mtime_after(session->since, sessions->config->session.idle);
}

void sessions_end_idle(struct sessions *sessions, mtime now)
{
	for (int i = 0; i < ENDS_PER_TURN && idle_deadline(sessions) <= now; i++) {
		struct session *session =
			CONTAINER_OF(list_first(&sessions->idle), struct session, turn.place);
		end_idle(sessions, session, SESSION_END_IDLE, now);
	}
}

void sessions_wake(struct sessions *sessions, mtime now)
{
	end_timers(sessions, now);
	wake_held(sessions, now);
	sessions_stop_naming(sessions, now);
}

mtime sessions_deadline(const struct sessions *sessions)
{
	mtime deadline = timers_deadline(&sessions->timers);
	if (!list_is_empty(&sessions->held))
		deadline = mtime_min(deadline, sessions->held_until);
	if (!list_is_empty(&sessions->unnamed))
		deadline = mtime_min(deadline, sessions->naming.until);
	return mtime_min(deadline, idle_deadline(sessions));
}
