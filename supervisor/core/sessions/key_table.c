#include "core/sessions/key_table.h"

#include <stdlib.h>

#define SIZE_AT_FIRST 64

/* Two thirds: a search passes few places, and a session takes 48 bytes of the table at most. */
static bool has_space(const struct key_table *table, uint32_t count)
{
	return (uint64_t)count * 3 <= (uint64_t)table->size * 2;
}

static uint32_t next_place(const struct key_table *table, uint32_t place)
{
	return (place + 1) & (table->size - 1);
}

static uint32_t home_of(const struct key_table *table, uint64_t hash)
{
	return (uint32_t)hash & (table->size - 1);
}

static void place_entry(struct key_table *table, struct key_place entry)
{
	uint32_t place = home_of(table, entry.hash);
	while (table->places[place].session)
		place = next_place(table, place);
	table->places[place] = entry;
	table->count++;
}

enum rc key_table_reserve(struct key_table *table, uint32_t count)
{
	struct key_table larger = {.size = table->size ? table->size : SIZE_AT_FIRST};
	if (has_space(table, count))
		return RC_OK;
	while (!has_space(&larger, count))
		larger.size *= 2;
	larger.places = calloc(larger.size, sizeof *larger.places);
	if (!larger.places)
		return RC_MEMORY;
	for (uint32_t place = 0; place < table->size; place++)
		if (table->places[place].session)
			place_entry(&larger, table->places[place]);
	free(table->places);
	*table = larger;
	return RC_OK;
}

void key_table_release(struct key_table *table)
{
	free(table->places);
	*table = (struct key_table){0};
}

void key_table_add(struct key_table *table, struct session *session)
{
	place_entry(table, (struct key_place){.hash = session->hash, .session = session});
}

/* Close the gap: move back what would not be found behind it. */
static void close_gap(struct key_table *table, uint32_t gap)
{
	uint32_t mask = table->size - 1;
	for (uint32_t place = next_place(table, gap); table->places[place].session;
		place = next_place(table, place)) {
		uint32_t home = home_of(table, table->places[place].hash);
		if (((place - home) & mask) < ((place - gap) & mask))
			continue;
		table->places[gap] = table->places[place];
		gap = place;
	}
	table->places[gap].session = NULL;
}

void key_table_remove(struct key_table *table, const struct session *session)
{
	uint32_t place = home_of(table, session->hash);
	while (table->places[place].session != session)
		place = next_place(table, place);
	close_gap(table, place);
	table->count--;
}

struct session *key_table_find(const struct key_table *table, uint64_t hash, struct text key)
{
	const struct key_place *found;
	if (table->count == 0)
		return NULL;
	for (uint32_t place = home_of(table, hash); (found = &table->places[place])->session;
		place = next_place(table, place))
		if (found->hash == hash && text_is(key, session_key(found->session)))
			return found->session;
	return NULL;
}
