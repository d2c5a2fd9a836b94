#include "base/utf8.h"

#include <assert.h>

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

static void append_control(struct buf *out, unsigned code)
{
	if (code == '\t')
		buf_append_byte(out, '\t');
	else if (code == '\n')
		buf_append(out, "\\n", 2);
	else if (code == '\r')
		buf_append(out, "\\r", 2);
	else
		buf_printf(out, "\\x%02x", code);
}

void utf8_append_escaped(struct buf *out, struct text t)
{
	while (t.len > 0 && !out->failed) {
		size_t len;
		uint8_t first = (uint8_t)t.ptr[0];
		if (!utf8_first(t, &len))
			buf_append_text(out, UTF8_REPLACEMENT);
		else if (len == 1 && (first < 0x20 || first == 0x7f))
			append_control(out, first);
		else if (len == 2 && first == 0xc2 && (uint8_t)t.ptr[1] < 0xa0)
			append_control(out, (uint8_t)t.ptr[1]);
		else
			buf_append(out, t.ptr, len);
		t = text_of(t.ptr + len, t.len - len);
	}
}
