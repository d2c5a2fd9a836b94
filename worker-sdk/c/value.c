#include "task.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_bytes(const msgpack_object *object)
{
	return object->type == MSGPACK_OBJECT_STR || object->type == MSGPACK_OBJECT_BIN;
}

/* str and bin share their layout in msgpack_object_union. The pointer of an empty one is undefined
 * and must not be followed. */
struct wpool_text value_text(const msgpack_object *object)
{
	if (!is_bytes(object) || object->via.str.size == 0)
		return (struct wpool_text){"", 0};
	return (struct wpool_text){object->via.str.ptr, object->via.str.size};
}

/* The byte behind a text is the type of the next object, which has been read, or the byte behind
 * the frame, which its owner lends. So every text can end in NUL in place, without a copy. */
static void terminate_text(const msgpack_object *object)
{
	char *text = (char *)(uintptr_t)object->via.str.ptr;
	if (object->via.str.size > 0)
		text[object->via.str.size] = '\0';
}

/* Recurses at most as deep as wire_check allows. */
void value_terminate(const msgpack_object *object)
{
	if (is_bytes(object)) {
		terminate_text(object);
	} else if (object->type == MSGPACK_OBJECT_ARRAY) {
		for (uint32_t i = 0; i < object->via.array.size; i++)
			value_terminate(&object->via.array.ptr[i]);
	} else if (object->type == MSGPACK_OBJECT_MAP) {
		for (uint32_t i = 0; i < object->via.map.size; i++) {
			value_terminate(&object->via.map.ptr[i].key);
			value_terminate(&object->via.map.ptr[i].val);
		}
	}
}

static struct wpool_value time_value(const msgpack_object *object)
{
	msgpack_timestamp when;
	struct wpool_value value = {.kind = WPOOL_OTHER, .object = object};
	if (msgpack_object_to_timestamp(object, &when)) {
		value.kind = WPOOL_TIME;
		value.integer = when.tv_sec;
	}
	return value;
}

static struct wpool_value unsigned_value(const msgpack_object *object)
{
	struct wpool_value value = {.kind = WPOOL_OTHER, .object = object};
	if (object->via.u64 <= INT64_MAX) {
		value.kind = WPOOL_INTEGER;
		value.integer = (int64_t)object->via.u64;
	}
	return value;
}

struct wpool_value value_of(const msgpack_object *object)
{
	struct wpool_value value = {.kind = WPOOL_OTHER, .object = object};
	switch (object->type) {
	case MSGPACK_OBJECT_NIL:
		value.kind = WPOOL_NIL;
		break;
	case MSGPACK_OBJECT_BOOLEAN:
		value.kind = WPOOL_BOOL;
		value.boolean = object->via.boolean;
		break;
	case MSGPACK_OBJECT_POSITIVE_INTEGER:
		return unsigned_value(object);
	case MSGPACK_OBJECT_NEGATIVE_INTEGER:
		value.kind = WPOOL_INTEGER;
		value.integer = object->via.i64;
		break;
	case MSGPACK_OBJECT_FLOAT32:
	case MSGPACK_OBJECT_FLOAT64:
		value.kind = WPOOL_REAL;
		value.real = object->via.f64;
		break;
	case MSGPACK_OBJECT_STR:
	case MSGPACK_OBJECT_BIN:
		value.kind = object->type == MSGPACK_OBJECT_STR ? WPOOL_TEXT : WPOOL_BYTES;
		value.text = value_text(object);
		break;
	case MSGPACK_OBJECT_EXT:
		return time_value(object);
	case MSGPACK_OBJECT_ARRAY:
	case MSGPACK_OBJECT_MAP:
		break;
	}
	return value;
}

const msgpack_object *value_find(msgpack_object_map map, const char *name)
{
	size_t len = strlen(name);
	for (uint32_t i = 0; i < map.size; i++) {
		struct wpool_text key = value_text(&map.ptr[i].key);
		if (key.len == len && memcmp(key.data, name, len) == 0)
			return &map.ptr[i].val;
	}
	return NULL;
}

static bool text_number(struct wpool_text text, int64_t *ret_number)
{
	char *end;
	errno = 0;
	long long number = strtoll(text.data, &end, 10);
	if (text.len == 0 || end != text.data + text.len || errno)
		return false;
	*ret_number = number;
	return true;
}

bool value_number(const msgpack_object *object, int64_t *ret_number)
{
	struct wpool_value value = value_of(object);
	if (value.kind == WPOOL_TEXT || value.kind == WPOOL_BYTES)
		return text_number(value.text, ret_number);
	if (value.kind == WPOOL_REAL && value.real > -1e18 && value.real < 1e18)
		*ret_number = (int64_t)value.real;
	else if (value.kind == WPOOL_INTEGER)
		*ret_number = value.integer;
	else
		return false;
	return true;
}
