/* A walk over the sessions of a pool, a few in each call, while they begin and end. Layer: control.
 * Each session that exists during the whole walk is visited once; one that begins or ends meanwhile
 * once or not at all. */
#ifndef CONTROL_SESSION_WALK_H
#define CONTROL_SESSION_WALK_H

#include "control/sessions/session_filter.h"
#include "runtime/supervisor_view.h"

struct pool_runtime;

/* Only the functions below change it. */
struct session_walk {
	const struct supervisor_view *view; /* borrowed */
	size_t place;                       /* of the pool */
	uint32_t serial;
	uint32_t left; /* sessions with lower numbers were not visited yet */
	char *where;   /* owned: the expression; NULL: all sessions */
	struct session_filter filter;
	uint64_t *visited; /* owned; a hash set of lives; 0: a free place */
	size_t places;     /* a power of two */
};

/* where: a valid expression, copied; TEXT_NONE: all. RC_MEMORY: there is nothing to release. */
enum rc session_walk_init(struct session_walk *, const struct supervisor_view *,
	const struct pool_runtime *, struct text where) MUST_CHECK;
void session_walk_release(struct session_walk *);

enum session_walk_step {
	SESSION_WALK_FOUND, /* *ret is a session that matches; valid until the pool's next step */
	SESSION_WALK_MORE,  /* there may be more: continue in a moment */
	SESSION_WALK_END,   /* there are no more, or the pool is gone */
};

enum session_walk_step session_walk_next(struct session_walk *, struct session_facts *ret);
/* NULL: it is gone. */
struct pool_runtime *session_walk_pool(const struct session_walk *);

#endif
