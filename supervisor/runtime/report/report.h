/* A pool's notices as counters and log lines. Layer: runtime. Logs each problem once, with pool,
 * slot and what happens next; never a body or a header. */
#ifndef RUNTIME_REPORT_REPORT_H
#define RUNTIME_REPORT_REPORT_H

#include "base/log.h"
#include "broker/backlog/backlog_probe.h"
#include "core/pool_facts.h"
#include "core/session_facts.h"
#include "runtime/statistics.h"
#include "worker/workers.h"

struct report {
	const char *pool;    /* borrowed, like all texts here */
	const char *command; /* of its workers */
	const char *queue;
	const char *dead_letters;      /* the queue; NULL: the queue's own policy decides */
	const struct workers *workers; /* for their pids */
	uint64_t max_body;             /* bytes */
	uint16_t wanted;               /* workers */
	bool has_logged_all_ready, has_logged_none_ready;
	struct statistics statistics;
};

/* Count a notice, and log it. */
void report_notice(struct report *, const struct notice *);
/* Log the last line of a pool: how many tasks were done, retried and given up, with the reasons.
 * is_cut_short: by a forced stop. */
void report_log_summary(const struct report *, bool is_cut_short);

/* Log the state of a pool. backlog: in the broker; NULL: unknown. */
void report_log_state(const struct report *, const char *state, const struct pool_facts *,
	const struct slot_counts *, const struct backlog *backlog, mtime now);
/* The same for the sessions of a pool that has some. */
void report_log_sessions(const struct report *, const struct session_counts *, mtime now);

#endif
