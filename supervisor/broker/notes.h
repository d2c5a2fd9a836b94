/* Words for people from the channel machines. Layer: broker.
 * They hold no origin: whoever made the machine knows which pool it is of. */
#ifndef BROKER_NOTES_H
#define BROKER_NOTES_H

#include "base/log.h"

struct notes {
	/* words are good for the call. */
	void (*on_note)(void *ctx, enum log_level level, const char *words);
	void *ctx;
};

void notes_tell(const struct notes *, enum log_level, const char *format, ...) PRINTF_LIKE(3, 4);

#endif
