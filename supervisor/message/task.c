#include "message/task.h"

#include "amqp/properties.h"
#include "amqp/table.h"
#include "base/utf8.h"
#include "message/field_text.h"
#include "message/names.h"
#include "message/pack.h"
#include "message/rest.h"
#include "wire/frame.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const char *const task_body_words[] = {
	[TASK_BODY_AUTO] = "auto", [TASK_BODY_STR] = "str", [TASK_BODY_BIN] = "bin", NULL};
const char *const task_headers_words[] = {
	[TASK_HEADERS_TEXT] = "text", [TASK_HEADERS_TYPED] = "typed", NULL};

/* ---------- what the pool knows of a delivery ---------- */

/* Upper bound of a soft limit in milliseconds: longer than any wait, and far from an overflow. */
#define TIMEOUT_DIGITS 15
#define TIMEOUT_LIMIT  ((int64_t)1000000000000000)

#define MS_PER_SECOND 1000
#define TIME_LIMIT    9e18 /* below INT64_MAX */

static uint32_t clamped(int64_t value, uint32_t max)
{
	if (value < 0)
		return 0;
	return value > max ? max : (uint32_t)value;
}

int64_t task_read_timeout(const struct table_field *field)
{
	int64_t number;
	uint64_t digits;
	if (table_field_integer(field, &number))
		return number > 0 && number < TIMEOUT_LIMIT ? number : -1;
	if (field->type == 'f' || field->type == 'd') {
		double value = field_double(field);
		return value >= 1 && value < (double)TIMEOUT_LIMIT ? (int64_t)value : -1;
	}
	if (field->type != 'S' || field->value.len > TIMEOUT_DIGITS ||
		!text_read_decimal(field->value, TIMEOUT_LIMIT - 1, &digits))
		return -1;
	return digits > 0 ? (int64_t)digits : -1;
}

/* Not too early. */
static int64_t rounded_up(double value)
{
	int64_t whole = (int64_t)value;
	return whole + (value > (double)whole);
}

/* Digits, with or without a fraction: a worker that hands a task back has a double as text. */
static bool read_decimal(struct text text, uint64_t *ret)
{
	const char *point = memchr(text.ptr, '.', text.len);
	uint64_t fraction = 0;
	struct text whole = text;
	if (point) {
		whole.len = (size_t)(point - text.ptr);
		struct text rest = text_of(point + 1, text.len - whole.len - 1);
		if (!text_read_decimal(rest, INT64_MAX, &fraction))
			return false;
	}
	if (!text_read_decimal(whole, INT64_MAX, ret))
		return false;
	*ret += fraction > 0 && *ret < INT64_MAX;
	return true;
}

/* The time in a header, in milliseconds since 1970: an AMQP timestamp, which has seconds; or
 * milliseconds as a number or its digits. -1: it is none of these, or before 1970. */
static int64_t read_time(const struct table_field *field)
{
	int64_t number;
	uint64_t digits;
	if (field->type == 'T')
		return table_field_integer(field, &number) && number >= 0 &&
				       number <= INT64_MAX / MS_PER_SECOND
			       ? number * MS_PER_SECOND
			       : -1;
	if (table_field_integer(field, &number))
		return number >= 0 ? number : -1;
	if (field->type == 'f' || field->type == 'd') {
		double value = field_double(field);
		return value >= 0 && value < TIME_LIMIT ? rounded_up(value) : -1;
	}
	bool is_read = field->type == 'S' && read_decimal(field->value, &digits);
	return is_read ? (int64_t)digits : -1;
}

/* Before which the task does not start; -1: it cannot be read. */
struct times {
	int64_t asked; /* by the publisher; 0: nothing */
	int64_t ours;
};

/* True if the header says that the latest attempt ended its worker. */
static bool ends_workers(const struct table_field *field)
{
	return field->type == 'S' &&
	       (text_is(field->value, text_from(reason_name(REASON_CRASHED))) ||
		       text_is(field->value, text_from(reason_name(REASON_TIMED_OUT))));
}

/* Any publisher may set a header of ours. So these decide only about their own message's attempts,
 * slices, renewals and time, and no header names a queue; a forged reason has the message run alone
 * in its worker, which only makes the pool slower. A wrong type is ignored, a wrong number is
 * brought into range. */
static void read_header(
	struct delivery *delivery, struct times *times, const struct table_field *field)
{
	int64_t number;
	if (text_is(field->key, HEADER_NOT_BEFORE)) {
		times->asked = read_time(field);
	} else if (text_is(field->key, HEADER_LATER)) {
		times->ours = read_time(field);
	} else if (text_is(field->key, HEADER_TIMEOUT)) {
		delivery->soft_ms = task_read_timeout(field);
	} else if (text_is(field->key, HEADER_REASON)) {
		delivery->is_suspect = ends_workers(field);
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

/* Ours goes before the publisher's: a worker has postponed the task. */
static void set_time(struct delivery *delivery, const struct times *times)
{
	delivery->is_time_ours = times->ours >= 0;
	delivery->not_before_ms = delivery->is_time_ours ? times->ours : times->asked;
	if (delivery->not_before_ms >= 0)
		return;
	delivery->not_before_ms = 0;
	if (!delivery->invalid)
		delivery->invalid = REASON_BAD_HEADERS;
}

static void read_headers(struct delivery *delivery, struct text table)
{
	struct times times = {.asked = 0, .ours = -1};
	struct table_field field;
	if (table_check(table) != RC_OK) {
		delivery->invalid = REASON_BAD_HEADERS;
		return;
	}
	delivery->headers = table;
	while (table_next(&table, true, &field))
		read_header(delivery, &times, &field);
	set_time(delivery, &times);
}

void task_read_facts(struct delivery *delivery, const struct task_facts_options *options)
{
	struct properties properties;
	if (delivery->body.len > options->body_limit)
		delivery->invalid = REASON_TOO_LARGE;
	if (properties_parse(delivery->properties, &properties) != RC_OK) {
		delivery->invalid = REASON_BAD_HEADERS;
		properties = (struct properties){0};
	}
	delivery->reply_to = properties.value[PROPERTY_REPLY_TO];
	delivery->correlation_id = properties.value[PROPERTY_CORRELATION_ID];
	delivery->message_id = properties.value[PROPERTY_MESSAGE_ID];
	read_headers(delivery, properties.value[PROPERTY_HEADERS]);
	if (options->key)
		session_key_read(delivery, &properties, options->key);
	if (options->throttles)
		throttle_keys_read(delivery, &properties, options->throttles);
}

/* ---------- which headers a worker gets ---------- */

/* Of fields whose keys are equal after invalid UTF-8 is repaired, only the last: AMQP peers send
 * tables with a key twice, and strict MessagePack decoders refuse such maps. Allocates nothing; the
 * time is bounded for any keys. */
struct shown {
	struct text table; /* borrowed */
	size_t count;
	uint32_t places[TABLE_FIELDS_MAX]; /* where each field begins, in the table's order */
};

static struct table_field field_at(struct text table, uint32_t place)
{
	struct text rest = text_of(table.ptr + place, table.len - place);
	struct table_field field = {0};
	(void)table_next(&rest, true, &field); /* cannot fail: table_check accepted it */
	return field;
}

static struct table_field shown_field(const struct shown *shown, size_t i)
{
	return field_at(shown->table, shown->places[i]);
}

static int compare_bytes(struct text a, struct text b)
{
	size_t len = a.len < b.len ? a.len : b.len;
	int order = len > 0 ? memcmp(a.ptr, b.ptr, len) : 0;
	return order ? order : (a.len > b.len) - (a.len < b.len);
}

static struct text take_repaired(struct text *rest)
{
	size_t len;
	bool is_good = utf8_first(*rest, &len);
	struct text character = is_good ? text_of(rest->ptr, len) : UTF8_REPLACEMENT;
	*rest = text_of(rest->ptr + len, rest->len - len);
	return character;
}

static int compare_repaired(struct text a, struct text b)
{
	if (utf8_is_valid(a) && utf8_is_valid(b))
		return compare_bytes(a, b);
	while (a.len > 0 && b.len > 0) {
		int order = compare_bytes(take_repaired(&a), take_repaired(&b));
		if (order)
			return order;
	}
	return (a.len > 0) - (b.len > 0);
}

static int compare_places(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

static int compare_fields(const void *a, const void *b, void *shown)
{
	struct text table = ((const struct shown *)shown)->table;
	int order = compare_repaired(field_at(table, *(const uint32_t *)a).key,
		field_at(table, *(const uint32_t *)b).key);
	return order ? order : compare_places(a, b);
}

/* Of fields with equal keys, keep the last. They are sorted, not hashed, because a publisher who
 * knows the hash could make each message take seconds. */
static void drop_shadowed(struct shown *shown)
{
	uint32_t sorted[TABLE_FIELDS_MAX];
	size_t kept = 0;
	memcpy(sorted, shown->places, shown->count * sizeof *sorted);
	qsort_r(sorted, shown->count, sizeof *sorted, compare_fields, shown);
	for (size_t i = 0; i < shown->count; i++) {
		bool is_last = i + 1 == shown->count ||
			       compare_repaired(field_at(shown->table, sorted[i]).key,
				       field_at(shown->table, sorted[i + 1]).key) != 0;
		if (is_last)
			sorted[kept++] = sorted[i];
	}
	if (kept == shown->count)
		return;
	qsort(sorted, kept, sizeof *sorted, compare_places);
	memcpy(shown->places, sorted, kept * sizeof *sorted);
	shown->count = kept;
}

/* table: accepted by table_check. with_stripped: include the fields of name_is_stripped. */
static void shown_find(struct shown *shown, struct text table, bool with_stripped)
{
	struct text rest = table;
	struct table_field field;
	shown->table = table;
	shown->count = 0;
	for (uint32_t place = 0; table_next(&rest, true, &field);
		place = (uint32_t)(table.len - rest.len)) {
		if (!with_stripped && name_is_stripped(field.key))
			continue;
		assert(shown->count < TABLE_FIELDS_MAX);
		shown->places[shown->count++] = place;
	}
	if (shown->count > 1)
		drop_shadowed(shown);
}

/* ---------- the frame for a worker ---------- */

/* Levels of WIRE_DEPTH_MAX that the frame's map and its map of headers take. */
#define OUTER_LEVELS 2

static void pack_key(msgpack_packer *packer, const char *key)
{
	pack_valid_text(packer, text_from(key));
}

static void pack_headers(
	msgpack_packer *packer, const struct task_options *options, struct text table)
{
	enum task_headers how = options->headers;
	struct shown shown;
	struct table_field found;
	shown_find(&shown, table, how == TASK_HEADERS_TYPED);
	bool adds_soft = options->soft_ms > 0 && !table_find(table, HEADER_TIMEOUT, &found);
	msgpack_pack_map(packer, shown.count + adds_soft);
	if (adds_soft) {
		char digits[TEXT_DECIMAL_MAX];
		pack_valid_text(packer, HEADER_TIMEOUT);
		if (how == TASK_HEADERS_TEXT)
			pack_valid_text(packer, text_decimal((uint64_t)options->soft_ms, digits));
		else
			msgpack_pack_int64(packer, options->soft_ms);
	}
	for (size_t i = 0; i < shown.count; i++) {
		struct table_field field = shown_field(&shown, i);
		pack_text(packer, field.key);
		if (how == TASK_HEADERS_TEXT)
			pack_field_text(packer, &field);
		else
			pack_field_typed(packer, &field, WIRE_DEPTH_MAX - OUTER_LEVELS);
	}
}

static void pack_number(msgpack_packer *packer, const char *key, uint64_t number)
{
	pack_key(packer, key);
	msgpack_pack_uint64(packer, number);
}

static const struct {
	const char *key;
	enum property property;
} text_properties[] = {
	{"message_id", PROPERTY_MESSAGE_ID},
	{"type", PROPERTY_TYPE},
	{"app_id", PROPERTY_APP_ID},
	{"content_type", PROPERTY_CONTENT_TYPE},
	{"content_encoding", PROPERTY_CONTENT_ENCODING},
	{"reply_to", PROPERTY_REPLY_TO},
};

#define TEXT_PROPERTIES (sizeof text_properties / sizeof *text_properties)

static size_t count_properties(const struct properties *properties, bool has_deadline)
{
	size_t count = 5; /* exchange, routing_key, redelivered, attempt, attempts */
	for (size_t i = 0; i < TEXT_PROPERTIES; i++)
		count += properties_has(properties, text_properties[i].property);
	count += properties_has(properties, PROPERTY_TIMESTAMP);
	count += properties_has(properties, PROPERTY_PRIORITY);
	return count + has_deadline;
}

static void pack_properties(msgpack_packer *packer, const struct delivery *delivery,
	const struct task_options *options, uint16_t attempt, int64_t deadline_ms)
{
	struct properties properties;
	if (properties_parse(delivery->properties, &properties) != RC_OK)
		properties = (struct properties){0};
	rest_set_properties(delivery, &properties);
	msgpack_pack_map(packer, count_properties(&properties, deadline_ms > 0));
	for (size_t i = 0; i < TEXT_PROPERTIES; i++) {
		if (!properties_has(&properties, text_properties[i].property))
			continue;
		pack_key(packer, text_properties[i].key);
		pack_text(packer, properties.value[text_properties[i].property]);
	}
	if (properties_has(&properties, PROPERTY_TIMESTAMP))
		pack_number(packer, "timestamp", properties_timestamp(&properties));
	if (properties_has(&properties, PROPERTY_PRIORITY))
		pack_number(packer, "priority", properties_octet(&properties, PROPERTY_PRIORITY));
	pack_key(packer, "exchange");
	pack_text(packer, delivery->exchange);
	pack_key(packer, "routing_key");
	pack_text(packer, delivery->routing_key);
	pack_key(packer, "redelivered");
	if (delivery->redelivered)
		msgpack_pack_true(packer);
	else
		msgpack_pack_false(packer);
	pack_number(packer, "attempt", attempt);
	pack_number(packer, "attempts", options->attempts);
	if (deadline_ms > 0)
		pack_number(packer, "deadline_ms", (uint64_t)deadline_ms);
}

/* How the body is packed. */
struct body_plan {
	struct text body;
	bool is_str, is_valid;
	bool is_left_out;
	size_t len;
	size_t at; /* where it begins in the buf's content */
};

static struct body_plan plan_body(
	const struct delivery *delivery, enum task_body how, const struct task_gap *gap)
{
	struct text body = rest_body(delivery);
	struct body_plan plan = {.body = body, .len = body.len};
	if (how != TASK_BODY_BIN) {
		plan.is_valid = utf8_is_valid(body);
		plan.is_str = plan.is_valid || how == TASK_BODY_STR;
	}
	if (plan.is_str && !plan.is_valid)
		plan.len = pack_repaired_len(body);
	else
		plan.is_left_out = gap && plan.len >= gap->size_min && !delivery->rest;
	return plan;
}

static bool has_id(const struct delivery *delivery, const struct task_options *options)
{
	return options->has_id && delivery->id > 0;
}

static bool has_key(const struct delivery *delivery)
{
	return delivery->key.len > 0;
}

static void pack_task_headers(
	msgpack_packer *packer, const struct delivery *delivery, const struct task_options *options)
{
	struct buf *out = packer->data, scratch;
	buf_init(&scratch, SIZE_MAX);
	pack_headers(packer, options, rest_headers(delivery, &scratch));
	out->failed |= scratch.failed;
	buf_release(&scratch);
}

static void pack_task(msgpack_packer *packer, const struct delivery *delivery,
	const struct task_options *options, struct body_plan *plan)
{
	struct buf *out = packer->data;
	msgpack_pack_map(
		packer, 4u + has_key(delivery) + options->properties + has_id(delivery, options));
	pack_key(packer, "0");
	if (plan->is_str)
		msgpack_pack_str(packer, plan->len);
	else
		msgpack_pack_bin(packer, plan->len);
	plan->at = buf_len(out);
	if (plan->is_str && !plan->is_valid)
		utf8_append_valid(out, plan->body);
	else if (!plan->is_left_out)
		buf_append_text(out, plan->body);
	pack_key(packer, "1");
	pack_text(packer, delivery->correlation_id);
	pack_key(packer, "2");
	pack_text(packer, options->queue);
	pack_key(packer, "3");
	pack_task_headers(packer, delivery, options);
	if (has_key(delivery)) {
		pack_key(packer, "4");
		pack_valid_text(packer, delivery->key);
	}
}

enum rc task_write(const struct delivery *delivery, const struct task_options *options,
	uint16_t attempt, int64_t deadline_ms, struct buf *out, struct task_gap *gap)
{
	struct body_plan body = plan_body(delivery, options->body, gap);
	if (body.len > options->frame_limit)
		return RC_LIMIT;
	size_t before = buf_len(out);
	buf_append_be32(out, 0);
	msgpack_packer packer;
	pack_init(&packer, out);
	pack_task(&packer, delivery, options, &body);
	if (options->properties) {
		pack_key(&packer, "6");
		pack_properties(&packer, delivery, options, attempt, deadline_ms);
	}
	if (has_id(delivery, options))
		pack_number(&packer, "7", delivery->id);
	size_t len = buf_len(out) - before - (out->failed ? 0 : WIRE_LENGTH_BYTES) +
		     (body.is_left_out ? body.len : 0);
	if (out->failed || len > options->frame_limit) {
		enum rc rc = out->failed ? RC_MEMORY : RC_LIMIT;
		buf_truncate(out, before);
		out->failed = false;
		return rc;
	}
	wire_put_length(out->bytes + out->head + before, (uint32_t)len);
	if (gap) {
		gap->body = body.is_left_out ? body.body : TEXT_NONE;
		gap->at = body.at - before;
	}
	return RC_OK;
}
