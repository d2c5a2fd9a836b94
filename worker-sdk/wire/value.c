#include "wire/value.h"

#include <string.h>

enum form {
	FORM_NEVER, /* 0xc1 */
	FORM_NIL,
	FORM_BOOL,
	FORM_UNSIGNED,
	FORM_SIGNED,
	FORM_FLOAT,
	FORM_STR,
	FORM_BIN,
	FORM_EXT,
	FORM_FIXED_EXT,
	FORM_ARRAY,
	FORM_MAP,
};

/* For each of the bytes 0xc0 to 0xdf: the width of the number or length that follows; for a bool
 * and a fixed ext the value or length itself. */
static const struct shape {
	uint8_t form;
	uint8_t width;
} shapes[32] = {
	{FORM_NIL, 0},
	{FORM_NEVER, 0},
	{FORM_BOOL, 0},
	{FORM_BOOL, 1},
	{FORM_BIN, 1},
	{FORM_BIN, 2},
	{FORM_BIN, 4},
	{FORM_EXT, 1},
	{FORM_EXT, 2},
	{FORM_EXT, 4},
	{FORM_FLOAT, 4},
	{FORM_FLOAT, 8},
	{FORM_UNSIGNED, 1},
	{FORM_UNSIGNED, 2},
	{FORM_UNSIGNED, 4},
	{FORM_UNSIGNED, 8},
	{FORM_SIGNED, 1},
	{FORM_SIGNED, 2},
	{FORM_SIGNED, 4},
	{FORM_SIGNED, 8},
	{FORM_FIXED_EXT, 1},
	{FORM_FIXED_EXT, 2},
	{FORM_FIXED_EXT, 4},
	{FORM_FIXED_EXT, 8},
	{FORM_FIXED_EXT, 16},
	{FORM_STR, 1},
	{FORM_STR, 2},
	{FORM_STR, 4},
	{FORM_ARRAY, 2},
	{FORM_ARRAY, 4},
	{FORM_MAP, 2},
	{FORM_MAP, 4},
};

struct cursor {
	const uint8_t *at, *end;
};

static size_t cursor_left(const struct cursor *cursor)
{
	return (size_t)(cursor->end - cursor->at);
}

static bool take_number(struct cursor *cursor, unsigned width, uint64_t *ret)
{
	if (cursor_left(cursor) < width)
		return false;
	uint64_t number = 0;
	for (unsigned i = 0; i < width; i++)
		number = number << 8 | *cursor->at++;
	*ret = number;
	return true;
}

static bool take_bytes(
	struct cursor *cursor, enum wire_type type, uint64_t len, struct wire_value *ret)
{
	int8_t kind = 0;
	if (type == WIRE_EXT) {
		uint64_t octet;
		if (!take_number(cursor, 1, &octet))
			return false;
		kind = (int8_t)octet;
	}
	if (cursor_left(cursor) < len)
		return false;
	ret->type = type;
	ret->bytes.ptr = cursor->at;
	ret->bytes.len = (uint32_t)len;
	ret->bytes.kind = kind;
	cursor->at += len;
	return true;
}

static int64_t sign_extended(uint64_t number, unsigned width)
{
	switch (width) {
	case 1:
		return (int8_t)number;
	case 2:
		return (int16_t)number;
	case 4:
		return (int32_t)number;
	default:
		return (int64_t)number;
	}
}

static double double_of(uint64_t bits, unsigned width)
{
	if (width == 4) {
		uint32_t half = (uint32_t)bits;
		float number;
		memcpy(&number, &half, sizeof number);
		return number;
	}
	double number;
	memcpy(&number, &bits, sizeof number);
	return number;
}

static void set_integer(struct wire_value *ret, int64_t integer)
{
	ret->type = WIRE_INT;
	ret->integer = integer;
}

static void set_unsigned(struct wire_value *ret, uint64_t number)
{
	if (number <= INT64_MAX) {
		set_integer(ret, (int64_t)number);
		return;
	}
	ret->type = WIRE_UINT;
	ret->uinteger = number;
}

static bool set_count(struct wire_value *ret, enum wire_type type, uint64_t count)
{
	ret->type = type;
	ret->count = (uint32_t)count;
	return true;
}

/* Values whose first byte says all: small integers, and the heads of short texts, arrays and maps.
 */
static bool take_short(struct cursor *cursor, uint8_t first, struct wire_value *ret)
{
	if (first >= 0xe0) {
		set_integer(ret, (int8_t)first);
		return true;
	}
	if (first < 0x80) {
		set_integer(ret, first);
		return true;
	}
	if (first < 0x90)
		return set_count(ret, WIRE_MAP, first & 0x0f);
	if (first < 0xa0)
		return set_count(ret, WIRE_ARRAY, first & 0x0f);
	return take_bytes(cursor, WIRE_STR, first & 0x1f, ret);
}

static bool take_shaped(struct cursor *cursor, const struct shape *shape, struct wire_value *ret)
{
	uint64_t number = 0;
	if (shape->form >= FORM_UNSIGNED && shape->form != FORM_FIXED_EXT &&
		!take_number(cursor, shape->width, &number))
		return false;
	switch ((enum form)shape->form) {
	case FORM_NIL:
		ret->type = WIRE_NIL;
		return true;
	case FORM_BOOL:
		ret->type = WIRE_BOOL;
		ret->boolean = shape->width;
		return true;
	case FORM_UNSIGNED:
		set_unsigned(ret, number);
		return true;
	case FORM_SIGNED:
		set_integer(ret, sign_extended(number, shape->width));
		return true;
	case FORM_FLOAT:
		ret->type = WIRE_FLOAT;
		ret->number = double_of(number, shape->width);
		return true;
	case FORM_STR:
		return take_bytes(cursor, WIRE_STR, number, ret);
	case FORM_BIN:
		return take_bytes(cursor, WIRE_BIN, number, ret);
	case FORM_EXT:
		return take_bytes(cursor, WIRE_EXT, number, ret);
	case FORM_FIXED_EXT:
		return take_bytes(cursor, WIRE_EXT, shape->width, ret);
	case FORM_ARRAY:
		return set_count(ret, WIRE_ARRAY, number);
	case FORM_MAP:
		return set_count(ret, WIRE_MAP, number);
	case FORM_NEVER:
		break;
	}
	return false;
}

enum wire_check_result wire_take(const uint8_t **at, const uint8_t *end, struct wire_value *ret)
{
	struct cursor cursor = {*at, end};
	if (cursor.at == end)
		return WIRE_CUT;
	uint8_t first = *cursor.at++;
	if (first == 0xc1)
		return WIRE_BAD_BYTE;
	/* Both write *ret only if they succeed. */
	bool is_whole = first >= 0xc0 && first <= 0xdf
				? take_shaped(&cursor, &shapes[first - 0xc0], ret)
				: take_short(&cursor, first, ret);
	if (!is_whole)
		return WIRE_CUT;
	*at = cursor.at;
	return WIRE_OK;
}

static uint64_t members_of(const struct wire_value *value)
{
	if (value->type == WIRE_ARRAY)
		return value->count;
	return value->type == WIRE_MAP ? 2 * (uint64_t)value->count : 0;
}

enum wire_check_result wire_take_whole(
	const uint8_t **at, const uint8_t *end, struct wire_value *ret)
{
	enum wire_check_result result = wire_take(at, end, ret);
	if (result != WIRE_OK)
		return result;
	struct wire_value value;
	for (uint64_t owed = members_of(ret); owed > 0; owed += members_of(&value) - 1)
		if ((result = wire_take(at, end, &value)) != WIRE_OK)
			return result;
	return WIRE_OK;
}

void wire_skip(const uint8_t **at, const uint8_t *end)
{
	struct wire_value value;
	(void)wire_take_whole(at, end, &value);
}

/* The three layouts of the MessagePack specification, "Timestamp extension type". */
bool wire_timestamp(const struct wire_value *value, int64_t *ret_seconds)
{
	if (value->type != WIRE_EXT || value->bytes.kind != WIRE_EXT_TIMESTAMP)
		return false;
	struct cursor cursor = {value->bytes.ptr, value->bytes.ptr + value->bytes.len};
	uint64_t number = 0;
	switch (value->bytes.len) {
	case 4:
		(void)take_number(&cursor, 4, &number);
		break;
	case 8:
		(void)take_number(&cursor, 8, &number);
		number &= (UINT64_C(1) << 34) - 1;
		break;
	case 12:
		cursor.at += 4;
		(void)take_number(&cursor, 8, &number);
		break;
	default:
		return false;
	}
	*ret_seconds = (int64_t)number;
	return true;
}
