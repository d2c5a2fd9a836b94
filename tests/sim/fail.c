#include "sim/fail.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

bool sim_is_traced;
mtime sim_now;

void sim_fail(const char *format, ...)
{
	va_list arguments;

	fflush(stdout);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	abort();
}

void sim_trace_line(const char *format, ...)
{
	va_list arguments;

	printf("%10.3f s  ", (double)sim_now / MTIME_SECOND);
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	putchar('\n');
}
