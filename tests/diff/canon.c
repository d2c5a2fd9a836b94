#include "amqp/properties.h"
#include "amqp/table.h"
#include "diff/client.h"
#include "sim/fail.h"

#include <stdlib.h>

#define FIELDS_MAX 32
#define TOKEN      "amq.rabbitmq.reply-to."

static int compare(const void *a, const void *b)
{
	const struct table_field *one = a, *two = b;
	size_t len = one->key.len < two->key.len ? one->key.len : two->key.len;
	int order = memcmp(one->key.ptr, two->key.ptr, len);

	return order ? order : (int)one->key.len - (int)two->key.len;
}

static void put_string(struct text value, struct buf *out)
{
	if (text_starts(value, TEXT(TOKEN)))
		buf_printf(out, "\"(token)\"");
	else
		buf_printf(out, "\"%.*s\"", TEXT_ARGS(value));
}

/* A level of nested tables and arrays, on a stack in place of recursion. */
struct level {
	struct table_field fields[FIELDS_MAX];
	size_t count, next;
	bool keyed;
};

static void enter(struct level *level, struct text rest, bool keyed)
{
	*level = (struct level){.keyed = keyed};
	while (table_next(&rest, keyed, &level->fields[level->count]))
		sim_require(++level->count < FIELDS_MAX, "a table of too many fields");
	if (keyed)
		qsort(level->fields, level->count, sizeof *level->fields, compare);
}

static void put_value(const struct table_field *field, struct buf *out)
{
	int64_t number;

	if (field->type == 'S')
		put_string(field->value, out);
	else if (field->type == 'T')
		buf_printf(out, "(time)");
	else if (table_field_integer(field, &number))
		buf_printf(out, "%c:%lld", field->type, (long long)number);
	else
		buf_printf(out, "%c(%zu bytes)", field->type, field->value.len);
}

static void put_table(struct text table, struct buf *out)
{
	struct level *levels = calloc(8, sizeof *levels);
	size_t depth = 1;

	sim_require(levels, "out of memory");
	enter(&levels[0], table, true);
	buf_printf(out, "{");
	while (depth > 0) {
		struct level *level = &levels[depth - 1];
		const struct table_field *field = &level->fields[level->next++];

		if (level->next > level->count) {
			buf_printf(out, level->keyed ? "}" : "]");
			depth--;
			continue;
		}
		buf_printf(out, level->next > 1 ? " " : "");
		if (level->keyed)
			buf_printf(out, "%.*s=", TEXT_ARGS(field->key));
		if (field->type != 'F' && field->type != 'A') {
			put_value(field, out);
			continue;
		}
		sim_require(depth < 8, "a table too deep");
		buf_printf(out, field->type == 'F' ? "{" : "[");
		enter(&levels[depth++], field->value, field->type == 'F');
	}
	free(levels);
}

void canon_properties(struct text raw, struct buf *out)
{
	static const char *const names[] = {
#define X(property, type) #property,
		PROPERTIES(X)
#undef X
	};
	struct properties properties;

	sim_require(properties_parse(raw, &properties) == RC_OK, "properties that cannot be read");
	for (int i = 0; i < PROPERTY_COUNT; i++) {
		if (!properties_has(&properties, i))
			continue;
		buf_printf(out, " %s=", names[i] + strlen("PROPERTY_"));
		if (i == PROPERTY_HEADERS)
			put_table(properties.value[i], out);
		else if (i == PROPERTY_DELIVERY_MODE || i == PROPERTY_PRIORITY)
			buf_printf(out, "%u", properties_octet(&properties, i));
		else if (i == PROPERTY_TIMESTAMP)
			buf_printf(
				out, "%llu", (unsigned long long)properties_timestamp(&properties));
		else
			put_string(properties.value[i], out);
	}
	buf_append_byte(out, 0);
}
