#include "message/answer.h"

#include "base/buf.h"
#include "message/copy.h"
#include "message/names.h"
#include "message/value_field.h"
#include "wire/value.h"

#define SHORT_STRING_MAX 255

/* The frame's parts, as they lie in it. */
struct answer {
	struct text body, reply_queue, content_type;
	const uint8_t *headers; /* the head of the map; NULL: none */
	const uint8_t *end;
	bool has_status;
	int64_t status;
	int64_t retry_after_ms;
	bool invalid;
	const char *what; /* why it is no answer at all */
};

static bool is_status(int64_t status)
{
	return status == STATUS_PROGRESS || status == STATUS_DONE || status == STATUS_REPLY ||
	       (status >= STATUS_REJECTED && status < STATUS_REJECTED + 100) ||
	       (status >= STATUS_FAILED && status < STATUS_FAILED + 100);
}

static bool is_text(const struct wire_value *value)
{
	return value->type == WIRE_STR || value->type == WIRE_BIN;
}

static void read_text(
	struct answer *answer, const struct wire_value *value, struct text *ret, const char *what)
{
	if (is_text(value))
		*ret = text_of(value->bytes.ptr, value->bytes.len);
	else if (value->type == WIRE_NIL)
		*ret = TEXT_NONE;
	else
		answer->what = what;
}

static void read_status(struct answer *answer, const struct wire_value *value)
{
	answer->has_status = true;
	if (value->type == WIRE_INT && is_status(value->integer))
		answer->status = value->integer;
	else if (value->type == WIRE_INT || value->type == WIRE_UINT)
		answer->what = "an unknown status";
	else
		answer->what = "a status that is no integer";
}

static void read_member(struct answer *answer, struct text key, const uint8_t *start,
	const struct wire_value *value)
{
	if (text_is(key, TEXT("0"))) {
		read_text(answer, value, &answer->body, "a message that is neither text nor bytes");
	} else if (text_is(key, TEXT("1"))) {
		read_status(answer, value);
	} else if (text_is(key, TEXT("2"))) {
		if (value->type != WIRE_MAP && value->type != WIRE_NIL)
			answer->what = "headers that are no map";
		answer->headers = value->type == WIRE_MAP ? start : NULL;
	} else if (text_is(key, TEXT("3"))) {
		read_text(answer, value, &answer->reply_queue, "a reply queue that is no text");
	}
}

static void read_members(struct answer *answer, const uint8_t *at, uint32_t count)
{
	for (uint32_t i = 0; i < count && !answer->what; i++) {
		struct wire_value key, value;
		if (wire_take(&at, answer->end, &key) != WIRE_OK || !is_text(&key)) {
			answer->what = "a key that is no text";
			return;
		}
		const uint8_t *start = at, *peek = at;
		if (wire_take(&peek, answer->end, &value) == WIRE_OK)
			read_member(answer, text_of(key.bytes.ptr, key.bytes.len), start, &value);
		wire_skip(&at, answer->end);
	}
	if (!answer->what && !answer->has_status)
		answer->what = "an answer without a status";
}

static void read_frame(struct answer *answer, struct text frame, bool bare_str_is_failure)
{
	const uint8_t *at = (const uint8_t *)frame.ptr;
	struct wire_value head;
	answer->end = at + frame.len;
	enum wire_check_result checked = wire_check(at, frame.len);
	if (checked != WIRE_OK || wire_take(&at, answer->end, &head) != WIRE_OK) {
		answer->what = wire_check_words(checked);
	} else if (head.type == WIRE_MAP) {
		read_members(answer, at, head.count);
	} else if (head.type == WIRE_STR && bare_str_is_failure) {
		answer->status = STATUS_FAILED;
		answer->body = text_of(head.bytes.ptr, head.bytes.len);
	} else {
		answer->what = "a frame that is no map";
	}
}

/* Digits only; anything else, and what an int64 cannot hold, is no wish. */
static int64_t milliseconds_of(struct text digits)
{
	int64_t number = 0;
	for (size_t i = 0; i < digits.len; i++) {
		int digit = digits.ptr[i] - '0';
		if (digit < 0 || digit > 9 || number > (INT64_MAX - digit) / 10)
			return -1;
		number = number * 10 + digit;
	}
	return digits.len > 0 ? number : -1;
}

static int64_t read_retry_after(const uint8_t *at, const uint8_t *end)
{
	struct wire_value value;
	if (wire_take(&at, end, &value) != WIRE_OK)
		return -1;
	if (value.type == WIRE_INT)
		return value.integer >= 0 ? value.integer : -1;
	if (value.type == WIRE_FLOAT)
		return value.number >= 0 && value.number < 9e15 ? (int64_t)value.number : -1;
	return is_text(&value) ? milliseconds_of(text_of(value.bytes.ptr, value.bytes.len)) : -1;
}

/* content-type is a property in AMQP and is not repeated as a header. */
static void read_content_type(struct answer *answer, struct value_reader *reader)
{
	const uint8_t *peek = reader->at;
	struct wire_value value;
	bool is_nil = wire_take(&peek, reader->end, &value) == WIRE_OK && value.type == WIRE_NIL;
	answer->content_type = TEXT_NONE;
	if (!value_take_text(reader, &answer->content_type) && !is_nil)
		answer->invalid = true;
}

static void read_header(struct answer *answer, struct value_reader *reader, struct text key)
{
	if (text_is(key, HEADER_RETRY_AFTER))
		answer->retry_after_ms = read_retry_after(reader->at, reader->end);
	if (text_is(key, HEADER_CONTENT_TYPE))
		read_content_type(answer, reader);
	else if (name_is_stripped(key))
		wire_skip(&reader->at, reader->end);
	else
		value_put_field(reader, key);
}

static bool is_readable(struct text table)
{
	return table_check(table) == RC_OK && table_count(table, true) <= REPLY_FIELDS_MAX;
}

/* The worker's headers as an AMQP table into out. What cannot be put into AMQP, or what we could
 * not read back, makes the answer invalid and the table empty. */
static void read_headers(struct answer *answer, uint32_t room, struct buf *out)
{
	struct value_reader reader = {answer->headers, answer->end, out, room, false};
	struct wire_value head;
	if (!answer->headers || wire_take(&reader.at, reader.end, &head) != WIRE_OK)
		return;
	for (uint32_t i = 0; i < head.count && !reader.invalid && !out->failed; i++) {
		struct text key;
		if (!value_take_text(&reader, &key)) {
			reader.invalid = true;
			break;
		}
		read_header(answer, &reader, key);
	}
	if (out->failed || (!reader.invalid && is_readable(buf_text(out))))
		return;
	answer->invalid = true;
	buf_truncate(out, 0);
}

static void judge(struct answer *answer, const struct answer_limits *limits)
{
	if (answer->reply_queue.len > SHORT_STRING_MAX ||
		answer->content_type.len > SHORT_STRING_MAX)
		answer->invalid = true;
	if (answer->body.len > limits->body_bytes) {
		answer->invalid = true;
		answer->body = TEXT_NONE;
	}
}

static struct text keep(uint8_t **at, struct text t)
{
	struct text kept = text_of(*at, t.len);
	if (t.len > 0)
		memcpy(*at, t.ptr, t.len);
	*at += t.len;
	return kept;
}

static struct output *output_of(const struct answer *answer, struct text headers)
{
	struct output *output = output_new(answer->body.len + headers.len +
					   answer->reply_queue.len + answer->content_type.len);
	if (!output)
		return NULL;
	uint8_t *at = output->bytes;
	output->status = (int32_t)answer->status;
	output->body = keep(&at, answer->body);
	output->headers = keep(&at, headers);
	output->reply_queue = keep(&at, answer->reply_queue);
	output->content_type = keep(&at, answer->content_type);
	output->invalid = answer->invalid ? REASON_REPLY_INVALID : REASON_NONE;
	output->retry_after_ms = answer->retry_after_ms;
	return output;
}

enum rc answer_read(struct text frame, const struct answer_limits *limits, struct output **ret,
	const char **ret_what)
{
	struct answer answer = {.retry_after_ms = -1};
	read_frame(&answer, frame, limits->bare_str_is_failure);
	if (answer.what) {
		*ret_what = answer.what;
		return RC_MALFORMED;
	}
	struct buf headers;
	buf_init(&headers, SIZE_MAX);
	read_headers(&answer, limits->header_bytes, &headers);
	judge(&answer, limits);
	struct output *output = headers.failed ? NULL : output_of(&answer, buf_text(&headers));
	buf_release(&headers);
	if (!output)
		return RC_MEMORY;
	*ret = output;
	return RC_OK;
}
