#include "harness/client.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

void message_free(struct message *message)
{
	if (!message)
		return;
	amqp_destroy_envelope(&message->envelope);
	free(message->body);
	free(message);
}

bool message_text_is(amqp_bytes_t bytes, const char *text)
{
	return bytes.len == strlen(text) && memcmp(bytes.bytes, text, bytes.len) == 0;
}

const amqp_field_value_t *message_header(const struct message *message, const char *name)
{
	const amqp_table_t *headers = &message->properties.headers;
	if (!(message->properties._flags & AMQP_BASIC_HEADERS_FLAG))
		return NULL;
	for (int i = 0; i < headers->num_entries; i++)
		if (message_text_is(headers->entries[i].key, name))
			return &headers->entries[i].value;
	return NULL;
}

int64_t message_header_number(const struct message *message, const char *name)
{
	const amqp_field_value_t *header = message_header(message, name);
	ck_assert_msg(header != NULL, "no header %s", name);
	switch (header->kind) {
	case AMQP_FIELD_KIND_I8:
		return header->value.i8;
	case AMQP_FIELD_KIND_U8:
		return header->value.u8;
	case AMQP_FIELD_KIND_I16:
		return header->value.i16;
	case AMQP_FIELD_KIND_U16:
		return header->value.u16;
	case AMQP_FIELD_KIND_I32:
		return header->value.i32;
	case AMQP_FIELD_KIND_U32:
		return header->value.u32;
	case AMQP_FIELD_KIND_I64:
		return header->value.i64;
	default:
		ck_abort_msg("header %s is no number but '%c'", name, header->kind);
	}
	return 0;
}

bool message_header_is(const struct message *message, const char *name, const char *text)
{
	const amqp_field_value_t *header = message_header(message, name);
	return header && header->kind == AMQP_FIELD_KIND_UTF8 &&
	       message_text_is(header->value.bytes, text);
}
