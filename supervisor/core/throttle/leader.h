/* The leader of a shared throttle: it has the rings, and grants starts to members. Layer: core. The
 * broker's queue of requests has one active consumer, so each member has a leader that is idle
 * until requests come. A granted start counts as late as its lease ends: whenever it is used, no
 * window has too many.
 *
 * Nothing tells a process that another one has become the active consumer, so a leader believes
 * only its own requests. One that begins grants nothing for `period` and LEASE_MAX from the moment
 * when its own request came back: by then all starts that others had granted are out of the window.
 * Afterwards it leads as long as its own requests come back, each within `period` from the moment
 * when the one before was sent. A leader that began in between is silent until later than that,
 * and what was sent to it before it lost the role has then outlived its lease: it has granted
 * nothing that can be used. It has no such certainty in its own silence, because a leader from
 * before may get the role back, go on with what it knows, and lose it again. So it must prove
 * itself more often then, and a gap that is long enough for that begins the silence again.
 *
 * A leader that leaves in order gives its proof along with its rings. It has ended to consume
 * before it announces that, so it grants nothing after it has written them. Its proof says that
 * until it ends no other leader grants anything: those before it have ended, those after it are
 * silent for longer. That holds for the one that has the rings, also if the role has gone on
 * meanwhile, because the new one is silent then. The clocks are different ones, so the time that is
 * left is counted from the moment when the next leader asked, which was before it was written; a
 * start is counted from the arrival, which was after. Both make the next leader wait rather than
 * grant too early. Only a leader that is not silent and knows all starts of the window hands over,
 * and it does so once. One that grants already inherits nothing: then the other's proof has ended.
 *
 * What is left: a leader that is not silent, because it was one before or because it has inherited,
 * gets the role while another one is silent, and loses it to that one again within half of the
 * period (two seconds at most), and the silent one does not learn of it. */
#ifndef CORE_THROTTLE_LEADER_H
#define CORE_THROTTLE_LEADER_H

#include "core/throttle/handover.h"
#include "core/throttle/throttle.h"

struct leader;

/* All times are SHARED_PERIOD_MAX or later: a start that is handed over may be older than the clock
 * of this machine, and has a time above 0 all the same. */

/* member: the number of this process. NULL: out of memory. */
struct leader *leader_new(const struct throttle_figures *, uint64_t hash_seed, uint64_t member);
void leader_free(struct leader *);
/* It consumes the queue no more, or another one has answered: it leads nothing. */
void leader_resign(struct leader *);
void leader_configure(struct leader *, const struct throttle_figures *);
/* A request of its own, sent then, came back. RC_MEMORY: as if it had not. */
enum rc leader_prove(struct leader *, mtime sent_at, mtime now) MUST_CHECK;
/* A request of any member came. The answer is valid until the next call; its figures are left to
 * the caller. */
struct throttle_answer *leader_answer(struct leader *, const struct throttle_request *, mtime now);
/* It consumes the queue no more, and writes what the next leader needs; but for the member and the
 * figures. Then it leads nothing. False: it does not know all starts of the window, or they are too
 * many. */
bool leader_hand_over(struct leader *, mtime now, struct throttle_handover *ret) MUST_CHECK;
/* The one that was asked at asked_at has handed this over; the figures with the higher version
 * are configured. Nothing changes if it leads already, or if the proof in it has ended. Without
 * memory this one is silent, as after any other change. */
void leader_inherit(struct leader *, const struct throttle_handover *, mtime asked_at, mtime now);
/* Requests come, and until then it must send one of its own, with or without keys; MTIME_NEVER:
 * none come. */
mtime leader_deadline(const struct leader *);
/* The starts in the windows of all keys. False: it leads nothing, or there are too many keys. */
bool leader_in_windows(const struct leader *, mtime now, uint64_t *ret) MUST_CHECK;
/* It grants, or will after its silence. */
bool leader_is_leading(const struct leader *, mtime now);
bool leader_is_silent(const struct leader *, mtime now);

#endif
