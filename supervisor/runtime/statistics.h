/* The counts of a pool: its notices, how its workers died, how long tasks took. Layer: runtime.
 * Plain data, zeroed at the start. */
#ifndef RUNTIME_STATISTICS_H
#define RUNTIME_STATISTICS_H

#include "core/notice.h"
#include "message/fault_detail.h"
#include "runtime/figures/failure_share.h"
#include "runtime/figures/histogram.h"

#define STATISTICS_KINDS (NOTICE_DRAINED + 1)
#define STATISTICS_EXITS (EXIT_NOT_STARTED + 1)
#define STDERR_LINE_SIZE 256

/* Of a worker that was not asked to leave. */
struct last_death {
	struct exit_info exit; /* EXIT_NONE: there was none */
	const char *why;       /* static; wpool ended it; NULL: wpool did not */
	mtime at;
	char stderr_line[STDERR_LINE_SIZE]; /* its last one, escaped and cut; empty: none */
	char detail[FAULT_DETAIL_SIZE];     /* what it sent against the protocol; the same */
};

/* A restart that was given up. */
struct failed_restart {
	const char *why; /* static; NULL: there is none */
	mtime at;
	struct last_death last; /* of its workers; EXIT_NONE: none failed */
};

struct statistics {
	uint64_t counts[STATISTICS_KINDS]; /* notices */
	uint64_t retried[REASON_COUNT]; /* the counts of retried, given up and dropped, by reason */
	uint64_t given_up[REASON_COUNT];
	uint64_t dropped[REASON_COUNT];
	uint64_t recycled[RECYCLE_REASON_COUNT];
	uint64_t deaths[STATISTICS_EXITS]; /* workers that were not asked to leave */
	uint64_t held_up;  /* tasks that waited in a pipe behind one that took too long */
	uint64_t suspects; /* tasks that were open in a worker that ended for an unknown one */
	struct last_death last_death;
	struct failed_restart failed_restart; /* until another restart succeeds */
	struct failure_share failure_share;
	enum reason last_failure; /* of an attempt; valid if there was one */
	mtime failed_at;
	struct histogram took;   /* attempts, in their workers */
	struct histogram waited; /* tasks, from their arrival until a pipe had them */
};

void statistics_count(struct statistics *, const struct notice *);

#endif
