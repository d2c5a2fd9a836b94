/* One check with one worker: its steps, and what they gave. Layer: check_worker. */
#ifndef CHECK_WORKER_TRIAL_H
#define CHECK_WORKER_TRIAL_H

#include "check_worker/checks.h"
#include "check_worker/subject.h"

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

/* What the checks of a run have seen so far. */
struct seen {
	bool progress, failed, rejected;
	struct fault no_text; /* on standard output */
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
/* files: the bodies of --task; borrowed. */
void trial_run(const struct check *, const struct check_setup *, const struct text *files,
	size_t file_count, struct seen *, struct result *ret);
/* A result without a trial. */
void trial_skip(const struct check *, enum trial_verdict, const char *why, struct result *ret);

#endif
