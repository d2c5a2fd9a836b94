#include "amqp/method_internal.h"
#include "amqp/table.h"

static enum rc layout_check(const char *layout, struct text arguments)
{
	struct cursor c = cursor_of(arguments);

	for (; *layout; layout++) {
		enum rc rc = RC_OK;

		if (*layout == 's')
			cursor_take_short(&c);
		else if (*layout == 'S')
			cursor_take_long(&c);
		else if (*layout == 'F')
			rc = table_check(cursor_take_long(&c));
		else
			cursor_take(&c, *layout == 'o' ? 1 : *layout == 'h' ? 2 : 4);
		if (rc != RC_OK)
			return rc;
	}
	return cursor_is_done(&c) ? RC_OK : RC_MALFORMED;
}

/* "60.40", as the specification numbers them. */
#define ID_ARGS(id) (unsigned)(id) >> 16, (unsigned)(id)&0xffff

static void decode_and_take(struct connection *c, struct channel *ch, const struct method_row *row,
	struct text arguments)
{
	void *fields = NULL;
	enum rc rc = layout_check(row->layout, arguments);
	int status;

	if (rc != RC_OK) {
		connection_fail(c, RC_MALFORMED, AMQP_SYNTAX_ERROR, "arguments of method %u.%u: %s",
			ID_ARGS(row->id), rc_text(rc));
		return;
	}
	status = amqp_decode_method(row->id, &c->pool, method_bytes(arguments), &fields);
	if (status == AMQP_STATUS_OK)
		row->take(c, ch, fields);
	else if (status == AMQP_STATUS_NO_MEMORY)
		connection_fail(c, RC_MEMORY, AMQP_RESOURCE_ERROR, "no memory for a method");
	else
		connection_fail(c, RC_MALFORMED, AMQP_SYNTAX_ERROR, "arguments of method %u.%u: %s",
			ID_ARGS(row->id), amqp_error_string2(status));
	recycle_amqp_pool(&c->pool);
}

void method_take(struct connection *c, struct channel *ch, const struct method_table *table,
	unsigned state, struct text payload)
{
	uint32_t id = method_id(payload);
	const struct method_row *row = NULL;
	struct text arguments;

	if (payload.len < METHOD_ID_SIZE) {
		connection_fail(c, RC_MALFORMED, AMQP_SYNTAX_ERROR, "method without its number");
		return;
	}
	for (size_t i = 0; i < table->count && row == NULL; i++) {
		if (table->rows[i].id == id)
			row = &table->rows[i];
	}
	c->method = id;
	arguments = text_of(payload.ptr + METHOD_ID_SIZE, payload.len - METHOD_ID_SIZE);
	if (row == NULL)
		connection_fail(c, RC_MALFORMED, AMQP_COMMAND_INVALID,
			"method %u.%u is not for a client on this channel", ID_ARGS(id));
	else if (!(row->states & IN(state)))
		connection_fail(c, RC_MALFORMED, AMQP_COMMAND_INVALID, "method %u.%u out of order",
			ID_ARGS(id));
	else if (row->take_raw)
		row->take_raw(c, ch, arguments);
	else
		decode_and_take(c, ch, row, arguments);
	c->method = 0;
}
