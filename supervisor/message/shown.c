#include "message/shown.h"

#include "base/utf8.h"
#include "message/names.h"

#include <stdlib.h>

static struct table_field field_at(struct text table, uint32_t place)
{
	struct text rest = text_of(table.ptr + place, table.len - place);
	struct table_field field = {0};
	(void)table_next(&rest, true, &field); /* cannot fail: table_check accepted it */
	return field;
}

struct table_field shown_field(const struct shown *shown, size_t i)
{
	return field_at(shown->table, shown->places[i]);
}

static int compare_bytes(struct text a, struct text b)
{
	size_t len = a.len < b.len ? a.len : b.len;
	int order = len > 0 ? memcmp(a.ptr, b.ptr, len) : 0;
	return order ? order : (a.len > b.len) - (a.len < b.len);
}

static struct text take_repaired(struct text *rest)
{
	size_t len;
	bool is_good = utf8_first(*rest, &len);
	struct text character = is_good ? text_of(rest->ptr, len) : UTF8_REPLACEMENT;
	*rest = text_of(rest->ptr + len, rest->len - len);
	return character;
}

static int compare_repaired(struct text a, struct text b)
{
	if (utf8_is_valid(a) && utf8_is_valid(b))
		return compare_bytes(a, b);
	while (a.len > 0 && b.len > 0) {
		int order = compare_bytes(take_repaired(&a), take_repaired(&b));
		if (order)
			return order;
	}
	return (a.len > 0) - (b.len > 0);
}

static int compare_places(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

static int compare_fields(const void *a, const void *b, void *shown)
{
	struct text table = ((const struct shown *)shown)->table;
	int order = compare_repaired(field_at(table, *(const uint32_t *)a).key,
		field_at(table, *(const uint32_t *)b).key);
	return order ? order : compare_places(a, b);
}

/* Of fields with equal keys, keep the last. They are sorted, not hashed, because a publisher who
 * knows the hash could make each message take seconds. */
static void drop_shadowed(struct shown *shown)
{
	uint32_t sorted[TABLE_FIELDS_MAX];
	size_t kept = 0;
	memcpy(sorted, shown->places, shown->count * sizeof *sorted);
	qsort_r(sorted, shown->count, sizeof *sorted, compare_fields, shown);
	for (size_t i = 0; i < shown->count; i++) {
		bool is_last = i + 1 == shown->count ||
			       compare_repaired(field_at(shown->table, sorted[i]).key,
				       field_at(shown->table, sorted[i + 1]).key) != 0;
		if (is_last)
			sorted[kept++] = sorted[i];
	}
	if (kept == shown->count)
		return;
	qsort(sorted, kept, sizeof *sorted, compare_places);
	memcpy(shown->places, sorted, kept * sizeof *sorted);
	shown->count = kept;
}

void shown_find(struct shown *shown, struct text table, bool with_stripped)
{
	struct text rest = table;
	struct table_field field;
	shown->table = table;
	shown->count = 0;
	for (uint32_t place = 0; table_next(&rest, true, &field);
		place = (uint32_t)(table.len - rest.len)) {
		if (with_stripped || !name_is_stripped(field.key))
			shown->places[shown->count++] = place;
	}
	if (shown->count > 1)
		drop_shadowed(shown);
}
