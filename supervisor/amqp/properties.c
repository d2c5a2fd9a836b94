#include "amqp/properties.h"
#include "amqp/cursor.h"

static const char types[PROPERTY_COUNT] = {
#define X(property, type) type,
	PROPERTIES(X)
#undef X
};

/* The wire counts from its highest bit; the two lowest are no property of the basic class (bit 0
 * would announce another flags word). */
#define WIRE_BIT(property) (1u << (15 - (property)))
#define WIRE_UNKNOWN       (WIRE_BIT(PROPERTY_COUNT) * 2 - 1)

/* The property that is first on the wire; flags is not 0. Most messages have few of them. */
static int first_in(unsigned flags)
{
	return __builtin_clz(flags) - 16;
}

static struct text value_take(struct cursor *c, char type)
{
	switch (type) {
	case 's':
		return cursor_take_short(c);
	case 'F':
		return cursor_take_long(c);
	case 'T':
		return cursor_take(c, 8);
	default:
		return cursor_take(c, 1);
	}
}

enum rc properties_parse(struct text raw, struct properties *ret)
{
	struct cursor c = cursor_of(raw);
	struct properties parsed = {0};
	uint16_t flags = cursor_take16(&c);

	if (flags & WIRE_UNKNOWN)
		return RC_MALFORMED;
	for (unsigned rest = flags; rest; rest &= ~WIRE_BIT(first_in(rest))) {
		int p = first_in(rest);

		properties_set(&parsed, (enum property)p, value_take(&c, types[p]));
	}
	if (!cursor_is_done(&c))
		return RC_MALFORMED;
	*ret = parsed;
	return RC_OK;
}

void properties_set(struct properties *properties, enum property property, struct text value)
{
	properties->present |= (uint16_t)(1u << property);
	properties->value[property] = value;
}

void properties_clear(struct properties *properties, enum property property)
{
	properties->present &= (uint16_t) ~(1u << property);
	properties->value[property] = TEXT_NONE;
}

void properties_write(const struct properties *properties, struct buf *out)
{
	unsigned flags = 0;

	for (int p = 0; p < PROPERTY_COUNT; p++)
		flags |= properties_has(properties, (enum property)p) ? WIRE_BIT(p) : 0;
	buf_append_be16(out, (uint16_t)flags);
	for (; flags; flags &= ~WIRE_BIT(first_in(flags))) {
		int p = first_in(flags);
		struct text value = properties->value[p];

		if (types[p] == 's')
			buf_append_byte(out, (uint8_t)value.len);
		else if (types[p] == 'F')
			buf_append_be32(out, (uint32_t)value.len);
		buf_append_text(out, value);
	}
}

uint64_t properties_timestamp(const struct properties *properties)
{
	return properties_has(properties, PROPERTY_TIMESTAMP)
		       ? octets_get64(properties->value[PROPERTY_TIMESTAMP].ptr)
		       : 0;
}

uint8_t properties_octet(const struct properties *properties, enum property property)
{
	return properties_has(properties, property) ? (uint8_t)*properties->value[property].ptr : 0;
}
