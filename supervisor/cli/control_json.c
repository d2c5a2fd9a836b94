#include "cli/control_json.h"

#include "base/utf8.h"
#include "io/clock.h"

#include <string.h>

static int on_bytes(const char *bytes, size_t len, void *ctx)
{
	struct buf *out = ctx;

	buf_append(out, bytes, len);
	return out->failed ? -1 : 0;
}

void control_json_append(struct buf *out, json_t *json)
{
	if (!json ||
		json_dump_callback(json, on_bytes, out, JSON_COMPACT | JSON_REAL_PRECISION(12)))
		out->failed = true;
	json_decref(json);
}

json_t *control_json_text(struct text text)
{
	struct buf good;
	json_t *json;

	buf_init(&good, SIZE_MAX);
	utf8_append_repaired(&good, text);
	json = good.failed ? NULL
			   : json_stringn_nocheck(buf_text(&good).ptr ? buf_text(&good).ptr : "",
				     buf_len(&good));
	buf_release(&good);
	return json;
}

json_t *control_json_span(mtime span)
{
	return span == MTIME_NEVER ? json_null() : json_real((double)span / MTIME_SECOND);
}

static json_t *not_below_zero(mtime span)
{
	return control_json_span(span > 0 ? span : 0);
}

json_t *control_json_until(mtime then)
{
	return then == MTIME_NEVER ? json_null() : not_below_zero(then - clock_now());
}

json_t *control_json_since(mtime then)
{
	return then == MTIME_NEVER ? json_null() : not_below_zero(clock_now() - then);
}

json_t *control_json_lines(struct buf *lines)
{
	json_t *array = lines->failed ? NULL : json_array();
	struct text rest = buf_text(lines);

	while (array && rest.len > 0) {
		const char *end = memchr(rest.ptr, '\n', rest.len);
		size_t len = end ? (size_t)(end - rest.ptr) : rest.len;
		if (json_array_append_new(array, control_json_text(text_of(rest.ptr, len)))) {
			json_decref(array);
			array = NULL;
		}
		len += end != NULL;
		rest = text_of(rest.ptr + len, rest.len - len);
	}
	buf_release(lines);
	return array;
}

json_t *control_json_link(struct link_facts facts)
{
	return json_pack("{s:b, s:I, s:s?}", "up", facts.is_up, "reconnects",
		(json_int_t)facts.reconnects, "last_failure",
		*facts.failure ? facts.failure : NULL);
}
