/* What the files of the generator do for each other. */
#ifndef DIFF_GENERATE_PARTS_H
#define DIFF_GENERATE_PARTS_H

#include "diff/generate.h"

#define CONSUMABLE 4 /* queues 0 to 3; in the others messages may expire */

static inline uint32_t below(struct generator *g, uint32_t bound)
{
	return random_below(&g->random, bound);
}

static inline bool chance(struct generator *g, uint32_t per_mille)
{
	return random_chance(&g->random, per_mille);
}

struct command *generate_add(struct script *, enum op, uint8_t connection, uint8_t channel);
/* What is unacked on that channel (0: on all) may come back at once, and nothing is left to chance.
 */
bool generate_may_lose(const struct script *, const struct client *, int channel);

/* generate_publish.c. False: not here and now. */
bool generate_publish(struct generator *, struct script *, const struct client *, uint8_t channel);
/* One that RabbitMQ closes the channel for. */
bool generate_bad_publish(
	struct generator *, struct script *, const struct client *, uint8_t channel);

#endif
