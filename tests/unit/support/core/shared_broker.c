/* The broker between members, its links, and what goes wrong with them. */
#include "unit/support/core/shared_events.h"

#include <stdlib.h>

mtime shared_role_min(mtime period)
{
	return mtime_min(period, 4 * MTIME_SECOND) / 2;
}

/* ---------- links ---------- */

bool shared_is_calm(const struct shared_world *world)
{
	return world->now >= world->plan.work;
}

/* When a message arrives that is sent now. */
static mtime hop(struct shared_world *world, mtime *last)
{
	const struct shared_plan *plan = &world->plan;
	mtime at = world->now + shared_between(world, plan->delay / 4, plan->delay);
	if (!shared_is_calm(world) && shared_chance(world, plan->slow))
		at += shared_draw(world, plan->slow_max);
	at = mtime_max(at, *last);
	*last = at;
	return at;
}

static bool is_lost(struct shared_world *world)
{
	return !shared_is_calm(world) && shared_chance(world, world->plan.lost);
}

void shared_send_late(struct shared_world *world, uint32_t from, enum shared_kind kind,
	struct shared_message *message, mtime extra)
{
	struct shared_member *member = &world->members[from];
	if ((member->is_cut && !member->is_heard) || is_lost(world)) {
		free(message);
		return;
	}
	mtime at = hop(world, &member->out_last);
	if (member->is_held)
		at = member->out_last = mtime_max(at, member->held_until);
	if (member->is_cut)
		at += shared_draw(world, world->plan.period);
	shared_push(world, (struct shared_event){.at = at + extra,
				   .kind = kind,
				   .member = from,
				   .channel = member->channel,
				   .message = message});
}

void shared_send(struct shared_world *world, uint32_t from, enum shared_kind kind,
	struct shared_message *message)
{
	shared_send_late(world, from, kind, message, 0);
}

static struct shared_member *with_channel(struct shared_world *world, uint64_t channel)
{
	for (uint32_t i = 0; i < SHARED_MEMBERS; i++)
		if (channel != 0 && world->members[i].channel == channel)
			return &world->members[i];
	return NULL;
}

static void deliver(struct shared_world *world, uint64_t channel, enum shared_kind kind,
	struct shared_message *message)
{
	struct shared_member *to = with_channel(world, channel);
	if (!to || to->is_cut || is_lost(world)) {
		free(message);
		return;
	}
	shared_push(world, (struct shared_event){.at = hop(world, &to->in_last),
				   .kind = kind,
				   .member = (uint32_t)(to - world->members),
				   .channel = channel,
				   .message = message});
}

/* ---------- the queue and its active consumer ---------- */

static struct shared_consumer *consumer_of(struct shared_world *world, uint64_t channel)
{
	for (uint32_t i = 0; i < world->consumer_count; i++)
		if (world->consumers[i].channel == channel)
			return &world->consumers[i];
	return NULL;
}

static void dispatch(struct shared_world *world)
{
	while (world->active != 0 && world->queue_count > 0) {
		struct shared_message *message = world->queue[world->queue_first];
		world->queue_first = (world->queue_first + 1) % SHARED_QUEUE;
		world->queue_count--;
		if (message->expires <= world->now)
			free(message);
		else
			deliver(world, world->active,
				message->is_leave ? LEAVE_AT_MEMBER : REQUEST_AT_MEMBER, message);
	}
}

/* The first consumer that is not suspected of being down follows an active one that is. */
static void choose(struct shared_world *world)
{
	struct shared_consumer *active = consumer_of(world, world->active);
	mtime may_at = world->chosen_at +
		       shared_role_min(mtime_max(world->plan.period, world->plan.new_period));
	if (active && !active->is_suspect)
		return;
	if (!active)
		world->active = 0;
	if (world->plan.suspects && world->chosen_at > 0 && world->now < may_at) {
		shared_push(world, (struct shared_event){.at = may_at, .kind = CHOOSE});
		return;
	}
	for (uint32_t i = 0; i < world->consumer_count; i++) {
		if (world->consumers[i].is_suspect)
			continue;
		world->active = world->consumers[i].channel;
		world->chosen_at = world->now;
		break;
	}
	dispatch(world);
}

void shared_attach(struct shared_world *world, uint32_t member)
{
	SHARED_CHECK(world, world->consumer_count < SHARED_CONSUMERS);
	world->consumers[world->consumer_count++] = (struct shared_consumer){
		.member = member, .channel = world->members[member].channel};
	choose(world);
}

static void remove_consumer(struct shared_world *world, uint64_t channel)
{
	struct shared_consumer *gone = consumer_of(world, channel);
	if (!gone)
		return;
	for (; gone + 1 < world->consumers + world->consumer_count; gone++)
		*gone = gone[1];
	world->consumer_count--;
	choose(world);
}

uint32_t shared_active(const struct shared_world *world)
{
	for (uint32_t i = 0; i < world->consumer_count; i++)
		if (world->consumers[i].channel == world->active)
			return world->consumers[i].member;
	return SHARED_MEMBERS;
}

static void enqueue(struct shared_world *world, struct shared_message *message)
{
	SHARED_CHECK(world, world->queue_count < SHARED_QUEUE);
	message->expires = world->now + message->lease;
	world->queue[(world->queue_first + world->queue_count++) % SHARED_QUEUE] = message;
	dispatch(world);
}

/* ---------- faults ---------- */

static mtime later(struct shared_world *world, mtime max)
{
	mtime at = world->now + (shared_chance(world, 400) ? 0 : shared_draw(world, max));
	world->faults_end = mtime_max(world->faults_end, at);
	return at;
}

static void fault_kill(struct shared_world *world, uint32_t victim)
{
	struct shared_member *member = &world->members[victim];
	shared_push(world, (struct shared_event){.at = later(world, 2 * MTIME_SECOND),
				   .kind = BROKER_SEES,
				   .channel = member->channel});
	shared_kill(world, victim);
	shared_push(world, (struct shared_event){.at = later(world, 2 * world->plan.period) + 1000,
				   .kind = COMES_UP,
				   .member = victim,
				   .number = member->life});
}

static void fault_stop(struct shared_world *world, uint32_t victim)
{
	struct shared_member *member = &world->members[victim];
	mtime until =
		world->now + (shared_chance(world, 500) ? shared_draw(world, 3 * world->plan.period)
							: shared_draw(world, LEASE_MAX));
	if (member->turn_count == 0)
		member->busy_until = mtime_max(member->busy_until, until);
	world->faults_end = mtime_max(world->faults_end, until);
}

static void fault_cut(struct shared_world *world, uint32_t victim)
{
	struct shared_member *member = &world->members[victim];
	mtime seen_at = later(world, 2 * world->plan.period);
	mtime up_at = seen_at + shared_between(world, 1000, MTIME_SECOND);
	member->is_leaving = member->is_cut = true;
	member->is_heard = shared_chance(world, 300);
	world->faults_end = mtime_max(world->faults_end, up_at);
	shared_push(world, (struct shared_event){.at = later(world, 2 * world->plan.period),
				   .kind = BROKER_SEES,
				   .channel = member->channel});
	shared_push(world, (struct shared_event){.at = seen_at,
				   .kind = MEMBER_SEES,
				   .member = victim,
				   .channel = member->channel});
	shared_push(world,
		(struct shared_event){
			.at = up_at, .kind = COMES_UP, .member = victim, .number = member->life});
}

/* The member learns nothing of it, and its channel stays. What it sends gets through, or waits
 * until the broker's nodes see each other again, or is lost like what is sent to it. */
enum during { GETS_THROUGH, WAITS, IS_LOST };

static void suspect(struct shared_world *world, struct shared_consumer *consumer, mtime until,
	enum during during)
{
	struct shared_member *member = &world->members[consumer->member];
	world->faults_end = mtime_max(world->faults_end, until);
	consumer->is_suspect = true;
	member->is_held = during == WAITS;
	member->held_until = until;
	member->is_cut = during == IS_LOST;
	member->is_heard = false;
	shared_push(world, (struct shared_event){.at = until,
				   .kind = SUSPICION_ENDS,
				   .member = consumer->member,
				   .channel = member->channel});
	choose(world);
}

static void fault_suspect(struct shared_world *world, uint32_t victim)
{
	struct shared_member *member = &world->members[victim];
	struct shared_consumer *consumer = consumer_of(world, member->channel);
	mtime role = shared_role_min(world->plan.period);
	mtime span = world->plan.flaps ? shared_between(world, role / 2, 3 * role)
				       : shared_draw(world, 3 * world->plan.period);
	if (!consumer || consumer->is_suspect)
		return;
	suspect(world, consumer, world->now + span, (enum during)shared_draw(world, 2));
	if (member->is_cut)
		member->is_heard = shared_chance(world, 300);
}

static void end_suspicion(struct shared_world *world, const struct shared_event *event)
{
	struct shared_member *member = &world->members[event->member];
	struct shared_consumer *consumer = consumer_of(world, event->channel);
	if (consumer)
		consumer->is_suspect = false;
	if (member->channel == event->channel && !member->is_leaving)
		member->is_cut = member->is_held = false;
	choose(world);
}

static void leave_at(struct shared_world *world, uint32_t number, mtime at)
{
	world->faults_end = mtime_max(world->faults_end, at + 2 * MTIME_SECOND);
	shared_push(world, (struct shared_event){.at = at, .kind = LEAVE, .member = number});
}

/* Some leave shortly after one another, or while the figures change. */
static void fault_leave(struct shared_world *world, uint32_t victim)
{
	leave_at(world, victim, world->now);
	if (shared_chance(world, 300))
		leave_at(world, (victim + 1 + (uint32_t)shared_draw(world, 1)) % SHARED_MEMBERS,
			world->now + shared_draw(world, 300 * MTIME_MS));
	if (world->plan.changes && shared_chance(world, 500))
		shared_push(world,
			(struct shared_event){.at = world->now + shared_draw(world, 100 * MTIME_MS),
				.kind = CHANGE,
				.member = (uint32_t)shared_draw(world, SHARED_MEMBERS - 1)});
}

uint32_t shared_leave_now(struct shared_world *world)
{
	uint32_t active = shared_active(world);
	SHARED_CHECK(world, active < SHARED_MEMBERS);
	leave_at(world, active, world->now);
	return active;
}

/* The active consumer is the one whose faults matter most. */
static uint32_t choose_victim(struct shared_world *world)
{
	const struct shared_consumer *active = consumer_of(world, world->active);
	if (active && shared_chance(world, 600))
		return active->member;
	return (uint32_t)shared_draw(world, SHARED_MEMBERS - 1);
}

enum { LEAVES = SHARED_FAULTS - 1 };

/* A member that is cut off or passed over may leave. */
static bool may_have(const struct shared_member *member, uint32_t kind)
{
	if (member->channel == 0 || member->leaving == HAS_LEFT)
		return false;
	if (kind == LEAVES)
		return member->leaving == STAYS;
	return !member->is_leaving && !member->is_cut && !member->is_held;
}

static void make_fault(struct shared_world *world, uint32_t victim)
{
	const struct shared_plan *plan = &world->plan;
	void (*const faults[])(struct shared_world *, uint32_t) = {
		fault_kill, fault_stop, fault_cut, fault_suspect, fault_leave};
	const bool may[] = {plan->kills, plan->stops, plan->cuts, plan->suspects, plan->leaves};
	uint32_t kind = (uint32_t)shared_draw(world, SHARED_FAULTS - 1);
	while (!may[kind])
		kind = (kind + 1) % SHARED_FAULTS;
	if (!may_have(&world->members[victim], kind))
		return;
	world->faults[kind]++;
	faults[kind](world, victim);
}

void shared_on_broker_event(struct shared_world *world, struct shared_event *event)
{
	struct shared_message *message = event->message;
	event->message = NULL;
	switch (event->kind) {
	case REQUEST_AT_BROKER:
		enqueue(world, message);
		break;
	case ANSWER_AT_BROKER:
		deliver(world, message->channel, ANSWER_AT_MEMBER, message);
		break;
	case FAULT:
		make_fault(world, choose_victim(world));
		break;
	case HIT:
		make_fault(world, event->member);
		break;
	case CANCEL_AT_BROKER:
		remove_consumer(world, event->channel);
		deliver(world, event->channel, CANCEL_OK_AT_MEMBER, message);
		break;
	case COUNT_AT_BROKER:
		message->count = world->consumer_count;
		deliver(world, event->channel, COUNT_AT_MEMBER, message);
		break;
	case LEAVE_AT_BROKER:
		enqueue(world, message);
		break;
	case TAKE_AT_BROKER:
		deliver(world, message->channel, TAKE_AT_MEMBER, message);
		break;
	case HANDOVER_AT_BROKER:
		deliver(world, message->channel, HANDOVER_AT_MEMBER, message);
		break;
	case BROKER_SEES:
		remove_consumer(world, event->channel);
		break;
	case SUSPICION:
		suspect(world, consumer_of(world, world->active), event->until, IS_LOST);
		break;
	case SUSPICION_ENDS:
		end_suspicion(world, event);
		break;
	default:
		choose(world);
		break;
	}
}
