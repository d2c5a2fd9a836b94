/* Throttles for a rig. A test writes messages as text, and each gets the next tag of the channel:
 * "ax" has the key a for the first throttle and x for the second, "-" has no key, "a/2" is its
 * third attempt, "a!" must run alone in its pool, "a~" has no caller. */
#ifndef UNIT_THROTTLED_H
#define UNIT_THROTTLED_H

#include "core/pool_facts.h"
#include "unit/support/core/rig.h"

#define THROTTLED_PERIOD (10 * MTIME_SECOND)

/* Fixture of a test case: throttle has a limit of 2. */
extern struct throttle *throttle;
void throttled_set_up(void);
void throttled_tear_down(void);

/* At most so many starts in THROTTLED_PERIOD, with any number of keys. */
struct throttle *throttled_new(uint32_t limit);
/* Other figures, from now on. */
void throttled_set(struct throttle *, uint32_t limit, mtime period);
/* Append it to the list. names: the first is "t0". */
void throttled_add(struct pool_config *, struct throttle *, bool has_key, enum throttle_excess);
/* A pool with so many workers, and this throttle that delays; a prefetch of 8, and no hard
 * limit. */
struct pool_config throttled_config(uint16_t workers, struct throttle *, bool has_key);
/* Deliver the messages; end the turn. */
void throttled_deliver_only(struct rig *, const char *messages);
void throttled_deliver(struct rig *, const char *messages);
/* The worker of the slot has done its task; end the turn and compare the effects. */
void throttled_answer(struct rig *, uint16_t slot, const char *done);
/* Time passes; compare the effects. */
void throttled_wait(struct rig *, mtime span, const char *done);
/* So many tasks wait for a throttle; NULL: none holds back anything. */
void throttled_expect(const struct rig *, uint32_t count, const char *by);

#endif
