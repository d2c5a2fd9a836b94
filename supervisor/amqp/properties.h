/* The basic class's properties on the raw bytes. Layer: amqp. In a content header, the properties
 * are a flags word followed by values. They stay slices of those bytes, so a copy with other
 * properties needs no decoding. */
#ifndef AMQP_PROPERTIES_H
#define AMQP_PROPERTIES_H

#include "base/buf.h"

/* Bytes of a short string (AMQP 0-9-1, section 4.2.5.3). */
#define SHORT_STRING_MAX 255

/* In the order of the wire (AMQP 0-9-1, basic class). */
#define PROPERTIES(X)                                                                              \
	X(PROPERTY_CONTENT_TYPE, 's')                                                              \
	X(PROPERTY_CONTENT_ENCODING, 's')                                                          \
	X(PROPERTY_HEADERS, 'F')                                                                   \
	X(PROPERTY_DELIVERY_MODE, 'o')                                                             \
	X(PROPERTY_PRIORITY, 'o')                                                                  \
	X(PROPERTY_CORRELATION_ID, 's')                                                            \
	X(PROPERTY_REPLY_TO, 's')                                                                  \
	X(PROPERTY_EXPIRATION, 's')                                                                \
	X(PROPERTY_MESSAGE_ID, 's')                                                                \
	X(PROPERTY_TIMESTAMP, 'T')                                                                 \
	X(PROPERTY_TYPE, 's')                                                                      \
	X(PROPERTY_USER_ID, 's')                                                                   \
	X(PROPERTY_APP_ID, 's')                                                                    \
	X(PROPERTY_CLUSTER_ID, 's')

enum property {
#define X(property, type) property,
	PROPERTIES(X)
#undef X
		PROPERTY_COUNT
};

struct properties {
	uint16_t present; /* bit (1 << property) for each one there is */
	struct text
		value[PROPERTY_COUNT]; /* content of strings, entries of the table, raw octets */
};

static inline bool properties_has(const struct properties *p, enum property property)
{
	return p->present & (1u << property);
}

/* Parse raw into slices; the inside of the header table is not checked (see table_check).
 * RC_MALFORMED: lengths or flags that do not fit. ret points into raw. */
enum rc properties_parse(struct text raw, struct properties *ret) MUST_CHECK;
/* Set one property; value is borrowed. A string has at most SHORT_STRING_MAX bytes; more is the
 * caller's bug. */
void properties_set(struct properties *, enum property, struct text value);
void properties_clear(struct properties *, enum property);
/* Append the flags word and the values, in the form of a content header. */
void properties_write(const struct properties *, struct buf *);
/* The number of bytes that properties_write appends. */
size_t properties_size(const struct properties *);
uint64_t properties_timestamp(const struct properties *);           /* 0 when absent */
uint8_t properties_octet(const struct properties *, enum property); /* 0 when absent */

#endif
