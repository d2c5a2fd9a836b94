#include "message/trace.h"

#include "amqp/table.h"
#include "message/names.h"

static bool is_zero(struct text id)
{
	for (size_t i = 0; i < id.len; i++)
		if (id.ptr[i] != '0')
			return false;
	return true;
}

static bool is_traceparent(struct text value)
{
	/* version-trace-parent-flags; h: a hexadecimal digit. */
	static const struct text form =
		TEXT("hh-hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh-hhhhhhhhhhhhhhhh-hh");
	if (value.len < form.len)
		return false;
	for (size_t i = 0; i < form.len; i++) {
		char c = value.ptr[i];
		bool is_digit = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
		if (form.ptr[i] == 'h' ? !is_digit : c != form.ptr[i])
			return false;
	}
	/* Later versions may append more parts. */
	if (value.len > form.len && (text_starts(value, TEXT("00")) || value.ptr[form.len] != '-'))
		return false;
	return !text_starts(value, TEXT("ff")) && !is_zero(text_of(value.ptr + 36, 16));
}

struct text trace_id(struct text table)
{
	struct table_field field;

	if (table.len == 0 || !table_find(table, HEADER_TRACEPARENT, &field))
		return TEXT_NONE;
	if ((field.type != 'S' && field.type != 'x') || !is_traceparent(field.value))
		return TEXT_NONE;
	struct text id = text_of(field.value.ptr + 3, TRACE_ID_LEN);
	return is_zero(id) ? TEXT_NONE : id;
}
