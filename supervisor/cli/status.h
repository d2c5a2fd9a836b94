/* The first lines about a supervisor. Layer: cli. */
#ifndef CLI_STATUS_H
#define CLI_STATUS_H

#include "base/buf.h"

#include <jansson.h>

/* Two lines of GET /v1/status: is it ready, for how long has it been up; the broker. */
void status_append_head(const json_t *status, struct buf *out);

#endif
