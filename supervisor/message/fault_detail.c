#include "message/fault_detail.h"

#include "base/utf8.h"
#include "message/value_field.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#define HEX_SHOWN  16 /* bytes */
#define TEXT_SHOWN 24 /* bytes: enough to recognise a program's output, too few for its data */
#define KEYS_SHOWN 4

struct detail {
	char *out; /* of FAULT_DETAIL_SIZE bytes */
	size_t len;
	bool is_full; /* a part did not fit: it and what follows are left out */
};

static void PRINTF_LIKE(2, 3) detail_printf(struct detail *detail, const char *format, ...)
{
	size_t left = FAULT_DETAIL_SIZE - detail->len;
	va_list args;
	va_start(args, format);
	int len = vsnprintf(detail->out + detail->len, left, format, args);
	va_end(args);
	if (len < 0 || (size_t)len >= left || detail->is_full) {
		detail->out[detail->len] = 0;
		detail->is_full = true;
		return;
	}
	detail->len += (size_t)len;
}

static void add_hex(struct detail *detail, struct text bytes, size_t max)
{
	for (size_t i = 0; i < bytes.len && i < max; i++)
		detail_printf(detail, "%s%02x", i > 0 ? " " : "", (uint8_t)bytes.ptr[i]);
	if (bytes.len > max)
		detail_printf(detail, " ...");
}

static void add_quoted(struct detail *detail, struct text text)
{
	char shown[TEXT_SHOWN * 4 + 1];
	size_t len = text.len < TEXT_SHOWN ? text.len : TEXT_SHOWN;
	utf8_copy_escaped(shown, sizeof shown, text_of(text.ptr, len));
	detail_printf(detail, "\"%s%s\"", shown, text.len > len ? "..." : "");
}

/* ---------- what bytes look like ---------- */

static bool begins_with_map(struct text bytes)
{
	uint8_t first = bytes.len > 0 ? (uint8_t)*bytes.ptr : 0;
	return (first >= 0x80 && first <= 0x9f) || (first >= 0xdc && first <= 0xdf);
}

/* No length that is allowed has such bytes. */
static bool begins_with_text(struct text bytes)
{
	for (size_t i = 0; i < WIRE_LENGTH_BYTES && i < bytes.len; i++) {
		char byte = bytes.ptr[i];
		bool is_space = byte >= '\t' && byte <= '\r';
		if (!is_space && (byte < ' ' || byte > '~'))
			return false;
	}
	return bytes.len > 0;
}

static bool begins_with_http(struct text bytes)
{
	static const char *const beginnings[] = {
		"HTTP/", "GET ", "POST ", "PUT ", "HEAD ", "DELETE ", "OPTIONS "};
	for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
		if (text_starts(bytes, text_from(beginnings[i])))
			return true;
	return false;
}

static enum fault_look look_of_text(struct text bytes)
{
	if (begins_with_http(bytes))
		return LOOK_HTTP;
	return strchr("{[\"", *bytes.ptr) ? LOOK_JSON : LOOK_TEXT;
}

static uint32_t little_endian(const uint8_t *bytes)
{
	return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
	       (uint32_t)bytes[3] << 24;
}

/* The bytes have a length. Right is a length that fits what is behind it; a wrong one may be read
 * the other way only if it is no length as it stands. */
static enum fault_look look_of_length(struct text head, size_t len, uint64_t limit)
{
	const uint8_t *bytes = (const uint8_t *)head.ptr;
	uint32_t big = wire_get_length(bytes), little = little_endian(bytes);
	struct text behind = text_of(head.ptr + WIRE_LENGTH_BYTES, head.len - WIRE_LENGTH_BYTES);
	bool is_wrong = big == 0 || (limit > 0 && big > limit);
	if (big != little && little > 0 &&
		(little == len - WIRE_LENGTH_BYTES ||
			(is_wrong && little <= limit && begins_with_map(behind))))
		return LOOK_LITTLE_ENDIAN;
	if (big == 0 && behind.len > WIRE_LENGTH_BYTES && wire_get_length(bytes + 4) > 0 &&
		begins_with_map(text_of(behind.ptr + 4, behind.len - 4)))
		return LOOK_LONG_LENGTH;
	return LOOK_UNKNOWN;
}

enum fault_look fault_look(struct text head, size_t len, uint64_t limit)
{
	if (begins_with_text(head))
		return look_of_text(head);
	if (begins_with_map(head))
		return LOOK_NO_LENGTH;
	return head.len > WIRE_LENGTH_BYTES ? look_of_length(head, len, limit) : LOOK_UNKNOWN;
}

static void add_look(struct detail *detail, enum fault_look look, struct text head)
{
	static const char *const texts[] = {
		[LOOK_HTTP] = "HTTP",
		[LOOK_JSON] = "JSON",
		[LOOK_TEXT] = "text",
		[LOOK_NO_LENGTH] = "MessagePack without a length in front",
		[LOOK_LITTLE_ENDIAN] = "a little-endian",
		[LOOK_LONG_LENGTH] = "a length of 8 bytes",
	};
	if (look == LOOK_UNKNOWN)
		return;
	detail_printf(detail, "; this looks like %s", texts[look]);
	if (look == LOOK_LITTLE_ENDIAN)
		detail_printf(detail, " %u", (unsigned)little_endian((const uint8_t *)head.ptr));
	if (look == LOOK_HTTP || look == LOOK_JSON || look == LOOK_TEXT) {
		detail_printf(detail, ": ");
		add_quoted(detail, head);
	}
}

/* ---------- frames ---------- */

void fault_detail_length(char ret[FAULT_DETAIL_SIZE], struct text bytes, uint64_t limit)
{
	struct detail detail = {.out = ret};
	uint32_t len = wire_get_length((const uint8_t *)bytes.ptr);
	if (len > 0)
		add_hex(&detail, text_of(bytes.ptr, WIRE_LENGTH_BYTES), WIRE_LENGTH_BYTES);
	else
		add_hex(&detail, bytes, HEX_SHOWN);
	if (len > 0)
		detail_printf(&detail, " is %u, max_frame is %" PRIu64, (unsigned)len, limit);
	add_look(&detail, fault_look(bytes, bytes.len, limit), bytes);
}

void fault_detail_half(char ret[FAULT_DETAIL_SIZE], struct text head, size_t len)
{
	struct detail detail = {.out = ret};
	if (len < WIRE_LENGTH_BYTES)
		detail_printf(&detail, "%zu of the 4 bytes of a length came: ", len);
	else
		detail_printf(&detail, "%zu of the %zu bytes of a frame came: ", len,
			WIRE_LENGTH_BYTES + (size_t)wire_get_length((const uint8_t *)head.ptr));
	add_hex(&detail, head, HEX_SHOWN);
	if (len > head.len && head.len <= HEX_SHOWN)
		detail_printf(&detail, " ...");
	add_look(&detail, fault_look(head, len, 0), head);
}

void fault_detail_frame(char ret[FAULT_DETAIL_SIZE], struct text frame)
{
	struct detail detail = {.out = ret};
	detail_printf(&detail, "%zu byte%s: ", frame.len, frame.len == 1 ? "" : "s");
	add_hex(&detail, frame, HEX_SHOWN);
	if (begins_with_text(frame))
		add_look(&detail, look_of_text(frame), frame);
}

/* ---------- values ---------- */

static void add_value(struct detail *detail, const struct wire_value *value)
{
	switch (value->type) {
	case WIRE_NIL:
		detail_printf(detail, "nil");
		break;
	case WIRE_BOOL:
		detail_printf(detail, value->boolean ? "true" : "false");
		break;
	case WIRE_INT:
		detail_printf(detail, "%" PRId64, value->integer);
		break;
	case WIRE_UINT:
		detail_printf(detail, "%" PRIu64, value->uinteger);
		break;
	case WIRE_FLOAT:
		detail_printf(detail, "the float %.17g", value->number);
		break;
	case WIRE_STR:
		detail_printf(detail, "the text ");
		add_quoted(detail, value_text(value));
		break;
	case WIRE_BIN:
		detail_printf(detail, "%u bytes", (unsigned)value->bytes.len);
		break;
	case WIRE_EXT:
		detail_printf(detail, "an extension of type %d", value->bytes.kind);
		break;
	case WIRE_ARRAY:
		detail_printf(detail, "an array of %u", (unsigned)value->count);
		break;
	case WIRE_MAP:
		detail_printf(detail, "a map of %u", (unsigned)value->count);
		break;
	}
}

void fault_detail_value(char ret[FAULT_DETAIL_SIZE], const struct wire_value *value)
{
	struct detail detail = {.out = ret};
	add_value(&detail, value);
}

void fault_detail_keys(
	char ret[FAULT_DETAIL_SIZE], const uint8_t *at, const uint8_t *end, uint32_t count)
{
	struct detail detail = {.out = ret};
	struct wire_value key;
	detail_printf(&detail, count == 0   ? "it is empty"
			       : count == 1 ? "its key is "
					    : "its keys are ");
	for (uint32_t i = 0; i < count && i < KEYS_SHOWN; i++) {
		if (wire_take_whole(&at, end, &key) != WIRE_OK)
			return;
		detail_printf(&detail, "%s", i > 0 ? ", " : "");
		if (value_is_text(&key))
			add_quoted(&detail, value_text(&key));
		else
			add_value(&detail, &key);
		wire_skip(&at, end);
	}
	if (count > KEYS_SHOWN)
		detail_printf(&detail, ", ...");
}
