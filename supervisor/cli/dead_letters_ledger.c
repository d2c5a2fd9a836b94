#include "cli/dead_letters_ledger.h"

#include <assert.h>
#include <stddef.h>

void ledger_init(struct ledger *ledger)
{
	ledger->first = ledger->next = 1;
}

static struct ledger_entry *entry_of(struct ledger *ledger, uint64_t number)
{
	return &ledger->of[number % LEDGER_MAX];
}

/* NULL: it was never published, or has its answer. */
static struct ledger_entry *open_entry(struct ledger *ledger, uint64_t number)
{
	if (number < ledger->first || number >= ledger->next)
		return NULL;
	struct ledger_entry *entry = entry_of(ledger, number);
	return entry->delivery != 0 ? entry : NULL;
}

static void skip_answered(struct ledger *ledger)
{
	while (ledger->first < ledger->next && entry_of(ledger, ledger->first)->delivery == 0)
		ledger->first++;
}

bool ledger_is_full(const struct ledger *ledger)
{
	return ledger->next - ledger->first == LEDGER_MAX;
}

uint64_t ledger_put(struct ledger *ledger, uint64_t delivery)
{
	assert(delivery != 0 && !ledger_is_full(ledger));
	*entry_of(ledger, ledger->next) = (struct ledger_entry){.delivery = delivery};
	return ledger->next++;
}

bool ledger_return(struct ledger *ledger, uint64_t number)
{
	struct ledger_entry *entry = open_entry(ledger, number);
	if (entry)
		entry->was_returned = true;
	return entry != NULL;
}

bool ledger_take(struct ledger *ledger, uint64_t number, bool multiple, struct ledger_entry *ret)
{
	if (multiple) {
		if (ledger->first == ledger->next || (number != 0 && ledger->first > number))
			return false;
		number = ledger->first;
	}
	struct ledger_entry *entry = open_entry(ledger, number);
	if (!entry)
		return false;
	*ret = *entry;
	entry->delivery = 0;
	skip_answered(ledger);
	return true;
}
