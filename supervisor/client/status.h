/* The first lines about a supervisor. Layer: client. */
#ifndef CLIENT_STATUS_H
#define CLIENT_STATUS_H

#include "base/buf.h"

#include <jansson.h>

/* Of GET /v1/status: whether it is ready, and for how long it has been up. A line without its end.
 */
void status_append_verdict(const json_t *status, struct buf *out);
/* The connections to the broker, memory, the longest turn. The same. */
void status_append_broker(const json_t *status, struct buf *out);

#endif
