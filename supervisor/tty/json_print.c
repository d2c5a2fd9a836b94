#include "tty/json_print.h"

#include "base/json.h"
#include "base/utf8.h"

#include <stdio.h>

json_t *json_text(struct text text)
{
	struct buf valid;
	buf_init(&valid, SIZE_MAX);
	utf8_append_valid(&valid, text);
	json_t *json = valid.failed
			       ? NULL
			       : json_stringn_nocheck(buf_len(&valid) ? buf_text(&valid).ptr : "",
					 buf_len(&valid));
	buf_release(&valid);
	return json;
}

/* jansson hands over whole characters. */
static int on_bytes(const char *bytes, size_t len, void *ctx)
{
	struct buf *out = ctx;

	json_append_written(out, text_of(bytes, len));
	return out->failed ? -1 : 0;
}

void json_append(struct buf *out, json_t *json)
{
	if (!json ||
		json_dump_callback(json, on_bytes, out, JSON_COMPACT | JSON_REAL_PRECISION(12)))
		out->failed = true;
	json_decref(json);
}

bool json_print(json_t *json)
{
	struct buf out;
	bool is_printed;

	buf_init(&out, SIZE_MAX);
	json_append(&out, json);
	buf_append_byte(&out, '\n');
	if (out.failed)
		fputs("wpool: out of memory\n", stderr);
	is_printed = !out.failed &&
		     fwrite(buf_text(&out).ptr, 1, buf_len(&out), stdout) == buf_len(&out);
	buf_release(&out);
	return is_printed;
}
