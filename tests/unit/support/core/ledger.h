/* A source with its ledger, and its deliveries by tag. The rig records its effects. */
#ifndef UNIT_LEDGER_H
#define UNIT_LEDGER_H

#include "core/tasks/source.h"
#include "unit/support/core/rig.h"

#define LEDGER_TAGS 64

struct ledger {
	struct rig rig; /* records the effects */
	struct source source;
	struct delivery *deliveries[LEDGER_TAGS + 1];
};

/* Its channel is up, in epoch 1. */
void ledger_init(struct ledger *);
/* Its channel is lost, with all deliveries. */
void ledger_end(struct ledger *);
void ledger_enter(struct ledger *, uint64_t tag);
void ledger_enter_all(struct ledger *, uint64_t first, uint64_t last);
void ledger_release(struct ledger *, uint64_t tag);

#endif
