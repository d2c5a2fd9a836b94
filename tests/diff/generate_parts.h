/* Functions that the files of the generator share. */
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
/* True: if all unacked messages of that channel (0: of all channels) are requeued at once, the
 * result is determined. */
bool generate_may_lose(const struct script *, const struct client *, int channel);

/* generate_publish.c. False: it is not possible now. */
bool generate_publish(struct generator *, struct script *, const struct client *, uint8_t channel);
/* Add a publish for which RabbitMQ closes the channel. */
bool generate_bad_publish(
	struct generator *, struct script *, const struct client *, uint8_t channel);

#endif
