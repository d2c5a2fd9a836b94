/* Makes a script from a seed, step by step, while it runs on the fake broker: what is possible next
 * depends on what was delivered. Nothing is chosen whose outcome RabbitMQ leaves open: one consumer
 * a queue, no two queues whose dead letters race for a third, no expiry under a consumer. */
#ifndef DIFF_GENERATE_H
#define DIFF_GENERATE_H

#include "diff/perform.h"
#include "sim/random.h"

struct generator {
	struct random random;
	uint32_t messages;
	size_t steps; /* still to come */
	bool ends;
};

void generate_begin(struct generator *, struct script *, uint64_t seed);
/* A run_choose. */
bool generate_step(void *generator, struct script *, struct client clients[]);

#endif
