#include "config/value/binding.h"

#include "base/utf8.h"
#include "config/config_bounds.h"

#include <string.h>

#define VALUE_MAX 255

static bool has_control(struct text t)
{
	for (size_t i = 0; i < t.len; i++)
		if ((unsigned char)t.ptr[i] < ' ')
			return true;
	return false;
}

const char *binding_append(struct buf *out, const char *name, struct text value)
{
	if (value.len > VALUE_MAX)
		return "is over 255 bytes";
	if (has_control(value) || !utf8_is_valid(value))
		return "has control characters, or is not UTF-8";
	buf_printf(out, "%s%s=%.*s", buf_len(out) > 0 ? "\n" : "", name, TEXT_ARGS(value));
	return buf_len(out) > CONFIG_BINDING_MAX ? "is too much together with the others" : NULL;
}

bool binding_next(struct text *rest, struct text *ret_name, struct text *ret_value)
{
	const char *end, *equals;

	if (rest->len == 0)
		return false;
	end = memchr(rest->ptr, '\n', rest->len);
	end = end ? end : rest->ptr + rest->len;
	equals = memchr(rest->ptr, '=', (size_t)(end - rest->ptr));
	equals = equals ? equals : end;
	*ret_name = text_of(rest->ptr, (size_t)(equals - rest->ptr));
	*ret_value = equals < end ? text_of(equals + 1, (size_t)(end - equals - 1)) : TEXT("");
	*rest = text_of(end, rest->len - (size_t)(end - rest->ptr));
	if (rest->len > 0)
		*rest = text_of(rest->ptr + 1, rest->len - 1);
	return true;
}
