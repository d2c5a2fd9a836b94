/* POST /v1/publish: publish the body of the request as a message, and answer when the broker has
 * confirmed it. The query has the fields of `wpool publish`. */
#include "config/value/quantity.h"
#include "control/answer.h"
#include "control/api_publisher.h"
#include "control/routes.h"
#include "os/random_id.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BODY_MAX (1024u * 1024)
/* Of session_key, as a text with an end. */
#define PLACE_SIZE 300

/* A request whose message is on its way; its texts belong to the request. */
struct publishing {
	struct api_message message;
	struct http_exchange *exchange; /* borrowed until it is answered */
	char id[RANDOM_ID_SIZE];
	char place[PLACE_SIZE];
	struct control_bool high;
	struct buf mistake; /* the first one in the query; empty: none */
};

static void publishing_free(struct publishing *p)
{
	envelope_release(&p->message.envelope);
	buf_release(&p->mistake);
	free(p);
}

/* ---------- the query ---------- */

static const char *set_expiration(struct envelope *e, struct text value)
{
	int64_t span;

	if (!quantity_read_duration(value, &span))
		return "is no duration such as 10s";
	return envelope_set_expiration(e, span / MTIME_MS);
}

static const char *set_delay(struct envelope *e, struct text value)
{
	int64_t span;

	if (!quantity_read_duration(value, &span))
		return "is no duration such as 10s";
	return envelope_set_delay(e, span / MTIME_MS);
}

static const char *set_session_key(struct publishing *p, struct text value)
{
	if (value.len >= sizeof p->place || memchr(value.ptr, '\0', value.len))
		return "is not header:NAME or property:NAME";
	snprintf(p->place, sizeof p->place, "%.*s", TEXT_ARGS(value));
	return envelope_set_session_key(&p->message.envelope, p->place);
}

static const char *set_named_field(struct envelope *e, struct text name, struct text value)
{
	for (enum envelope_field field = 0; field < ENVELOPE_FIELD_COUNT; field++) {
		if (!text_is(name, text_from(envelope_field_names[field])))
			continue;
		return e->field[field].ptr ? "is given twice" : envelope_set(e, field, value);
	}
	return "is no parameter of this request (docs/control.md)";
}

static const char *set_field(struct publishing *p, struct text name, struct text value)
{
	struct envelope *e = &p->message.envelope;

	if (text_is(name, TEXT("high")))
		return control_bool_take(&p->high, value) ? NULL : "is not true or false, once";
	if (!value.ptr)
		return "has no value";
	if (text_is(name, TEXT("header")))
		return envelope_add_header(e, value);
	if (text_is(name, TEXT("priority")))
		return envelope_set_priority(e, value);
	if (text_is(name, TEXT("expiration")))
		return set_expiration(e, value);
	if (text_is(name, TEXT("delay")))
		return set_delay(e, value);
	if (text_is(name, TEXT("session")))
		return envelope_set_session(e, value);
	if (text_is(name, TEXT("session_key")))
		return set_session_key(p, value);
	return set_named_field(e, name, value);
}

static void on_parameter(void *ctx, struct text name, struct text value)
{
	struct publishing *p = ctx;
	const char *problem;

	if (buf_len(&p->mistake) > 0)
		return;
	problem = set_field(p, name, value);
	if (problem)
		buf_printf(&p->mistake, "%.*s%s%.*s%s %s", TEXT_ARGS(name), value.ptr ? " '" : "",
			TEXT_ARGS(value), value.ptr ? "'" : "", problem);
}

/* NULL: the request was answered. */
static struct publishing *publishing_new(const struct http_request *request)
{
	struct publishing *p = calloc(1, sizeof *p);
	const char *problem;

	if (!p) {
		control_refuse_memory(request);
		return NULL;
	}
	p->exchange = request->exchange;
	envelope_init(&p->message.envelope);
	buf_init(&p->mistake, SIZE_MAX);
	random_id_make(p->id);
	http_each_query(request, on_parameter, p);
	p->message.envelope.is_high = p->high.value;
	problem = envelope_problem(&p->message.envelope);
	if (buf_len(&p->mistake) == 0 && problem)
		buf_append_text(&p->mistake, text_from(problem));
	if (buf_len(&p->mistake) == 0)
		return p;
	buf_append_byte(&p->mistake, '\0');
	control_refuse(request, 400, buf_text(&p->mistake).ptr, NULL);
	publishing_free(p);
	return NULL;
}

/* ---------- the answer ---------- */

static struct text id_of(const struct publishing *p)
{
	const struct envelope *e = &p->message.envelope;
	struct text own = e->field[ENVELOPE_MESSAGE_ID];

	return own.ptr ? own : text_from(p->id);
}

static void on_end(struct api_message *message, enum api_publish_result result, const char *why)
{
	static const unsigned statuses[] = {
		[API_PUBLISH_CONFIRMED] = 200,
		[API_PUBLISH_REFUSED] = 422,
		[API_PUBLISH_LATER] = 503,
		[API_PUBLISH_UNKNOWN] = 504,
	};
	struct publishing *p = CONTAINER_OF(message, struct publishing, message);
	struct buf text;

	buf_init(&text, SIZE_MAX);
	json_append(&text,
		result == API_PUBLISH_CONFIRMED
			? json_pack("{s:b, s:o}", "confirmed", 1, "message_id", json_text(id_of(p)))
			: json_pack("{s:o, s:o}", "error", json_text(text_from(why)), "message_id",
				  json_text(id_of(p))));
	buf_append_byte(&text, '\n');
	if (!text.failed)
		http_answer_later(
			p->exchange, statuses[result], CONTROL_JSON_TYPE, buf_text(&text));
	else /* 503 would mean that it was not published */
		control_refuse_memory_later(p->exchange,
			statuses[result == API_PUBLISH_CONFIRMED ? API_PUBLISH_UNKNOWN : result]);
	buf_release(&text);
	publishing_free(p);
}

/* ---------- the request ---------- */

/* Why no message can be published now; NULL: nothing is known against it. */
static const char *away_reason(const struct supervisor_view *view)
{
	if (!broker_links_publish_facts(view->broker_links).is_up)
		return "no connection to the broker (see wpool status); try again later";
	if (view->broker_links->is_blocked)
		return "the broker accepts no messages now, because of an alarm; try again later";
	return NULL;
}

static bool is_too_large(const struct http_request *request)
{
	const char *length = http_header(request, "Content-Length");
	uint64_t bytes;

	return length && !text_read_decimal(text_from(length), BODY_MAX, &bytes);
}

/* Only the headers are there. */
static void check_headers(const struct supervisor_view *view, const struct http_request *request)
{
	const char *away = away_reason(view);
	struct publishing *p;

	if (is_too_large(request)) {
		control_refuse(request, 413, "a body has at most 1 MiB", NULL);
		return;
	}
	if (away) {
		control_refuse(request, 503, away, NULL);
		return;
	}
	p = publishing_new(request); /* for its mistakes, before the body is sent */
	if (!p)
		return;
	publishing_free(p);
	if (!http_read_body(request, BODY_MAX))
		control_refuse(request, 503, "too many messages are being published", NULL);
}

void control_answer_publish(const struct supervisor_view *view, const struct http_request *request)
{
	struct publishing *p;
	const char *why;

	if (!request->exchange) {
		check_headers(view, request);
		return;
	}
	p = publishing_new(request);
	if (!p)
		return;
	p->message.body = request->body;
	p->message.id = p->id;
	p->message.on_end = on_end;
	http_defer(request);
	if (!api_publisher_add(view->api_publisher, &p->message, &why))
		on_end(&p->message, API_PUBLISH_LATER, why);
}
