#include "message/same.h"

#include "amqp/properties.h"
#include "amqp/table.h"
#include "message/names.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Where each header begins, without the broker's counts. */
struct headers {
	struct text table;
	size_t count;
	uint32_t places[TABLE_FIELDS_MAX];
};

static void headers_find(struct headers *headers, struct text table)
{
	struct text rest = table;
	struct table_field field;
	headers->table = table;
	headers->count = 0;
	for (size_t place = 0; table_next(&rest, true, &field); place = table.len - rest.len) {
		if (text_is(field.key, HEADER_DELIVERY_COUNT) ||
			text_is(field.key, HEADER_ACQUIRED_COUNT))
			continue;
		assert(headers->count < TABLE_FIELDS_MAX);
		headers->places[headers->count++] = (uint32_t)place;
	}
}

/* All bytes of one header: its name, type, length and value. */
static struct text header_bytes(struct text table, uint32_t place)
{
	struct text rest = text_of(table.ptr + place, table.len - place);
	struct table_field field;
	(void)table_next(&rest, true, &field); /* cannot fail: table_check accepted it */
	return text_of(table.ptr + place, table.len - place - rest.len);
}

static int compare_headers(const void *a, const void *b, void *table)
{
	struct text one = header_bytes(*(const struct text *)table, *(const uint32_t *)a);
	struct text other = header_bytes(*(const struct text *)table, *(const uint32_t *)b);
	int order = memcmp(one.ptr, other.ptr, one.len < other.len ? one.len : other.len);
	return order ? order : (one.len > other.len) - (one.len < other.len);
}

static void headers_sort(struct headers *headers)
{
	qsort_r(headers->places, headers->count, sizeof *headers->places, compare_headers,
		&headers->table);
}

static bool are_equal(const struct headers *headers, const struct headers *other)
{
	for (size_t i = 0; i < headers->count; i++) {
		if (!text_is(header_bytes(headers->table, headers->places[i]),
			    header_bytes(other->table, other->places[i])))
			return false;
	}
	return true;
}

/* In any order, each as often. */
static bool have_same_headers(struct text table, struct text other_table)
{
	struct headers headers, other;
	headers_find(&headers, table);
	headers_find(&other, other_table);
	if (headers.count != other.count)
		return false;
	if (are_equal(&headers, &other))
		return true;
	headers_sort(&headers);
	headers_sort(&other);
	return are_equal(&headers, &other);
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
	       have_same_headers(delivery->headers, other->headers);
}
