/* What the two halves of a pool share: configuration, effects, the time of the step, the phase.
 * Layer: core. Owned and written by the pool; its halves only read it. */
#ifndef CORE_CONTEXT_H
#define CORE_CONTEXT_H

#include "core/effects.h"
#include "core/pool_config.h"

#define POOL_PHASES(X)                                                                             \
	X(POOL_RUNS)                                                                               \
	X(POOL_PAUSED)  /* by command: takes no messages, sends no tasks */                        \
	X(POOL_DRAINS)  /* takes no messages, finishes tasks in pipes, waits for confirms */       \
	X(POOL_DRAINED) /* quiet (pool_is_quiet), and NOTICE_DRAINED was emitted */                \
	X(POOL_FORCED)  /* has killed its workers, hands everything back */                        \
	X(POOL_STOPPED) /* quiet after FORCED */

enum pool_phase {
#define X(phase) phase,
	POOL_PHASES(X)
#undef X
};

struct pool_context {
	struct pool_config config;
	const struct effects *effects; /* borrowed until pool_free, like io */
	void *io;
	mtime now;           /* of this step */
	mtime arrived_after; /* what this step handles arrived after this time */
	mtime boot;          /* the time of throttles, of the latest TURN_END */
	enum pool_phase phase;
};

/* True: running or paused; no stop was requested. */
static inline bool pool_stays(const struct pool_context *context)
{
	return context->phase <= POOL_PAUSED;
}

/* A pool that was quiet drains again if its channel, which was being opened, delivers. */
static inline bool pool_drains(const struct pool_context *context)
{
	return context->phase == POOL_DRAINS || context->phase == POOL_DRAINED;
}

static inline bool pool_is_forced(const struct pool_context *context)
{
	return context->phase >= POOL_FORCED;
}

static inline void pool_emit(const struct pool_context *context, struct notice notice)
{
	context->effects->emit(context->io, &notice);
}

/* A notice about the pool as a whole; what: static text or NULL. */
static inline void pool_emit_plain(
	const struct pool_context *context, enum notice_kind kind, const char *what)
{
	pool_emit(context, (struct notice){.kind = kind, .slot = -1, .what = what});
}

#endif
