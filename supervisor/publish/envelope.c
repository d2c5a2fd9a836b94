#include "publish/envelope.h"

#include "amqp/table.h"
#include "base/utf8.h"
#include "message/copy.h"
#include "os/clock.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define SHORT_STRING_MAX 255
/* The lowest one that is high, for quorum queues of RabbitMQ 4, too. */
#define PRIORITY_HIGH  TEXT("\5")
#define HEADERS_LIMIT  (1024 * 1024)
#define FRAME_OVERHEAD (8 + 12 + 2) /* frame, content header, flags */

void envelope_make_id(char ret_id[ENVELOPE_ID_SIZE])
{
	uint64_t number = (uint64_t)clock_now();
	ssize_t got = getrandom(&number, sizeof number, GRND_NONBLOCK);
	(void)got; /* the clock is unique enough */
	snprintf(ret_id, ENVELOPE_ID_SIZE, "%016" PRIx64, number);
}

void envelope_init(struct envelope *e)
{
	*e = (struct envelope){.session_key = {.kind = KEY_HEADER, .header = TEXT("session")}};
	buf_init(&e->headers, HEADERS_LIMIT);
	buf_init(&e->raw, 2 * HEADERS_LIMIT);
}

void envelope_release(struct envelope *e)
{
	buf_release(&e->headers);
	buf_release(&e->raw);
}

const char *envelope_add_header(struct envelope *e, const char *assignment)
{
	const char *equals = strchr(assignment, '=');
	size_t key_len = equals ? (size_t)(equals - assignment) : 0;
	struct text key = text_of(assignment, key_len);

	if (key_len == 0)
		return "is not KEY=VALUE";
	if (key_len > SHORT_STRING_MAX)
		return "has a key of more than 255 bytes";
	/* The broker reads these as lists of queues, and closes the channel over a string. */
	if (text_is(key, TEXT("CC")) || text_is(key, TEXT("BCC")))
		return "is the broker's own: CC and BCC cannot be strings";
	table_put_string(&e->headers, key, text_from(equals + 1));
	return e->headers.failed ? "is too long together with the others" : NULL;
}

const char *envelope_set_session_key(struct envelope *e, const char *place)
{
	struct key_source source;
	const char *problem = key_source_parse(text_from(place), &source);

	if (problem)
		return problem;
	if (source.kind == KEY_ROUTING_KEY)
		return "is not for publish, whose routing key is the name of the queue";
	e->session_key = source;
	return NULL;
}

const char *envelope_set_session(struct envelope *e, struct text key)
{
	if (key.len == 0 || key.len > SESSION_KEY_MAX || !utf8_is_valid(key))
		return "is not UTF-8 of 1 to 255 bytes";
	e->session = key;
	return NULL;
}

/* The same place twice: which value counts would depend on the reader. */
static bool has_two_keys(const struct envelope *e)
{
	const struct key_source *place = &e->session_key;
	struct table_field field;

	if (e->session.len == 0)
		return false;
	if (place->kind == KEY_HEADER)
		return table_find(buf_text(&e->headers), place->header, &field);
	return (place->property == PROPERTY_CORRELATION_ID && e->correlation_id) ||
	       (place->property == PROPERTY_REPLY_TO && e->reply_to);
}

const char *envelope_problem(const struct envelope *e)
{
	if (e->queue.len == 0)
		return "--queue NAME is missing";
	if (e->queue.len > SHORT_STRING_MAX)
		return "--queue is over 255 bytes";
	if (e->reply_to && strlen(e->reply_to) > SHORT_STRING_MAX)
		return "--reply-to is over 255 bytes";
	if (e->correlation_id && strlen(e->correlation_id) > SHORT_STRING_MAX)
		return "--correlation-id is over 255 bytes";
	if (has_two_keys(e))
		return "the key of the session is also set by --header, --correlation-id or "
		       "--reply-to";
	return NULL;
}

static bool write_properties(struct envelope *e, struct text message_id, uint64_t number)
{
	size_t own_headers = buf_len(&e->headers);
	char digits[TEXT_DECIMAL_MAX];
	struct properties properties = {0};

	if (e->session.len > 0 && e->session_key.kind == KEY_HEADER)
		table_put_string(&e->headers, e->session_key.header, e->session);
	properties_set(&properties, PROPERTY_DELIVERY_MODE, TEXT("\2"));
	properties_set(&properties, PROPERTY_MESSAGE_ID, message_id);
	if (buf_len(&e->headers) > 0)
		properties_set(&properties, PROPERTY_HEADERS, buf_text(&e->headers));
	if (e->reply_to)
		properties_set(&properties, PROPERTY_REPLY_TO, text_from(e->reply_to));
	if (e->correlation_id)
		properties_set(&properties, PROPERTY_CORRELATION_ID, text_from(e->correlation_id));
	if (e->session.len > 0 && e->session_key.kind == KEY_PROPERTY)
		properties_set(&properties, e->session_key.property, e->session);
	if (e->is_high)
		properties_set(&properties, PROPERTY_PRIORITY, PRIORITY_HIGH);
	if (number > 0)
		copy_set_number(&properties, number, digits);
	buf_clear(&e->raw);
	properties_write(&properties, &e->raw);
	buf_truncate(&e->headers, own_headers);
	return !e->raw.failed && !e->headers.failed;
}

enum rc envelope_check(struct envelope *e, const struct connection *connection)
{
	static const char longest[SHORT_STRING_MAX];
	if (!write_properties(e, text_of(longest, sizeof longest), UINT64_MAX))
		return RC_MEMORY;
	return buf_len(&e->raw) + FRAME_OVERHEAD <= connection_frame_max(connection) ? RC_OK
										     : RC_LIMIT;
}

bool envelope_publish(struct envelope *e, struct connection *connection, struct text message_id,
	uint64_t number, struct text body)
{
	if (!write_properties(e, message_id, number))
		return false;
	channel_publish(connection, ENVELOPE_CHANNEL,
		&(struct amqp_publish){
			.routing_key = e->queue,
			.mandatory = true,
			.properties = buf_text(&e->raw),
			.body = body,
		});
	return true;
}
