/* A member that leaves in order, and the one that leads next: what throttle_channel.c does, step by
 * step, with what may go wrong between two steps. */
#include "unit/support/core/shared_events.h"

#include <stdlib.h>
#include <string.h>

#define LEAVE_MAX MTIME_SECOND

/* Structs of this size are no variables of a function. */
static struct throttle_handover handover;

/* ---------- what goes wrong ---------- */

/* Short or long enough for any proof to end. */
static mtime draw_span(struct shared_world *world)
{
	return shared_draw(
		world, shared_chance(world, 500) ? LEASE_MAX : world->plan.period / 2 * 3);
}

static void stumble(struct shared_world *world, uint32_t number)
{
	const struct shared_plan *plan = &world->plan;
	struct shared_member *member = &world->members[number];
	if (shared_is_calm(world))
		return;
	if (shared_chance(world, plan->leave_stopped) && member->turn_count == 0) {
		member->busy_until = mtime_max(member->busy_until, world->now + draw_span(world));
		world->faults_end = mtime_max(world->faults_end, member->busy_until);
	}
	if (shared_chance(world, plan->leave_hit))
		shared_push(world, (struct shared_event){.at = world->now + draw_span(world) / 8,
					   .kind = HIT,
					   .member = number});
}

static void send_step(struct shared_world *world, uint32_t from, enum shared_kind kind,
	struct shared_message *message)
{
	const struct shared_plan *plan = &world->plan;
	bool is_calm = shared_is_calm(world);
	mtime extra = !is_calm && shared_chance(world, plan->leave_late) ? draw_span(world) : 0;
	if (!is_calm && shared_chance(world, plan->leave_lost))
		free(message);
	else
		shared_send_late(world, from, kind, message, extra);
	stumble(world, from);
}

/* ---------- the one that leaves ---------- */

/* The process goes on for a moment with what was granted to it. */
static void end(struct shared_world *world, uint32_t number)
{
	struct shared_member *member = &world->members[number];
	mtime ends_at = world->now + shared_draw(world, LEASE_MAX);
	mtime closes_at = world->now + shared_between(world, 0, world->plan.delay);
	world->faults_end = mtime_max(world->faults_end, ends_at + world->plan.away_max);
	shared_push(
		world, (struct shared_event){
			       .at = closes_at, .kind = BROKER_SEES, .channel = member->channel});
	shared_push(world, (struct shared_event){.at = ends_at,
				   .kind = PROCESS_ENDS,
				   .member = number,
				   .number = member->life});
	member->leaving = HAS_LEFT;
	member->channel = 0;
	member_down(member->member);
}

static void leave(struct shared_world *world, uint32_t number)
{
	struct shared_member *member = &world->members[number];
	mtime now = shared_clock(world, member);
	if (member->channel == 0 || member->leaving != STAYS)
		return;
	if (!member_facts(member->member, now).is_leading) {
		end(world, number);
		return;
	}
	member->leaving = CANCELLING;
	shared_push(world, (struct shared_event){.at = world->now + LEAVE_MAX,
				   .kind = LEAVE_ENDS,
				   .member = number,
				   .channel = member->channel});
	send_step(world, number, CANCEL_AT_BROKER, shared_message_new(world, 0));
}

static void announce(struct shared_world *world, uint32_t number, uint32_t others)
{
	struct shared_member *member = &world->members[number];
	struct shared_message *message;
	if (others == 0) {
		end(world, number);
		return;
	}
	member->leaving = HANDING_OVER;
	message = shared_message_new(world, 0);
	message->is_leave = true;
	message->channel = member->channel;
	message->member = member_id(member->member);
	message->lease = LEAVE_MAX;
	send_step(world, number, LEAVE_AT_BROKER, message);
}

static void hand_over(
	struct shared_world *world, uint32_t number, const struct shared_message *take)
{
	struct shared_member *member = &world->members[number];
	mtime now = shared_clock(world, member);
	if (member_hand_over(member->member, take->member, now, &handover)) {
		struct shared_message *message = shared_message_new(world, handover.count);
		message->channel = take->sender;
		message->leader = handover.leader;
		message->member = handover.member;
		message->figures = handover.figures;
		message->sure_for = handover.sure_for;
		message->count = handover.count;
		memcpy(message->handed, handover.of, handover.count * sizeof *handover.of);
		world->handed++;
		send_step(world, number, HANDOVER_AT_BROKER, message);
	}
	end(world, number);
}

/* A process that was stopped for long finds the take first, or its deadline. */
static void on_leave_ends(struct shared_world *world, const struct shared_event *event)
{
	if (event->count == 0 && shared_chance(world, 500))
		shared_push(world, (struct shared_event){.at = world->now + MTIME_MS,
					   .kind = LEAVE_ENDS,
					   .member = event->member,
					   .channel = event->channel,
					   .count = 1});
	else
		end(world, event->member);
}

static void end_process(struct shared_world *world, uint32_t number)
{
	mtime up_at = world->now + 1000 + shared_draw(world, world->plan.away_max);
	shared_kill(world, number);
	world->faults_end = mtime_max(world->faults_end, up_at);
	shared_push(world, (struct shared_event){.at = up_at,
				   .kind = COMES_UP,
				   .member = number,
				   .number = world->members[number].life});
}

/* ---------- the one that leads next ---------- */

static void take(struct shared_world *world, uint32_t number, const struct shared_message *left)
{
	struct shared_member *member = &world->members[number];
	struct shared_message *message = shared_message_new(world, 0);
	message->channel = left->channel;
	message->sender = member->channel;
	message->member = member_id(member->member);
	member->take_asked_at = shared_clock(world, member);
	send_step(world, number, TAKE_AT_BROKER, message);
}

static void inherit(
	struct shared_world *world, uint32_t number, const struct shared_message *message)
{
	struct shared_member *member = &world->members[number];
	mtime now = shared_clock(world, member);
	bool granted_before = shared_is_granting(world, number);
	if (member->take_asked_at == MTIME_NEVER)
		return;
	handover.leader = message->leader;
	handover.member = message->member;
	handover.figures = message->figures;
	handover.sure_for = message->sure_for;
	handover.count = message->count;
	memcpy(handover.of, message->handed, message->count * sizeof *message->handed);
	member_inherit(member->member, &handover, member->take_asked_at, now);
	member->take_asked_at = MTIME_NEVER;
	world->inherited += !granted_before && shared_is_granting(world, number);
	stumble(world, number);
}

void shared_on_leave_event(struct shared_world *world, struct shared_event *event)
{
	uint32_t number = event->member;
	struct shared_member *member = &world->members[number];
	switch (event->kind) {
	case LEAVE:
		leave(world, number);
		break;
	case CANCEL_OK_AT_MEMBER:
		if (member->leaving != CANCELLING)
			break;
		member->leaving = COUNTING;
		send_step(world, number, COUNT_AT_BROKER, shared_message_new(world, 0));
		break;
	case COUNT_AT_MEMBER:
		if (member->leaving == COUNTING)
			announce(world, number, event->message->count);
		break;
	case LEAVE_AT_MEMBER:
		if (member->leaving == STAYS)
			take(world, number, event->message);
		break;
	case TAKE_AT_MEMBER:
		if (member->leaving == HANDING_OVER)
			hand_over(world, number, event->message);
		break;
	case HANDOVER_AT_MEMBER:
		if (member->leaving == STAYS)
			inherit(world, number, event->message);
		break;
	case LEAVE_ENDS:
		on_leave_ends(world, event);
		break;
	case PROCESS_ENDS:
		end_process(world, number);
		break;
	default: /* it has lost its connection */
		end(world, number);
		break;
	}
}
