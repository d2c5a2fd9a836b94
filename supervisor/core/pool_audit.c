/* Every invariant of a pool that can be checked by walking it. For tests: O(n). */
#include "core/pool_internal.h"
#include "core/sessions/sessions_internal.h"

#include <assert.h>

#define EACH(link, list) (const struct link *link = (list)->next; link != (list); link = link->next)

static size_t length(const struct link *list)
{
	size_t count = 0;
	for
		EACH(link, list)
		{
			assert(link->next->prev == link);
			count++;
		}
	return count;
}

struct ledger_counts {
	uint32_t open, excluded, queued, sent, answered, settled, released;
	size_t bytes;
};

/* Not an orphan, nor an accepted one whose message is acked. */
static bool is_unacked(const struct delivery *delivery)
{
	return delivery->source || delivery_is_detached(delivery);
}

static void audit_delivery(const struct pool *pool, const struct delivery *delivery)
{
	bool is_in_outbox = !list_is_empty(&delivery->parcel.order);
	bool is_placed = !list_is_empty(&delivery->place);
	assert(delivery->source == &pool->tasks.source);
	assert(delivery->parcel.delivery == delivery);
	assert(is_in_outbox == (delivery->state == DELIVERY_ANSWERED));
	bool is_kept = delivery->session && delivery->session->front == delivery;
	assert(is_placed ==
			(delivery->state == DELIVERY_QUEUED || delivery->state == DELIVERY_SENT) ||
		(is_kept && delivery->state == DELIVERY_QUEUED));
	assert(list_is_empty(&delivery->in_lane) ==
		(!delivery->session || delivery->state == DELIVERY_RELEASED));
	assert(list_is_empty(&delivery->released) ==
		(delivery->state != DELIVERY_RELEASED && !delivery->is_accepted));
}

static void count_state(struct ledger_counts *counts, enum delivery_state state)
{
	counts->open++;
	counts->queued += state == DELIVERY_QUEUED;
	counts->sent += state == DELIVERY_SENT;
	counts->answered += state == DELIVERY_ANSWERED;
	counts->settled += state == DELIVERY_SETTLED;
	counts->released += state == DELIVERY_RELEASED;
}

static struct ledger_counts audit_ledger(const struct pool *pool)
{
	const struct source *source = &pool->tasks.source;
	struct ledger_counts counts = {0};
	uint64_t last = 0;
	for
		EACH(link, &source->unacked)
		{
			const struct delivery *delivery =
				CONTAINER_OF(link, struct delivery, unacked);
			assert(delivery->tag > last && delivery->tag <= source->last_tag);
			last = delivery->tag;
			counts.excluded += last <= source->excluded_tag;
			counts.bytes += delivery->content;
			audit_delivery(pool, delivery);
			count_state(&counts, delivery->state);
		}
	assert(counts.open == source->open);
	assert(counts.excluded == source->excluded && counts.bytes == source->bytes);
	assert(counts.open == 0 || source->state != SOURCE_IS_ABSENT);
	assert(counts.released == length(&source->released));
	assert(counts.released == source->released_count);
	assert(source->released_count || source->released_since == MTIME_NEVER);
	return counts;
}

static void audit_timers(const struct timers *timers)
{
	assert(timers->count <= timers->size);
	for (uint32_t i = 2; i <= timers->count; i++)
		assert(timers->heap[i / 2]->at <= timers->heap[i]->at);
}

/* ---------- sessions ---------- */

static bool is_in_list(const struct link *list, const struct link *wanted)
{
	for
		EACH(link, list)
	if (link == wanted)
		return true;
	return false;
}

/* Where a session of this state stands; NULL: in no list. */
static const struct link *list_of(const struct sessions *sessions, const struct session *session)
{
	if (session->state == SESSION_READY)
		return &sessions->ring;
	if (session->state == SESSION_WAITING)
		return &sessions->waiting;
	if (session->state == SESSION_HELD)
		return session->is_unnamed ? &sessions->unnamed : &sessions->held;
	return session->state == SESSION_IDLE && !session->is_over ? &sessions->idle : NULL;
}

/* Add what is detached and not in the ledger to counts. */
static void audit_lane(
	const struct session *session, const struct lane *lane, struct ledger_counts *counts)
{
	bool is_detached = false;
	for
		EACH(link, &lane->open)
		{
			const struct delivery *delivery =
				CONTAINER_OF(link, struct delivery, in_lane);
			assert(delivery->session == session);
			assert(delivery->state != DELIVERY_RELEASED);
			is_detached |= lane->detached == delivery;
			assert(is_detached == delivery_is_detached(delivery));
			if (is_detached)
				count_state(counts, delivery->state);
		}
	assert(is_detached == (lane->detached != NULL));
	const struct link *first = list_first(&lane->open);
	assert(!first || CONTAINER_OF(first, struct delivery, in_lane)->state != DELIVERY_SETTLED ||
		CONTAINER_OF(first, struct delivery, in_lane) == lane->detached);
}

/* A suspect among them that waits for a worker is not counted: it waits for its redelivery. */
static void audit_lost(const struct sessions *sessions, struct ledger_counts *counts)
{
	for
		EACH(link, &sessions->lost)
		{
			const struct delivery *delivery =
				CONTAINER_OF(link, struct delivery, in_lane);
			assert(!delivery->session && !delivery->source);
			assert(delivery->state != DELIVERY_RELEASED);
			assert(!list_is_empty(&delivery->place) ==
				(delivery->state == DELIVERY_SENT));
			count_state(counts, delivery->state);
			counts->queued -= delivery->state == DELIVERY_QUEUED;
		}
}

static void audit_session(const struct sessions *sessions, const struct session *session, mtime now,
	struct ledger_counts *counts)
{
	const struct delivery *front = session->front;
	const struct link *list = list_of(sessions, session);
	bool is_at_work = front && (front->state == DELIVERY_SENT || !list_is_empty(&front->place));
	size_t waiting = (front && !is_at_work) + length(&session->lanes[LANE_HIGH].waiting) +
			 length(&session->lanes[LANE_NORMAL].waiting);
	assert(waiting == session->waiting);
	assert(is_at_work == (session->state == SESSION_RUNNING));
	assert(!front || front->session == session);
	assert((session->state == SESSION_BLOCKED) == (session->is_blocked && !is_at_work));
	assert(session->state != SESSION_IDLE || (waiting == 0 && !session->is_paused));
	if (list)
		assert(is_in_list(list, &session->turn.place));
	else if (session->state != SESSION_RUNNING)
		assert(list_is_empty(&session->turn.place));
	assert(sessions_find(sessions, session_key(session)) == session);
	assert(!session->group == list_is_empty(&session->in_group));
	assert(!session->group || session_next(session) == session->throttled);
	assert(!session->group || session->is_due || session->state == SESSION_PARKED);
	assert(!session->is_due || session->state == SESSION_READY || session->is_unnamed);
	assert(session->state != SESSION_READY ||
		!sessions_must_name(sessions, session_next(session), now));
	for (int lane = 0; lane < LANE_COUNT; lane++)
		audit_lane(session, &session->lanes[lane], counts);
}

static bool is_held(const struct link *list, const struct throttle_hold *hold)
{
	return hold->first && list_first(list) == &hold->first->place;
}

static bool has_unkeyed_next(const struct dispatch *dispatch)
{
	const struct throttling *throttling = &dispatch->throttling;
	bool is_any = !list_is_empty(&dispatch->queued);
	return throttling->due_count > 0 ||
	       (is_any && !is_held(&dispatch->queued, &throttling->queued));
}

/* Adds the detached deliveries to counts. */
static void audit_sessions(const struct pool *pool, struct ledger_counts *counts)
{
	const struct sessions *sessions = pool->tasks.sessions;
	struct ledger_counts detached = {0};
	uint32_t by_state[SESSION_STATE_COUNT] = {0}, waiting_in[SESSION_STATE_COUNT] = {0};
	uint32_t waiting = 0, active = 0, throttled = 0;
	for (uint32_t i = 0; i < sessions->count; i++) {
		const struct session *session = sessions->all[i];
		assert(session->number == i);
		audit_session(sessions, session, pool->context.now, &detached);
		by_state[session->state]++;
		waiting_in[session->state] += session->waiting;
		waiting += session->waiting;
		active += session->has_place;
		throttled += session->group && !session->is_due;
	}
	assert(sessions->by_key.count == sessions->count);
	assert(memcmp(by_state, sessions->by_state, sizeof by_state) == 0);
	assert(memcmp(waiting_in, sessions->waiting_in, sizeof waiting_in) == 0);
	assert(waiting == sessions->waiting_count && active == sessions->active);
	assert(throttled == sessions->throttled);
	audit_lost(sessions, &detached);
	assert(length(&sessions->keyed_lost) + length(&sessions->lost) == detached.open);
	assert(detached.open == sessions->detached && detached.settled == sessions->settled);
	counts->queued += detached.queued;
	counts->sent += detached.sent;
	counts->answered += detached.answered;
	bool has_unkeyed = has_unkeyed_next(&pool->tasks.dispatch);
	assert(has_unkeyed == !list_is_empty(&sessions->unkeyed.place));
	assert(length(&sessions->ring) == by_state[SESSION_READY] + has_unkeyed);
	audit_timers(&sessions->timers);
}

static uint32_t audit_pipe(const struct dispatch *dispatch, const struct pipe *pipe)
{
	uint32_t live = 0, begun = 0, overdue = 0, killed = 0;
	bool is_listed = !list_is_empty(&pipe->by_load), is_running = pipe->begun > 0;
	assert(is_listed ==
		(!pipe->closed && pipe->load < dispatch->open.max && !pipe_is_spent(pipe)));
	bool is_alone = false;
	assert(list_is_empty(&pipe->in_time) || (is_running && !(pipe->closed & PIPE_HELD_UP)));
	assert(!(pipe->closed & PIPE_HELD_UP) || is_running);
	assert(length(&pipe->tasks) == pipe->load && pipe->load <= dispatch->open.max);
	assert(dispatch->concurrency == 1 || pipe->load <= dispatch->concurrency);
	assert(is_running == !list_is_empty(&pipe->busy));
	assert((pipe->overdue > 0) == !list_is_empty(&pipe->watched));
	assert((pipe->overdue > 0) == !!(pipe->closed & PIPE_OVERDUE));
	assert((pipe->killed > 0) == !!(pipe->closed & PIPE_KILLED));
	assert(list_is_empty(&pipe->kept) ||
		(pipe->closed & ~(unsigned)(PIPE_OVERDUE | PIPE_KILLED)) == PIPE_ALONE);
	for
		EACH(link, &pipe->tasks)
		{
			const struct delivery *delivery =
				CONTAINER_OF(link, struct delivery, place);
			assert(delivery->state == DELIVERY_SENT && delivery->pipe == pipe);
			assert(dispatch_find(dispatch, delivery->id) == delivery);
			live += is_unacked(delivery);
			begun += running_has(delivery);
			overdue += delivery->is_overdue;
			killed += delivery->kill != KILL_NOT;
			is_alone |= dispatch->concurrency > 1 && delivery->is_suspect;
		}
	assert(begun == pipe->begun && overdue == pipe->overdue && killed == pipe->killed);
	assert(!is_alone || (pipe->load == 1 && pipe->closed & PIPE_ALONE));
	return live;
}

static bool has_timer(const struct slot *slot)
{
	enum life_state state = slot->state;
	return state == LIFE_WAITING || state == LIFE_STARTING || state == LIFE_QUITTING ||
	       state == LIFE_STOPPING || (state == LIFE_READY && slot->pipe.killed > 0);
}

static void audit_timer(const struct timers *timers, const struct timer *timer)
{
	assert((timer->place > 0) == (timer->at != MTIME_NEVER));
	assert(!timer->place || timers->heap[timer->place] == timer);
}

static void audit_slot(const struct pool *pool, const struct slot *slot)
{
	const struct pool_config *config = &pool->context.config;
	const struct pipe *pipe = &slot->pipe;
	uint32_t begun = config->concurrency > 1 ? pipe->load : pipe->load > 0;
	bool is_ready = slot->state == LIFE_READY, is_leaving = slot_is_leaving(slot);
	assert(slots_at(&pool->slots, pipe->slot) == slot);
	assert(pipe->closed & PIPE_NOT_READY || is_ready);
	assert(pipe->begun == (is_ready ? begun : 0));
	assert(has_timer(slot) == (slot->timer.at != MTIME_NEVER) || config->grace == MTIME_NEVER ||
		config->boot_limit == MTIME_NEVER);
	audit_timer(&pool->slots.timers, &slot->timer);
	assert(!list_is_empty(&slot->in_line) == (slot->state == LIFE_IN_LINE));
	assert(slot_has_process(slot) || pipe->load == 0);
	if (!pool_stays(&pool->context))
		return;
	if (is_ready && !is_leaving)
		assert(pipe->load > 0 || !pipe_is_spent(pipe));
	assert(slot->state != LIFE_RETIRED || is_leaving);
	assert(!is_leaving || slot->state == LIFE_RETIRED ||
		(slot_has_process(slot) && slot->state != LIFE_STARTING));
	assert(!is_leaving || !is_ready || pipe->load > 0 || pipe->slot >= pool->slots.passed);
}

static void audit_wanted(const struct pool *pool, uint32_t kept)
{
	const struct slots *slots = &pool->slots;
	assert(kept == slots->kept && slots->wanted >= 1 && slots->wanted <= POOL_WORKERS_MAX);
	assert(pool->tasks.pace.workers == slots->wanted);
	assert(slots->wanted == autoscale_within(&slots->autoscale, slots->wanted));
	assert(kept == slots->wanted + slots->recycling.spares ||
		(kept == slots->wanted + 1u &&
			(slots->roll.state != REPLACE_OFF || !pool_stays(&pool->context))));
	assert(slots->recycling.state != REPLACE_OFF || slots->recycling.spares == 0);
}

static void audit_slots(const struct pool *pool, const struct ledger_counts *counts)
{
	const struct slots *slots = &pool->slots;
	const struct timers *timers = &slots->timers;
	uint32_t in_line = 0, starting = 0, ready = 0, failing = 0, retired = 0, with_timer = 0,
		 sent = 0, loads = 0, kept = 0, alone = 0;
	for (uint32_t i = 0; i < slots->all.count; i++) {
		const struct slot *slot = slots_at(slots, i);
		audit_slot(pool, slot);
		sent += audit_pipe(&pool->tasks.dispatch, &slot->pipe);
		loads += slot->pipe.load;
		in_line += slot->state == LIFE_IN_LINE;
		starting += slot->state == LIFE_STARTING;
		ready += slot->state == LIFE_READY;
		retired += slot->state == LIFE_RETIRED;
		failing += slot->failures > 0;
		with_timer += slot->timer.place > 0;
		alone += (slot->pipe.closed & PIPE_ALONE) != 0;
		kept += !slot_is_leaving(slot);
	}
	audit_wanted(pool, kept);
	assert(sent == counts->sent);
	assert(loads == pool->tasks.dispatch.in_pipes);
	assert(loads == pool->tasks.dispatch.by_id.count);
	assert(alone == pool->tasks.dispatch.alone);
	assert(!pool->tasks.dispatch.is_exclusive || loads == 1);
	assert(in_line == length(&slots->line));
	assert(in_line || list_is_empty(&slots->place));
	assert(starting == slots->starting && starting <= slots->starts->starting);
	assert(ready == slots->ready && failing == slots->failing && retired == slots->retired);
	assert(with_timer == timers->count);
	audit_timers(timers);
}

static void audit_hard_limits(const struct running *running)
{
	const struct delivery *longest = NULL;
	uint32_t own = 0;
	for
		EACH(link, &running->begun)
		{
			const struct delivery *delivery =
				CONTAINER_OF(link, struct delivery, begun);
			if (!longest && !delivery->hard_limit)
				longest = delivery;
			own += delivery->hard_limit > 0;
			assert(!delivery->hard_limit ||
				delivery->hard.at ==
					mtime_after(delivery->begun_at, delivery->hard_limit));
		}
	assert(longest == running->longest && own == running->hard.count);
	audit_timers(&running->hard);
}

static void audit_running(const struct running *running)
{
	mtime since = INT64_MIN;
	audit_hard_limits(running);
	for
		EACH(link, &running->begun)
		{
			const struct delivery *delivery =
				CONTAINER_OF(link, struct delivery, begun);
			assert(delivery->begun_at >= since);
			since = delivery->begun_at;
		}
	since = INT64_MIN;
	for
		EACH(link, &running->watched)
		{
			const struct pipe *pipe = CONTAINER_OF(link, struct pipe, watched);
			assert(pipe->watched_since >= since);
			since = pipe->watched_since;
		}
	audit_timers(&running->soft);
}

static void audit_by_load(const struct by_load *by_load)
{
	const struct pipe *least = NULL;
	for (uint32_t load = 0; load < by_load->max; load++) {
		const struct link *list = &by_load->lists[load];
		bool bit = by_load->words[load / BY_LOAD_BITS] >> load % BY_LOAD_BITS & 1;
		assert(bit == !list_is_empty(list));
		for
			EACH(link, list)
		assert(CONTAINER_OF(link, struct pipe, by_load)->load == load);
		if (!least && bit)
			least = CONTAINER_OF(list_first(list), struct pipe, by_load);
	}
	assert(by_load_first(by_load) == least);
}

static void audit_member(const struct throttle_group *group, const struct link *link, bool is_first)
{
	if (group->is_of_sessions) {
		const struct session *session = CONTAINER_OF(link, struct session, in_group);
		assert(session->group == group);
		assert(session->is_due == (is_first && group->timer.place == 0));
		return;
	}
	const struct delivery *delivery = CONTAINER_OF(link, struct delivery, place);
	assert(delivery->group == group && delivery->state == DELIVERY_QUEUED);
	assert(delivery->source && !delivery->session);
}

/* Return how many members it has. */
static size_t audit_group(const struct throttling *throttling, const struct throttle_group *group)
{
	const struct link *first = list_first(&group->members);
	assert(first && group->throttling == throttling);
	audit_timer(&throttling->timers, &group->timer);
	assert(number_table_find(&throttling->by_number, group->number.number) == &group->number);
	for
		EACH(link, &group->members)
	audit_member(group, link, link == first);
	return length(&group->members);
}

/* Return how many members all groups of the list have. */
static size_t audit_groups(const struct throttling *throttling, const struct link *groups)
{
	size_t count = 0;
	for
		EACH(link, groups)
	count += audit_group(throttling, CONTAINER_OF(link, struct throttle_group, place));
	return count;
}

static void audit_throttling(const struct dispatch *dispatch)
{
	const struct throttling *throttling = &dispatch->throttling;
	size_t due = length(&throttling->due), waiting = length(&throttling->waiting);
	size_t tasks = audit_groups(throttling, &throttling->due) +
		       audit_groups(throttling, &throttling->waiting);
	audit_groups(throttling, &throttling->parked);
	assert(tasks == throttling->in_groups && due == throttling->due_count);
	assert(due + waiting + length(&throttling->parked) == throttling->by_number.count);
	assert(waiting <= throttling->timers.count);
	audit_timers(&throttling->timers);
	assert(throttling->by_number.count == 0 || throttling_is_on(throttling));
	assert(!throttling->queued.first || !throttling->queued.first->group);
	assert(dispatch_throttled(dispatch) <= dispatch_waiting(dispatch));
}

static void audit_dispatch(const struct dispatch *dispatch)
{
	audit_throttling(dispatch);
	assert(dispatch->suspect_count == length(&dispatch->suspects));
	assert(dispatch->kept_count == length(&dispatch->kept));
	assert(dispatch->kept_count <= dispatch->alone);
	audit_running(&dispatch->running);
	audit_by_load(&dispatch->open);
}

struct parcels {
	size_t count, live, accepted, bytes;
};

static void audit_parcels(const struct link *list, bool sent, struct parcels *parcels)
{
	for
		EACH(link, list)
		{
			const struct parcel *parcel = CONTAINER_OF(link, struct parcel, order);
			const struct delivery *delivery = parcel->delivery;
			assert(&delivery->parcel == parcel && delivery->state == DELIVERY_ANSWERED);
			assert((parcel->seq.number > 0) == sent);
			/* Only what is out already may outlive its input. */
			assert(sent || delivery_is_live(delivery));
			parcels->count++;
			parcels->live += is_unacked(delivery);
			parcels->accepted += delivery->is_accepted;
			parcels->bytes += delivery_size(delivery);
			parcels->bytes += parcel->output ? output_size(parcel->output) : 0;
		}
}

static void audit_sent(const struct outbox *outbox)
{
	uint64_t last = 0;
	for
		EACH(link, &outbox->sent)
		{
			const struct parcel *parcel = CONTAINER_OF(link, struct parcel, order);
			assert(parcel->seq.number > last && parcel->seq.number <= outbox->last_seq);
			assert(outbox_find(outbox, parcel->seq.number) == parcel);
			last = parcel->seq.number;
		}
	assert(outbox->state != OUTBOX_IS_DOWN || list_is_empty(&outbox->sent));
	assert(outbox->state != OUTBOX_IS_PROBING || outbox_sent_count(outbox) <= 1);
}

static void audit_later(const struct outbox *outbox)
{
	for (unsigned step = 0; step < FAILURE_WAIT_STEPS; step++) {
		mtime due = INT64_MIN;
		for
			EACH(link, &outbox->later[step])
			{
				const struct parcel *parcel =
					CONTAINER_OF(link, struct parcel, order);
				assert(parcel->due >= due);
				due = parcel->due;
			}
	}
}

/* Accepted tasks that workers have; ready: those of ready ones only. */
static uint32_t count_accepted(const struct slots *slots, bool ready)
{
	uint32_t accepted = 0;
	for (uint32_t i = 0; i < slots->all.count; i++)
		if (!ready || slots_at(slots, i)->state == LIFE_READY)
			for
				EACH(link, &slots_at(slots, i)->pipe.tasks)
	accepted += CONTAINER_OF(link, struct delivery, place)->is_accepted;
	return accepted;
}

static void audit_outbox(const struct pool *pool, const struct ledger_counts *counts)
{
	const struct outbox *outbox = &pool->tasks.outbox;
	struct parcels parcels = {0};
	audit_parcels(&outbox->sent, true, &parcels);
	assert(parcels.count == outbox_sent_count(outbox) && parcels.bytes == outbox->sent_bytes);
	audit_parcels(&outbox->probes, false, &parcels);
	audit_parcels(&outbox->waiting, false, &parcels);
	for (unsigned step = 0; step < FAILURE_WAIT_STEPS; step++)
		audit_parcels(&outbox->later[step], false, &parcels);
	assert(parcels.count == outbox->count && parcels.bytes == outbox->bytes);
	assert(parcels.live == counts->answered);
	assert(count_accepted(&pool->slots, true) == pool->tasks.dispatch.accepted);
	assert(parcels.accepted + count_accepted(&pool->slots, false) == pool->tasks.accepted);
	audit_sent(outbox);
	audit_later(outbox);
}

void pool_audit(const struct pool *pool)
{
	struct ledger_counts counts = audit_ledger(pool);
	const struct dispatch *dispatch = &pool->tasks.dispatch;
	if (pool->tasks.sessions)
		audit_sessions(pool, &counts);
	assert(counts.queued == dispatch_waiting(dispatch));
	assert(dispatch->queued_count == length(&dispatch->queued) + length(&dispatch->suspects) +
						 dispatch->throttling.in_groups);
	bool consumes = pool->tasks.source.request == SOURCE_CONSUME;
	assert(consumes == (pool->tasks.intake >= INTAKE_WHOLE));
	audit_slots(pool, &counts);
	audit_dispatch(&pool->tasks.dispatch);
	audit_outbox(pool, &counts);
}
