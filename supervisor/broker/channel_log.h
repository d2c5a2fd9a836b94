/* Log lines of the channel state machines. Layer: broker. They do not name a pool; the owner of the
 * state machine adds its name. */
#ifndef BROKER_CHANNEL_LOG_H
#define BROKER_CHANNEL_LOG_H

#include "base/log.h"

struct channel_log {
	/* message: until the call returns. */
	void (*on_log_line)(void *ctx, enum log_level level, const char *message);
	void *ctx;
};

void channel_log_line(const struct channel_log *, enum log_level, const char *format, ...)
	PRINTF_LIKE(3, 4);

#endif
