/* What a worker did wrong in one check. Layer: check_worker. Plain data. */
#ifndef CHECK_WORKER_FAULT_H
#define CHECK_WORKER_FAULT_H

#include "base/rc.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAULTS(X)                                                                                  \
	X(FAULT_NONE, "none")                                                                      \
	X(FAULT_MEMORY, "out-of-memory") /* ours */                                                \
	X(FAULT_LAST, "last-answer")     /* none: status 205 came before the check was over */     \
	X(FAULT_NOT_STARTED, "not-started")                                                        \
	X(FAULT_EXITED, "exited")                                                                  \
	X(FAULT_NOT_CONNECTED, "not-connected")                                                    \
	X(FAULT_REFUSED, "wrong-session")                                                          \
	X(FAULT_CLOSED, "closed-pipe")                                                             \
	X(FAULT_NOT_READ, "does-not-read")                                                         \
	X(FAULT_NO_ANSWER, "no-answer")                                                            \
	X(FAULT_ONLY_PROGRESS, "only-progress")                                                    \
	X(FAULT_HALF_FRAME, "half-frame")                                                          \
	X(FAULT_BAD_LENGTH, "bad-length")                                                          \
	X(FAULT_BAD_OUTPUT, "bad-output")                                                          \
	X(FAULT_UNPUBLISHABLE, "unpublishable")                                                    \
	X(FAULT_NO_TASK, "answer-without-task")                                                    \
	X(FAULT_FAILED_TASK, "failed-task")                                                        \
	X(FAULT_ORDER, "wrong-order")                                                              \
	X(FAULT_ID_MISSING, "missing-id")                                                          \
	X(FAULT_ID_UNKNOWN, "unknown-id")                                                          \
	X(FAULT_ID_EARLIER, "id-of-another-worker")                                                \
	X(FAULT_TWICE, "answered-twice")                                                           \
	X(FAULT_LATE_PROGRESS, "progress-after-answer")                                            \
	X(FAULT_LIMIT, "bad-hard-limit")                                                           \
	X(FAULT_LOST, "lost-task") /* others that were sent with it are answered */                \
	X(FAULT_MIXED, "mixed-answers")                                                            \
	X(FAULT_OTHERS, "cancels-others")                                                          \
	X(FAULT_ENDLESS, "sends-without-end")                                                      \
	X(FAULT_STAYS, "does-not-exit")                                                            \
	X(FAULT_UNSENT, "unsent-answer")                                                           \
	X(FAULT_STATUS, "exit-status")                                                             \
	X(FAULT_STRAYS, "leaves-processes")                                                        \
	X(FAULT_STDOUT, "no-text-on-stdout")                                                       \
	X(FAULT_FLOOD, "prints-without-end")

enum fault_kind {
#define X(kind, name) kind,
	FAULTS(X)
#undef X
};

enum {
#define X(kind, name) +1
	FAULT_KINDS = 0 FAULTS(X)
#undef X
};

#define FAULT_BIT(kind)   (UINT64_C(1) << (kind))
#define FAULT_BYTES_SHOWN 64

/* The beginning of some bytes. */
struct fault_bytes {
	uint8_t head[FAULT_BYTES_SHOWN];
	size_t shown, len; /* of head, and of all */
};

struct fault {
	enum fault_kind kind;
	char came[320];           /* what came instead, in words */
	struct fault_bytes frame; /* of the worker; .len 0: none was wrong */
};

/* "exited", ... */
const char *fault_name(enum fault_kind);
struct fault_bytes fault_bytes(struct text);
/* Keep the first fault; further ones are ignored. Return false. */
bool fault_set(struct fault *, enum fault_kind, struct text frame, const char *format, ...)
	PRINTF_LIKE(4, 5);

/* The likely cause by the worker's bytes; NULL: they show none. */
const char *fault_cause_in_bytes(const struct fault *);
/* The likely cause by the kind alone. */
const char *fault_cause(enum fault_kind);

#endif
