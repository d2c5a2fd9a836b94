#include "io/lines.h"

/* Bytes of an UTF-8 character behind its first. */
#define LINES_TAIL 3

void lines_init(
	struct lines *lines, struct log_origin origin, struct log_gate *gate, bool keeps_last)
{
	*lines = (struct lines){.keeps_last = keeps_last, .origin = origin, .gate = gate};
	buf_init(&lines->rest, LOG_MESSAGE_MAX);
	buf_init(&lines->last, LINES_LAST_MAX);
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

static void tell(struct lines *lines, struct text text, bool is_cut)
{
	struct log_worker_line line = log_worker_line(text, is_cut);
	log_gate_tell(lines->gate, lines->origin, &line);
	lines->told++;
	if (lines->keeps_last)
		keep_last(lines, text);
}

static void tell_rest(struct lines *lines, bool is_cut)
{
	tell(lines, buf_text(&lines->rest), is_cut);
	buf_clear(&lines->rest);
}

/* As much of the line as fits; is_end: nothing follows of it. */
static void tell_beginning(struct lines *lines, struct text part, bool is_end)
{
	size_t room = LOG_MESSAGE_MAX - buf_len(&lines->rest);
	buf_append(&lines->rest, part.ptr, part.len < room ? part.len : room);
	tell_rest(lines, true);
	lines->is_cut = !is_end;
}

/* part has no newline; is_end: one follows it. */
static void add_part(struct lines *lines, struct text part, bool is_end)
{
	bool is_new = buf_len(&lines->rest) == 0;
	if (lines->is_cut) {
		lines->is_cut = !is_end;
	} else if (buf_len(&lines->rest) + part.len > LOG_MESSAGE_MAX) {
		tell_beginning(lines, part, is_end);
	} else if (is_end && is_new) {
		tell(lines, part, false); /* the common case: put away by nobody */
	} else {
		buf_append_text(&lines->rest, part);
		if (lines->rest.failed) /* out of memory: what stands there is told */
			tell_beginning(lines, TEXT_NONE, is_end);
		else if (is_end)
			tell_rest(lines, false);
	}
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
		tell_rest(lines, false);
	buf_release(&lines->rest);
	buf_init(&lines->rest, LOG_MESSAGE_MAX);
	lines->is_cut = false;
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
