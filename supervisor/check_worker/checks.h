/* What `wpool check-worker` checks: one table. Layer: check_worker. A check is a row with a
 * function, which has a worker of its own; a new one needs a line in docs/workers.md too. */
#ifndef CHECK_WORKER_CHECKS_H
#define CHECK_WORKER_CHECKS_H

#include "check_worker/play.h"

#define CHECK_TASKS_MAX  8
#define CHECK_CAUSES_MAX 5

/* What a check needs to have seen, in any check of the run; else it is "not shown". */
enum shows { SHOWS_NOTHING, SHOWS_PROGRESS, SHOWS_FAILED, SHOWS_REJECTED, SHOWS_STDOUT };

/* The concurrency that a check is for. */
enum check_for { CHECK_FOR_ANY, CHECK_FOR_ONE, CHECK_FOR_MORE };

struct check {
	const char *name;
	const char *sent, *expected;
	bool (*run)(struct play *);
	enum task_kind tasks[CHECK_TASKS_MAX]; /* asked one by one, before anything else */
	struct {
		uint64_t faults; /* bits of FAULT_BIT */
		const char *cause;
	} causes[CHECK_CAUSES_MAX]; /* likely in this check; others: fault_cause */
	enum shows shows;
	enum check_for concurrency;
	bool is_base;         /* if it fails, no other check is run */
	bool needs_files;     /* only with --task */
	bool not_corefx;      /* existing workers of pipe: corefx need not do this */
	const char *only_for; /* demanded only in such pools; NULL: everywhere */
};

extern const struct check checks[];
extern const size_t check_count;

/* NULL: there is none of that name. */
const struct check *check_find(const char *name);

#endif
