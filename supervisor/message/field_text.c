#include "message/field_text.h"

#include "base/json.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Decimals with more places than this are written with an exponent. */
#define PLAIN_PLACES_MAX 18

uint64_t field_bits(const struct table_field *field)
{
	uint64_t bits = 0;
	for (size_t i = 0; i < field->value.len; i++)
		bits = bits << 8 | (uint8_t)field->value.ptr[i];
	return bits;
}

double field_double(const struct table_field *field)
{
	uint64_t bits = field_bits(field);
	if (field->type == 'f') {
		uint32_t half = (uint32_t)bits;
		float number;
		memcpy(&number, &half, sizeof number);
		return number;
	}
	double number;
	memcpy(&number, &bits, sizeof number);
	return number;
}

/* is_single: the number has 32 bits, so the text only has to read back as the same float. */
static void append_number(struct buf *out, double number, bool is_single, bool is_json)
{
	char text[40];
	if (!isfinite(number)) {
		struct text infinity = number < 0 ? TEXT("-Infinity") : TEXT("Infinity");
		struct text name = isnan(number) ? TEXT("NaN") : infinity;
		buf_append_text(out, is_json ? TEXT("null") : name);
		return;
	}
	for (int digits = is_single ? 6 : 15; digits <= 17; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, number);
		double back = is_single ? (double)strtof(text, NULL) : strtod(text, NULL);
		if (back == number)
			break;
	}
	buf_append_text(out, text_from(text));
}

void number_append_text(struct buf *out, double number)
{
	append_number(out, number, false, false);
}

void number_append_json(struct buf *out, double number)
{
	append_number(out, number, false, true);
}

/* A decimal: an octet of places, then a signed 32-bit number (AMQP 0-9-1, 4.2.5.5). */
static void append_decimal(struct buf *out, const struct table_field *field)
{
	uint64_t bits = field_bits(field);
	unsigned places = (bits >> 32) & 0xff;
	int64_t number = (int32_t)(uint32_t)bits;
	if (places == 0 || places > PLAIN_PLACES_MAX) {
		buf_printf(out, "%" PRId64, number);
		if (places > 0)
			buf_printf(out, "e-%u", places);
		return;
	}
	uint64_t scale = 1;
	for (unsigned i = 0; i < places; i++)
		scale *= 10;
	uint64_t size = number < 0 ? (uint64_t)-number : (uint64_t)number;
	buf_printf(out, "%s%" PRIu64 ".%0*" PRIu64, number < 0 ? "-" : "", size / scale,
		(int)places, size % scale);
}

/* Append a value that looks the same as text and as JSON, except numbers that are not finite. */
static void append_scalar(struct buf *out, const struct table_field *field, bool is_json)
{
	int64_t integer;
	switch (field->type) {
	case 't':
		buf_append_text(out, field_bits(field) ? TEXT("true") : TEXT("false"));
		return;
	case 'L':
	case 'T':
		buf_printf(out, "%" PRIu64, field_bits(field));
		return;
	case 'f':
	case 'd':
		append_number(out, field_double(field), field->type == 'f', is_json);
		return;
	case 'D':
		append_decimal(out, field);
		return;
	default:
		if (table_field_integer(field, &integer))
			buf_printf(out, "%" PRId64, integer);
	}
}

static void append_json_members(struct buf *out, const struct table_field *field)
{
	bool keyed = field->type == 'F';
	struct text rest = field->value;
	struct table_field member;
	const char *between = "";
	buf_append_byte(out, keyed ? '{' : '[');
	while (table_next(&rest, keyed, &member)) {
		buf_append_text(out, text_from(between));
		between = ",";
		if (keyed) {
			json_append_string(out, member.key);
			buf_append_byte(out, ':');
		}
		field_append_json(out, &member);
	}
	buf_append_byte(out, keyed ? '}' : ']');
}

void field_append_json(struct buf *out, const struct table_field *field)
{
	switch (field->type) {
	case 'S':
	case 'x':
		json_append_string(out, field->value);
		return;
	case 'A':
	case 'F':
		append_json_members(out, field);
		return;
	case 'V':
		buf_append_text(out, TEXT("null"));
		return;
	default:
		append_scalar(out, field, true);
	}
}

void field_append_text(struct buf *out, const struct table_field *field)
{
	switch (field->type) {
	case 'S':
	case 'x':
		utf8_append_valid(out, field->value);
		return;
	case 'A':
	case 'F':
		append_json_members(out, field);
		return;
	case 'V':
		return;
	default:
		append_scalar(out, field, false);
	}
}
