/* Is it working? Layer: cli.
 * Ready means: connected for both ways, and every pool has a worker past its start and a consumer
 * that the broker knows of. Anything less has a reason in words. */
#ifndef CLI_HEALTH_H
#define CLI_HEALTH_H

#include "cli/overview.h"

/* Appends a line for each reason why not all is well; none: all is. Failure stays in out. */
void health_append_reasons(const struct overview *, struct buf *out);
/* The same of one pool alone, without its name. */
void health_append_pool_reasons(const struct station *, struct buf *out);
/* What is not as it should be, though messages come and are worked on. */
void health_append_warnings(const struct overview *, struct buf *out);
void health_append_pool_warnings(const struct station *, struct buf *out);
bool health_is_ready(const struct overview *);
bool health_is_pool_ready(const struct station *);

#endif
