#include "publish/request_line.h"

#include "base/json.h"

#include <stdio.h>
#include <stdlib.h>

static const char *add_header(struct envelope *envelope, const char *key, json_t *value)
{
	char *assignment;
	int len;
	if (!json_is_string(value) || strchr(key, '='))
		return "headers must be texts, and their names without a \"=\"";
	len = asprintf(&assignment, "%s=%s", key, json_string_value(value));
	if (len < 0)
		return "out of memory";
	const char *problem = envelope_replace_header(envelope, text_of(assignment, (size_t)len));
	free(assignment);
	return problem ? "a header is empty, too long, or the broker's own (CC, BCC)" : NULL;
}

static const char *add_headers(struct envelope *envelope, json_t *headers)
{
	const char *key, *problem = json_is_object(headers) ? NULL : "headers must be an object";
	json_t *value;
	for (void *at = json_object_iter(headers); at && !problem;
		at = json_object_iter_next(headers, at)) {
		key = json_object_iter_key(at);
		value = json_object_iter_value(at);
		problem = add_header(envelope, key, value);
	}
	return problem;
}

static struct text text_in(const json_t *string)
{
	return text_of(json_string_value(string), json_string_length(string));
}

static const char *read_member(
	const char *key, json_t *value, struct envelope *envelope, struct request_line *line)
{
	if (strcmp(key, "headers") == 0)
		return add_headers(envelope, value);
	if (strcmp(key, "body") != 0 && strcmp(key, "queue") != 0)
		return "there is a member other than queue, headers and body";
	if (!json_is_string(value))
		return "queue and body must be texts";
	if (*key == 'b')
		line->body = text_in(value);
	else if (envelope_set(envelope, ENVELOPE_QUEUE, text_in(value)))
		return "queue is empty or over 255 bytes";
	return NULL;
}

const char *request_line_read(struct text line, struct envelope *envelope, struct request_line *ret)
{
	const char *problem = NULL;
	*ret = (struct request_line){.object = json_loadb(line.len ? line.ptr : "", line.len,
					     JSON_REJECT_DUPLICATES, NULL)};
	if (!json_is_object(ret->object))
		return "the line is not a JSON object";
	for (void *at = json_object_iter(ret->object); at && !problem;
		at = json_object_iter_next(ret->object, at))
		problem = read_member(
			json_object_iter_key(at), json_object_iter_value(at), envelope, ret);
	if (problem)
		return problem;
	if (!ret->body.ptr)
		return "body is missing";
	return envelope->field[ENVELOPE_QUEUE].ptr ? NULL : "queue is missing";
}

void request_line_release(struct request_line *line)
{
	json_decref(line->object);
	*line = (struct request_line){0};
}

void request_line_append_reply(struct buf *out, struct text queue, struct text body)
{
	buf_append_text(out, TEXT("{\"queue\":"));
	json_append_string(out, queue);
	buf_append_byte(out, ',');
	json_append_bytes(out, "body", body);
	buf_append_text(out, TEXT("}\n"));
}

void request_line_append_error(struct buf *out, struct text queue, struct text error)
{
	buf_append_text(out, TEXT("{\"queue\":"));
	json_append_string(out, queue);
	buf_append_text(out, TEXT(",\"error\":"));
	json_append_string(out, error);
	buf_append_text(out, TEXT("}\n"));
}
