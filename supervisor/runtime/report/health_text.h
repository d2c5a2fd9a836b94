/* Why something is not ready, and what needs attention, as sentences for people. Layer: runtime. */
#ifndef RUNTIME_REPORT_HEALTH_TEXT_H
#define RUNTIME_REPORT_HEALTH_TEXT_H

#include "base/buf.h"
#include "runtime/health.h"

/* Append a cause or a warning as a sentence that may be shown, without an end of line. */
void health_append_text(struct buf *out, const struct health *, enum health_cause);
/* The same behind the pool's name: "pool first: paused by an operator". */
void health_append_named_text(struct buf *out, const struct health *, enum health_cause);

#endif
