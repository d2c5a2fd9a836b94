#include "message/handover.h"

#include "base/utf8.h"
#include "message/copy.h"
#include "message/pack.h"
#include "wire/value.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define WAIT_MS_MAX (INT64_MAX / MTIME_MS)
/* An array's head and its longest length. */
#define HEAD_SIZE_MAX 5

enum {
	IS_PAUSED = 1,
	HAS_MESSAGE = 2,
	IS_HIGH = 4,
	IS_LATER = 8,
	IS_BLOCKED = 16,
	IS_POISON = 32,
	ALL_FLAGS = 63
};

/* ---------- writing one ---------- */

static void pack_rest(msgpack_packer *packer, const struct session_handover *handover)
{
	if (!handover->has_rest) {
		for (int i = 0; i < 3; i++)
			msgpack_pack_nil(packer);
		return;
	}
	pack_bytes(packer, handover->body);
	pack_bytes(packer, handover->headers);
	pack_bytes(packer, handover->content_type);
}

static uint8_t flags_of(const struct session_handover *handover)
{
	return (uint8_t)(handover->is_paused * IS_PAUSED | handover->has_message * HAS_MESSAGE |
			 handover->past.is_high * IS_HIGH | handover->past.is_later * IS_LATER |
			 handover->past.is_blocked * IS_BLOCKED |
			 handover->past.is_poison * IS_POISON);
}

/* Take back what was appended if some of it is missing. */
static bool is_whole(struct buf *out, size_t before)
{
	if (!out->failed)
		return true;
	buf_truncate(out, before);
	out->failed = false;
	return false;
}

static void append_one(struct buf *out, const struct session_handover *handover)
{
	msgpack_packer packer;
	pack_init(&packer, out);
	msgpack_pack_array(&packer, HANDOVER_MEMBERS);
	pack_valid_text(&packer, handover->key);
	msgpack_pack_uint8(&packer, flags_of(handover));
	pack_valid_text(&packer, text_from(reason_name(handover->past.reason)));
	msgpack_pack_int64(&packer, handover->past.wait / MTIME_MS);
	msgpack_pack_uint16(&packer, handover->past.attempt);
	msgpack_pack_uint32(&packer, handover->past.slice);
	pack_rest(&packer, handover);
}

static void append_head(struct buf *out, uint32_t count)
{
	msgpack_packer packer;
	pack_init(&packer, out);
	msgpack_pack_array(&packer, count);
}

bool handover_write_name(const struct session_handover *handover, struct buf *out)
{
	size_t before = buf_len(out);
	assert(!handover->has_rest);
	append_head(out, 1);
	append_one(out, handover);
	return is_whole(out, before);
}

/* ---------- reading ---------- */

struct reader {
	const uint8_t *at, *end;
	bool has_failed;
};

static struct reader reader_of(struct text bytes)
{
	const uint8_t *at = (const uint8_t *)bytes.ptr;
	return (struct reader){at, at + bytes.len, false};
}

static struct wire_value take_value(struct reader *reader)
{
	struct wire_value value = {.type = WIRE_NIL};
	reader->has_failed |= wire_take(&reader->at, reader->end, &value) != WIRE_OK;
	return value;
}

static int64_t take_number(struct reader *reader, int64_t max)
{
	struct wire_value value = take_value(reader);
	bool is_valid = value.type == WIRE_INT && value.integer >= 0 && value.integer <= max;
	reader->has_failed |= !is_valid;
	return is_valid ? value.integer : 0;
}

/* Text, bytes, or nil. */
static struct text take_optional_text(struct reader *reader, bool *ret_is_there)
{
	struct wire_value value = take_value(reader);
	bool is_text = value.type == WIRE_STR || value.type == WIRE_BIN;
	*ret_is_there = is_text;
	reader->has_failed |= !is_text && value.type != WIRE_NIL;
	return is_text ? text_of(value.bytes.ptr, value.bytes.len) : TEXT_NONE;
}

static struct text take_text(struct reader *reader)
{
	bool is_there;
	struct text text = take_optional_text(reader, &is_there);
	reader->has_failed |= !is_there;
	return text;
}

static enum reason take_reason(struct reader *reader)
{
	struct text name = take_text(reader);
	for (int reason = 0; reason < REASON_COUNT; reason++)
		if (text_is(name, text_from(reason_name((enum reason)reason))))
			return (enum reason)reason;
	reader->has_failed = true;
	return REASON_NONE;
}

/* What answer_read accepts of a worker that hands back the rest of its work; or nothing. */
static void take_rest(struct reader *reader, struct session_handover *ret)
{
	bool has_body, has_headers, has_type;
	ret->body = take_optional_text(reader, &has_body);
	ret->headers = take_optional_text(reader, &has_headers);
	ret->content_type = take_optional_text(reader, &has_type);
	ret->has_rest = has_body;
	reader->has_failed |= has_headers != has_body || has_type != has_body;
	reader->has_failed |= ret->content_type.len > SHORT_STRING_MAX;
	reader->has_failed |= !reply_headers_fit(ret->headers);
}

static void take_one(struct reader *reader, struct session_handover *ret)
{
	struct wire_value head = take_value(reader);
	bool is_key;
	reader->has_failed |= head.type != WIRE_ARRAY || head.count != HANDOVER_MEMBERS;
	if (reader->has_failed)
		return;
	*ret = (struct session_handover){.key = take_text(reader)};
	is_key = ret->key.len > 0 && ret->key.len <= SESSION_KEY_MAX && utf8_is_valid(ret->key);
	reader->has_failed |= !is_key;
	int64_t flags = take_number(reader, ALL_FLAGS);
	ret->is_paused = flags & IS_PAUSED;
	ret->has_message = flags & HAS_MESSAGE;
	ret->past.is_high = flags & IS_HIGH;
	ret->past.is_later = flags & IS_LATER;
	ret->past.is_blocked = flags & IS_BLOCKED;
	ret->past.is_poison = flags & IS_POISON;
	ret->past.reason = take_reason(reader);
	ret->past.wait = take_number(reader, WAIT_MS_MAX) * MTIME_MS;
	ret->past.attempt = (uint16_t)take_number(reader, UINT16_MAX);
	ret->past.slice = (uint32_t)take_number(reader, UINT32_MAX);
	take_rest(reader, ret);
	reader->has_failed |= ret->past.is_blocked && !ret->past.is_later;
}

enum rc handover_read(struct text bytes, struct session_handover **ret, size_t *ret_count)
{
	struct reader reader = reader_of(bytes);
	if (wire_check(reader.at, bytes.len) != WIRE_OK)
		return RC_MALFORMED;
	struct wire_value head = take_value(&reader);
	if (head.type != WIRE_ARRAY)
		return RC_MALFORMED;
	struct session_handover *all = calloc(head.count + 1, sizeof *all);
	if (!all)
		return RC_MEMORY;
	for (uint32_t i = 0; i < head.count && !reader.has_failed; i++)
		take_one(&reader, &all[i]);
	if (reader.has_failed) {
		free(all);
		return RC_MALFORMED;
	}
	*ret = all;
	*ret_count = head.count;
	return RC_OK;
}

/* ---------- writing all ---------- */

void handover_init(struct handover_writer *writer, size_t size_max)
{
	*writer = (struct handover_writer){.size_max = size_max - HEAD_SIZE_MAX};
	for (int part = 0; part < HANDOVER_PARTS; part++)
		buf_init(&writer->parts[part], SIZE_MAX);
}

void handover_release(struct handover_writer *writer)
{
	for (int part = 0; part < HANDOVER_PARTS; part++)
		buf_release(&writer->parts[part]);
}

void handover_clear(struct handover_writer *writer)
{
	for (int part = 0; part < HANDOVER_PARTS; part++)
		buf_clear(&writer->parts[part]);
	writer->count = 0;
	writer->left_out.count = writer->without_rest.count = 0;
}

static void loss_record(struct handover_loss *loss, struct text key)
{
	if (loss->count++ > 0)
		return;
	loss->len = key.len;
	memcpy(loss->key, key.ptr, key.len);
}

static size_t size_of_all(const struct handover_writer *writer)
{
	size_t size = 0;
	for (int part = 0; part < HANDOVER_PARTS; part++)
		size += buf_len(&writer->parts[part]);
	return size;
}

static enum handover_part part_of(const struct session_handover *handover)
{
	if (handover->has_rest)
		return HANDOVER_WITH_REST;
	return handover->is_paused || handover->past.is_blocked || handover->past.is_poison
		       ? HANDOVER_FIRST
		       : HANDOVER_OTHERS;
}

static struct session_handover without_rest(const struct session_handover *handover)
{
	struct session_handover copy = *handover;
	copy.has_rest = false;
	copy.body = copy.headers = copy.content_type = TEXT_NONE;
	return copy;
}

/* RC_LIMIT: it does not fit; RC_MEMORY. */
static enum rc append(struct handover_writer *writer, const struct session_handover *handover)
{
	struct buf *part = &writer->parts[part_of(handover)];
	size_t before = buf_len(part);
	if (handover->body.len + handover->headers.len > writer->size_max)
		return RC_LIMIT;
	append_one(part, handover);
	if (!is_whole(part, before))
		return RC_MEMORY;
	if (size_of_all(writer) <= writer->size_max) {
		writer->count++;
		return RC_OK;
	}
	buf_truncate(part, before);
	return RC_LIMIT;
}

/* Remove the oldest of a part that has one, except for its rest. */
static void remove_oldest(struct handover_writer *writer, enum handover_part part,
	struct session_handover *ret, char key[SESSION_KEY_MAX])
{
	struct text all = buf_text(&writer->parts[part]);
	struct reader reader = reader_of(all);
	struct session_handover oldest;
	take_one(&reader, &oldest);
	assert(!reader.has_failed);
	*ret = without_rest(&oldest);
	memcpy(key, oldest.key.ptr, oldest.key.len);
	ret->key.ptr = key;
	buf_consume(&writer->parts[part], (size_t)((const char *)reader.at - all.ptr));
	writer->count--;
}

/* First without the rests, then, for what is to be kept first, without others. False: no more. */
static bool make_space(struct handover_writer *writer, enum handover_part wanted)
{
	char key[SESSION_KEY_MAX];
	struct session_handover oldest;
	if (buf_len(&writer->parts[HANDOVER_WITH_REST]) > 0) {
		remove_oldest(writer, HANDOVER_WITH_REST, &oldest, key);
		loss_record(&writer->without_rest, oldest.key);
		if (append(writer, &oldest) != RC_OK)
			loss_record(&writer->left_out, oldest.key);
		return true;
	}
	if (wanted != HANDOVER_FIRST || buf_len(&writer->parts[HANDOVER_OTHERS]) == 0)
		return false;
	remove_oldest(writer, HANDOVER_OTHERS, &oldest, key);
	loss_record(&writer->left_out, oldest.key);
	return true;
}

void handover_add(struct handover_writer *writer, const struct session_handover *handover)
{
	struct session_handover small = without_rest(handover);
	enum rc rc = append(writer, handover);
	if (rc == RC_OK)
		return;
	if (handover->has_rest) {
		loss_record(&writer->without_rest, handover->key);
		rc = append(writer, &small);
	}
	while (rc == RC_LIMIT && make_space(writer, part_of(&small)))
		rc = append(writer, &small);
	if (rc != RC_OK)
		loss_record(&writer->left_out, handover->key);
}

bool handover_write(const struct handover_writer *writer, struct buf *out)
{
	size_t before = buf_len(out);
	append_head(out, writer->count);
	for (int part = 0; part < HANDOVER_PARTS; part++)
		buf_append_text(out, buf_text(&writer->parts[part]));
	return is_whole(out, before);
}
