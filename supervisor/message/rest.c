#include "message/rest.h"

#include "amqp/table.h"
#include "message/names.h"

bool rest_keeps_trace(struct text header, bool sets_trace, bool sets_state)
{
	if (text_is(header, HEADER_TRACEPARENT))
		return !sets_trace;
	return text_is(header, HEADER_TRACESTATE) && !sets_trace && !sets_state;
}

/* Where the key of the last header with this name begins; NULL: there is none. */
static const char *last_place(struct text table, struct text name)
{
	struct table_field field;
	return table_find(table, name, &field) ? field.key.ptr : NULL;
}

struct text rest_headers(const struct delivery *delivery, struct buf *scratch)
{
	struct text before = delivery->headers;
	struct table_field field;
	if (!delivery->rest)
		return delivery->headers;
	struct text own = delivery->rest->headers;
	const char *key_name = delivery->key_at ? before.ptr + delivery->key_at : NULL;
	/* A message may have each of them often; one more of each leaves the table readable. */
	const char *parent = last_place(before, HEADER_TRACEPARENT);
	const char *state = last_place(before, HEADER_TRACESTATE);
	bool sets_trace = table_find(own, HEADER_TRACEPARENT, &field);
	bool sets_state = table_find(own, HEADER_TRACESTATE, &field);
	buf_clear(scratch);
	buf_append_text(scratch, own);
	while (table_next(&before, true, &field)) {
		struct table_field set;
		bool is_key = field.key.ptr == key_name && !table_find(own, field.key, &set);
		bool is_last = field.key.ptr == parent || field.key.ptr == state;
		if (is_key || (is_last && rest_keeps_trace(field.key, sets_trace, sets_state)))
			table_put_field(scratch, &field);
	}
	return buf_text(scratch);
}

void rest_set_properties(const struct delivery *delivery, struct properties *properties)
{
	if (delivery->rest && delivery->rest->content_type.len > 0)
		properties_set(properties, PROPERTY_CONTENT_TYPE, delivery->rest->content_type);
}
