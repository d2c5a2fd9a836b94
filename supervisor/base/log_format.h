/* What a log line looks like: as JSON, and how people see that. Layer: base.
 * JSON is the line itself; text is made of it, here for stderr and by `wpool logs` for what the
 * supervisor tells. Members of ours, and what is done with a worker's: docs/control.md. */
#ifndef BASE_LOG_FORMAT_H
#define BASE_LOG_FORMAT_H

#include "base/buf.h"
#include "base/log.h"

#include <time.h>

struct log_entry {
	struct timespec at;
	enum log_level level;
	const struct log_origin *origin;
	struct text message;
	bool is_object; /* it is a JSON object, whose members stand beside ours */
};

/* Without a newline; any bytes become harmless. */
void log_append_json(struct buf *, const struct log_entry *);
/* Such a line for people. What is none is appended as it is, but harmless. */
void log_append_text(struct buf *, struct text json, bool has_colour);
/* What a worker says of its own line: LOG_INFO, or more. */
enum log_level log_object_level(struct text object);

#endif
