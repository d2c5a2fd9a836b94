/* The member's side of a shared throttle: what a leader (leader.h) has granted, and what to ask it
 * for. Layer: core. A throttle with grants has no rings: a task may start while a start that was
 * granted for its key is valid, which is one lease from the moment of the request by this
 * process's clock. A start that a task was refused is asked for at once; where starts are used, the
 * next ones are asked for in each lease, together for all keys. One request is open at a time; one
 * that is not answered within its lease is lost. */
#ifndef CORE_THROTTLE_GRANTS_H
#define CORE_THROTTLE_GRANTS_H

#include "core/throttle/request.h"
#include "core/throttle/throttle.h"

/* The longest that a task waits without an answer before it asks again. */
#define GRANTS_WAIT_MAX (10 * MTIME_SECOND)

struct grants;

struct grants_facts {
	bool is_up;
	mtime lease;    /* of the next request: four times the round trip */
	mtime heard_at; /* the latest answer; MTIME_NEVER: there was none */
	uint64_t leader;
	uint64_t requested, granted, unused; /* starts */
	uint64_t late;                       /* that happened after their lease */
	uint64_t requests;                   /* so many were sent */
	uint32_t unanswered;                 /* requests in a row that were lost */
};

/* From the start on, the throttle is shared by the supervisors of this member's broker. It must
 * have had no throttle_ask. RC_MEMORY. */
enum rc grants_init(struct throttle *, uint64_t member) MUST_CHECK;
void grants_free(struct grants *);
/* Requests can be sent, or no more. */
void grants_up(struct throttle *);
void grants_down(struct throttle *);
/* The request to send now; NULL: none. even_empty: also if nothing is needed. Valid until the next
 * call. */
const struct throttle_request *grants_request(
	struct throttle *, const struct shared_figures *, bool even_empty, mtime now);
/* When grants_request has one. */
mtime grants_deadline(const struct throttle *);
/* A request is open. */
bool grants_is_asking(const struct throttle *);
/* When the request with this number was sent; MTIME_NEVER: it is not the one that is open. */
mtime grants_sent_at(const struct throttle *, uint64_t number);
/* False: it answers no open request. */
bool grants_answer(struct throttle *, const struct throttle_answer *, mtime now) MUST_CHECK;
struct grants_facts grants_facts(const struct throttle *);

/* ---------- for throttle.c ---------- */

struct window *grants_window_new(void);
void grants_forget(struct grants *, struct window *);
/* The window may be forgotten for another key: 0, now; else not before then. */
mtime grants_keep_until(const struct throttle *, const struct window *, mtime now);
/* No window may be forgotten for the key of a task: what refuses the task is not the limit. */
void grants_refuse_key(struct grants *);
/* As throttle_ask. */
mtime grants_ask(struct throttle *, struct window *, mtime now);
void grants_charge(struct grants *, struct window *, mtime now);
/* What was charged since the last call happened by now. */
void grants_end_turn(struct grants *, mtime now);
/* As throttle_is_unsure, throttle_wait, throttle_supply, throttle_in_windows, throttle_keys. */
bool grants_is_unsure(const struct grants *);
mtime grants_wait(const struct window *, mtime now);
uint64_t grants_supply(const struct throttle *, const struct window *, mtime now, mtime span);
bool grants_in_windows(const struct grants *, uint64_t *ret) MUST_CHECK;
uint32_t grants_keys(const struct grants *);
uint64_t grants_answers(const struct grants *);
bool grants_answered_key(const struct grants *, uint64_t number, uint64_t *ret_key) MUST_CHECK;

#endif
