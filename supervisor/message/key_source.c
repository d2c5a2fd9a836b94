#include "message/key_source.h"

#include "amqp/table.h"
#include "base/utf8.h"
#include "message/field_text.h"
#include "message/names.h"

/* From this priority on a message is in the high lane of its session. */
#define PRIORITY_HIGH 5

/* The properties that may be the key. Not user_id, expiration and cluster_id: a dead letter does
 * not keep them, so that a replayed message would have lost its session. */
static const struct {
	struct text name;
	enum property property;
} key_properties[] = {
	{{"correlation_id", 14}, PROPERTY_CORRELATION_ID},
	{{"message_id", 10}, PROPERTY_MESSAGE_ID},
	{{"type", 4}, PROPERTY_TYPE},
	{{"app_id", 6}, PROPERTY_APP_ID},
	{{"reply_to", 8}, PROPERTY_REPLY_TO},
	{{"content_type", 12}, PROPERTY_CONTENT_TYPE},
	{{"content_encoding", 16}, PROPERTY_CONTENT_ENCODING},
};

static const char *parse_header(struct text name, struct key_source *ret_source)
{
	if (name.len == 0 || name.len > SESSION_KEY_MAX)
		return "names no header of 1 to 255 bytes";
	if (name_is_stripped(name))
		return "names a header of wpool or the broker";
	*ret_source = (struct key_source){.kind = KEY_HEADER, .header = name};
	return NULL;
}

static const char *parse_property(struct text name, struct key_source *ret_source)
{
	for (size_t i = 0; i < sizeof key_properties / sizeof *key_properties; i++) {
		if (!text_is(name, key_properties[i].name))
			continue;
		*ret_source = (struct key_source){
			.kind = KEY_PROPERTY, .property = key_properties[i].property};
		return NULL;
	}
	return "names no property that can be a key: correlation_id, message_id, type, app_id, "
	       "reply_to, content_type or content_encoding";
}

static struct text after(struct text t, struct text prefix)
{
	return text_of(t.ptr + prefix.len, t.len - prefix.len);
}

const char *key_source_parse(struct text value, struct key_source *ret_source)
{
	if (text_starts(value, TEXT("header:")))
		return parse_header(after(value, TEXT("header:")), ret_source);
	if (text_starts(value, TEXT("property:")))
		return parse_property(after(value, TEXT("property:")), ret_source);
	if (!text_is(value, TEXT("routing_key")))
		return "is not header:NAME, property:NAME or routing_key";
	*ret_source = (struct key_source){.kind = KEY_ROUTING_KEY};
	return NULL;
}

const char *key_source_parse_throttle(struct text value, struct key_source *ret_source)
{
	if (!text_is(value, TEXT("session")))
		return key_source_parse(value, ret_source);
	*ret_source = (struct key_source){.kind = KEY_SESSION};
	return NULL;
}

/* ---------- in a message ---------- */

struct found_key {
	struct text text;    /* empty: it is, or it is of a type that cannot be a key */
	const char *name_at; /* where the name of its header is in the table; NULL: in no header */
};

/* The digits of an integer, in space. */
static struct text write_digits(const struct table_field *field, char space[TEXT_DECIMAL_MAX])
{
	bool is_unsigned = field->type == 'L' || field->type == 'T';
	uint64_t bits = field_bits(field);
	int64_t number;
	if (is_unsigned || !table_field_integer(field, &number))
		return text_decimal(bits, space);
	if (number >= 0)
		return text_decimal((uint64_t)number, space);
	struct text digits = text_decimal(-(uint64_t)number, space);
	space[TEXT_DECIMAL_MAX - 1 - digits.len] = '-';
	return text_of(digits.ptr - 1, digits.len + 1);
}

static bool find_in_headers(
	struct text headers, struct text name, char space[TEXT_DECIMAL_MAX], struct found_key *ret)
{
	struct table_field field;
	int64_t number;
	if (!table_find(headers, name, &field) || field.type == 'V')
		return false;
	*ret = (struct found_key){.name_at = field.key.ptr};
	if (field.type == 'S' || field.type == 'x')
		ret->text = field.value;
	else if (table_field_integer(&field, &number))
		ret->text = write_digits(&field, space);
	return true;
}

/* False: it has none. The key is borrowed from the delivery, or in space. */
static bool find_key(const struct delivery *delivery, const struct properties *properties,
	const struct key_source *source, char space[TEXT_DECIMAL_MAX], struct found_key *ret)
{
	switch (source->kind) {
	case KEY_NONE:
		break;
	case KEY_HEADER:
		return find_in_headers(delivery->headers, source->header, space, ret);
	case KEY_PROPERTY:
		*ret = (struct found_key){properties->value[source->property], NULL};
		return properties_has(properties, source->property);
	case KEY_ROUTING_KEY:
		*ret = (struct found_key){delivery->routing_key, NULL};
		return true;
	case KEY_SESSION:
		*ret = (struct found_key){delivery->key, NULL};
		return true;
	}
	return false;
}

/* ---------- of a session ---------- */

size_t session_key_space(const struct key_source *source)
{
	return source->kind == KEY_HEADER ? TEXT_DECIMAL_MAX : 0;
}

void session_key_read(struct delivery *delivery, const struct properties *properties,
	const struct key_source *source)
{
	char *space = (char *)delivery->bytes + delivery->size - session_key_space(source);
	struct found_key key = {.name_at = NULL};
	enum reason wrong = REASON_NONE;
	if (source->kind == KEY_NONE)
		return;
	delivery->is_high = properties_octet(properties, PROPERTY_PRIORITY) >= PRIORITY_HIGH;
	if (!find_key(delivery, properties, source, space, &key))
		wrong = source->is_required ? REASON_NO_SESSION : REASON_NONE;
	else if (key.text.len == 0 || key.text.len > SESSION_KEY_MAX || !utf8_is_valid(key.text))
		wrong = REASON_BAD_SESSION;
	else
		delivery->key = key.text;
	if (key.name_at)
		delivery->key_at = (uint32_t)(key.name_at - delivery->headers.ptr);
	if (delivery->invalid == REASON_NONE)
		delivery->invalid = wrong;
}

/* ---------- of throttles ---------- */

bool throttle_keys_have_route(const struct throttle_keys *keys)
{
	for (uint32_t i = 0; i < keys->count; i++) {
		if (keys->of[i].source.kind == KEY_ROUTING_KEY)
			return true;
	}
	return false;
}

void throttle_keys_read(struct delivery *delivery, const struct properties *properties,
	const struct throttle_keys *keys)
{
	for (uint32_t i = 0; i < keys->count; i++) {
		char space[TEXT_DECIMAL_MAX];
		struct found_key key;
		bool is_there = find_key(delivery, properties, &keys->of[i].source, space, &key) &&
				key.text.len > 0;
		delivery->throttle_keys[i] =
			is_there ? throttle_key(keys->of[i].throttle, key.text) : THROTTLE_NO_KEY;
	}
}
