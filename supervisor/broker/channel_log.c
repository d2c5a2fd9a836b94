#include "broker/channel_log.h"

#include <stdarg.h>
#include <stdio.h>

void channel_log_line(const struct channel_log *log, enum log_level level, const char *format, ...)
{
	char message[768];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(message, sizeof message, format, arguments);
	va_end(arguments);
	log->on_log_line(log->ctx, level, message);
}
