#include "unit/support/message/message.h"

#include "message/field_text.h"
#include <ctype.h>
#include <stdio.h>

struct bytes from_hex(const char *hex)
{
	struct bytes bytes = {.len = 0};
	while (*hex) {
		unsigned octet;
		if (hex[0] == '\'') {
			for (hex++; *hex && *hex != '\''; hex++)
				bytes.at[bytes.len++] = (uint8_t)*hex;
			hex++;
		} else if (isxdigit((unsigned char)hex[0])) {
			ck_assert_int_eq(sscanf(hex, "%2x", &octet), 1);
			bytes.at[bytes.len++] = (uint8_t)octet;
			hex += 2;
		} else {
			hex++;
		}
	}
	return bytes;
}

struct text bytes_text(const struct bytes *bytes)
{
	return text_of(bytes->at, bytes->len);
}

void put_hex(struct buf *table, const char *key, char type, const char *hex)
{
	struct bytes value = from_hex(hex);
	table_put_field(table, &(struct table_field){text_from(key), type, bytes_text(&value)});
}

static struct delivery *delivery_with(const struct properties *given, struct text table,
	struct text body, const struct task_facts_options *options)
{
	struct properties properties = *given;
	struct buf raw;
	buf_init(&raw, SIZE_MAX);
	if (table.ptr)
		properties_set(&properties, PROPERTY_HEADERS, table);
	properties_write(&properties, &raw);
	size_t space = options->key ? session_key_space(options->key) : 0;
	struct delivery *delivery = delivery_new(buf_len(&raw) + body.len + space);
	ck_assert_ptr_nonnull(delivery);
	memcpy(delivery->bytes, raw.bytes, buf_len(&raw));
	delivery->properties = text_of(delivery->bytes, buf_len(&raw));
	if (body.len > 0)
		memcpy(delivery->bytes + buf_len(&raw), body.ptr, body.len);
	delivery->body = text_of(delivery->bytes + buf_len(&raw), body.len);
	task_read_facts(delivery, options);
	buf_release(&raw);
	return delivery;
}

struct delivery *delivery_of(
	const struct properties *given, struct text table, struct text body, uint64_t body_limit)
{
	return delivery_with(
		given, table, body, &(struct task_facts_options){.body_limit = body_limit});
}

struct delivery *delivery_of_session(const struct properties *given, struct text table,
	struct text body, const struct key_source *key)
{
	return delivery_with(given, table, body,
		&(struct task_facts_options){.body_limit = SIZE_MAX, .key = key});
}

void append_words(struct buf *out, struct text table)
{
	struct table_field field;
	while (table_next(&table, true, &field)) {
		buf_printf(out, "%.*s:%c=", TEXT_ARGS(field.key), field.type);
		field_append_json(out, &field);
		buf_append_byte(out, ' ');
	}
}

void assert_table(struct text table, const char *words)
{
	struct buf got;
	buf_init(&got, SIZE_MAX);
	ck_assert_int_eq(table_check(table), RC_OK);
	append_words(&got, table);
	ck_assert_text_eq(buf_text(&got), text_from(words));
	buf_release(&got);
}
