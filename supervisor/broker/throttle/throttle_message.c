#include "broker/throttle/throttle_message.h"

#include "amqp/properties.h"
#include "core/throttle/throttle.h"
#include "message/names.h"
#include "message/pack.h"
#include "wire/value.h"

#define VERSION   1
#define TRANSIENT TEXT("\1")

/* ---------- the layout ---------- */

/* An element of the array, and the member of a struct that has its value. */
struct field {
	size_t offset, size;
	uint64_t min, max;
	const char *why; /* it is refused */
};

#define FIELD(type, member, name, min, max)                                                        \
	{                                                                                          \
		offsetof(type, member), sizeof(((type *)NULL)->member), min, (uint64_t)(max),      \
			name " is no number, or out of its range"                                  \
	}

struct fields {
	const struct field *of; /* in the order of the array */
	size_t count;
};

#define FIELDS(list)                                                                               \
	{                                                                                          \
		list, sizeof(list) / sizeof *(list)                                                \
	}

/* Elements that are repeated for each struct of an array. */
struct rows {
	size_t count_offset; /* of a uint32_t */
	size_t offset, size; /* of the first struct, and of each */
	struct fields fields;
};

#define ROWS(type, counter, array, fields)                                                         \
	{                                                                                          \
		offsetof(type, counter), offsetof(type, array), sizeof *((type *)NULL)->array,     \
			FIELDS(fields)                                                             \
	}

#define ROWS_MAX 2

struct layout {
	enum throttle_message kind;
	const char *why; /* another kind is refused */
	struct fields fields;
	size_t rows_count;
	struct rows rows[ROWS_MAX];
};

static const struct field unused_fields[] = {
	FIELD(struct unused, key, "an unused key", 0, UINT64_MAX),
	FIELD(struct unused, stamp, "an unused key's stamp", 0, THROTTLE_STAMP_MAX),
	FIELD(struct unused, starts, "an unused key's starts", 0, THROTTLE_LIMIT_MAX),
};

static const struct field wanted_fields[] = {
	FIELD(struct wanted, key, "a key", 0, UINT64_MAX),
	FIELD(struct wanted, starts, "a key's starts", 0, THROTTLE_LIMIT_MAX),
	FIELD(struct wanted, late, "a key's late", 0, THROTTLE_LIMIT_MAX),
};

static const struct field granted_fields[] = {
	FIELD(struct granted, key, "a key", 0, UINT64_MAX),
	FIELD(struct granted, starts, "a key's starts", 0, THROTTLE_LIMIT_MAX),
	FIELD(struct granted, wait, "a key's wait", 0, THROTTLE_WAIT_MAX),
	FIELD(struct granted, is_unsure, "a key's is_unsure", 0, 1),
};

#define FIELDS_OF_FIGURES(type)                                                                    \
	FIELD(type, figures.version, "its version of the figures", 0, SHARED_VERSION_MAX),         \
		FIELD(type, figures.limit, "its limit", 1, THROTTLE_LIMIT_MAX),                    \
		FIELD(type, figures.period, "its period", SHARED_PERIOD_MIN, SHARED_PERIOD_MAX)

static const struct field request_fields[] = {
	FIELD(struct throttle_request, member, "its member", 1, UINT64_MAX),
	FIELD(struct throttle_request, number, "its number", 1, UINT64_MAX),
	FIELD(struct throttle_request, lease, "its lease", 1, LEASE_MAX),
	FIELDS_OF_FIGURES(struct throttle_request),
	FIELD(struct throttle_request, leader, "its leader", 0, UINT64_MAX),
	FIELD(struct throttle_request, unused_count, "its count of unused keys", 0,
		REQUEST_KEYS_MAX),
	FIELD(struct throttle_request, count, "its count of keys", 0, REQUEST_KEYS_MAX),
};

static const struct layout request_layout = {THROTTLE_REQUEST, "it is no request",
	FIELDS(request_fields), 2,
	{ROWS(struct throttle_request, unused_count, unused, unused_fields),
		ROWS(struct throttle_request, count, keys, wanted_fields)}};

static const struct field answer_fields[] = {
	FIELD(struct throttle_answer, leader, "its leader", 1, UINT64_MAX),
	FIELD(struct throttle_answer, member, "its member", 1, UINT64_MAX),
	FIELD(struct throttle_answer, number, "its number", 1, UINT64_MAX),
	FIELDS_OF_FIGURES(struct throttle_answer),
	FIELD(struct throttle_answer, stamp, "its stamp", 0, THROTTLE_STAMP_MAX),
	FIELD(struct throttle_answer, in_windows, "its in_windows", 0, UINT64_MAX),
	FIELD(struct throttle_answer, keys_known, "its keys_known", 0, UINT32_MAX),
	FIELD(struct throttle_answer, count, "its count of keys", 0, REQUEST_KEYS_MAX),
};

static const struct layout answer_layout = {THROTTLE_ANSWER, "it is no answer",
	FIELDS(answer_fields), 1, {ROWS(struct throttle_answer, count, keys, granted_fields)}};

struct only_id {
	uint64_t id;
};

static const struct field leave_fields[] = {FIELD(struct only_id, id, "its leader", 1, UINT64_MAX)};
static const struct field take_fields[] = {FIELD(struct only_id, id, "its member", 1, UINT64_MAX)};

static const struct layout leave_layout = {
	THROTTLE_LEAVE, "no leader leaves in it", FIELDS(leave_fields), 0, {{0}}};
static const struct layout take_layout = {
	THROTTLE_TAKE, "it takes nothing over", FIELDS(take_fields), 0, {{0}}};

static const struct field handed_fields[] = {
	FIELD(struct handed_starts, key, "a key", 0, UINT64_MAX),
	FIELD(struct handed_starts, starts, "a key's starts", 0, THROTTLE_LIMIT_MAX),
	FIELD(struct handed_starts, after, "the time of a key's starts", 0, THROTTLE_WAIT_MAX),
};

static const struct field handover_fields[] = {
	FIELD(struct throttle_handover, leader, "its leader", 1, UINT64_MAX),
	FIELD(struct throttle_handover, member, "its member", 1, UINT64_MAX),
	FIELDS_OF_FIGURES(struct throttle_handover),
	FIELD(struct throttle_handover, sure_for, "its sure_for", 0, SHARED_PERIOD_MAX),
	FIELD(struct throttle_handover, count, "its count of starts", 0, HANDOVER_STARTS_MAX),
};

static const struct layout handover_layout = {THROTTLE_HANDOVER, "it hands nothing over",
	FIELDS(handover_fields), 1, {ROWS(struct throttle_handover, count, of, handed_fields)}};

/* An integer has at most nine bytes. */
_Static_assert((ROWS_MAX * 3 * REQUEST_KEYS_MAX + 64) * 9 < THROTTLE_MESSAGE_MAX, "request");
_Static_assert((4 * REQUEST_KEYS_MAX + 64) * 9 < THROTTLE_MESSAGE_MAX, "answer");
_Static_assert((3 * HANDOVER_STARTS_MAX + 64) * 9 < THROTTLE_HANDOVER_MAX, "handover");

/* ---------- values in structs ---------- */

static uint64_t value_at(const void *at, size_t size)
{
	uint64_t eight = 0;
	uint32_t four;
	uint8_t one;

	if (size == sizeof one) {
		memcpy(&one, at, sizeof one);
		return one;
	}
	if (size == sizeof four) {
		memcpy(&four, at, sizeof four);
		return four;
	}
	memcpy(&eight, at, sizeof eight);
	return eight;
}

static void set_value_at(void *at, size_t size, uint64_t value)
{
	uint32_t four = (uint32_t)value;
	uint8_t one = (uint8_t)value;

	if (size == sizeof one)
		memcpy(at, &one, sizeof one);
	else if (size == sizeof four)
		memcpy(at, &four, sizeof four);
	else
		memcpy(at, &value, sizeof value);
}

static uint32_t count_of(const struct rows *rows, const void *object)
{
	return (uint32_t)value_at((const char *)object + rows->count_offset, sizeof(uint32_t));
}

/* How many elements the array of the object has. */
static uint64_t elements_of(const struct layout *layout, const void *object)
{
	uint64_t elements = 2 + layout->fields.count;

	for (size_t i = 0; i < layout->rows_count; i++)
		elements +=
			(uint64_t)count_of(&layout->rows[i], object) * layout->rows[i].fields.count;
	return elements;
}

/* ---------- writing ---------- */

static enum rc write_fields(const struct fields *fields, const void *object, msgpack_packer *packer)
{
	for (size_t i = 0; i < fields->count; i++) {
		const struct field *field = &fields->of[i];
		uint64_t value = value_at((const char *)object + field->offset, field->size);
		if (value < field->min || value > field->max)
			return RC_LIMIT;
		msgpack_pack_uint64(packer, value);
	}
	return RC_OK;
}

static enum rc write_rows(const struct rows *rows, const void *object, msgpack_packer *packer)
{
	uint32_t count = count_of(rows, object);
	enum rc rc = RC_OK;

	for (uint32_t i = 0; rc == RC_OK && i < count; i++)
		rc = write_fields(&rows->fields,
			(const char *)object + rows->offset + i * rows->size, packer);
	return rc;
}

static enum rc write_body(const struct layout *layout, const void *object, struct buf *out)
{
	msgpack_packer packer;
	enum rc rc;

	pack_init(&packer, out);
	msgpack_pack_array(&packer, (size_t)elements_of(layout, object));
	msgpack_pack_uint64(&packer, VERSION);
	msgpack_pack_uint64(&packer, layout->kind);
	rc = write_fields(&layout->fields, object, &packer);
	for (size_t i = 0; rc == RC_OK && i < layout->rows_count; i++)
		rc = write_rows(&layout->rows[i], object, &packer);
	return rc;
}

static enum rc write_message(const struct layout *layout, const void *object,
	struct properties *properties, struct text routing_key, struct buf *scratch,
	struct amqp_publish *ret)
{
	size_t len;
	enum rc rc;

	if (routing_key.len > SHORT_STRING_MAX)
		return RC_LIMIT;
	properties_set(properties, PROPERTY_DELIVERY_MODE, TRANSIENT);
	properties_set(properties, PROPERTY_TYPE, THROTTLE_MESSAGE_TYPE);
	buf_clear(scratch);
	properties_write(properties, scratch);
	len = buf_len(scratch);
	rc = write_body(layout, object, scratch);
	if (rc != RC_OK)
		return rc;
	if (scratch->failed)
		return RC_MEMORY;
	*ret = (struct amqp_publish){.routing_key = routing_key,
		.properties = text_of(buf_text(scratch).ptr, len),
		.body = text_of(buf_text(scratch).ptr + len, buf_len(scratch) - len)};
	return RC_OK;
}

/* For the queue, in which it is answered within its lifetime or not at all. */
static enum rc write_to_queue(const struct layout *layout, const void *object, mtime lifetime,
	struct text queue, struct buf *scratch, struct amqp_publish *ret)
{
	struct properties properties = {0};
	char digits[TEXT_DECIMAL_MAX];
	uint64_t span = (uint64_t)lifetime;

	properties_set(&properties, PROPERTY_REPLY_TO, DIRECT_REPLY_TO);
	properties_set(&properties, PROPERTY_EXPIRATION,
		text_decimal(span / MTIME_MS + (span % MTIME_MS > 0), digits));
	return write_message(layout, object, &properties, queue, scratch, ret);
}

enum rc throttle_request_write(const struct throttle_request *request, struct text queue,
	struct buf *scratch, struct amqp_publish *ret)
{
	return write_to_queue(&request_layout, request, request->lease, queue, scratch, ret);
}

enum rc throttle_leave_write(uint64_t id, mtime lifetime, struct text queue, struct buf *scratch,
	struct amqp_publish *ret)
{
	return write_to_queue(&leave_layout, &(struct only_id){id}, lifetime, queue, scratch, ret);
}

enum rc throttle_take_write(
	uint64_t id, struct text reply_to, struct buf *scratch, struct amqp_publish *ret)
{
	struct properties properties = {0};

	properties_set(&properties, PROPERTY_REPLY_TO, DIRECT_REPLY_TO);
	return write_message(
		&take_layout, &(struct only_id){id}, &properties, reply_to, scratch, ret);
}

enum rc throttle_handover_write(const struct throttle_handover *handover, struct text reply_to,
	struct buf *scratch, struct amqp_publish *ret)
{
	struct properties properties = {0};

	return write_message(&handover_layout, handover, &properties, reply_to, scratch, ret);
}

enum rc throttle_answer_write(const struct throttle_answer *answer, struct text reply_to,
	struct buf *scratch, struct amqp_publish *ret)
{
	struct properties properties = {0};

	return write_message(&answer_layout, answer, &properties, reply_to, scratch, ret);
}

/* ---------- reading ---------- */

struct reader {
	const uint8_t *at, *end;
};

static const char cut[] = "it ends too early";

/* NULL, or a static text: why there is none. */
static const char *take_number(struct reader *reader, const char *why, uint64_t *ret)
{
	struct wire_value value;
	enum wire_check_result taken = wire_take(&reader->at, reader->end, &value);

	if (taken != WIRE_OK)
		return taken == WIRE_CUT ? cut : why;
	if (value.type == WIRE_UINT)
		*ret = value.uinteger;
	else if (value.type == WIRE_INT && value.integer >= 0)
		*ret = (uint64_t)value.integer;
	else
		return why;
	return NULL;
}

static const char *read_fields(struct reader *reader, const struct fields *fields, void *object)
{
	for (size_t i = 0; i < fields->count; i++) {
		const struct field *field = &fields->of[i];
		uint64_t value;
		const char *why = take_number(reader, field->why, &value);
		if (why)
			return why;
		if (value < field->min || value > field->max)
			return field->why;
		set_value_at((char *)object + field->offset, field->size, value);
	}
	return NULL;
}

static const char *read_rows(struct reader *reader, const struct rows *rows, void *object)
{
	uint32_t count = count_of(rows, object);
	const char *why = NULL;

	for (uint32_t i = 0; !why && i < count; i++)
		why = read_fields(
			reader, &rows->fields, (char *)object + rows->offset + i * rows->size);
	return why;
}

/* The number of elements, the version of the protocol, and the kind. */
static const char *read_head(
	struct reader *reader, const struct layout *layout, uint32_t *ret_elements)
{
	struct wire_value head;
	uint64_t version, kind;
	const char *why;
	enum wire_check_result taken = wire_take(&reader->at, reader->end, &head);

	if (taken == WIRE_CUT)
		return cut;
	if (taken != WIRE_OK || head.type != WIRE_ARRAY)
		return "it is no array of MessagePack";
	why = take_number(reader, "its version of the protocol is no number", &version);
	if (why)
		return why;
	if (version != VERSION)
		return "it is of another version of wpool";
	why = take_number(reader, layout->why, &kind);
	if (!why && kind != layout->kind)
		why = layout->why;
	*ret_elements = head.count;
	return why;
}

static const char *read_message(struct text body, const struct layout *layout, void *object)
{
	struct reader reader;
	uint32_t elements;
	const char *why;

	if (body.len == 0) /* there may be no block to point into */
		return cut;
	if (body.len >
		(layout->kind == THROTTLE_HANDOVER ? THROTTLE_HANDOVER_MAX : THROTTLE_MESSAGE_MAX))
		return "it is too large";
	reader.at = (const uint8_t *)body.ptr;
	reader.end = reader.at + body.len;
	why = read_head(&reader, layout, &elements);
	if (!why)
		why = read_fields(&reader, &layout->fields, object);
	if (!why && elements != elements_of(layout, object))
		why = "its array has another length than its counts require";
	for (size_t i = 0; !why && i < layout->rows_count; i++)
		why = read_rows(&reader, &layout->rows[i], object);
	if (!why && reader.at != reader.end)
		why = "more bytes follow its array";
	return why;
}

const char *throttle_request_read(struct text body, struct throttle_request *ret)
{
	return read_message(body, &request_layout, ret);
}

const char *throttle_answer_read(struct text body, struct throttle_answer *ret)
{
	return read_message(body, &answer_layout, ret);
}

const char *throttle_leave_read(struct text body, uint64_t *ret_id)
{
	return read_message(body, &leave_layout, ret_id);
}

const char *throttle_take_read(struct text body, uint64_t *ret_id)
{
	return read_message(body, &take_layout, ret_id);
}

const char *throttle_handover_read(struct text body, struct throttle_handover *ret)
{
	return read_message(body, &handover_layout, ret);
}

enum throttle_message throttle_message_kind(struct text body)
{
	struct reader reader = {.at = (const uint8_t *)body.ptr};
	struct wire_value head;
	uint64_t version, kind;

	reader.end = reader.at + body.len;
	if (body.len == 0 || wire_take(&reader.at, reader.end, &head) != WIRE_OK ||
		head.type != WIRE_ARRAY || take_number(&reader, cut, &version) ||
		take_number(&reader, cut, &kind) || kind > THROTTLE_NO_MESSAGE)
		return THROTTLE_NO_MESSAGE;
	return (enum throttle_message)kind;
}
