/* Find a thing by its number, for numbers that are given out one after the other and of which a
 * small part is in use at a time. Layer: core. An entry is embedded in what it finds, so that
 * nothing is allocated for each. */
#ifndef CORE_NUMBER_TABLE_H
#define CORE_NUMBER_TABLE_H

#include "base/rc.h"
#include <stddef.h>
#include <stdint.h>

struct numbered {
	struct numbered *chain; /* the next one in its bucket */
	uint64_t number;        /* 0: in no table */
};

struct number_table {
	struct numbered **buckets; /* owned */
	size_t bucket_count;       /* a power of two */
	size_t count;              /* entries */
};

/* RC_MEMORY. */
enum rc number_table_init(struct number_table *) MUST_CHECK;
/* Does not touch the entries that are left. */
void number_table_release(struct number_table *);
/* number: above 0, and of no other entry. */
void number_table_add(struct number_table *, struct numbered *, uint64_t number);
/* Take it out; its number is 0 then. */
void number_table_remove(struct number_table *, struct numbered *);
/* The entry with this number, or NULL. */
struct numbered *number_table_find(const struct number_table *, uint64_t number);
/* The entry will be looked for soon: have the processor fetch it, and do not wait for it. */
void number_table_prefetch(const struct number_table *, uint64_t number);

#endif
