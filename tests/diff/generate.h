/* Make a script from a seed, step by step, while it runs on the fake broker: which commands are
 * possible depends on the deliveries. Every command has one result only: a queue has one consumer,
 * no two queues send dead letters to a third at once, no message expires in a consumed queue. */
#ifndef DIFF_GENERATE_H
#define DIFF_GENERATE_H

#include "diff/perform.h"
#include "sim/random.h"

struct generator {
	struct random random;
	uint32_t messages;
	size_t steps; /* still to come */
	bool ends;
	bool orders;            /* most commands are about queue 0 */
	struct command closing; /* channel 0: none; after a barrier its channel is closed */
};

void generate_begin(struct generator *, struct script *, uint64_t seed);
/* A run_choose. */
bool generate_step(void *generator, struct script *, struct client clients[]);

#endif
