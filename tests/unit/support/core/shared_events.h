/* Of shared_world.c, shared_broker.c and shared_leave.c: what happens in a world, and messages on
 * their way. */
#ifndef UNIT_SHARED_EVENTS_H
#define UNIT_SHARED_EVENTS_H

#include "unit/support/core/shared_world.h"

enum shared_kind {
	TASKS,
	POLL,
	WRITE,
	REQUEST_AT_BROKER,
	REQUEST_AT_MEMBER,
	ANSWER_AT_BROKER,
	ANSWER_AT_MEMBER,
	FAULT,
	CHANGE,
	BROKER_SEES,
	MEMBER_SEES,
	COMES_UP,
	SUSPICION,
	SUSPICION_ENDS,
	CHOOSE,
	/* an orderly change of the leader, in its order */
	LEAVE,
	CANCEL_AT_BROKER,
	CANCEL_OK_AT_MEMBER,
	COUNT_AT_BROKER,
	COUNT_AT_MEMBER,
	LEAVE_AT_BROKER,
	LEAVE_AT_MEMBER,
	TAKE_AT_BROKER,
	TAKE_AT_MEMBER,
	HANDOVER_AT_BROKER,
	HANDOVER_AT_MEMBER,
	LEAVE_ENDS, /* its second is over */
	PROCESS_ENDS,
	HIT
};

struct shared_event {
	mtime at;
	uint64_t order; /* of events at the same time */
	enum shared_kind kind;
	uint32_t member;
	uint32_t number;                /* life, poll, or key */
	uint32_t count;                 /* tasks */
	mtime until;                    /* of a suspicion */
	uint64_t channel;               /* of the broker's or the member's side */
	struct shared_message *message; /* owned */
};

#define SHARED_UNUSED 64

/* A request or an answer, with as many keys as a world has; or of an orderly change, where member
 * is who sends it. */
struct shared_message {
	uint64_t channel; /* of the member that asked; of a take and a handover: where it goes */
	uint64_t sender;  /* the channel of a take */
	bool is_leave;
	uint32_t asker;
	mtime expires;
	uint64_t leader, member, number;
	mtime lease, stamp;
	struct shared_figures figures;
	uint64_t in_windows;
	uint32_t keys_known, unused_count, count;
	struct unused unused[SHARED_UNUSED];
	struct wanted wanted[SHARED_KEYS];
	struct granted granted[SHARED_KEYS];
	mtime sure_for;
	struct handed_starts handed[]; /* count of them */
};

void shared_push(struct shared_world *, struct shared_event);
/* 0 to span, or min to max. */
mtime shared_draw(struct shared_world *, mtime span);
mtime shared_between(struct shared_world *, mtime min, mtime max);
bool shared_chance(struct shared_world *, uint32_t per_mille);
static inline mtime shared_clock(
	const struct shared_world *world, const struct shared_member *member)
{
	return world->now + member->offset;
}

struct shared_message *shared_message_new(const struct shared_world *, uint32_t handed);
/* The process begins, ends, or learns of its connection. */
void shared_begin(struct shared_world *, uint32_t member);
void shared_kill(struct shared_world *, uint32_t member);
/* The member sends a message; it moves in. */
void shared_send(struct shared_world *, uint32_t member, enum shared_kind, struct shared_message *);
/* The same, so much later. */
void shared_send_late(struct shared_world *, uint32_t member, enum shared_kind,
	struct shared_message *, mtime extra);
/* Faults of single messages end with the work. */
bool shared_is_calm(const struct shared_world *);
/* A member leaves in order: LEAVE, and the steps that follow at members. */
void shared_on_leave_event(struct shared_world *, struct shared_event *);
/* Events of the broker and of faults. */
void shared_attach(struct shared_world *, uint32_t member);
void shared_on_broker_event(struct shared_world *, struct shared_event *);

#endif
