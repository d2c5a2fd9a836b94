/* Read MessagePack one value at a time, in place. Part of the worker SDK and of the supervisor.
 * Never recurses and never allocates. wire_check uses it, so that the check and the reading cannot
 * differ. */
#ifndef WIRE_VALUE_H
#define WIRE_VALUE_H

#include "wire/frame.h"

enum wire_type {
	WIRE_NIL,
	WIRE_BOOL,
	WIRE_INT,  /* any integer that an int64 holds, of any width */
	WIRE_UINT, /* an integer beyond INT64_MAX */
	WIRE_FLOAT,
	WIRE_STR,
	WIRE_BIN,
	WIRE_EXT,
	WIRE_ARRAY,
	WIRE_MAP,
};

#define WIRE_EXT_TIMESTAMP (-1)

struct wire_value {
	enum wire_type type;
	union {
		bool boolean;
		int64_t integer;
		uint64_t uinteger;
		double number;
		struct {
			const uint8_t *ptr; /* into the bytes it was taken from */
			uint32_t len;
			int8_t kind; /* WIRE_EXT only */
		} bytes;             /* WIRE_STR, WIRE_BIN, WIRE_EXT */
		uint32_t count;      /* WIRE_ARRAY: elements that follow; WIRE_MAP: pairs */
	};
};

/* Take one value from *at: a whole scalar, or the head of an array or map, whose members follow.
 * WIRE_CUT, WIRE_BAD_BYTE: *at and *ret are unchanged. */
enum wire_check_result wire_take(const uint8_t **at, const uint8_t *end, struct wire_value *ret);

/* The same, and skip the members of an array or map, of which *ret is the head. Only for bytes that
 * wire_check accepted: at an error *at may have moved. */
enum wire_check_result wire_take_whole(
	const uint8_t **at, const uint8_t *end, struct wire_value *ret);

/* Skip one whole object, as wire_take_whole does. */
void wire_skip(const uint8_t **at, const uint8_t *end);

/* Return the seconds since 1970 of a timestamp (ext -1), without fractions. False: not a timestamp.
 */
bool wire_timestamp(const struct wire_value *, int64_t *ret_seconds);

#endif
