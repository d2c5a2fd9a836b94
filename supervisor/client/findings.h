/* What is wrong with a supervisor or a pool, by GET /v1/status or /v1/pools, each with its label.
 * Layer: client. */
#ifndef CLIENT_FINDINGS_H
#define CLIENT_FINDINGS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define FINDING_NOTE "note" /* what only an operator can find out */

struct finding {
	const char *label; /* "reason": it is not ready; "warning" */
	const char *text;  /* borrowed from the answer; may have control characters */
};

size_t findings_count(const json_t *status_or_pool);
/* The reasons, then the warnings; *at: 0 before the first call. False: no more. */
bool findings_next(const json_t *status_or_pool, size_t *at, struct finding *ret);

#endif
