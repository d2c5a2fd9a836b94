#include "message/same.h"

#include "amqp/properties.h"
#include "amqp/table.h"
#include "message/names.h"

/* FNV-1a, 64 bits. */
#define FNV_START UINT64_C(14695981039346656037)
#define FNV_PRIME UINT64_C(1099511628211)

static uint64_t hash_more(uint64_t hash, struct text t)
{
	for (size_t i = 0; i < t.len; i++)
		hash = (hash ^ (uint8_t)t.ptr[i]) * FNV_PRIME;
	return hash;
}

/* The same whatever the order of the headers: the sum of their hashes. */
static uint64_t hash_headers(struct text table)
{
	struct table_field field;
	uint64_t sum = 0;
	while (table_next(&table, true, &field)) {
		if (text_is(field.key, HEADER_DELIVERY_COUNT) ||
			text_is(field.key, HEADER_ACQUIRED_COUNT))
			continue;
		uint64_t hash = hash_more(FNV_START, field.key);
		hash = hash_more(hash, text_of(&field.type, 1));
		sum += hash_more(hash, field.value);
	}
	return sum;
}

/* Without headers: the broker adds the first one to a message that had none. */
static bool have_same_properties(struct text raw, struct text other_raw)
{
	struct properties properties, other;
	if (properties_parse(raw, &properties) != RC_OK ||
		properties_parse(other_raw, &other) != RC_OK)
		return text_is(raw, other_raw);
	properties_clear(&properties, PROPERTY_HEADERS);
	properties_clear(&other, PROPERTY_HEADERS);
	if (properties.present != other.present)
		return false;
	for (int i = 0; i < PROPERTY_COUNT; i++) {
		if (!text_is(properties.value[i], other.value[i]))
			return false;
	}
	return true;
}

bool message_is_same(const struct delivery *delivery, const struct delivery *other)
{
	return text_is(delivery->body, other->body) &&
	       text_is(delivery->exchange, other->exchange) &&
	       text_is(delivery->routing_key, other->routing_key) &&
	       have_same_properties(delivery->properties, other->properties) &&
	       hash_headers(delivery->headers) == hash_headers(other->headers);
}
