/* A world in virtual time of supervisors that share a throttle: members with clocks of their own, a
 * broker whose queue of requests has one active consumer, and faults. A run is a function of its
 * plan. True time is in microseconds; what the code under test gets is a member's clock, which
 * differs from it by a constant. A task starts when its turn ends: that is the moment of the write.
 * What tests check stands in shared_random.c. */
#ifndef UNIT_SHARED_WORLD_H
#define UNIT_SHARED_WORLD_H

#include "core/throttle/member.h"
#include "sim/random.h"
#include "unit/unit.h"

#define SHARED_MEMBERS 3
#define SHARED_KEYS    5
#define SHARED_TASKS   4000 /* of one key */
#define SHARED_TURN    4    /* starts of one turn */

struct shared_plan {
	uint64_t seed;
	uint32_t limit, max_keys;
	uint32_t keys; /* in use; 1: none has a key */
	mtime period;
	mtime delay;         /* of a hop: up to this; a round trip has four */
	uint32_t slow, lost; /* of a thousand hops */
	mtime slow_max;      /* a slow one takes up to this */
	uint32_t stalled;    /* of a thousand turns: the process is stopped before the write */
	uint32_t load;       /* arriving tasks of a key in a period, in percent of the limit */
	uint32_t burst;      /* so many arrive at once, at most */
	uint32_t faults;     /* of the following kinds */
	bool kills, stops, cuts, suspects;
	bool flaps;   /* suspicions last hardly longer than a role must */
	bool changes; /* an operator sets other figures once */
	uint32_t new_limit;
	mtime new_period;
	mtime work; /* tasks arrive until then; faults begin in the first two thirds of it */
};

struct shared_start {
	mtime at;
	bool is_late; /* after the lease of its grant */
};

struct shared_grant {
	uint32_t left;
	mtime ends;
};

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
	uint32_t requests;
	uint64_t late_before; /* of former lives */
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
	uint64_t faults[4];
};

/* A role that was moved stays for so long in a world with suspicions. */
mtime shared_role_min(mtime period);

void shared_init(struct shared_world *, const struct shared_plan *);
void shared_release(struct shared_world *);
/* Go on until then. */
void shared_run(struct shared_world *, mtime until);
/* Then the broker suspects the active consumer of being down, and nothing gets to it or from it. */
void shared_suspect_at(struct shared_world *, mtime at, mtime until);
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
