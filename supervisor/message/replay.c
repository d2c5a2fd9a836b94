#include "message/replay.h"

#include "message/copy.h"
#include "message/names.h"

#define PERSISTENT  TEXT("\2")
#define FRAME_FIXED (8 + 12) /* frame, and the content header in front of the properties */

bool replay_last_death(struct text headers, struct text name, struct table_field *ret)
{
	struct table_field deaths, latest;
	return table_find(headers, TEXT("x-death"), &deaths) && deaths.type == 'A' &&
	       table_next(&deaths.value, false, &latest) && latest.type == 'F' &&
	       table_find(latest.value, name, ret);
}

static bool is_queue_name(const struct table_field *field)
{
	return field->type == 'S' && field->value.len > 0 && field->value.len <= SHORT_STRING_MAX;
}

struct text replay_named_queue(struct text headers)
{
	struct table_field field;
	if (table_find(headers, HEADER_QUEUE, &field) && is_queue_name(&field))
		return field.value;
	if (replay_last_death(headers, TEXT("queue"), &field) && is_queue_name(&field))
		return field.value;
	return TEXT_NONE;
}

enum replay_route replay_route(
	const struct replay_request *request, struct text headers, struct text *ret_queue)
{
	struct text named = replay_named_queue(headers);
	bool is_chosen = request->to.len > 0 || request->by_header;
	if (!is_chosen && named.len > 0 && !text_is(named, request->queue)) {
		*ret_queue = named;
		return REPLAY_ELSEWHERE;
	}
	*ret_queue = request->queue;
	if (request->to.len > 0)
		*ret_queue = request->to;
	else if (request->by_header)
		*ret_queue = named;
	return ret_queue->len > 0 ? REPLAY_GOES : REPLAY_UNADDRESSED;
}

static void write_headers(struct text headers, struct buf *out)
{
	struct table_field field, own;
	bool has_cc = table_find(headers, HEADER_CC, &own);
	bool has_bcc = table_find(headers, HEADER_BCC, &own);
	while (table_next(&headers, true, &field)) {
		bool gives_way = (has_cc && text_is(field.key, HEADER_KEPT_CC)) ||
				 (has_bcc && text_is(field.key, HEADER_KEPT_BCC));
		if (!gives_way && !name_is_account(field.key) && name_for_copy(&field.key))
			table_put_field(out, &field);
	}
}

enum rc replay_write(const struct properties *given, struct text headers, uint64_t seq,
	uint32_t frame_max, struct buf *out)
{
	char digits[TEXT_DECIMAL_MAX];
	struct properties properties = *given;
	struct buf table;

	buf_clear(out);
	buf_init(&table, SIZE_MAX);
	write_headers(headers, &table);
	copy_make_safe(&properties);
	properties_clear(&properties, PROPERTY_HEADERS);
	properties_set(&properties, PROPERTY_DELIVERY_MODE, PERSISTENT);
	copy_set_number(&properties, seq, digits);
	if (buf_len(&table) > 0)
		properties_set(&properties, PROPERTY_HEADERS, buf_text(&table));
	properties_write(&properties, out);
	bool has_failed = table.failed || out->failed;
	buf_release(&table);
	if (has_failed)
		return RC_MEMORY;
	return frame_max == 0 || buf_len(out) + FRAME_FIXED <= frame_max ? RC_OK : RC_LIMIT;
}
