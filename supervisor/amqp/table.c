#include "amqp/table.h"
#include "amqp/cursor.h"

#define NOT_FIXED SIZE_MAX

/* Bytes of a value of this type, without a length in front; NOT_FIXED: one is in front. */
static bool type_size(char type, size_t *ret_size)
{
	switch (type) {
	case 'V':
		*ret_size = 0;
		return true;
	case 't':
	case 'b':
	case 'B':
		*ret_size = 1;
		return true;
	case 's':
	case 'u':
		*ret_size = 2;
		return true;
	case 'I':
	case 'i':
	case 'f':
		*ret_size = 4;
		return true;
	case 'D':
		*ret_size = 5;
		return true;
	case 'l':
	case 'L':
	case 'd':
	case 'T':
		*ret_size = 8;
		return true;
	case 'S':
	case 'x':
	case 'A':
	case 'F':
		*ret_size = NOT_FIXED;
		return true;
	default:
		return false;
	}
}

static bool field_take(struct text *rest, bool keyed, struct table_field *ret_field)
{
	struct cursor c = cursor_of(*rest);
	size_t size = 0;
	struct table_field field = {.key = keyed ? cursor_take_short(&c) : TEXT_NONE};

	field.type = (char)cursor_take8(&c);
	if (!type_size(field.type, &size))
		return false;
	field.value = size == NOT_FIXED ? cursor_take_long(&c) : cursor_take(&c, size);
	if (c.is_short)
		return false;
	*rest = c.rest;
	*ret_field = field;
	return true;
}

/* A stack of what is left at each level takes the place of recursion: the peer chooses the depth,
 * and must not choose the depth of our stack. */
static enum rc count_fields(struct text members, bool is_keyed, size_t most, size_t *ret_count)
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
		if (++fields > most)
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

static int64_t clamped(uint64_t value)
{
	return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

bool table_field_integer(const struct table_field *field, int64_t *ret_value)
{
	const char *at = field->value.ptr;

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
		*ret_value = clamped(octets_get64(at));
		return true;
	default:
		return false;
	}
}

static void put_start(struct buf *out, struct text key, char type)
{
	buf_append_byte(out, (uint8_t)key.len);
	buf_append_text(out, key);
	buf_append_byte(out, (uint8_t)type);
}

void table_put_field(struct buf *out, const struct table_field *field)
{
	size_t size = 0;

	put_start(out, field->key, field->type);
	if (type_size(field->type, &size) && size == NOT_FIXED)
		buf_append_be32(out, (uint32_t)field->value.len);
	buf_append_text(out, field->value);
}

void table_put_string(struct buf *out, struct text key, struct text value)
{
	table_put_field(out, &(struct table_field){key, 'S', value});
}

void table_put_integer(struct buf *out, struct text key, int64_t value)
{
	put_start(out, key, 'l');
	buf_append_be64(out, (uint64_t)value);
}

void table_put_bool(struct buf *out, struct text key, bool value)
{
	put_start(out, key, 't');
	buf_append_byte(out, value);
}
