/* The leader of a shared throttle: it has the rings, and grants starts to members. Layer: core. The
 * broker's queue of requests has one active consumer, so each member has a leader that is idle
 * until requests come. A granted start counts as late as its lease ends: whenever it is used, no
 * window has too many.
 *
 * Nothing tells a process that another one has become the active consumer. So a leader believes
 * only its own requests: when two of them come back to it, and the time from sending the first to
 * receiving the second is shorter than `period` and a lease, then whoever led meanwhile was new and
 * has granted nothing. A new leader grants nothing for that long, from the moment when its own
 * request came back: by then all that was granted before has ended. */
#ifndef CORE_THROTTLE_LEADER_H
#define CORE_THROTTLE_LEADER_H

#include "core/throttle/request.h"
#include "core/throttle/throttle.h"

struct leader;

/* member: the number of this process. NULL: out of memory. */
struct leader *leader_new(const struct throttle_figures *, uint64_t hash_seed, uint64_t member);
void leader_free(struct leader *);
/* It consumes the queue from now on, or no more; it leads nothing. */
void leader_resign(struct leader *);
void leader_configure(struct leader *, const struct throttle_figures *);
/* A request of its own, sent then, came back. RC_MEMORY: as if it had not. */
enum rc leader_prove(struct leader *, mtime sent_at, mtime now) MUST_CHECK;
/* A request of any member came. The answer is valid until the next call; its figures are left to
 * the caller. */
struct throttle_answer *leader_answer(struct leader *, const struct throttle_request *, mtime now);
/* Requests come, and until then it must send one of its own, with or without keys; MTIME_NEVER:
 * none come. */
mtime leader_deadline(const struct leader *);
/* It grants, or will after its silence. */
bool leader_is_leading(const struct leader *, mtime now);
bool leader_is_silent(const struct leader *, mtime now);

#endif
