#include "check_worker/tasks.h"

#include "amqp/properties.h"
#include "amqp/table.h"
#include "wire/frame.h"

/* One entry for each AMQP type of RabbitMQ, ill-formed UTF-8, and names that a worker must not see
 * under headers: text. */
static const char headers_of_every_type[] = {"\4text"
					     "S\0\0\0\7gr\xc3\xbc\xc3\x9f"
					     "e"
					     "\5empty"
					     "S\0\0\0\0"
					     "\3bad"
					     "S\0\0\0\3a\xff"
					     "b"
					     "\4true"
					     "t\1"
					     "\4int8"
					     "b\xf9"
					     "\5uint8"
					     "B\xf9"
					     "\5int16"
					     "s\x80\0"
					     "\6uint16"
					     "u\xff\xff"
					     "\5int32"
					     "I\x80\0\0\0"
					     "\6uint32"
					     "i\xff\xff\xff\xff"
					     "\5int64"
					     "l\x80\0\0\0\0\0\0\0"
					     "\5float"
					     "f\x3f\x80\0\0"
					     "\6double"
					     "d\x3f\xb9\x99\x99\x99\x99\x99\x9a"
					     "\7decimal"
					     "D\2\0\0\4\xe2"
					     "\5bytes"
					     "x\0\0\0\3\0\xff\1"
					     "\4time"
					     "T\0\0\0\0\x65\0\0\0"
					     "\4void"
					     "V"
					     "\5array"
					     "A\0\0\0\10t\1V"
					     "I\0\0\0\7"
					     "\5table"
					     "F\0\0\0\4\1kt\1"
					     "\7x-death"
					     "t\1"
					     "\2CC"
					     "S\0\0\0\1q"
					     "\23"
					     "TimeoutMilliseconds"
					     "l\0\0\0\0\0\0\xea\x60"};

/* Values of every MessagePack type under keys that this version does not define. */
static const char unknown_keys[] = {"\xa1"
				    "8"
				    "\xc0"
				    "\xa1"
				    "9"
				    "\x8a"
				    "\xa1"
				    "a"
				    "\xc3"
				    "\xa1"
				    "b"
				    "\xd3\x80\0\0\0\0\0\0\0"
				    "\xa1"
				    "c"
				    "\xcf\xff\xff\xff\xff\xff\xff\xff\xff"
				    "\xa1"
				    "d"
				    "\xcb\x3f\xf0\0\0\0\0\0\0"
				    "\xa1"
				    "e"
				    "\xca\x3f\x80\0\0"
				    "\xa1"
				    "f"
				    "\xc4\2\0\xff"
				    "\xa1"
				    "g"
				    "\xd6\xff\x65\0\0\0"
				    "\xa1"
				    "h"
				    "\xc7\3\5"
				    "abc"
				    "\xa1"
				    "i"
				    "\x93\1\xd0\xff\x91\xa0"
				    "\xa1"
				    "j"
				    "\xdc\0\1\xde\0\1\xd9\1"
				    "k"
				    "\xcd\1\0"
				    "\xa5"
				    "later"
				    "\xa3"
				    "yes"};
#define UNKNOWN_KEYS 3

/* The header with the key of a session. */
#define SESSION_HEADER TEXT("session")

static struct text body_of(enum task_kind kind, const struct text *files, size_t file_count)
{
	switch (kind) {
	case TASK_EMPTY:
		return TEXT("");
	case TASK_TEXT:
		return TEXT("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x90\x87\n\ttwo lines \"'\\");
	case TASK_BINARY:
		return TEXT("\xff\0\x80\xc1\xfe\r\n\x1a");
	case TASK_NO_JSON:
		return TEXT("no json {");
	case TASK_NULL:
		return TEXT("null");
	case TASK_NUMBER:
		return TEXT("-1");
	case TASK_SECOND:
		if (file_count > 0)
			return files[file_count > 1];
		return TEXT("{\"Check\": \"another task\"}");
	default:
		if (kind > TASK_FILES)
			return files[kind - TASK_FILES];
		return file_count > 0 ? files[0] : TEXT("{\"Check\": \"a task\"}");
	}
}

/* Bodies of one byte, repeated. */
static const struct {
	size_t size; /* 0: not one of them */
	char byte;
} made[TASK_FILES + 1] = {
	[TASK_STR_8] = {200, 'x'},
	[TASK_STR_16] = {1000, 'x'},
	[TASK_BIN_16] = {1000, '\xff'},
	[TASK_MIB] = {1 << 20, 'x'},
	[TASK_LARGE] = {TASK_BODY_MAX, 'x'},
	[TASK_NESTED] = {2000, '['},
};

static void make_properties(enum task_kind kind, struct buf *out)
{
	struct properties properties = {0};
	struct buf table;
	buf_init(&table, SIZE_MAX);
	properties_set(&properties, PROPERTY_CORRELATION_ID, TEXT("check-1"));
	properties_set(&properties, PROPERTY_REPLY_TO, TEXT("check.replies"));
	properties_set(&properties, PROPERTY_MESSAGE_ID, TEXT("check-message-1"));
	if (kind == TASK_HEADERS || kind == TASK_TYPED_HEADERS)
		properties_set(&properties, PROPERTY_HEADERS,
			text_of(headers_of_every_type, sizeof headers_of_every_type - 1));
	if (kind == TASK_SESSION) {
		table_put_string(&table, SESSION_HEADER, TEXT("gr\xc3\xbc\xc3\x9f-\xe2\x82\xac-7"));
		properties_set(&properties, PROPERTY_HEADERS, buf_text(&table));
	}
	properties_write(&properties, out);
	out->failed |= table.failed;
	buf_release(&table);
}

static const struct key_source *key_of(enum task_kind kind)
{
	static const struct key_source header = {.kind = KEY_HEADER, .header = SESSION_HEADER};
	return kind == TASK_SESSION ? &header : NULL;
}

static struct delivery *delivery_of(enum task_kind kind, struct text body)
{
	struct buf properties;
	size_t index = kind < TASK_FILES ? kind : TASK_FILES;
	size_t size = made[index].size > 0 ? made[index].size : body.len;
	buf_init(&properties, SIZE_MAX);
	make_properties(kind, &properties);
	struct delivery *delivery =
		properties.failed ? NULL : delivery_new(size + buf_len(&properties));
	if (delivery) {
		if (made[index].size > 0)
			memset(delivery->bytes, made[index].byte, size);
		else if (body.len > 0)
			memcpy(delivery->bytes, body.ptr, body.len);
		delivery->body = text_of(delivery->bytes, size);
		memcpy(delivery->bytes + size, buf_text(&properties).ptr, buf_len(&properties));
		delivery->properties = text_of(delivery->bytes + size, buf_len(&properties));
		delivery->exchange = TEXT("");
		delivery->routing_key = TEXT("check");
		task_read_facts(delivery,
			&(struct task_facts_options){.body_limit = SIZE_MAX, .key = key_of(kind)});
	}
	buf_release(&properties);
	return delivery;
}

/* The frame that begins at this place gets members behind its own. Its map has at most 15. */
static void add_unknown_keys(struct buf *out, size_t at)
{
	buf_append(out, unknown_keys, sizeof unknown_keys - 1);
	if (out->failed)
		return;
	uint8_t *frame = out->bytes + out->head + at;
	frame[WIRE_LENGTH_BYTES] = (uint8_t)(frame[WIRE_LENGTH_BYTES] + UNKNOWN_KEYS);
	wire_put_length(frame, (uint32_t)(buf_len(out) - at - WIRE_LENGTH_BYTES));
}

enum rc tasks_append(struct buf *out, enum task_kind kind, uint64_t id,
	const struct task_options *options, const struct text *files, size_t file_count)
{
	struct task_options typed = *options;
	size_t at = buf_len(out);
	struct delivery *delivery = delivery_of(kind, body_of(kind, files, file_count));
	if (!delivery)
		return RC_MEMORY;
	delivery->id = id;
	if (kind == TASK_TYPED_HEADERS) {
		typed.headers = TASK_HEADERS_TYPED;
		typed.properties = true;
	}
	enum rc rc = task_write(delivery, &typed, 1, 25 * 60 * 1000, out, NULL);
	if (rc == RC_OK && kind == TASK_UNKNOWN_KEYS)
		add_unknown_keys(out, at);
	delivery_free(delivery);
	return rc != RC_OK ? rc : out->failed ? RC_MEMORY : RC_OK;
}
