#include "unit/support/amqp/dialog.h"

#include "unit/unit.h"

static const char *dialog_kind(enum amqp_event_kind kind)
{
	static const char *const names[] = {
#define X(kind) #kind,
		AMQP_EVENT_KINDS(X)
#undef X
	};
	return names[kind];
}

static void dialog_on_event(void *ctx, const struct amqp_event *e)
{
	struct dialog *dialog = ctx;
	bool has_content = e->kind == AMQP_DELIVERY || e->kind == AMQP_RETURN;

	buf_printf(&dialog->events, "%s %u", dialog_kind(e->kind), e->channel);
	buf_printf(&dialog->events, " %u [%.*s]", e->code, TEXT_ARGS(e->text));
	buf_printf(&dialog->events, " [%.*s|%.*s|%.*s|%.*s]", TEXT_ARGS(e->consumer),
		TEXT_ARGS(e->exchange), TEXT_ARGS(e->routing_key), TEXT_ARGS(e->queue));
	buf_printf(&dialog->events, " %llu %u %u %d%d%d", (unsigned long long)e->tag, e->messages,
		e->consumers, e->multiple, e->positive, e->redelivered);
	if (has_content) {
		buf_printf(&dialog->events, " %zu {", e->content.properties.len);
		buf_append_text(&dialog->events, e->content.body);
		buf_append_byte(&dialog->events, '}');
		dialog->delivered++;
	}
	buf_append_byte(&dialog->events, '\n');
	dialog->last_code = e->code;
	if (dialog->on_event)
		dialog->on_event(dialog, e);
	free(e->content.owner);
}

static uint8_t *dialog_content_memory(
	void *ctx, uint16_t channel, bool is_return, size_t len, void **ret_owner)
{
	struct dialog *dialog = ctx;

	(void)channel, (void)is_return;
	if (dialog->refuses_memory)
		return NULL;
	*ret_owner = malloc(len);
	ck_assert_ptr_nonnull(*ret_owner);
	dialog->allocated++;
	return *ret_owner;
}

static void dialog_content_dropped(void *ctx, void *owner)
{
	struct dialog *dialog = ctx;

	dialog->dropped++;
	free(owner);
}

void dialog_init(struct dialog *dialog)
{
	*dialog = (struct dialog){
		.params = {SASL_PLAIN, "guest", "secret", "/", "unit", 15, 8192, 1u << 24,
			1u << 20},
		.handler = {dialog_on_event, dialog_content_memory, dialog_content_dropped},
	};
	buf_init(&dialog->in, 1u << 24);
	init_amqp_pool(&dialog->fields, 4096);
	buf_init(&dialog->events, 1u << 26);
	buf_init(&dialog->sent, 1u << 20);
}

void dialog_start(struct dialog *dialog)
{
	dialog->connection = connection_new(&dialog->params, &dialog->handler, dialog);
	ck_assert_ptr_nonnull(dialog->connection);
}

void dialog_release(struct dialog *dialog)
{
	connection_free(dialog->connection);
	ck_assert_uint_eq(dialog->allocated, dialog->dropped + dialog->delivered);
	buf_release(&dialog->in);
	empty_amqp_pool(&dialog->fields);
	buf_release(&dialog->events);
	buf_release(&dialog->sent);
}

enum rc dialog_feed(struct dialog *dialog, struct text bytes, size_t step)
{
	enum rc rc = RC_OK;

	while (bytes.len > 0) {
		size_t len = bytes.len < step ? bytes.len : step;
		char *piece = malloc(len);

		ck_assert_ptr_nonnull(piece);
		memcpy(piece, bytes.ptr, len);
		rc = connection_input(dialog->connection, text_of(piece, len));
		free(piece);
		bytes = text_of(bytes.ptr + len, bytes.len - len);
	}
	return rc;
}

enum rc dialog_feed_in(struct dialog *dialog)
{
	enum rc rc = dialog_feed(dialog, buf_text(&dialog->in), SIZE_MAX);

	buf_clear(&dialog->in);
	return rc;
}

/* Consume and publish, so that deliveries and returns are accepted. */
static void dialog_use_channel(struct dialog *dialog, uint16_t channel)
{
	struct amqp_publish publish = {.mandatory = true, .properties = TEXT("\0\0")};
	amqp_basic_consume_ok_t consume_ok = {peer_string("consumer")};

	ck_assert(channel_is_open(dialog->connection, channel));
	channel_consume(dialog->connection, channel, TEXT("queue"), TEXT("consumer"), false);
	channel_publish(dialog->connection, channel, &publish);
	peer_method(&dialog->in, channel, AMQP_BASIC_CONSUME_OK_METHOD, &consume_ok);
	ck_assert_int_eq(dialog_feed_in(dialog), RC_OK);
}

void dialog_open(struct dialog *dialog)
{
	dialog_start(dialog);
	peer_start(&dialog->in, "PLAIN AMQPLAIN");
	peer_tune(&dialog->in, 2047, 8192, 60);
	peer_open_ok(&dialog->in);
	ck_assert_int_eq(dialog_feed_in(dialog), RC_OK);
	channel_open(dialog->connection, 1);
	channel_open(dialog->connection, 2);
	peer_channel_open_ok(&dialog->in, 1);
	peer_channel_open_ok(&dialog->in, 2);
	ck_assert_int_eq(dialog_feed_in(dialog), RC_OK);
	dialog_use_channel(dialog, 1);
	dialog_use_channel(dialog, 2);
	buf_clear(&dialog->events);
	buf_clear(connection_output(dialog->connection));
}

void dialog_expect_events(const struct dialog *dialog, const char *expected)
{
	ck_assert_msg(text_is(buf_text(&dialog->events), text_from(expected)),
		"events:\n%.*sexpected:\n%s", TEXT_ARGS(buf_text(&dialog->events)), expected);
}

struct frame dialog_sent(struct dialog *dialog)
{
	struct buf *out = connection_output(dialog->connection);
	struct frame frame;

	ck_assert_int_eq(frame_look(buf_text(out), 131072, &frame), FRAME_WHOLE);
	buf_clear(&dialog->sent);
	buf_append_text(&dialog->sent, frame.payload);
	frame.payload = buf_text(&dialog->sent);
	buf_consume(out, frame.size);
	return frame;
}

void *dialog_sent_method(struct dialog *dialog, uint16_t channel, uint32_t id)
{
	struct frame frame = dialog_sent(dialog);
	void *fields = NULL;

	ck_assert_uint_eq(frame.type, AMQP_FRAME_METHOD);
	ck_assert_uint_eq(frame.channel, channel);
	ck_assert_uint_eq(octets_get32(frame.payload.ptr), id);
	ck_assert_int_eq(
		amqp_decode_method(id, &dialog->fields,
			peer_bytes(text_of(frame.payload.ptr + 4, frame.payload.len - 4)), &fields),
		AMQP_STATUS_OK);
	return fields;
}
