/* What supervisors that share a throttle send each other: a member asks for the starts that it
 * expects to need within one lease, and the leader answers with those that it may have. Layer:
 * core, plain data. Figures with a higher version replace those with a lower one; an operator's
 * command, or another configuration, makes a new version. */
#ifndef CORE_THROTTLE_REQUEST_H
#define CORE_THROTTLE_REQUEST_H

#include "base/mtime.h"

#include <stdbool.h>
#include <stdint.h>

#define REQUEST_KEYS_MAX 1000
/* What was granted may be used for one lease after it was asked for. */
#define LEASE_MIN        (20 * MTIME_MS)
#define LEASE_MAX        (500 * MTIME_MS)
#define LEASES_OF_PERIOD 10 /* it is this part of the period, unless the broker is slower */
/* The shortest one of a shared throttle. */
#define SHARED_PERIOD_MIN (500 * MTIME_MS)
/* The longest one: that of any throttle. */
#define SHARED_PERIOD_MAX (365 * 24 * 60 * MTIME_MINUTE)
/* Of figures: counted up from here, it still does not overflow. */
#define SHARED_VERSION_MAX ((UINT64_C(1) << 53) - 1)

struct shared_figures {
	uint64_t version; /* 0: as configured */
	uint32_t limit;   /* as in struct throttle_figures */
	mtime period;
};

struct throttle_request {
	uint64_t member;               /* who asks: a random number of its process */
	uint64_t number;               /* counts up from 1 */
	mtime lease;                   /* at most LEASE_MAX */
	struct shared_figures figures; /* those that the member knows */
	uint32_t unused_count;
	struct unused { /* granted and not used, nor will it be */
		uint64_t key;
		mtime stamp; /* of the answer that granted them */
		uint32_t starts;
	} unused[REQUEST_KEYS_MAX];
	uint64_t leader; /* that granted them */
	uint32_t count;
	struct wanted {
		uint64_t key;    /* as throttle_ask has it */
		uint32_t starts; /* 0 to the limit */
		uint32_t late;   /* starts that happened after their lease */
	} keys[REQUEST_KEYS_MAX];
};

struct throttle_answer {
	uint64_t leader; /* its number as a member */
	uint64_t member, number;
	struct shared_figures figures; /* those in force */
	mtime stamp;         /* of the leader's clock: what it grants here counts so late */
	uint64_t in_windows; /* starts, of all keys; UINT64_MAX: too many keys to count */
	uint32_t keys_known;
	uint32_t count;
	struct granted {
		uint64_t key;
		uint32_t starts;
		mtime wait;     /* until there may be more; 0: not known */
		bool is_unsure; /* what this leader cannot know may be what refuses */
	} keys[REQUEST_KEYS_MAX];
};

/* The longest lease with this period, unless the broker is slower. */
static inline mtime lease_bound(mtime period)
{
	return mtime_max(LEASE_MIN, mtime_min(LEASE_MAX, period / LEASES_OF_PERIOD));
}

#endif
