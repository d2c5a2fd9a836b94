#include "broker/notes.h"

#include <stdarg.h>
#include <stdio.h>

void notes_tell(const struct notes *notes, enum log_level level, const char *format, ...)
{
	char words[768];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(words, sizeof words, format, arguments);
	va_end(arguments);
	notes->on_note(notes->ctx, level, words);
}
