#include "base/json.h"

#include "base/utf8.h"

static bool is_plain(char c)
{
	return (uint8_t)c >= 0x20 && (uint8_t)c < 0x80 && c != '"' && c != '\\';
}

static void append_escaped(struct buf *out, char c)
{
	static const char letters[][2] = {{'"', '"'}, {'\\', '\\'}, {'\n', 'n'}, {'\r', 'r'},
		{'\t', 't'}, {'\b', 'b'}, {'\f', 'f'}};
	for (size_t i = 0; i < sizeof letters / sizeof *letters; i++) {
		if (letters[i][0] == c) {
			buf_append(out, (char[]){'\\', letters[i][1]}, 2);
			return;
		}
	}
	buf_printf(out, "\\u%04x", (unsigned)(uint8_t)c);
}

/* Append a run of plain characters, or one escaped character. Return the length consumed. */
static size_t append_step(struct buf *out, struct text t)
{
	size_t len = 0;
	while (len < t.len && is_plain(t.ptr[len]))
		len++;
	if (len > 0) {
		buf_append(out, t.ptr, len);
	} else if ((uint8_t)t.ptr[0] < 0x80) {
		append_escaped(out, t.ptr[0]);
		len = 1;
	} else if (utf8_first(t, &len)) {
		buf_append(out, t.ptr, len);
	} else {
		buf_append_text(out, UTF8_REPLACEMENT);
	}
	return len;
}

void json_append_string(struct buf *out, struct text t)
{
	buf_append_byte(out, '"');
	while (t.len > 0 && !out->failed) {
		size_t len = append_step(out, t);
		t = text_of(t.ptr + len, t.len - len);
	}
	buf_append_byte(out, '"');
}
