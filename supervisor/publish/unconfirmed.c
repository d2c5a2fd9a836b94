#include "publish/unconfirmed.h"

#include <assert.h>
#include <stdlib.h>

enum rc unconfirmed_init(struct unconfirmed *u)
{
	*u = (struct unconfirmed){.oldest = 1, .next = 1};
	u->entries = calloc(UNCONFIRMED_MAX, sizeof *u->entries);
	return u->entries ? RC_OK : RC_MEMORY;
}

void unconfirmed_release(struct unconfirmed *u)
{
	free(u->entries);
	*u = (struct unconfirmed){0};
}

void unconfirmed_clear(struct unconfirmed *u)
{
	u->oldest = u->next = 1;
	u->count = 0;
}

bool unconfirmed_is_full(const struct unconfirmed *u)
{
	return u->next - u->oldest == UNCONFIRMED_MAX;
}

uint64_t unconfirmed_add(struct unconfirmed *u, union unconfirmed_item item)
{
	assert(!unconfirmed_is_full(u));
	u->entries[u->next % UNCONFIRMED_MAX] = (struct unconfirmed_entry){item, true, false};
	u->count++;
	return u->next++;
}

/* NULL: it was not published on this channel, or has its answer. */
static struct unconfirmed_entry *find(struct unconfirmed *u, uint64_t number)
{
	if (number < u->oldest || number >= u->next)
		return NULL;
	struct unconfirmed_entry *entry = &u->entries[number % UNCONFIRMED_MAX];
	return entry->is_waiting ? entry : NULL;
}

bool unconfirmed_return(struct unconfirmed *u, uint64_t number)
{
	struct unconfirmed_entry *entry = find(u, number);
	if (entry)
		entry->was_returned = true;
	return entry != NULL;
}

static void remove_entry(struct unconfirmed *u, struct unconfirmed_entry *entry)
{
	entry->is_waiting = false;
	u->count--;
	while (u->oldest < u->next && !find(u, u->oldest))
		u->oldest++;
}

enum publish_answer_kind unconfirmed_take(struct unconfirmed *u,
	const struct publish_answer *answer, union unconfirmed_item *ret_item)
{
	bool is_covered = answer->multiple && u->oldest <= answer->number;
	struct unconfirmed_entry *entry = find(u, is_covered ? u->oldest : answer->number);
	if (!entry)
		return PUBLISH_NOT_ANSWERED;
	*ret_item = entry->item;
	remove_entry(u, entry);
	return entry->was_returned ? PUBLISH_RETURNED : answer->kind;
}

bool unconfirmed_take_lost(struct unconfirmed *u, union unconfirmed_item *ret_item)
{
	struct unconfirmed_entry *entry = find(u, u->oldest);
	if (!entry)
		return false;
	*ret_item = entry->item;
	remove_entry(u, entry);
	return true;
}
