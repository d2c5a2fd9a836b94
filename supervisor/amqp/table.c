#include "amqp/table.h"
#include "amqp/cursor.h"

#define LENGTH_FIRST UINT8_MAX

/* The size of a value of each type plus 1; 0: unknown type; LENGTH_FIRST: the value follows its
 * length. */
static const uint8_t sizes[UINT8_MAX + 1] = {
	['V'] = 1,
	['t'] = 2,
	['b'] = 2,
	['B'] = 2,
	['s'] = 3,
	['u'] = 3,
	['I'] = 5,
	['i'] = 5,
	['f'] = 5,
	['D'] = 6,
	['l'] = 9,
	['L'] = 9,
	['d'] = 9,
	['T'] = 9,
	['S'] = LENGTH_FIRST,
	['x'] = LENGTH_FIRST,
	['A'] = LENGTH_FIRST,
	['F'] = LENGTH_FIRST,
};

static bool field_take(struct text *rest, bool keyed, struct table_field *ret_field)
{
	struct cursor c = cursor_of(*rest);
	struct table_field field = {.key = keyed ? cursor_take_short(&c) : TEXT_NONE};
	uint8_t type = cursor_take8(&c);
	size_t size = sizes[type];

	if (size == 0)
		return false;
	field.type = (char)type;
	field.value = size == LENGTH_FIRST ? cursor_take_long(&c) : cursor_take(&c, size - 1);
	if (c.is_short)
		return false;
	*rest = c.rest;
	*ret_field = field;
	return true;
}

/* Not recursive, because the peer chooses how deep its tables are: rest is the stack of what is
 * left at each level. */
static enum rc count_fields(struct text members, bool is_keyed, size_t max, size_t *ret_count)
{
	struct text rest[TABLE_DEPTH_MAX] = {members};
	bool keyed[TABLE_DEPTH_MAX] = {is_keyed};
	size_t depth = 0;

	for (size_t fields = 0;;) {
		struct table_field field;

		while (rest[depth].len == 0) {
			if (depth == 0) {
				*ret_count = fields;
				return RC_OK;
			}
			depth--;
		}
		if (!field_take(&rest[depth], keyed[depth], &field))
			return RC_MALFORMED;
		if (++fields > max)
			return RC_LIMIT;
		if (field.type != 'A' && field.type != 'F')
			continue;
		if (++depth == TABLE_DEPTH_MAX)
			return RC_LIMIT;
		rest[depth] = field.value;
		keyed[depth] = field.type == 'F';
	}
}

enum rc table_check(struct text table)
{
	size_t count;

	return count_fields(table, true, TABLE_FIELDS_MAX, &count);
}

size_t table_count(struct text members, bool keyed)
{
	size_t count = 0;

	(void)count_fields(members, keyed, SIZE_MAX, &count);
	return count;
}

bool table_next(struct text *rest, bool keyed, struct table_field *ret_field)
{
	return rest->len > 0 && field_take(rest, keyed, ret_field);
}

bool table_find(struct text table, struct text key, struct table_field *ret_field)
{
	struct table_field field;
	bool found = false;

	while (table_next(&table, true, &field)) {
		if (!text_is(field.key, key))
			continue;
		*ret_field = field;
		found = true;
	}
	return found;
}

bool table_field_integer(const struct table_field *field, int64_t *ret_value)
{
	const char *at = field->value.ptr;
	uint64_t value;

	switch (field->type) {
	case 'b':
		*ret_value = (int8_t)*at;
		return true;
	case 'B':
		*ret_value = (uint8_t)*at;
		return true;
	case 's':
		*ret_value = (int16_t)octets_get16(at);
		return true;
	case 'u':
		*ret_value = octets_get16(at);
		return true;
	case 'I':
		*ret_value = (int32_t)octets_get32(at);
		return true;
	case 'i':
		*ret_value = octets_get32(at);
		return true;
	case 'l':
		*ret_value = (int64_t)octets_get64(at);
		return true;
	case 'L':
	case 'T':
		value = octets_get64(at);
		*ret_value = value > INT64_MAX ? INT64_MAX : (int64_t)value;
		return true;
	default:
		return false;
	}
}

/* Reserve an entry and write its key and type. Return where its value goes, or NULL. */
static uint8_t *put_start(struct buf *out, struct text key, uint8_t type, size_t value_len)
{
	size_t len = 1 + key.len + 1 + value_len;
	uint8_t *at = buf_reserve(out, len);

	if (!at)
		return NULL;
	buf_commit(out, len);
	return octets_put8(octets_put_short(at, key), type);
}

void table_put_field(struct buf *out, const struct table_field *field)
{
	uint8_t type = (uint8_t)field->type;
	size_t length_size = sizes[type] == LENGTH_FIRST ? 4 : 0;
	uint8_t *at = put_start(out, field->key, type, length_size + field->value.len);

	if (at && length_size)
		at = octets_put32(at, (uint32_t)field->value.len);
	if (at)
		octets_put_text(at, field->value);
}

void table_put_string(struct buf *out, struct text key, struct text value)
{
	table_put_field(out, &(struct table_field){key, 'S', value});
}

void table_put_integer(struct buf *out, struct text key, int64_t value)
{
	uint8_t *at = put_start(out, key, 'l', 8);

	if (at)
		octets_put64(at, (uint64_t)value);
}

void table_put_bool(struct buf *out, struct text key, bool value)
{
	uint8_t *at = put_start(out, key, 't', 1);

	if (at)
		octets_put8(at, value);
}
