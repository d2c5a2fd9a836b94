/* A rig whose messages have keys. A test writes them as text, and each gets the next tag of the
 * channel: "a" has the key a, "a!" is in the high lane, "-" has no key, "a=7" is the message 7 (by
 * default a message has the number of its tag), "a=7+" the same one, delivered again; "a@x" has the
 * key x for the first throttle (by default the first letter of its own). */
#ifndef UNIT_KEYED_H
#define UNIT_KEYED_H

#include "core/session_facts.h"
#include "unit/support/core/rig.h"

/* Sessions with a quantum of 10 tasks and no idle time, no standby, on a queue where a renewal
 * costs nothing. */
struct pool_config keyed_config(uint16_t workers);
/* The delivery that the first word stands for. */
struct delivery *keyed_parse(const char *word, uint64_t tag);
/* Deliver the messages, then end the turn. */
void keyed_deliver(struct rig *, const char *messages);
/* The same without the end of the turn. */
void keyed_deliver_only(struct rig *, const char *messages);
/* The channel is lost, and another one opens: tags begin at 1. */
void keyed_lose_channel(struct rig *);
/* The worker of the slot answers; the effects of the answer and of the turn are compared. */
void keyed_answer(struct rig *, uint16_t slot, int32_t status, const char *done);
/* Worker 0 has ended in its first life: 3 s later the next one is ready, and the pool has a turn,
 * whose effects can be compared. */
void keyed_next_worker(struct rig *);
/* The state of the session; it must exist. */
enum session_state keyed_state(const struct rig *, const char *key);
bool keyed_exists(const struct rig *, const char *key);
/* A command about a session that is accepted; the next one is refused. */
void keyed_order(struct rig *, enum session_verb, enum session_queued, const char *key);
void keyed_order_refused(struct rig *, enum session_verb, const char *key, const char *why);

#endif
