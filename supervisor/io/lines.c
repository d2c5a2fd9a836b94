#include "io/lines.h"

/* Bytes of an UTF-8 character behind its first. */
#define LINES_TAIL 3

void lines_init(struct lines *lines, struct log_origin origin, bool keeps_last)
{
	buf_init(&lines->rest, LINES_PIECE + 2 * LINES_TAIL);
	buf_init(&lines->last, LINES_LAST_MAX);
	lines->keeps_last = keeps_last;
	lines->origin = origin;
	lines->kept = lines->told = 0;
}

static struct text without_blanks(struct text t)
{
	while (t.len > 0 && (uint8_t)t.ptr[t.len - 1] <= ' ')
		t.len--;
	return t;
}

/* len, or a little less where that would cut an UTF-8 character. */
static size_t fewer_characters(struct text t, size_t len)
{
	size_t fewer = len;
	while (fewer > 0 && len - fewer < LINES_TAIL && ((uint8_t)t.ptr[fewer] & 0xc0) == 0x80)
		fewer--;
	return fewer;
}

static void keep_last(struct lines *lines, struct text line)
{
	line = without_blanks(line);
	if (line.len == 0)
		return;
	if (line.len > LINES_LAST_MAX)
		line.len = fewer_characters(line, LINES_LAST_MAX);
	buf_clear(&lines->last);
	buf_append_text(&lines->last, line);
	lines->kept++;
}

static void tell(struct lines *lines, struct text line)
{
	log_worker_line(lines->origin, line);
	lines->told++;
	if (lines->keeps_last)
		keep_last(lines, line);
}

static void tell_rest(struct lines *lines)
{
	tell(lines, buf_text(&lines->rest));
	buf_clear(&lines->rest);
}

/* len, or a little more where that would cut an UTF-8 character. */
static size_t whole_characters(struct text t, size_t len)
{
	size_t more = 0;
	while (more <= LINES_TAIL && len + more < t.len &&
		((uint8_t)t.ptr[len + more] & 0xc0) == 0x80)
		more++;
	return more <= LINES_TAIL ? len + more : len; /* else it is no UTF-8 at all */
}

/* False: no memory, so what stood there and part were told as pieces of their own. */
static bool keep(struct lines *lines, struct text part)
{
	buf_append_text(&lines->rest, part);
	if (!lines->rest.failed)
		return true;
	if (buf_len(&lines->rest) > 0)
		tell(lines, buf_text(&lines->rest));
	buf_clear(&lines->rest);
	tell(lines, part);
	return false;
}

/* part has no newline; is_end: one follows it. */
static void add_part(struct lines *lines, struct text part, bool is_end)
{
	while (buf_len(&lines->rest) + part.len > LINES_PIECE + LINES_TAIL) {
		size_t held = buf_len(&lines->rest);
		size_t len = whole_characters(part, held < LINES_PIECE ? LINES_PIECE - held : 0);
		if (keep(lines, text_of(part.ptr, len)))
			tell_rest(lines);
		part = text_of(part.ptr + len, part.len - len);
	}
	if (is_end && buf_len(&lines->rest) == 0)
		tell(lines, part); /* the common case: put away by nobody */
	else if (keep(lines, part) && is_end)
		tell_rest(lines);
}

void lines_add(struct lines *lines, struct text bytes)
{
	while (bytes.len > 0) {
		const char *newline = memchr(bytes.ptr, '\n', bytes.len);
		size_t len = newline ? (size_t)(newline - bytes.ptr) : bytes.len;
		add_part(lines, text_of(bytes.ptr, len), newline != NULL);
		len += newline != NULL;
		bytes = text_of(bytes.ptr + len, bytes.len - len);
	}
}

void lines_end(struct lines *lines)
{
	if (buf_len(&lines->rest) > 0)
		tell_rest(lines);
	buf_release(&lines->rest);
	buf_init(&lines->rest, LINES_PIECE + 2 * LINES_TAIL);
}

struct text lines_last(const struct lines *lines)
{
	return buf_text(&lines->last);
}

void lines_release(struct lines *lines)
{
	buf_release(&lines->rest);
	buf_release(&lines->last);
}
