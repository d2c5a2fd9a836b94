#include "message/value_field.h"

#include "base/json.h"
#include "message/field_text.h"
#include "wire/frame.h"

#include <inttypes.h>
#include <math.h>

/* Maximum of nested tables and arrays, the header table included (PROTOCOL.md, section 6). */
#define LEVELS_MAX     8
#define FIELD_NAME_MAX 255

static bool has_space(struct value_reader *reader, size_t more)
{
	size_t used = buf_len(reader->out);
	if (reader->invalid || used > reader->size_max || more > reader->size_max - used)
		reader->invalid = true;
	return !reader->invalid && !reader->out->failed;
}

static struct wire_value take_value(struct value_reader *reader)
{
	struct wire_value value = {.type = WIRE_NIL};
	if (wire_take(&reader->at, reader->end, &value) != WIRE_OK)
		reader->invalid = true; /* cannot happen: wire_check accepted it */
	return value;
}

bool value_take_text(struct value_reader *reader, struct text *ret)
{
	const uint8_t *start = reader->at;
	struct wire_value value = take_value(reader);
	if (!value_is_text(&value)) {
		reader->at = start;
		wire_skip(&reader->at, reader->end);
		return false;
	}
	*ret = value_text(&value);
	return true;
}

/* A key inside a map. AMQP and JSON know strings only. */
static struct text take_key(struct value_reader *reader)
{
	struct text key = TEXT_NONE;
	if (!value_take_text(reader, &key))
		reader->invalid = true;
	return key;
}

static void put_json(struct value_reader *reader);

static void put_json_members(struct value_reader *reader, const struct wire_value *head)
{
	bool keyed = head->type == WIRE_MAP;
	buf_append_byte(reader->out, keyed ? '{' : '[');
	for (uint32_t i = 0; i < head->count && has_space(reader, 1); i++) {
		if (i > 0)
			buf_append_byte(reader->out, ',');
		if (keyed) {
			json_append_string(reader->out, take_key(reader));
			buf_append_byte(reader->out, ':');
		}
		put_json(reader);
	}
	buf_append_byte(reader->out, keyed ? '}' : ']');
}

/* Recursion is limited: wire_check has checked the depth. */
static void put_json(struct value_reader *reader)
{
	struct wire_value value = take_value(reader);
	int64_t seconds;
	if (!has_space(reader, value_is_text(&value) ? value.bytes.len : 1))
		return;
	switch (value.type) {
	case WIRE_NIL:
		buf_append_text(reader->out, TEXT("null"));
		return;
	case WIRE_BOOL:
		buf_append_text(reader->out, value.boolean ? TEXT("true") : TEXT("false"));
		return;
	case WIRE_INT:
		buf_printf(reader->out, "%" PRId64, value.integer);
		return;
	case WIRE_UINT:
		buf_printf(reader->out, "%" PRIu64, value.uinteger);
		return;
	case WIRE_FLOAT:
		number_append_json(reader->out, value.number);
		return;
	case WIRE_STR:
	case WIRE_BIN:
		json_append_string(reader->out, value_text(&value));
		return;
	case WIRE_EXT:
		if (wire_timestamp(&value, &seconds))
			buf_printf(reader->out, "%" PRId64, seconds);
		else
			reader->invalid = true;
		return;
	case WIRE_ARRAY:
	case WIRE_MAP:
		put_json_members(reader, &value);
		return;
	}
}

/* Begin a long string, an array or a table; put_length fills in its length. */
static size_t put_start(struct value_reader *reader, char type)
{
	buf_append_byte(reader->out, (uint8_t)type);
	buf_append_be32(reader->out, 0);
	return buf_len(reader->out);
}

static void put_length(struct value_reader *reader, size_t start)
{
	struct buf *out = reader->out;
	if (!out->failed)
		wire_put_length(out->bytes + out->head + start - WIRE_LENGTH_BYTES,
			(uint32_t)(buf_len(out) - start));
}

static void put_integer(struct buf *out, int64_t number)
{
	if (number >= INT8_MIN && number <= INT8_MAX) {
		buf_append_byte(out, 'b');
		buf_append_byte(out, (uint8_t)number);
	} else if (number >= INT16_MIN && number <= INT16_MAX) {
		buf_append_byte(out, 's');
		buf_append_be16(out, (uint16_t)number);
	} else if (number >= INT32_MIN && number <= INT32_MAX) {
		buf_append_byte(out, 'I');
		buf_append_be32(out, (uint32_t)number);
	} else {
		buf_append_byte(out, 'l');
		buf_append_be64(out, (uint64_t)number);
	}
}

static void put_text(struct value_reader *reader, char type, struct text value)
{
	if (!has_space(reader, value.len))
		return;
	size_t start = put_start(reader, type);
	buf_append_text(reader->out, value);
	put_length(reader, start);
}

/* RabbitMQ's parser closes the whole connection (541) over a double that is not finite. */
static void put_double(struct value_reader *reader, double number)
{
	uint64_t bits;
	if (!isfinite(number)) {
		size_t start = put_start(reader, 'S');
		number_append_text(reader->out, number);
		put_length(reader, start);
		return;
	}
	memcpy(&bits, &number, sizeof bits);
	buf_append_byte(reader->out, 'd');
	buf_append_be64(reader->out, bits);
}

/* AMQP's timestamps are unsigned: a time before 1970 becomes an integer. */
static void put_ext(struct value_reader *reader, const struct wire_value *value)
{
	int64_t seconds;
	if (!wire_timestamp(value, &seconds)) {
		reader->invalid = true;
	} else if (seconds < 0) {
		put_integer(reader->out, seconds);
	} else {
		buf_append_byte(reader->out, 'T');
		buf_append_be64(reader->out, (uint64_t)seconds);
	}
}

static void put_key(struct value_reader *reader, struct text key)
{
	if (key.len > FIELD_NAME_MAX)
		reader->invalid = true;
	if (!has_space(reader, key.len))
		return;
	buf_append_byte(reader->out, (uint8_t)key.len);
	buf_append_text(reader->out, key);
}

static void put_value(struct value_reader *reader, unsigned level);

static void put_members(struct value_reader *reader, const struct wire_value *head, unsigned level)
{
	bool keyed = head->type == WIRE_MAP;
	size_t start = put_start(reader, keyed ? 'F' : 'A');
	for (uint32_t i = 0; i < head->count && has_space(reader, 1); i++) {
		if (keyed)
			put_key(reader, take_key(reader));
		put_value(reader, level);
	}
	put_length(reader, start);
}

/* level: of the table or array that contains the value, from 1. */
static void put_value(struct value_reader *reader, unsigned level)
{
	const uint8_t *before = reader->at;
	struct wire_value value = take_value(reader);
	size_t start;
	switch (value.type) {
	case WIRE_NIL:
		buf_append_byte(reader->out, 'V');
		return;
	case WIRE_BOOL:
		buf_append_byte(reader->out, 't');
		buf_append_byte(reader->out, value.boolean);
		return;
	case WIRE_INT:
		put_integer(reader->out, value.integer);
		return;
	case WIRE_UINT:
		start = put_start(reader, 'S');
		buf_printf(reader->out, "%" PRIu64, value.uinteger);
		put_length(reader, start);
		return;
	case WIRE_FLOAT:
		put_double(reader, value.number);
		return;
	case WIRE_STR:
	case WIRE_BIN:
		put_text(reader, value.type == WIRE_STR ? 'S' : 'x', value_text(&value));
		return;
	case WIRE_EXT:
		put_ext(reader, &value);
		return;
	case WIRE_ARRAY:
	case WIRE_MAP:
		if (level < LEVELS_MAX) {
			put_members(reader, &value, level + 1);
			return;
		}
		reader->at = before;
		start = put_start(reader, 'S');
		put_json(reader);
		put_length(reader, start);
		return;
	}
}

void value_put_field(struct value_reader *reader, struct text key)
{
	put_key(reader, key);
	put_value(reader, 1);
	(void)has_space(reader, 0);
}
