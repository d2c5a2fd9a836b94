/* One check with one worker: what its steps gave, and what that means. Layer: check_worker. */
#ifndef CHECK_WORKER_TRIAL_H
#define CHECK_WORKER_TRIAL_H

#include "check_worker/checks.h"

#define VERDICTS(X)                                                                                \
	X(VERDICT_OK, "ok")                                                                        \
	X(VERDICT_WRONG, "wrong")                                                                  \
	X(VERDICT_NOT_SHOWN, "not shown") /* no fault, but this worker does not do it */           \
	X(VERDICT_NOT_RUN, "not run")

enum trial_verdict {
#define X(verdict, name) verdict,
	VERDICTS(X)
#undef X
};

struct result {
	const struct check *check;
	enum trial_verdict verdict;
	struct fault fault;      /* .came also without a fault */
	const char *cause;       /* static; "": none */
	struct fault_bytes sent; /* the last frame that was sent */
	struct last_lines last_lines;
};

const char *verdict_name(enum trial_verdict);
void trial_run(const struct check *, struct run *, struct result *ret);
/* A result without a trial. */
void trial_skip(const struct check *, enum trial_verdict, const char *why, struct result *ret);

#endif
