#include "message/trace.h"

#include "amqp/table.h"
#include "message/names.h"

/* version-trace-parent-flags: "00-" 32 digits "-" 16 digits "-01". */
#define FIRST_VERSION_LEN 55

static bool is_digit(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* h: a digit; anything else stands for itself. */
static bool has_form(struct text value, struct text form)
{
	if (value.len < form.len)
		return false;
	for (size_t i = 0; i < form.len; i++)
		if (form.ptr[i] == 'h' ? !is_digit(value.ptr[i]) : value.ptr[i] != form.ptr[i])
			return false;
	return true;
}

static bool is_zero(struct text id)
{
	for (size_t i = 0; i < id.len; i++)
		if (id.ptr[i] != '0')
			return false;
	return true;
}

/* Later versions may have more behind what the first one has. */
static bool has_right_end(struct text value)
{
	if (value.len == FIRST_VERSION_LEN)
		return true;
	return !text_starts(value, TEXT("00")) && value.ptr[FIRST_VERSION_LEN] == '-';
}

static bool is_traceparent(struct text value)
{
	static const struct text form =
		TEXT("hh-hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh-hhhhhhhhhhhhhhhh-hh");
	return has_form(value, form) && has_right_end(value) && !text_starts(value, TEXT("ff")) &&
	       !is_zero(text_of(value.ptr + 36, 16));
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
