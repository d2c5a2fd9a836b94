/* A supervisor's part in a throttle that several share (request.h): it asks for starts, and answers
 * the others while it leads. Layer: core. What is sent and received is the caller's. All agree on
 * the figures: those with the highest version, and with equal versions the leader's. */
#ifndef CORE_THROTTLE_MEMBER_H
#define CORE_THROTTLE_MEMBER_H

#include "core/throttle/grants.h"
#include "core/throttle/handover.h"

struct member;

/* The throttle is new, and borrowed until member_free; all members have made it with the same
 * hash_seed. id: random, above 0. NULL: out of memory. */
struct member *member_new(struct throttle *, uint64_t id);
void member_free(struct member *);
/* Requests can be sent and are consumed, or no more. */
void member_up(struct member *);
void member_down(struct member *);
/* Use other figures from now on, at all members, as soon as they hear of them. */
void member_set(struct member *, uint32_t limit, mtime period);
/* Remember max_keys keys; as the leader no more than those for whose starts there are places, but
 * one: others may agree on a limit that is too high for this supervisor's memory. */
void member_set_keys(struct member *, uint32_t max_keys, uint64_t places);
/* How many that is. */
uint32_t member_keys_led(const struct member *);
struct shared_figures member_figures(const struct member *);

/* The request to send now, which expires after its lease; NULL: none. Valid until the next call. */
const struct throttle_request *member_request(struct member *, mtime now);
/* When to call member_request, which may be in the past; MTIME_NEVER: only after events. */
mtime member_deadline(const struct member *);
/* A request came from the queue. The answer to send now; NULL: none. Valid until the next call. */
const struct throttle_answer *member_on_request(
	struct member *, const struct throttle_request *, mtime now);
void member_on_answer(struct member *, const struct throttle_answer *, mtime now);

/* It has ended to consume. True: *ret is for the member that leads next, which is `to`; false: that
 * one has to be silent. */
bool member_hand_over(
	struct member *, uint64_t to, mtime now, struct throttle_handover *ret) MUST_CHECK;
/* What it asked for at asked_at, because a leader has announced in the queue that it leaves. */
void member_inherit(struct member *, const struct throttle_handover *, mtime asked_at, mtime now);
uint64_t member_id(const struct member *);

/* As leader_in_windows. */
bool member_in_windows(const struct member *, mtime now, uint64_t *ret) MUST_CHECK;

struct member_facts {
	struct grants_facts grants;
	bool is_leading;
	bool is_silent; /* it leads, and grants nothing yet */
};
struct member_facts member_facts(const struct member *, mtime now);

#endif
