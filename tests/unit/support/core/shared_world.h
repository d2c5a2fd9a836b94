/* A world in virtual time of supervisors that share a throttle: members with clocks of their own, a
 * broker whose queue of requests has one active consumer, and faults. A run is a function of its
 * plan. True time is in microseconds; what the code under test gets is a member's clock, which
 * differs from it by a constant. A task starts when its turn ends: that is the moment of the write.
 * What tests check stands in shared_random.c. */
#ifndef UNIT_SHARED_WORLD_H
#define UNIT_SHARED_WORLD_H

#include "core/throttle/member.h"
#include "sim/random.h"
#include "unit/support/core/shared_plan.h"
#include "unit/unit.h"

#define SHARED_MEMBERS 3
#define SHARED_KEYS    5
#define SHARED_TASKS   8000 /* of one key */
#define SHARED_TURN    4    /* starts of one turn */
#define SHARED_FAULTS  5    /* kinds */

struct shared_start {
	mtime at;
	bool is_late; /* after the lease of its grant */
};

struct shared_grant {
	uint32_t left;
	mtime ends;
};

enum shared_leaving { STAYS, CANCELLING, COUNTING, HANDING_OVER, HAS_LEFT };

struct shared_member {
	struct throttle *throttle; /* NULL: the process does not run */
	struct member *member;
	uint64_t channel; /* 0: it knows that it has none */
	uint32_t life;
	mtime offset;     /* its clock minus true time */
	mtime busy_until; /* it is in a turn, or stopped */
	bool is_leaving;  /* its connection is cut, which it will see */
	bool is_cut;      /* what comes is lost */
	bool is_heard;    /* while it is cut: what it sends gets out */
	bool is_held;     /* the broker gets what it sends when the suspicion ends */
	mtime held_until;
	mtime out_last, in_last; /* messages of a link keep their order */
	uint32_t waiting[SHARED_KEYS];
	mtime retry_at[SHARED_KEYS];
	uint32_t next_key;
	struct {
		uint32_t key;
		mtime ends; /* of its grant */
	} turn[SHARED_TURN];
	uint32_t turn_count;
	struct shared_grant former[SHARED_KEYS], latest[SHARED_KEYS]; /* a copy, by another hand */
	mtime request_ends;
	uint64_t answers;
	uint32_t changes;
	uint32_t poll; /* number of the latest poll */
	uint32_t requests, started;
	uint64_t late_before; /* of former lives */
	/* as in throttle_channel.c */
	enum shared_leaving leaving;
	mtime take_asked_at; /* by its clock; MTIME_NEVER: it has asked none */
};

struct shared_consumer {
	uint32_t member;
	uint64_t channel;
	bool is_suspect;
};

#define SHARED_CONSUMERS 16
#define SHARED_QUEUE     1024

struct shared_event;
struct shared_message;

struct shared_world {
	struct shared_plan plan;
	struct random random;
	mtime now;
	struct shared_event *events; /* a heap, the first one first */
	uint32_t event_count, event_space;
	uint64_t order;
	struct shared_member members[SHARED_MEMBERS];
	/* the broker */
	struct shared_consumer consumers[SHARED_CONSUMERS];
	uint32_t consumer_count;
	uint64_t active; /* a channel; 0: none */
	mtime chosen_at;
	struct shared_message *queue[SHARED_QUEUE];
	uint32_t queue_first, queue_count;
	uint64_t channels;
	/* what happened */
	mtime arrivals[SHARED_KEYS][SHARED_TASKS];
	struct shared_start starts[SHARED_KEYS][SHARED_TASKS];
	uint32_t arrival_count[SHARED_KEYS], start_count[SHARED_KEYS];
	uint64_t requests, answers;
	uint64_t late;          /* starts after the lease of their grant */
	uint64_t late_of_turns; /* those that count as late, as all of a key in a turn do if one is
				 */
	uint64_t late_heard;    /* in requests that came to a member */
	mtime faults_end;       /* the latest consequence of a fault that was planned */
	mtime changed_at;       /* the figures; MTIME_NEVER: not yet */
	mtime agreed_at; /* all members have the new ones; MTIME_NEVER: not yet, or no more */
	mtime agreed_until;
	mtime led_at; /* the first start */
	uint64_t faults[SHARED_FAULTS];
	uint64_t handed, inherited; /* handovers that were written, and that made a leader */
};

/* A role that was moved stays for so long in a world with suspicions. */
mtime shared_role_min(mtime period);

void shared_init(struct shared_world *, const struct shared_plan *);
void shared_release(struct shared_world *);
/* Go on until then. */
void shared_run(struct shared_world *, mtime until);
/* Then the broker suspects the active consumer of being down, and nothing gets to it or from it. */
void shared_suspect_at(struct shared_world *, mtime at, mtime until);
/* The active consumer leaves in order, now. Return its number. */
uint32_t shared_leave_now(struct shared_world *);
/* The active consumer's number; SHARED_MEMBERS: there is none. */
uint32_t shared_active(const struct shared_world *);
/* It leads, and is not silent. */
bool shared_is_granting(const struct shared_world *, uint32_t member);
/* One more task at each member, now. */
void shared_task_for_each(struct shared_world *);
/* Tasks that have not started. */
uint32_t shared_waiting(const struct shared_world *);
uint64_t shared_late_facts(const struct shared_world *);

/* check's own assertions write to a pipe each time. */
#define SHARED_CHECK(world, fact)                                                                  \
	do {                                                                                       \
		if (!(fact))                                                                       \
			shared_fail(world, #fact);                                                 \
	} while (0)

_Noreturn void shared_fail(const struct shared_world *, const char *fact);

#endif
