/* What a task has: texts, and the values of headers and properties. Part of wpool/worker.h. */
#ifndef WPOOL_VALUE_H
#define WPOOL_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct msgpack_object;

/* Bytes followed by a NUL that len does not count. They may contain NULs. */
struct wpool_text {
	const char *data;
	size_t len;
};

enum wpool_kind {
	WPOOL_NIL,
	WPOOL_BOOL,    /* .boolean */
	WPOOL_INTEGER, /* .integer */
	WPOOL_REAL,    /* .real */
	WPOOL_TEXT,    /* .text, UTF-8 */
	WPOOL_BYTES,   /* .text */
	WPOOL_TIME,    /* .integer, seconds since 1970 */
	WPOOL_OTHER,   /* a table, an array, an integer over int64: read .object with msgpack-c */
};

struct wpool_value {
	enum wpool_kind kind;
	union {
		bool boolean;
		int64_t integer;
		double real;
		struct wpool_text text;
	};
	const struct msgpack_object *object;
};

#endif
