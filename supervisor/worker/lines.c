#include "worker/lines.h"

/* A UTF-8 character has at most so many bytes behind its first. */
#define LINES_TAIL 3

void lines_init(
	struct lines *lines, struct log_origin origin, struct log_gate *gate, bool keeps_last)
{
	*lines = (struct lines){.keeps_last = keeps_last, .origin = origin, .gate = gate};
	buf_init(&lines->rest, LOG_MESSAGE_MAX);
	buf_init(&lines->last, LINES_LAST_MAX);
}

/* Return len, or less where that would cut a UTF-8 character. */
static size_t whole_characters(struct text t, size_t len)
{
	size_t whole = len;
	while (whole > 0 && len - whole < LINES_TAIL && ((uint8_t)t.ptr[whole] & 0xc0) == 0x80)
		whole--;
	return whole;
}

static void keep_last(struct lines *lines, struct text line)
{
	while (line.len > 0 && (uint8_t)line.ptr[line.len - 1] <= ' ')
		line.len--;
	if (line.len == 0)
		return;
	if (line.len > LINES_LAST_MAX)
		line.len = whole_characters(line, LINES_LAST_MAX);
	buf_clear(&lines->last);
	buf_append_text(&lines->last, line);
	lines->kept++;
}

static void log_text(struct lines *lines, struct text text, bool is_cut)
{
	struct log_worker_line line = log_worker_line(text, is_cut);
	log_gate_log(lines->gate, lines->origin, &line);
	lines->count++;
	if (lines->keeps_last)
		keep_last(lines, text);
}

static void log_rest(struct lines *lines, bool is_cut)
{
	log_text(lines, buf_text(&lines->rest), is_cut);
	buf_clear(&lines->rest);
}

/* Log as much of the line as fits. is_end: this part ends it. */
static void log_beginning(struct lines *lines, struct text part, bool is_end)
{
	size_t space = LOG_MESSAGE_MAX - buf_len(&lines->rest);
	buf_append(&lines->rest, part.ptr, part.len < space ? part.len : space);
	log_rest(lines, true);
	lines->is_cut = !is_end;
}

/* part has no newline; is_end: a newline follows it. */
static void add_part(struct lines *lines, struct text part, bool is_end)
{
	bool is_new = buf_len(&lines->rest) == 0;
	if (lines->is_cut) {
		lines->is_cut = !is_end;
	} else if (buf_len(&lines->rest) + part.len > LOG_MESSAGE_MAX) {
		log_beginning(lines, part, is_end);
	} else if (is_end && is_new) {
		log_text(lines, part, false); /* the common case: nothing is copied */
	} else {
		buf_append_text(&lines->rest, part);
		if (lines->rest.failed) /* out of memory: log what is there */
			log_beginning(lines, TEXT_NONE, is_end);
		else if (is_end)
			log_rest(lines, false);
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
		log_rest(lines, false);
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
