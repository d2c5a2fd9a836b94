#include "broker/envelope.h"

#include "amqp/table.h"
#include "base/utf8.h"
#include "core/tasks/retry.h"
#include "message/copy.h"
#include "message/names.h"
#include <string.h>

/* The lowest one that is high, for quorum queues of RabbitMQ 4, too. */
#define PRIORITY_HIGH  5
#define HEADERS_LIMIT  (1024 * 1024)
#define FRAME_OVERHEAD (8 + 12 + 2) /* frame, content header, flags */

const char *const envelope_field_names[ENVELOPE_FIELD_COUNT] = {
#define X(id, name, property) [ENVELOPE_##id] = (name),
	ENVELOPE_FIELDS(X)
#undef X
};

static const enum property field_properties[ENVELOPE_FIELD_COUNT] = {
#define X(id, name, property) [ENVELOPE_##id] = (property),
	ENVELOPE_FIELDS(X)
#undef X
};

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

const char *envelope_set(struct envelope *e, enum envelope_field field, struct text value)
{
	if (value.len > SHORT_STRING_MAX)
		return "is over 255 bytes";
	if (field == ENVELOPE_QUEUE && value.len == 0)
		return "is no name of a queue";
	e->field[field] = value;
	return NULL;
}

const char *envelope_set_priority(struct envelope *e, struct text value)
{
	uint64_t number;

	if (!text_read_decimal(value, UINT8_MAX, &number))
		return "is no number from 0 to 255";
	e->has_priority = true;
	e->priority = (uint8_t)number;
	return NULL;
}

const char *envelope_set_expiration(struct envelope *e, int64_t ms)
{
	if (ms < 0 || ms > ENVELOPE_EXPIRATION_MAX_MS)
		return "is over the broker's limit of 4294967295 ms (49 days)";
	e->has_expiration = true;
	e->expiration_ms = ms;
	return NULL;
}

const char *envelope_set_delay(struct envelope *e, int64_t ms)
{
	if (ms < 0 || ms > WAIT_ASKED_MAX_MS)
		return "is over 365 days";
	e->delay_ms = ms;
	return NULL;
}

static void remove_header(struct envelope *e, struct text key)
{
	struct text rest = buf_text(&e->headers);
	struct table_field field;
	struct buf kept;

	buf_init(&kept, HEADERS_LIMIT);
	while (table_next(&rest, true, &field))
		if (!text_is(field.key, key))
			table_put_field(&kept, &field);
	kept.failed |= e->headers.failed;
	buf_release(&e->headers);
	e->headers = kept;
}

static const char *put_header(struct envelope *e, struct text assignment, bool replaces)
{
	struct table_field other;
	const char *equals =
		assignment.len > 0 ? memchr(assignment.ptr, '=', assignment.len) : NULL;
	size_t key_len = equals ? (size_t)(equals - assignment.ptr) : 0;
	struct text key = text_of(assignment.ptr, key_len);

	if (key_len == 0)
		return "is not KEY=VALUE";
	if (key_len > SHORT_STRING_MAX)
		return "has a key of more than 255 bytes";
	/* The broker reads these as lists of queues, and closes the channel over a string. */
	if (text_is(key, TEXT("CC")) || text_is(key, TEXT("BCC")))
		return "is the broker's own: CC and BCC cannot be strings";
	if (table_find(buf_text(&e->headers), key, &other)) {
		if (!replaces)
			return "has the name of another one: a header has one value";
		remove_header(e, key);
	}
	table_put_string(&e->headers, key, text_of(equals + 1, assignment.len - key_len - 1));
	return e->headers.failed ? "is too long together with the others" : NULL;
}

const char *envelope_add_header(struct envelope *e, struct text assignment)
{
	return put_header(e, assignment, false);
}

const char *envelope_replace_header(struct envelope *e, struct text assignment)
{
	return put_header(e, assignment, true);
}

const char *envelope_set_session_key(struct envelope *e, const char *place)
{
	struct key_source source;
	const char *problem = key_source_parse(text_from(place), &source);

	if (problem)
		return problem;
	if (source.kind == KEY_ROUTING_KEY)
		return "is not for publish, whose routing key is the name of the queue, or "
		       "--routing-key";
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

static bool has_field(const struct envelope *e, enum envelope_field field)
{
	return e->field[field].ptr != NULL;
}

static bool has_field_of(const struct envelope *e, enum property property)
{
	for (size_t i = 0; i < ENVELOPE_FIELD_COUNT; i++)
		if (field_properties[i] == property && has_field(e, i))
			return true;
	return false;
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
	return has_field_of(e, place->property);
}

const char *envelope_problem(const struct envelope *e)
{
	struct table_field field;

	if (has_field(e, ENVELOPE_QUEUE) &&
		(has_field(e, ENVELOPE_EXCHANGE) || has_field(e, ENVELOPE_ROUTING_KEY)))
		return "a queue is without exchange and routing key: its messages go through the "
		       "default exchange, by its name";
	if (has_field(e, ENVELOPE_ROUTING_KEY) && !has_field(e, ENVELOPE_EXCHANGE))
		return "a routing key needs an exchange";
	if (!has_field(e, ENVELOPE_QUEUE) && !has_field(e, ENVELOPE_EXCHANGE))
		return "a queue or an exchange is needed";
	if (e->is_high && e->has_priority)
		return "a message with a priority of its own cannot be high as well";
	if (e->delay_ms > 0 && table_find(buf_text(&e->headers), HEADER_NOT_BEFORE, &field))
		return "a message with a delay cannot have the header NotBefore as well";
	if (has_two_keys(e))
		return "the key of the session is also set by a header or a property of the "
		       "message";
	return NULL;
}

/* e->headers has all of its entries. */
static void write_properties_of(struct envelope *e, struct text message_id, uint64_t number)
{
	char digits[TEXT_DECIMAL_MAX], expiration[TEXT_DECIMAL_MAX];
	const char priority = (char)(e->is_high ? PRIORITY_HIGH : e->priority);
	struct properties properties = {0};

	properties_set(&properties, PROPERTY_DELIVERY_MODE, TEXT("\2"));
	properties_set(&properties, PROPERTY_MESSAGE_ID, message_id);
	if (buf_len(&e->headers) > 0)
		properties_set(&properties, PROPERTY_HEADERS, buf_text(&e->headers));
	for (size_t i = 0; i < ENVELOPE_FIELD_COUNT; i++)
		if (field_properties[i] != PROPERTY_COUNT && has_field(e, i))
			properties_set(&properties, field_properties[i], e->field[i]);
	if (e->session.len > 0 && e->session_key.kind == KEY_PROPERTY)
		properties_set(&properties, e->session_key.property, e->session);
	if (e->is_high || e->has_priority)
		properties_set(&properties, PROPERTY_PRIORITY, text_of(&priority, 1));
	if (e->has_expiration)
		properties_set(&properties, PROPERTY_EXPIRATION,
			text_decimal((uint64_t)e->expiration_ms, expiration));
	if (number > 0)
		copy_set_number(&properties, number, digits);
	buf_clear(&e->raw);
	properties_write(&properties, &e->raw);
}

static bool write_properties(struct envelope *e, struct text message_id, uint64_t number)
{
	size_t own_headers = buf_len(&e->headers);

	if (e->session.len > 0 && e->session_key.kind == KEY_HEADER)
		table_put_string(&e->headers, e->session_key.header, e->session);
	if (e->delay_ms > 0)
		table_put_integer(&e->headers, HEADER_NOT_BEFORE, e->now_ms + e->delay_ms);
	write_properties_of(e, message_id, number);
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

bool envelope_publish(struct envelope *e, struct connection *connection, uint16_t channel,
	struct text message_id, uint64_t number, struct text body)
{
	if (!write_properties(e, message_id, number))
		return false;
	channel_publish(connection, channel,
		&(struct amqp_publish){
			.exchange = e->field[ENVELOPE_EXCHANGE],
			.routing_key =
				e->field[has_field(e, ENVELOPE_QUEUE) ? ENVELOPE_QUEUE
								      : ENVELOPE_ROUTING_KEY],
			.mandatory = true,
			.properties = buf_text(&e->raw),
			.body = body,
		});
	return true;
}
