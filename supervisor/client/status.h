/* The first lines of `wpool status` and `wpool top`. Layer: client. */
#ifndef CLIENT_STATUS_H
#define CLIENT_STATUS_H

#include "base/buf.h"

#include <jansson.h>

/* Append whether the supervisor is ready and for how long it has been up, from GET /v1/status. One
 * line, without its end. */
void status_append_verdict(const json_t *status, struct buf *out);
/* The same for the connections to the broker, memory and the longest turn. */
void status_append_broker(const json_t *status, struct buf *out);
/* "configuration: /etc/wpool.yaml": which one it is, where several run. */
void status_append_configuration(const json_t *status, struct buf *out);

#endif
