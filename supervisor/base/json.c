#include "base/json.h"

#include "base/utf8.h"

static bool is_plain(char c)
{
	return (uint8_t)c >= 0x20 && (uint8_t)c < 0x7f && c != '"' && c != '\\';
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

/* Append the first character of t, which is not ASCII. Return the length consumed. */
static size_t append_character(struct buf *out, struct text t)
{
	size_t len;
	bool is_good = utf8_first(t, &len);
	uint32_t code = is_good ? utf8_code(text_of(t.ptr, len)) : 0;

	if (!is_good)
		buf_append_text(out, UTF8_REPLACEMENT);
	else if (utf8_is_control(code))
		buf_printf(out, "\\u%04x", (unsigned)code);
	else
		buf_append(out, t.ptr, len);
	return len;
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
	} else {
		len = append_character(out, t);
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

static bool is_kept(char c)
{
	return ((uint8_t)c >= 0x20 && (uint8_t)c < 0x7f) || c == '\n' || c == '\t';
}

void json_append_written(struct buf *out, struct text json)
{
	while (json.len > 0 && !out->failed) {
		size_t len = 0;
		while (len < json.len && is_kept(json.ptr[len]))
			len++;
		buf_append(out, json.ptr, len);
		json = text_of(json.ptr + len, json.len - len);
		if (json.len == 0)
			return;
		len = 1;
		if (*json.ptr == '\r')
			buf_append_byte(out, ' ');
		else if ((uint8_t)*json.ptr < 0x80)
			buf_printf(out, "\\u%04x", (unsigned)*json.ptr);
		else
			len = append_character(out, json);
		json = text_of(json.ptr + len, json.len - len);
	}
}

static void append_base64(struct buf *out, struct text bytes)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	buf_append_byte(out, '"');
	for (size_t i = 0; i < bytes.len; i += 3) {
		size_t count = bytes.len - i < 3 ? bytes.len - i : 3;
		uint32_t bits = 0;
		char quad[4] = {'=', '=', '=', '='};
		for (size_t j = 0; j < 3; j++)
			bits = bits << 8 | (j < count ? (uint8_t)bytes.ptr[i + j] : 0);
		for (size_t j = 0; j <= count; j++)
			quad[j] = digits[bits >> (18 - 6 * j) & 63];
		buf_append(out, quad, sizeof quad);
	}
	buf_append_byte(out, '"');
}

void json_append_bytes(struct buf *out, const char *name, struct text s)
{
	bool is_text = utf8_is_valid(s);
	buf_printf(out, "\"%s%s\":", name, is_text ? "" : "_base64");
	if (is_text)
		json_append_string(out, s);
	else
		append_base64(out, s);
}
