#include "core/number_table.h"

#include <stdlib.h>

#define BUCKETS_AT_FIRST 64

enum rc number_table_init(struct number_table *table)
{
	struct numbered **buckets = calloc(BUCKETS_AT_FIRST, sizeof *buckets);
	if (!buckets)
		return RC_MEMORY;
	*table = (struct number_table){.buckets = buckets, .bucket_count = BUCKETS_AT_FIRST};
	return RC_OK;
}

void number_table_release(struct number_table *table)
{
	free(table->buckets);
	*table = (struct number_table){0};
}

static struct numbered **bucket_of(const struct number_table *table, uint64_t number)
{
	return &table->buckets[number & (table->bucket_count - 1)];
}

static void chain(struct number_table *table, struct numbered *entry)
{
	struct numbered **bucket = bucket_of(table, entry->number);
	entry->chain = *bucket;
	*bucket = entry;
}

/* With twice as many buckets as entries most chains have one entry, also of numbers that are not
 * dense. Without memory the table stays as it is, and the chains grow. */
static void grow(struct number_table *table)
{
	struct numbered **old = table->buckets;
	size_t old_count = table->bucket_count;
	struct numbered **buckets = calloc(2 * old_count, sizeof *buckets);
	if (!buckets)
		return;
	table->buckets = buckets;
	table->bucket_count = 2 * old_count;
	for (size_t i = 0; i < old_count; i++)
		for (struct numbered *entry = old[i], *next; entry; entry = next) {
			next = entry->chain;
			chain(table, entry);
		}
	free(old);
}

void number_table_add(struct number_table *table, struct numbered *entry, uint64_t number)
{
	if (2 * table->count >= table->bucket_count)
		grow(table);
	entry->number = number;
	chain(table, entry);
	table->count++;
}

void number_table_remove(struct number_table *table, struct numbered *entry)
{
	struct numbered **at = bucket_of(table, entry->number);
	while (*at != entry)
		at = &(*at)->chain;
	*at = entry->chain;
	entry->number = 0;
	table->count--;
}

struct numbered *number_table_find(const struct number_table *table, uint64_t number)
{
	struct numbered *entry = *bucket_of(table, number);
	while (entry && entry->number != number)
		entry = entry->chain;
	return entry;
}

void number_table_prefetch(const struct number_table *table, uint64_t number)
{
	__builtin_prefetch(*bucket_of(table, number), 1);
}
