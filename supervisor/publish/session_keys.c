#include "publish/session_keys.h"

#include "client/api_command.h"
#include "tty/console.h"

#include <stdlib.h>
#include <sysexits.h>

static int ask_supervisor(const struct api_command *q, const char *where, json_t **ret)
{
	struct buf path;
	int exit_code;

	buf_init(&path, SIZE_MAX);
	buf_append_text(&path, TEXT("/v1/pools/*/sessions?where="));
	api_append_query_value(&path, text_from(where));
	buf_append_byte(&path, '\0');
	exit_code = path.failed ? EX_SOFTWARE : api_command_ask(q, buf_text(&path).ptr, ret);
	buf_release(&path);
	return exit_code;
}

/* False: out of memory. */
static bool list_keys(struct session_keys *keys)
{
	json_t *sessions = json_object_get(keys->sessions, "sessions"), *session;
	size_t i;

	keys->list = calloc(json_array_size(sessions) + 1, sizeof *keys->list);
	if (!keys->list)
		return false;
	json_array_foreach(sessions, i, session)
	{
		const json_t *key = json_object_get(session, "key");
		struct text text = text_of(json_string_value(key), json_string_length(key));
		if (text.len > 0)
			keys->list[keys->count++] = text;
		if (text.len > keys->longest.len)
			keys->longest = text;
	}
	return true;
}

static int read_answers(struct session_keys *keys, const struct api_command *q, const char *where)
{
	const json_t *pool = json_array_get(json_object_get(keys->pools, "pools"), 0);

	keys->queue = json_string_value(json_object_get(pool, "queue"));
	keys->place = json_string_value(json_object_get(pool, "session_key"));
	if (!list_keys(keys)) {
		console_problem(q->command, "out of memory");
		return EX_SOFTWARE;
	}
	if (!keys->queue || !keys->place) {
		console_problem(q->command, "the supervisor has another version");
		return EX_PROTOCOL;
	}
	if (keys->count == 0) {
		console_problem(q->command, "no session of %s matches %s", q->pool, where);
		return EX_DATAERR;
	}
	return EX_OK;
}

int session_keys_read(struct session_keys *ret, const char *command, const char *socket,
	const char *pool, const char *where)
{
	struct api_command q = {
		.command = command, .socket = socket, .pool = pool, .is_long = true};
	int exit_code = ask_supervisor(&q, where, &ret->sessions);

	if (exit_code == EX_OK)
		exit_code = api_command_ask(&q, "/v1/pools", &ret->pools);
	return exit_code == EX_OK ? read_answers(ret, &q, where) : exit_code;
}

void session_keys_release(struct session_keys *keys)
{
	json_decref(keys->pools);
	json_decref(keys->sessions);
	free(keys->list);
}
