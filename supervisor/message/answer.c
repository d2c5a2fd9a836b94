#include "message/answer.h"

#include "base/buf.h"
#include "core/tasks/retry.h"
#include "message/copy.h"
#include "message/names.h"
#include "message/task.h"
#include "message/value_field.h"
#include "wire/value.h"

/* An answer as read from the frame; texts are borrowed from the frame. */
struct answer {
	struct text body, reply_queue, content_type;
	const uint8_t *headers; /* where their map begins; NULL: none */
	const uint8_t *end;
	bool has_status;
	int64_t status;
	uint64_t task_id;
	int64_t retry_after_ms, postpone_ms, hard_limit_ms;
	bool invalid;               /* it cannot be published */
	struct answer_fault *fault; /* borrowed; .what NULL: none */
};

/* The first fault counts. value: what came instead. */
static void refuse(struct answer *answer, const char *what, const struct wire_value *value)
{
	if (answer->fault->what)
		return;
	answer->fault->what = what;
	fault_detail_value(answer->fault->detail, value);
}

static bool is_status(int64_t status)
{
	return status == STATUS_PROGRESS || status == STATUS_ACCEPTED || status == STATUS_DONE ||
	       status == STATUS_REPLY || status == STATUS_DONE_LAST ||
	       (status >= STATUS_REJECTED && status < STATUS_REJECTED + 100) ||
	       (status >= STATUS_FAILED && status < STATUS_FAILED + 100);
}

static void read_text(
	struct answer *answer, const struct wire_value *value, struct text *ret, const char *what)
{
	if (value_is_text(value))
		*ret = value_text(value);
	else if (value->type == WIRE_NIL)
		*ret = TEXT_NONE;
	else
		refuse(answer, what, value);
}

/* The keys of the protocol; up to KEYS_OF_ARRAY also the places of an array's elements. */
enum answer_key {
	KEY_BODY,
	KEY_STATUS,
	KEY_HEADERS,
	KEY_REPLY_QUEUE,
	KEYS_OF_ARRAY,
	KEY_TASK_ID = 7,
};

static void read_status(struct answer *answer, const struct wire_value *value)
{
	answer->has_status = true;
	if (value->type == WIRE_INT && is_status(value->integer))
		answer->status = value->integer;
	else if (value->type == WIRE_INT || value->type == WIRE_UINT)
		refuse(answer, "an unknown status", value);
	else
		refuse(answer, "a status that is no integer", value);
}

static void read_task_id(struct answer *answer, const struct wire_value *value)
{
	answer->task_id = 0;
	if (value->type == WIRE_UINT)
		answer->task_id = value->uinteger;
	else if (value->type == WIRE_INT && value->integer > 0)
		answer->task_id = (uint64_t)value->integer;
	else if (value->type == WIRE_INT)
		refuse(answer, "an id of a task below 1", value);
	else if (value->type != WIRE_NIL)
		refuse(answer, "an id of a task that is no integer", value);
}

/* Some languages cannot distinguish an empty map from an empty array. */
static bool is_empty_map(const struct wire_value *value)
{
	return value->type == WIRE_NIL || (value->type == WIRE_ARRAY && value->count == 0);
}

static void read_headers_head(
	struct answer *answer, const uint8_t *start, const struct wire_value *value)
{
	if (value->type != WIRE_MAP && !is_empty_map(value))
		refuse(answer, "headers that are no map", value);
	answer->headers = value->type == WIRE_MAP ? start : NULL;
}

/* Read the value at *at under this key, and pass it; a key that is not ours is ignored. */
static void take_member(struct answer *answer, int64_t key, const uint8_t **at)
{
	const uint8_t *start = *at;
	struct wire_value value;
	if (wire_take_whole(at, answer->end, &value) != WIRE_OK)
		return;
	if (key == KEY_BODY)
		read_text(
			answer, &value, &answer->body, "a message that is neither text nor bytes");
	else if (key == KEY_STATUS)
		read_status(answer, &value);
	else if (key == KEY_HEADERS)
		read_headers_head(answer, start, &value);
	else if (key == KEY_REPLY_QUEUE)
		read_text(answer, &value, &answer->reply_queue, "a reply queue that is no text");
	else if (key == KEY_TASK_ID)
		read_task_id(answer, &value);
}

/* A digit, as text or as an integer; -1: any other text. False: it cannot be a key. */
static bool read_key(const struct wire_value *value, int64_t *ret)
{
	if (value->type == WIRE_INT && value->integer >= 0 && value->integer <= 9) {
		*ret = value->integer;
		return true;
	}
	if (!value_is_text(value))
		return false;
	struct text key = value_text(value);
	bool is_digit = key.len == 1 && *key.ptr >= '0' && *key.ptr <= '9';
	*ret = is_digit ? *key.ptr - '0' : -1;
	return true;
}

/* Read on behind a fault: the task's id may follow. */
static void read_map(struct answer *answer, const uint8_t *at, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct wire_value value;
		int64_t key = -1;
		if (wire_take_whole(&at, answer->end, &value) != WIRE_OK)
			return;
		if (!read_key(&value, &key))
			refuse(answer, "a key that is neither text nor 0 to 9", &value);
		take_member(answer, key, &at);
	}
}

static void read_array(struct answer *answer, const uint8_t *at, const struct wire_value *head)
{
	if (head->count > KEYS_OF_ARRAY)
		refuse(answer, "an array of more than four elements", head);
	for (uint32_t i = 0; i < head->count && !answer->fault->what; i++)
		take_member(answer, i, &at);
}

/* behind: the head of the frame. */
static void refuse_without_status(
	struct answer *answer, const uint8_t *behind, const struct wire_value *head)
{
	bool is_first = !answer->fault->what;
	refuse(answer, "an answer without a status", head);
	if (is_first && head->type == WIRE_MAP)
		fault_detail_keys(answer->fault->detail, behind, answer->end, head->count);
}

static void read_frame(struct answer *answer, struct text frame, bool bare_str_is_failure)
{
	const uint8_t *at = (const uint8_t *)frame.ptr;
	struct wire_value head;
	answer->end = at + frame.len;
	enum wire_check_result checked = wire_check(at, frame.len);
	if (checked != WIRE_OK || wire_take(&at, answer->end, &head) != WIRE_OK) {
		answer->fault->what = wire_check_words(checked);
		fault_detail_frame(answer->fault->detail, frame);
		return;
	}
	if (head.type == WIRE_STR && bare_str_is_failure) {
		answer->status = STATUS_FAILED;
		answer->body = value_text(&head);
		return;
	}
	if (head.type == WIRE_MAP)
		read_map(answer, at, head.count);
	else if (head.type == WIRE_ARRAY)
		read_array(answer, at, &head);
	else
		refuse(answer, "a frame that is no map", &head);
	if (!answer->has_status)
		refuse_without_status(answer, at, &head);
}

/* A number of milliseconds of any type, or its digits as text; -1: none that is valid. */
static int64_t read_milliseconds(const uint8_t *at, const uint8_t *end)
{
	struct wire_value value;
	uint64_t number;
	if (wire_take(&at, end, &value) != WIRE_OK)
		return -1;
	if (value.type == WIRE_INT)
		return value.integer >= 0 ? value.integer : -1;
	if (value.type == WIRE_FLOAT)
		return value.number >= 0 && value.number < 9e15 ? (int64_t)value.number : -1;
	if (value_is_text(&value) && text_read_decimal(value_text(&value), INT64_MAX, &number))
		return (int64_t)number;
	return -1;
}

static int64_t read_hard_limit(const uint8_t *at, const uint8_t *end)
{
	int64_t limit = read_milliseconds(at, end);
	return limit > 0 && limit <= OUTPUT_HARD_LIMIT_MAX ? limit : 0;
}

/* Too short is made longer, so it is never too early. Too long is none: the task fails, and that is
 * seen. */
static int64_t limit_postpone(int64_t asked_ms)
{
	if (asked_ms < 0 || asked_ms > WAIT_ASKED_MAX_MS)
		return -1;
	return asked_ms > WAIT_ASKED_MIN_MS ? asked_ms : WAIT_ASKED_MIN_MS;
}

static void read_header(struct answer *answer, struct value_reader *reader, struct text key)
{
	if (text_is(key, HEADER_RETRY_AFTER))
		answer->retry_after_ms = read_milliseconds(reader->at, reader->end);
	if (text_is(key, HEADER_POSTPONE))
		answer->postpone_ms = limit_postpone(read_milliseconds(reader->at, reader->end));
	if (answer->status == STATUS_PROGRESS && text_is(key, HEADER_HARD_LIMIT))
		answer->hard_limit_ms = read_hard_limit(reader->at, reader->end);
	if (text_is(key, HEADER_CONTENT_TYPE)) {
		/* In AMQP this is a property; it is not repeated as a header. */
		const uint8_t *peek = reader->at;
		struct wire_value value = {.type = WIRE_NIL};
		(void)wire_take(&peek, reader->end, &value);
		answer->content_type = TEXT_NONE;
		if (!value_take_text(reader, &answer->content_type) && value.type != WIRE_NIL)
			answer->invalid = true;
	} else if (name_is_stripped(key)) {
		wire_skip(&reader->at, reader->end);
	} else {
		value_put_field(reader, key);
	}
}

/* Write the worker's headers into out as an AMQP table. If AMQP cannot express a value, or the
 * table is too large to be read back, the answer becomes invalid and the table empty. */
static void read_headers(struct answer *answer, uint32_t size_max, struct buf *out)
{
	struct value_reader reader = {answer->headers, answer->end, out, size_max, false};
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
	if (out->failed)
		return;
	struct text table = buf_text(out);
	if (reader.invalid || !reply_headers_fit(table)) {
		answer->invalid = true;
		buf_truncate(out, 0);
	}
}

static struct text keep(uint8_t **at, struct text t)
{
	struct text kept = text_copy(*at, t);
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
	output->task_id = answer->task_id;
	output->status = (int32_t)answer->status;
	output->body = keep(&at, answer->body);
	output->headers = keep(&at, headers);
	output->reply_queue = keep(&at, answer->reply_queue);
	output->content_type = keep(&at, answer->content_type);
	output->invalid = answer->invalid ? REASON_REPLY_INVALID : REASON_NONE;
	output->retry_after_ms = answer->retry_after_ms;
	output->postpone_ms = answer->postpone_ms;
	output->hard_limit_ms = answer->hard_limit_ms;
	struct table_field timeout;
	if (output->reply_queue.len > 0 && table_find(output->headers, HEADER_TIMEOUT, &timeout))
		output->soft_ms = task_read_timeout(&timeout);
	return output;
}

enum rc answer_read(struct text frame, const struct answer_limits *limits, struct output **ret,
	struct answer_fault *ret_fault)
{
	struct answer_fault fault; /* not cleared: most answers have none */
	fault.what = NULL;
	struct answer answer = {
		.retry_after_ms = -1, .postpone_ms = -1, .hard_limit_ms = -1, .fault = &fault};
	read_frame(&answer, frame, limits->bare_str_is_failure);
	if (fault.what) {
		fault.task_id = answer.task_id;
		*ret_fault = fault;
		return RC_MALFORMED;
	}
	struct buf headers;
	buf_init(&headers, SIZE_MAX);
	read_headers(&answer, limits->header_bytes, &headers);
	if (answer.reply_queue.len > SHORT_STRING_MAX || answer.content_type.len > SHORT_STRING_MAX)
		answer.invalid = true;
	if (answer.body.len > limits->body_bytes) {
		answer.invalid = true;
		answer.body = TEXT_NONE;
	}
	struct output *output = headers.failed ? NULL : output_of(&answer, buf_text(&headers));
	buf_release(&headers);
	if (!output)
		return RC_MEMORY;
	*ret = output;
	return RC_OK;
}
