#include "amqp/properties.h"
#include "amqp/cursor.h"

#include <assert.h>

static const char types[PROPERTY_COUNT] = {
#define X(property, type) type,
	PROPERTIES(X)
#undef X
};

/* On the wire the first property has the highest bit. The two lowest bits are no property of the
 * basic class; bit 0 would announce another flags word. */
#define WIRE_BIT(property) (1u << (15 - (property)))
#define WIRE_UNKNOWN       (WIRE_BIT(PROPERTY_COUNT) * 2 - 1)

/* Return the property that is first on the wire. flags is not 0. */
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
	assert(types[property] != 's' || value.len <= SHORT_STRING_MAX);
	properties->present |= (uint16_t)(1u << property);
	properties->value[property] = value;
}

void properties_clear(struct properties *properties, enum property property)
{
	properties->present &= (uint16_t) ~(1u << property);
	properties->value[property] = TEXT_NONE;
}

#define EACH_PRESENT(properties, p)                                                                \
	for (unsigned rest = (properties)->present, p = 0;                                         \
		rest && (p = (unsigned)__builtin_ctz(rest), true); rest &= rest - 1)

size_t properties_size(const struct properties *properties)
{
	size_t size = 2;

	EACH_PRESENT(properties, p)
	{
		size_t prefix = types[p] == 's' ? 1 : types[p] == 'F' ? 4 : 0;

		size += prefix + properties->value[p].len;
	}
	return size;
}

void properties_write(const struct properties *properties, struct buf *out)
{
	size_t size = properties_size(properties);
	uint8_t *at = buf_reserve(out, size);
	unsigned flags = 0;

	if (!at)
		return;
	buf_commit(out, size);
	EACH_PRESENT(properties, p)
	{
		flags |= WIRE_BIT(p);
	}
	at = octets_put16(at, (uint16_t)flags);
	EACH_PRESENT(properties, p)
	{
		struct text value = properties->value[p];

		if (types[p] == 's')
			at = octets_put8(at, (uint8_t)value.len);
		else if (types[p] == 'F')
			at = octets_put32(at, (uint32_t)value.len);
		at = octets_put_text(at, value);
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
