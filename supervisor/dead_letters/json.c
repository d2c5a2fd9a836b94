#include "dead_letters/json.h"

#include "amqp/table.h"
#include "base/json.h"
#include "base/utf8.h"
#include "dead_letters/letter_fingerprint.h"
#include "message/field_text.h"

#include <inttypes.h>

#define OURS TEXT("x-wpool-")

const char *field_type_name(char type)
{
	static const struct {
		char type;
		const char *name;
	} names[] = {{'t', "bool"}, {'b', "int8"}, {'B', "uint8"}, {'s', "int16"}, {'u', "uint16"},
		{'I', "int32"}, {'i', "uint32"}, {'l', "int64"}, {'L', "uint64"}, {'f', "float"},
		{'d', "double"}, {'D', "decimal"}, {'S', "string"}, {'x', "bytes"}, {'A', "array"},
		{'F', "table"}, {'T', "timestamp"}, {'V', "void"}};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (names[i].type == type)
			return names[i].name;
	}
	return "unknown";
}

static void append_typed(struct buf *out, const struct table_field *field);

static void append_members(struct buf *out, struct text members, bool keyed)
{
	struct table_field member;
	const char *between = "";
	buf_append_byte(out, keyed ? '{' : '[');
	while (table_next(&members, keyed, &member)) {
		buf_append_text(out, text_from(between));
		between = ",";
		if (keyed) {
			json_append_string(out, member.key);
			buf_append_byte(out, ':');
		}
		append_typed(out, &member);
	}
	buf_append_byte(out, keyed ? '}' : ']');
}

/* Recursion is bounded by the depth that table_check allows. */
static void append_typed(struct buf *out, const struct table_field *field)
{
	buf_printf(out, "{\"type\":\"%s\",", field_type_name(field->type));
	switch (field->type) {
	case 'S':
	case 'x':
		json_append_bytes(out, "value", field->value);
		break;
	case 'A':
	case 'F':
		buf_append_text(out, TEXT("\"value\":"));
		append_members(out, field->value, field->type == 'F');
		break;
	case 'D': /* a number of JSON may lose digits on its reader's side */
		buf_append_text(out, TEXT("\"value\":\""));
		field_append_text(out, field);
		buf_append_byte(out, '"');
		break;
	default:
		buf_append_text(out, TEXT("\"value\":"));
		field_append_json(out, field);
	}
	buf_append_byte(out, '}');
}

static void append_properties(struct buf *out, const struct properties *p)
{
	const char *between = "";
	buf_append_byte(out, '{');
	for (int i = 0; i < PROPERTY_COUNT; i++) {
		enum property property = (enum property)i;
		const char *name = property_name(property);
		if (!name || !properties_has(p, property))
			continue;
		buf_append_text(out, text_from(between));
		between = ",";
		if (property_is_number(property)) {
			buf_printf(out, "\"%s\":", name);
			property_append(p, property, out);
		} else {
			json_append_bytes(out, name, p->value[property]);
		}
	}
	buf_append_byte(out, '}');
}

/* Our headers without types, x-wpool-first-failed as first_failed: what scripts need. */
static void append_own_headers(struct buf *out, struct text headers)
{
	struct table_field field;
	const char *between = "";
	buf_append_byte(out, '{');
	while (table_next(&headers, true, &field)) {
		char name[256];
		if (!text_starts(field.key, OURS))
			continue;
		struct text key = text_of(field.key.ptr + OURS.len, field.key.len - OURS.len);
		for (size_t i = 0; i < key.len; i++)
			name[i] = key.ptr[i] == '-' ? '_' : key.ptr[i];
		buf_append_text(out, text_from(between));
		between = ",";
		json_append_string(out, text_of(name, key.len));
		buf_append_byte(out, ':');
		field_append_json(out, &field);
	}
	buf_append_byte(out, '}');
}

void dead_letter_write_json(struct buf *out, const struct dead_letter *letter, bool with_body)
{
	char fingerprint[FINGERPRINT_SIZE];
	if (!dead_letter_fingerprint(letter, fingerprint)) {
		out->failed = true;
		return;
	}
	buf_printf(out,
		"{\"position\":%" PRIu64 ",\"fingerprint\":\"%s\",\"wpool\":", letter->position,
		fingerprint);
	append_own_headers(out, letter->headers);
	buf_append_text(out, TEXT(",\"properties\":"));
	append_properties(out, &letter->properties);
	buf_append_text(out, TEXT(",\"headers\":"));
	append_members(out, letter->headers, true);
	buf_printf(out, ",\"unreadable\":%s,\"redelivered\":%s,",
		letter->is_unreadable ? "true" : "false",
		letter->is_redelivered ? "true" : "false");
	json_append_bytes(out, "exchange", letter->exchange);
	buf_append_byte(out, ',');
	json_append_bytes(out, "routing_key", letter->routing_key);
	buf_printf(out, ",\"size\":%zu", letter->body.len);
	if (with_body) {
		buf_append_byte(out, ',');
		json_append_bytes(out, "body", letter->body);
	}
	buf_append_byte(out, '}');
}
