#include "message/pack.h"

#include "base/utf8.h"
#include "message/field_text.h"
#include "wire/frame.h"

#include <assert.h>

#define FIXSTR     0xa0
#define FIXSTR_MAX 31
#define STR32      0xdb

static int append(void *out, const char *bytes, size_t len)
{
	buf_append(out, bytes, len);
	return ((struct buf *)out)->failed ? -1 : 0;
}

void pack_init(msgpack_packer *packer, struct buf *out)
{
	msgpack_packer_init(packer, out, append);
}

void pack_valid_text(msgpack_packer *packer, struct text t)
{
	if (t.len <= FIXSTR_MAX) { /* all keys are so short: one append instead of two */
		char bytes[1 + FIXSTR_MAX] = {(char)(FIXSTR | t.len)};
		if (t.len > 0)
			memcpy(bytes + 1, t.ptr, t.len);
		append(packer->data, bytes, 1 + t.len);
		return;
	}
	msgpack_pack_str(packer, t.len);
	msgpack_pack_str_body(packer, t.ptr, t.len);
}

void pack_bytes(msgpack_packer *packer, struct text t)
{
	msgpack_pack_bin(packer, t.len);
	msgpack_pack_bin_body(packer, t.ptr, t.len);
}

size_t pack_repaired_len(struct text t)
{
	size_t total = 0;
	while (t.len > 0) {
		size_t len = utf8_ascii_prefix(t);
		bool is_good = len > 0 || utf8_first(t, &len);
		total += is_good ? len : UTF8_REPLACEMENT.len;
		t = text_of(t.ptr + len, t.len - len);
	}
	return total;
}

void pack_text(msgpack_packer *packer, struct text t)
{
	if (utf8_is_valid(t)) {
		pack_valid_text(packer, t);
		return;
	}
	msgpack_pack_str(packer, pack_repaired_len(t));
	utf8_append_valid(packer->data, t);
}

/* Pack a str whose length is known only after it is written; then its head is filled in. The head
 * has one byte for the text of a number, which is always short, and five for JSON. */
static void pack_written(msgpack_packer *packer, const struct table_field *field,
	void (*write)(struct buf *, const struct table_field *))
{
	struct buf *out = packer->data;
	bool is_json = field->type == 'A' || field->type == 'F';
	size_t head = buf_len(out);
	buf_append(out, (const uint8_t[]){STR32, 0, 0, 0, 0}, is_json ? 5 : 1);
	size_t start = buf_len(out);
	write(out, field);
	if (out->failed)
		return;
	uint8_t *at = out->bytes + out->head + head;
	size_t len = buf_len(out) - start;
	assert(is_json || len <= FIXSTR_MAX);
	if (is_json)
		wire_put_length(at + 1, (uint32_t)len);
	else
		*at = (uint8_t)(FIXSTR | len);
}

void pack_field_text(msgpack_packer *packer, const struct table_field *field)
{
	if (field->type == 'S' || field->type == 'x')
		pack_text(packer, field->value);
	else if (field->type == 'V')
		pack_valid_text(packer, TEXT_NONE);
	else
		pack_written(packer, field, field_append_text);
}

static void pack_members(msgpack_packer *packer, const struct table_field *field, unsigned depth)
{
	bool keyed = field->type == 'F';
	struct text rest = field->value;
	struct table_field member;
	size_t count = 0;
	while (table_next(&rest, keyed, &member))
		count++;
	if (keyed)
		msgpack_pack_map(packer, count);
	else
		msgpack_pack_array(packer, count);
	rest = field->value;
	while (table_next(&rest, keyed, &member)) {
		if (keyed)
			pack_text(packer, member.key);
		pack_field_typed(packer, &member, depth - 1);
	}
}

static void pack_number(msgpack_packer *packer, const struct table_field *field)
{
	uint64_t bits;
	int64_t integer;
	switch (field->type) {
	case 'f':
		msgpack_pack_float(packer, (float)field_double(field));
		return;
	case 'd':
		msgpack_pack_double(packer, field_double(field));
		return;
	case 'L':
	case 'T':
		bits = field_bits(field);
		if (field->type == 'T' && bits <= INT64_MAX)
			msgpack_pack_timestamp(packer, &(msgpack_timestamp){(int64_t)bits, 0});
		else
			msgpack_pack_uint64(packer, bits);
		return;
	default:
		if (table_field_integer(field, &integer))
			msgpack_pack_int64(packer, integer);
		else
			pack_written(packer, field, field_append_text);
	}
}

void pack_field_typed(msgpack_packer *packer, const struct table_field *field, unsigned depth)
{
	switch (field->type) {
	case 'V':
		msgpack_pack_nil(packer);
		return;
	case 't':
		if (field_bits(field))
			msgpack_pack_true(packer);
		else
			msgpack_pack_false(packer);
		return;
	case 'S':
		if (utf8_is_valid(field->value))
			pack_valid_text(packer, field->value);
		else
			pack_bytes(packer, field->value);
		return;
	case 'x':
		pack_bytes(packer, field->value);
		return;
	case 'A':
	case 'F':
		if (depth > 0)
			pack_members(packer, field, depth);
		else
			pack_written(packer, field, field_append_json);
		return;
	default:
		pack_number(packer, field);
	}
}
