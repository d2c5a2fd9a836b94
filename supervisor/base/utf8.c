#include "base/utf8.h"

#include <assert.h>
#include <stdio.h>

size_t utf8_ascii_prefix(struct text t)
{
	size_t i = 0;
	for (uint64_t word; t.len - i >= sizeof word; i += sizeof word) {
		memcpy(&word, t.ptr + i, sizeof word);
		if (word & UINT64_C(0x8080808080808080))
			break;
	}
	while (i < t.len && (uint8_t)t.ptr[i] < 0x80)
		i++;
	return i;
}

/* For a lead byte: the total length and the range of the second byte (RFC 3629, section 4); the
 * third and fourth are 80..BF. total 0: not a lead byte. */
struct lead {
	uint8_t total, low, high;
};

static struct lead lead_of(uint8_t byte)
{
	if (byte < 0x80)
		return (struct lead){1, 0, 0};
	if (byte < 0xc2 || byte > 0xf4)
		return (struct lead){0, 0, 0};
	if (byte < 0xe0)
		return (struct lead){2, 0x80, 0xbf};
	if (byte < 0xf0)
		return (struct lead){3, byte == 0xe0 ? 0xa0 : 0x80, byte == 0xed ? 0x9f : 0xbf};
	return (struct lead){4, byte == 0xf0 ? 0x90 : 0x80, byte == 0xf4 ? 0x8f : 0xbf};
}

bool utf8_first(struct text t, size_t *ret_len)
{
	assert(t.len > 0);
	struct lead lead = lead_of((uint8_t)t.ptr[0]);
	size_t i = 1;
	for (; i < lead.total && i < t.len; i++) {
		uint8_t byte = (uint8_t)t.ptr[i];
		uint8_t low = i == 1 ? lead.low : 0x80, high = i == 1 ? lead.high : 0xbf;
		if (byte < low || byte > high)
			break;
	}
	*ret_len = i;
	return i == lead.total;
}

static struct text text_after(struct text t, size_t len)
{
	return text_of(t.ptr + len, t.len - len);
}

/* The number of well-formed bytes at the start of t. */
static size_t valid_prefix(struct text t)
{
	size_t i = 0;
	while (i < t.len) {
		size_t len = utf8_ascii_prefix(text_after(t, i));
		if (len == 0 && !utf8_first(text_after(t, i), &len))
			break;
		i += len;
	}
	return i;
}

bool utf8_is_valid(struct text t)
{
	return valid_prefix(t) == t.len;
}

void utf8_append_valid(struct buf *out, struct text t)
{
	while (t.len > 0 && !out->failed) {
		size_t len = valid_prefix(t);
		buf_append(out, t.ptr, len);
		t = text_after(t, len);
		if (t.len == 0)
			return;
		utf8_first(t, &len);
		buf_append_text(out, UTF8_REPLACEMENT);
		t = text_after(t, len);
	}
}

uint32_t utf8_code(struct text character)
{
	static const uint8_t masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
	uint32_t code = (uint8_t)character.ptr[0] & masks[character.len];

	for (size_t i = 1; i < character.len; i++)
		code = code << 6 | ((uint8_t)character.ptr[i] & 0x3f);
	return code;
}

bool utf8_is_control(uint32_t code)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {{0, 0x1f}, {0x7f, 0x9f}, {0x61c, 0x61c}, {0x200e, 0x200f}, {0x2028, 0x202e},
		{0x2066, 0x2069}};

	for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
		if (code <= ranges[i].last)
			return code >= ranges[i].first;
	return false;
}

#define ESCAPE_SIZE 8

/* Take the first character off *t, which is not empty, and return how it is shown: as it is, or as
 * an escape in buffer. */
static struct text take_shown(struct text *t, char buffer[ESCAPE_SIZE])
{
	size_t len;
	bool is_good = utf8_first(*t, &len);
	struct text character = text_of(t->ptr, len);
	uint32_t code;

	*t = text_after(*t, len);
	if (!is_good)
		return UTF8_REPLACEMENT;
	code = utf8_code(character);
	if (!utf8_is_control(code) || code == '\t')
		return character;
	if (code == '\n' || code == '\r')
		return code == '\n' ? TEXT("\\n") : TEXT("\\r");
	snprintf(buffer, ESCAPE_SIZE, code < 0x100 ? "\\x%02x" : "\\u%04x", (unsigned)code);
	return text_from(buffer);
}

void utf8_append_escaped(struct buf *out, struct text t)
{
	char buffer[ESCAPE_SIZE];

	while (t.len > 0 && !out->failed)
		buf_append_text(out, take_shown(&t, buffer));
}

void utf8_copy_escaped(char *out, size_t size, struct text t)
{
	char buffer[ESCAPE_SIZE];

	while (t.len > 0) {
		struct text shown = take_shown(&t, buffer);
		if (shown.len >= size)
			break;
		memcpy(out, shown.ptr, shown.len);
		out += shown.len;
		size -= shown.len;
	}
	*out = '\0';
}

struct utf8_shown utf8_shown(struct text t)
{
	struct utf8_shown shown;

	utf8_copy_escaped(shown.text, sizeof shown.text, t);
	return shown;
}
