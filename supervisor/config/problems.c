#include "config/problems.h"

#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

enum { PROBLEMS_MAX = 100, QUOTED_MAX = 60 };

/* The last character may have three more bytes. */
_Static_assert(QUOTED_MAX + 3 + sizeof "\"...\"" <= PROBLEMS_QUOTED_SIZE, "fits");

static void append_place(struct buf *out, struct place place)
{
	if (place.line)
		buf_printf(out, "%s:%zu: ", place.name, place.line);
	else if (place.name)
		buf_printf(out, "%s: ", place.name);
}

/* Append a copy of message, and release message. */
static void append_problem(
	struct problems *problems, struct buf *message, bool is_in_file, size_t line)
{
	struct text text = buf_text(message);
	char *copy = message->failed ? NULL : strndup(text.ptr, text.len);
	struct problem *list =
		copy ? realloc(problems->list, (problems->count + 1) * sizeof *list) : NULL;
	if (list) {
		problems->list = list;
		list[problems->count++] = (struct problem){copy, is_in_file, line};
	} else {
		problems->memory = true;
		free(copy);
	}
	buf_release(message);
}

static bool has_message(const struct problems *problems, struct text message)
{
	for (size_t i = 0; i < problems->count; i++)
		if (text_is(message, text_from(problems->list[i].message)))
			return true;
	return false;
}

void problems_add(struct problems *problems, struct place place, const char *format, ...)
{
	struct buf message;
	va_list args;
	if (problems->found > PROBLEMS_MAX)
		return;
	buf_init(&message, SIZE_MAX);
	append_place(&message, place);
	va_start(args, format);
	buf_vprintf(&message, format, args);
	va_end(args);
	if (has_message(problems, buf_text(&message))) {
		buf_release(&message);
		return;
	}
	if (problems->found++ == PROBLEMS_MAX) {
		place.line = 0;
		buf_truncate(&message, 0);
		append_place(&message, place);
		buf_append_text(&message, TEXT("there is more"));
	}
	problems->found_typed += place.is_typed;
	append_problem(problems, &message, place.is_in_file, 0);
}

void problems_add_warning(struct problems *problems, size_t line, const char *format, ...)
{
	struct buf message;
	va_list args;
	buf_init(&message, SIZE_MAX);
	va_start(args, format);
	buf_vprintf(&message, format, args);
	va_end(args);
	append_problem(problems, &message, false, line);
}

enum rc problems_verdict(const struct problems *problems)
{
	if (problems->memory)
		return RC_MEMORY;
	if (problems->found == 0)
		return RC_OK;
	return problems->found_typed == problems->found ? RC_REFUSED : RC_MALFORMED;
}

void problems_release(struct problems *problems)
{
	for (size_t i = 0; i < problems->count; i++)
		free(problems->list[i].message);
	free(problems->list);
	*problems = (struct problems){0};
}

/* The text may be an address in the wrong place, or a malformed one: any '@' hides all of it. */
static bool looks_secret(struct text t)
{
	return t.len > 0 && (memchr(t.ptr, '@', t.len) || memmem(t.ptr, t.len, "://", 3));
}

/* True: the first character of t is well formed and may be shown. *ret_len: its length in bytes. */
static bool is_presentable(struct text t, size_t *ret_len)
{
	return utf8_first(t, ret_len) && !utf8_is_control(utf8_code(text_of(t.ptr, *ret_len)));
}

const char *problems_quote(struct text t, char buffer[PROBLEMS_QUOTED_SIZE])
{
	size_t shown = 0, len;
	char *end = buffer;
	if (looks_secret(t))
		return strcpy(buffer, "\"***\"");
	*end++ = '"';
	for (; shown < t.len && shown < QUOTED_MAX; shown += len) {
		if (is_presentable(text_of(t.ptr + shown, t.len - shown), &len))
			end = mempcpy(end, t.ptr + shown, len);
		else
			*end++ = '?';
	}
	strcpy(end, shown < t.len ? "...\"" : "\"");
	return buffer;
}
