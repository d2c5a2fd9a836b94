/* The format of a log line, as JSON and as text. Layer: base. Text is made from the JSON line,
 * here for stderr and in `wpool logs`. docs/control.md describes our members and how a worker's
 * are merged. */
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
	bool is_object; /* a JSON object, whose members join ours */
};

/* Append the line as JSON, without a newline; control characters and invalid UTF-8 are replaced. */
void log_append_json(struct buf *, const struct log_entry *);
/* Append such a line as text. Any other line is appended with control characters replaced. */
void log_append_text(struct buf *, struct text json, bool has_colour);
/* The level in a worker's own line: LOG_INFO or above. */
enum log_level log_object_level(struct text object);

#endif
