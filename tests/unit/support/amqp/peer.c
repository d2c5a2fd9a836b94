#include "unit/support/amqp/peer.h"

#include "unit/unit.h"

amqp_bytes_t peer_bytes(struct text text)
{
	return (amqp_bytes_t){text.len, (void *)(uintptr_t)text.ptr};
}

amqp_bytes_t peer_string(const char *string)
{
	return amqp_cstring_bytes(string);
}

void peer_frame(struct buf *out, uint8_t type, uint16_t channel, struct text payload)
{
	buf_append_byte(out, type);
	buf_append_be16(out, channel);
	buf_append_be32(out, (uint32_t)payload.len);
	buf_append_text(out, payload);
	buf_append_byte(out, AMQP_FRAME_END);
}

void peer_method(struct buf *out, uint16_t channel, uint32_t id, void *fields)
{
	uint8_t payload[16384];
	int len = amqp_encode_method(id, fields, (amqp_bytes_t){sizeof payload - 4, payload + 4});

	ck_assert_int_ge(len, 0);
	octets_put32(payload, id);
	peer_frame(out, AMQP_FRAME_METHOD, channel, text_of(payload, (size_t)len + 4));
}

void peer_header(struct buf *out, uint16_t channel, uint64_t body_len, struct text properties)
{
	uint8_t payload[16384];
	uint8_t *at = octets_put16(octets_put16(payload, 60), 0);

	at = octets_put_text(octets_put64(at, body_len), properties);
	peer_frame(out, AMQP_FRAME_HEADER, channel, text_of(payload, (size_t)(at - payload)));
}

void peer_body(struct buf *out, uint16_t channel, struct text bytes)
{
	peer_frame(out, AMQP_FRAME_BODY, channel, bytes);
}

void peer_start(struct buf *out, const char *mechanisms)
{
	amqp_table_entry_t entries[2] = {
		{peer_string("product"),
			{.kind = AMQP_FIELD_KIND_UTF8, .value.bytes = peer_string("RabbitMQ")}},
		{peer_string("version"),
			{.kind = AMQP_FIELD_KIND_UTF8, .value.bytes = peer_string("3.10.8")}},
	};
	amqp_connection_start_t start = {
		.version_major = 0,
		.version_minor = 9,
		.server_properties = {2, entries},
		.mechanisms = peer_string(mechanisms),
		.locales = peer_string("en_US"),
	};

	peer_method(out, 0, AMQP_CONNECTION_START_METHOD, &start);
}

void peer_tune(struct buf *out, uint16_t channel_max, uint32_t frame_max, uint16_t heartbeat)
{
	peer_method(out, 0, AMQP_CONNECTION_TUNE_METHOD,
		&(amqp_connection_tune_t){channel_max, frame_max, heartbeat});
}

void peer_open_ok(struct buf *out)
{
	peer_method(out, 0, AMQP_CONNECTION_OPEN_OK_METHOD, &(amqp_connection_open_ok_t){{0}});
}

void peer_channel_open_ok(struct buf *out, uint16_t channel)
{
	peer_method(out, channel, AMQP_CHANNEL_OPEN_OK_METHOD, &(amqp_channel_open_ok_t){{0}});
}

void peer_deliver(struct buf *out, uint16_t channel, uint64_t tag)
{
	amqp_basic_deliver_t deliver = {
		.consumer_tag = peer_string("consumer"),
		.delivery_tag = tag,
		.redelivered = tag % 2 == 0,
		.exchange = peer_string("exchange"),
		.routing_key = peer_string("key"),
	};

	peer_method(out, channel, AMQP_BASIC_DELIVER_METHOD, &deliver);
}
