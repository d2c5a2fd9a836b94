#include "amqp/properties.h"
#include "amqp/table.h"
#include "message/field_text.h"
#include "message/names.h"
#include "message/task.h"

#define QUEUE_NAME_MAX 255
/* Of a soft limit in milliseconds: longer than anybody waits, and far from any overflow. */
#define TIMEOUT_DIGITS 15
#define TIMEOUT_MOST   ((int64_t)1000000000000000)

static uint32_t clamped(int64_t value, uint32_t most)
{
	if (value < 0)
		return 0;
	return value > most ? most : (uint32_t)value;
}

/* The caller's own soft limit, a number of any type or the text of one; -1: none. */
static int64_t read_timeout(const struct table_field *field)
{
	int64_t number;
	if (table_field_integer(field, &number))
		return number > 0 && number < TIMEOUT_MOST ? number : -1;
	if (field->type == 'f' || field->type == 'd') {
		double value = field_double(field);
		return value >= 1 && value < (double)TIMEOUT_MOST ? (int64_t)value : -1;
	}
	if (field->type != 'S' || field->value.len == 0 || field->value.len > TIMEOUT_DIGITS)
		return -1;
	number = 0;
	for (size_t i = 0; i < field->value.len; i++) {
		unsigned digit = (unsigned)(field->value.ptr[i] - '0');
		if (digit > 9)
			return -1;
		number = number * 10 + digit;
	}
	return number > 0 ? number : -1;
}

/* Anybody may publish a header of ours: a wrong type is no fact, a wrong number is brought into
 * range. */
static void read_header(struct delivery *delivery, const struct table_field *field)
{
	int64_t number;
	if (text_is(field->key, HEADER_QUEUE)) {
		if (field->type == 'S' && field->value.len > 0 &&
			field->value.len <= QUEUE_NAME_MAX)
			delivery->origin = field->value;
	} else if (text_is(field->key, HEADER_TIMEOUT)) {
		delivery->soft_ms = read_timeout(field);
	} else if (!table_field_integer(field, &number)) {
		return;
	} else if (text_is(field->key, HEADER_ATTEMPT)) {
		delivery->attempt = (uint16_t)clamped(number, UINT16_MAX);
	} else if (text_is(field->key, HEADER_SLICE)) {
		delivery->slice = clamped(number, UINT32_MAX);
	} else if (text_is(field->key, HEADER_RENEWED)) {
		delivery->renewed = (uint16_t)clamped(number, UINT16_MAX);
	} else if (text_is(field->key, HEADER_DELIVERY_COUNT)) {
		delivery->returns = clamped(number, UINT32_MAX);
	}
}

static bool read_headers(struct delivery *delivery, struct text table)
{
	if (table_check(table) != RC_OK)
		return false;
	delivery->headers = table;
	struct text rest = table;
	struct table_field field;
	while (table_next(&rest, true, &field))
		read_header(delivery, &field);
	return true;
}

void task_read_facts(struct delivery *delivery, uint64_t body_limit)
{
	struct properties properties;
	if (delivery->body.len > body_limit)
		delivery->unfit = REASON_TOO_LARGE;
	if (properties_parse(delivery->properties, &properties) != RC_OK) {
		delivery->unfit = REASON_BAD_HEADERS;
		return;
	}
	delivery->reply_to = properties.value[PROPERTY_REPLY_TO];
	delivery->correlation_id = properties.value[PROPERTY_CORRELATION_ID];
	delivery->message_id = properties.value[PROPERTY_MESSAGE_ID];
	if (!read_headers(delivery, properties.value[PROPERTY_HEADERS]))
		delivery->unfit = REASON_BAD_HEADERS;
}
