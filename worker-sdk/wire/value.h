/* MessagePack, one value at a time, on bytes that stay where they are. Part of the worker SDK and
 * of the supervisor. Never recurses and never allocates; wire_check is built on it, so that what
 * is checked and what is read cannot differ. */
#ifndef WIRE_VALUE_H
#define WIRE_VALUE_H

#include "wire/frame.h"

enum wire_type {
	WIRE_NIL,
	WIRE_BOOL,
	WIRE_INT,  /* any integer that an int64 holds, whatever width it came in */
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

/* Takes one value off *at: a whole scalar, or the head of an array or map, whose members follow.
 * WIRE_CUT, WIRE_BAD_BYTE: *at and *ret are as before. */
enum wire_check_result wire_take(const uint8_t **at, const uint8_t *end, struct wire_value *ret);

/* Passes over one whole object of bytes that wire_check found good. */
void wire_skip(const uint8_t **at, const uint8_t *end);

/* An ext -1 timestamp's seconds since 1970, fractions dropped. False: not a timestamp. */
bool wire_timestamp(const struct wire_value *, int64_t *ret_seconds);

#endif
