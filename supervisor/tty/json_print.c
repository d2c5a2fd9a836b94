#include "tty/json_print.h"

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

bool json_print(json_t *json)
{
	bool is_printed =
		json && json_dumpf(json, stdout, JSON_COMPACT | JSON_REAL_PRECISION(12)) == 0;
	json_decref(json);
	if (is_printed)
		putchar('\n');
	else if (!ferror(stdout))
		fputs("wpool: out of memory\n", stderr);
	return is_printed;
}
