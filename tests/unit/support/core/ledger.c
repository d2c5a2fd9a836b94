#include "unit/support/core/ledger.h"

void ledger_init(struct ledger *ledger)
{
	*ledger = (struct ledger){0};
	source_init(&ledger->source, false, &rig_effects, &ledger->rig);
	source_up(&ledger->source, 1);
}

void ledger_enter(struct ledger *ledger, uint64_t tag)
{
	ledger->deliveries[tag] = rig_delivery(tag);
	source_open(&ledger->source, ledger->deliveries[tag]);
}

void ledger_enter_all(struct ledger *ledger, uint64_t first, uint64_t last)
{
	for (uint64_t tag = first; tag <= last; tag++)
		ledger_enter(ledger, tag);
}

void ledger_release(struct ledger *ledger, uint64_t tag)
{
	source_release(ledger->deliveries[tag]);
}

void ledger_end(struct ledger *ledger)
{
	struct link *link;
	while ((link = list_first(&ledger->source.unacked))) {
		struct delivery *delivery = CONTAINER_OF(link, struct delivery, unacked);
		source_forget(delivery);
		delivery_free(delivery);
	}
	source_down(&ledger->source);
}
