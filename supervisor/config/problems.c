#include "config/problems.h"

#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>

enum { MOST = 100, PROBLEM_MAX = 1024, QUOTED_MAX = 60 };

static void append_place(struct buf *out, struct place place)
{
	if (place.line)
		buf_printf(out, "%s:%zu: ", place.name, place.line);
	else if (place.name)
		buf_printf(out, "%s: ", place.name);
}

void problems_add(struct problems *problems, struct place place, const char *format, ...)
{
	char words[PROBLEM_MAX];
	problems->typed_count += place.is_typed;
	if (problems->count++ > MOST)
		return;
	if (problems->count > MOST) {
		append_place(problems->out, place_named(place.name));
		buf_append_text(problems->out, TEXT("there is more\n"));
		return;
	}
	va_list args;
	va_start(args, format);
	vsnprintf(words, sizeof words, format, args);
	va_end(args);
	append_place(problems->out, place);
	buf_printf(problems->out, "%s\n", words);
}

enum rc problems_verdict(struct problems *problems)
{
	if (problems->memory) {
		problems_add(problems, place_named("wpool"), "out of memory");
		return RC_MEMORY;
	}
	if (problems->count == 0)
		return RC_OK;
	return problems->typed_count == problems->count ? RC_REFUSED : RC_MALFORMED;
}

/* The text may be an address in the wrong place, or a malformed one: any '@' hides all of it. */
static bool looks_secret(struct text t)
{
	return t.len > 0 && (memchr(t.ptr, '@', t.len) || memmem(t.ptr, t.len, "://", 3));
}

/* Append the first character of t; '?' for one that controls a terminal. Return its length in
 * bytes. */
static size_t append_character(struct buf *out, struct text t)
{
	size_t len;
	uint8_t first = (uint8_t)t.ptr[0];
	bool is_good = utf8_first(t, &len);
	bool is_c0 = first < 0x20 || first == 0x7f;
	bool is_c1 = len == 2 && first == 0xc2 && (uint8_t)t.ptr[1] < 0xa0;
	if (is_good && !is_c0 && !is_c1)
		buf_append(out, t.ptr, len);
	else
		buf_append_byte(out, '?');
	return len;
}

void problems_quote(struct buf *out, struct text t)
{
	size_t shown = 0;
	if (looks_secret(t)) {
		buf_append_text(out, TEXT("\"***\""));
		return;
	}
	buf_append_byte(out, '"');
	while (shown < t.len && shown < QUOTED_MAX)
		shown += append_character(out, text_of(t.ptr + shown, t.len - shown));
	buf_append_text(out, shown < t.len ? TEXT("...\"") : TEXT("\""));
}
