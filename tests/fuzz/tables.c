#include "fuzz/tables.h"

#include "amqp/properties.h"

#define TYPES     "tbBsuIilLfdDSxAFTV"
#define DEPTH_MAX 20 /* more than is taken */
#define KEY_MAX   24

/* Names that mean something, so that a script need not spell them. */
static const struct text known_keys[] = {TEXT("CC"), TEXT("BCC"), TEXT("x-death"),
	TEXT("x-delivery-count"), TEXT("x-wpool-attempt"), TEXT("x-wpool-slice"),
	TEXT("x-wpool-queue"), TEXT("x-wpool-renewed"), TEXT("x-wpool-cut"), TEXT("x-wpool-cc"),
	TEXT("x-wpool-first-failed"), TEXT("x-wpool-reason"), TEXT("content-type"),
	TEXT("RetryAfterMilliseconds"), TEXT("TimeoutMilliseconds"), TEXT("traceparent"),
	TEXT("tracestate")};

#define KNOWN_KEYS (sizeof known_keys / sizeof *known_keys)

static size_t width_of(char type)
{
	static const struct {
		const char *types;
		size_t width;
	} widths[] = {{"tbB", 1}, {"su", 2}, {"Iif", 4}, {"D", 5}, {"lLdT", 8}};
	for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
		if (strchr(widths[i].types, type))
			return widths[i].width;
	return 0;
}

static void put_fixed(struct buf *out, struct feed *feed, size_t width)
{
	while (width-- > 0)
		buf_append_byte(out, feed_byte(feed));
}

static void put_members(struct buf *out, struct feed *feed, bool keyed, unsigned depth);

static void put_value(struct buf *out, struct feed *feed, char type, unsigned depth)
{
	struct text bytes;
	if (type == 'S' || type == 'x') {
		bytes = feed_short(feed);
		buf_append_be32(out, (uint32_t)bytes.len);
		buf_append_text(out, bytes);
	} else if (type == 'A' || type == 'F') {
		struct buf members;
		buf_init(&members, SIZE_MAX);
		put_members(&members, feed, type == 'F', depth + 1);
		buf_append_be32(out, (uint32_t)buf_len(&members));
		buf_append_text(out, buf_text(&members));
		buf_release(&members);
	} else {
		put_fixed(out, feed, width_of(type));
	}
}

static void put_key(struct buf *out, struct feed *feed)
{
	uint8_t which = feed_byte(feed);
	struct text key = which < KNOWN_KEYS ? known_keys[which] : feed_text(feed, which % KEY_MAX);
	buf_append_byte(out, (uint8_t)key.len);
	buf_append_text(out, key);
}

/* A byte says how many there are, at most. */
static void put_members(struct buf *out, struct feed *feed, bool keyed, unsigned depth)
{
	uint8_t count = depth < DEPTH_MAX ? feed_byte(feed) : 0;
	for (; count > 0 && !feed_is_over(feed); count--) {
		if (keyed)
			put_key(out, feed);
		char type = TYPES[feed_byte(feed) % (sizeof TYPES - 1)];
		buf_append_byte(out, (uint8_t)type);
		put_value(out, feed, type, depth);
	}
}

/* Those of its type from the script: octets, a timestamp, short strings. */
static void set_properties(struct properties *properties, struct feed *feed)
{
	uint16_t which = (uint16_t)feed_number(feed, 2);
	for (int i = 0; i < PROPERTY_COUNT; i++) {
		enum property property = (enum property)i;
		bool is_octet = property == PROPERTY_DELIVERY_MODE || property == PROPERTY_PRIORITY;
		size_t len = is_octet ? 1 : 8;
		if (!(which & 1u << i) || property == PROPERTY_HEADERS)
			continue;
		if (!is_octet && property != PROPERTY_TIMESTAMP)
			len = feed_byte(feed);
		struct text value = feed_text(feed, len);
		if (value.len == len)
			properties_set(properties, property, value);
	}
}

void tables_put_properties(struct buf *out, struct feed *feed)
{
	struct properties properties = {0};
	struct buf table;
	if (feed_byte(feed) % 4 == 0) {
		buf_append_text(out, feed_text(feed, feed->rest.len));
		return;
	}
	buf_init(&table, SIZE_MAX);
	set_properties(&properties, feed);
	put_members(&table, feed, true, 0);
	properties_set(&properties, PROPERTY_HEADERS, buf_text(&table));
	properties_write(&properties, out);
	buf_release(&table);
}
