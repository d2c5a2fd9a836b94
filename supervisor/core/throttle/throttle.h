/* A throttle: at most `limit` starts of tasks in any half-open window of `period`, in all or for
 * each key. Layer: core. Pools that name the same throttle share it. Asking changes no limit; what
 * has started is charged. So a task that another throttle refuses costs nothing here. A key is
 * remembered while its window has a start, and longer while there is space. O(1) a call, without a
 * clock: time is an argument and never goes back. It is the time of the machine (clock_boot), which
 * counts while this process is suspended; a pool's own time does not. */
#ifndef CORE_THROTTLE_THROTTLE_H
#define CORE_THROTTLE_THROTTLE_H

#include "base/mtime.h"
#include "base/rc.h"
#include "base/text.h"

#include <stdint.h>

#define THROTTLE_NO_KEY UINT64_C(0) /* all messages without the key share one limit */

#define THROTTLE_LIMIT_MAX 1000000
#define THROTTLE_KEYS_MAX  1000000
/* Without memory for a window, a task waits so long before it asks again. */
#define THROTTLE_MEMORY_WAIT (100 * MTIME_MS)

struct throttle_figures {
	uint32_t limit;    /* 1 to THROTTLE_LIMIT_MAX */
	mtime period;      /* above 0 */
	uint32_t max_keys; /* 1 to THROTTLE_KEYS_MAX; 1 and only empty keys: one limit for all */
};

struct throttle;
struct window; /* of one key */

/* hash_seed: secret, so that nobody can choose keys that collide; of a shared throttle all
 * supervisors have the same one, which is no secret. NULL: out of memory. */
struct throttle *throttle_new(const struct throttle_figures *, uint64_t hash_seed);
void throttle_free(struct throttle *);
/* Use other figures from now on, with the starts that were charged so far. After a longer period a
 * task may wait longer than its limit requires, for one period at most: what was forgotten counts
 * as late as it can have been. */
void throttle_configure(struct throttle *, const struct throttle_figures *);

/* How often the figures were changed: what waits asks again when that changes. */
uint32_t throttle_changes(const struct throttle *);

/* The number that stands for a key. The key itself is not kept: two keys with the same number,
 * if that ever happens, share a limit. */
uint64_t throttle_key(const struct throttle *, struct text);
/* throttle_ask will be called soon with these keys: have the processor fetch what it needs, for all
 * at a time. With many keys that is in no near cache, and to wait for one key after the other would
 * take longer than the rest of a start. Changes nothing. */
void throttle_expect(const struct throttle *, const uint64_t *keys, uint32_t count);
/* When a task with this key (throttle_key, or THROTTLE_NO_KEY) may start: at `now` or before, then
 * *ret_window is set until the next throttle_ask; or exactly that much later, as far as is known
 * now. A new key waits while max_keys windows have a start in them. */
mtime throttle_ask(
	struct throttle *, uint64_t key, mtime now, struct window **ret_window) MUST_CHECK;
/* A task for which throttle_ask returned this window has started. */
void throttle_charge(struct throttle *, struct window *, mtime now);
/* What was charged since the last call was written by now: it counts as late as that. So a process
 * that is stopped between its question and its write starts nothing too early afterwards. */
void throttle_end_turn(struct throttle *, mtime now);
/* Before the first throttle_ask: there may have been any starts of any key up to now. */
void throttle_missed(struct throttle *, mtime now);
/* True: what was missed, or for a shared one what no leader has said, may be what refused the task
 * that was asked about last. */
bool throttle_is_unsure(const struct throttle *, mtime now);

/* ---------- what outlives the process ---------- */

/* The secret of throttle_new. */
uint64_t throttle_seed(const struct throttle *);
/* Of the starts that throttle_end_turn dated at this very time, so many did not happen. */
void throttle_take_back(struct throttle *, uint64_t key, mtime at, uint32_t starts);
/* When the latest start of the key was, which may be in the future; 0: none is known. */
mtime throttle_latest(const struct throttle *, uint64_t key);
/* Call on_charged for each key that was charged since the last throttle_end_turn, with how often.
 */
void throttle_each_charged(const struct throttle *,
	void (*on_charged)(void *ctx, uint64_t key, uint32_t starts), void *ctx);
/* Each start of any key later than `since` is known with its time. O(keys). */
bool throttle_knows_since(const struct throttle *, mtime since) MUST_CHECK;
/* Call on_starts for all starts later than `since`, those of a key together in the order of their
 * times, and the keys in the order of their latest ones: as throttle_restore wants them. */
void throttle_each_start(const struct throttle *, mtime since,
	void (*on_starts)(void *ctx, uint64_t key, uint32_t starts, mtime at), void *ctx);
/* There were so many starts with this key; earlier than its former ones, or than throttle_missed,
 * they count as equal to those. Before the first throttle_ask the key whose latest start is the
 * oldest comes first. Not between throttle_charge and throttle_end_turn. throttle_starts does not
 * count them. Without memory or space for another key, any key may have had them. */
void throttle_restore(struct throttle *, uint64_t key, uint32_t starts, mtime at);
/* The same for any number of starts: the next one of the key is a period later. */
void throttle_use_up(struct throttle *, uint64_t key, mtime at);

/* Shared by several supervisors (grants.h): how many keys a leader has answered about so far, and
 * the one with this number, from 0; false: it is no longer known. What waits asks again. */
uint64_t throttle_answers(const struct throttle *);
bool throttle_answered_key(const struct throttle *, uint64_t number, uint64_t *ret_key) MUST_CHECK;

/* ---------- views ---------- */

const struct throttle_figures *throttle_figures(const struct throttle *);
/* Keys that are remembered; starts charged since throttle_new. */
uint32_t throttle_keys(const struct throttle *);
uint64_t throttle_starts(const struct throttle *);
/* A task had to wait because of it; how many did. */
void throttle_count_delay(struct throttle *);
uint64_t throttle_delays(const struct throttle *);
/* How long a task without the key would have to wait; 0: it may start. */
mtime throttle_wait(const struct throttle *, mtime now);
/* How many tasks without the key may start within this span, if no others do. */
uint64_t throttle_supply(const struct throttle *, mtime now, mtime span);
/* The starts of all keys in their windows. False: more than keys_max keys have one. */
bool throttle_in_windows(
	const struct throttle *, mtime now, uint32_t keys_max, uint64_t *ret) MUST_CHECK;

/* ---------- all throttles of a pool ---------- */

#define PASSES_MAX 4 /* throttles of one pool */

/* What a task must pass: the throttles of its pool in their order, with its key for each. */
struct passes {
	uint32_t count; /* 0 to PASSES_MAX */
	struct pass {
		struct throttle *throttle; /* borrowed */
		uint64_t key;              /* as throttle_ask has it */
		struct window *window;     /* set by passes_ask */
	} of[PASSES_MAX];                  /* no throttle twice */
};

/* Ask all. Return `count`: the task may start now. Else return the index of the first that refuses
 * and set *ret_at as throttle_ask does. */
uint32_t passes_ask(struct passes *, mtime now, mtime *ret_at) MUST_CHECK;
/* The task, for which passes_ask returned count in the same step, has started. */
void passes_charge(const struct passes *, mtime now);

#endif
