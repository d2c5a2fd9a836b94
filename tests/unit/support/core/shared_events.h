/* Of shared_world.c and shared_broker.c: what happens in a world, and messages on their way. */
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
	CHOOSE
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

#define SHARED_RETURNED 64

/* A request or an answer, with as many keys as a world has. */
struct shared_message {
	uint64_t channel; /* of the member that asked */
	uint32_t asker;
	mtime expires;
	uint64_t leader, member, number;
	mtime lease, stamp;
	struct shared_figures figures;
	uint64_t in_windows;
	uint32_t keys_known, returned_count, count;
	struct returned returned[SHARED_RETURNED];
	struct wanted wanted[SHARED_KEYS];
	struct granted granted[SHARED_KEYS];
};

void shared_push(struct shared_world *, struct shared_event);
/* 0 to span, or min to max. */
mtime shared_draw(struct shared_world *, mtime span);
mtime shared_between(struct shared_world *, mtime min, mtime max);
bool shared_chance(struct shared_world *, uint32_t per_mille);
/* The process begins, ends, or learns of its connection. */
void shared_begin(struct shared_world *, uint32_t member);
void shared_kill(struct shared_world *, uint32_t member);
/* The member sends a message; it moves in. */
void shared_send(struct shared_world *, uint32_t member, enum shared_kind, struct shared_message *);
/* Events of the broker and of faults. */
void shared_attach(struct shared_world *, uint32_t member);
void shared_on_broker_event(struct shared_world *, struct shared_event *);

#endif
