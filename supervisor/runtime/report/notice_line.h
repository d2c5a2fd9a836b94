/* The log line of each kind of notice. Layer: runtime, private to report.c. */
#ifndef RUNTIME_REPORT_NOTICE_LINE_H
#define RUNTIME_REPORT_NOTICE_LINE_H

#include "base/log.h"
#include "core/notice.h"

struct report;

#define NOTICE_LINE_SIZE 1536

/* The level that its kind has. */
enum log_level notice_line_level(const struct notice *);
/* Return the buffer; a longer line is cut. */
const char *notice_line(
	const struct report *, const struct notice *, char buffer[NOTICE_LINE_SIZE]);

#endif
