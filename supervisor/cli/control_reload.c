/* POST /v1/reload: the configuration is read again; ?dry_run=true: what that would do. */
#include "cli/control_json.h"
#include "cli/control_routes.h"
#include "cli/reload.h"

#include <string.h>

#define BODY_LIMIT (16 * 1024 * 1024)

static bool is_dry(const struct http_request *request)
{
	const char *words = http_query(request, "dry_run");

	return words && strcmp(words, "false") != 0;
}

void control_answer_reload(const struct overview *overview, const struct http_request *request)
{
	json_t *answer;
	unsigned status = reload_run(overview->reload, "wpool reload", is_dry(request), &answer);
	struct buf body;

	buf_init(&body, BODY_LIMIT);
	if (answer)
		control_json_append(&body, answer);
	buf_append_byte(&body, '\n');
	if (!answer || body.failed)
		control_refuse(request, 503, "out of memory", NULL);
	else
		http_answer(request, status, CONTROL_JSON_TYPE, buf_text(&body), NULL);
	buf_release(&body);
}
