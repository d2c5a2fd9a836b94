#include "diff/generate_parts.h"

static uint32_t choose_mistake(struct generator *g)
{
	static const uint32_t mistakes[] = {TRAIT_NO_EXCHANGE, TRAIT_CC_STRING,
		TRAIT_EXPIRATION_WORD, TRAIT_USER_OTHER, TRAIT_REPLY_TO};

	return mistakes[below(g, sizeof mistakes / sizeof *mistakes)];
}

static uint32_t choose_traits(struct generator *g, const struct command *c, bool replies)
{
	uint32_t traits = 0;

	traits |= chance(g, 500) ? TRAIT_MANDATORY : 0;
	traits |= chance(g, 200) ? TRAIT_HEADERS : 0;
	traits |= chance(g, 100) ? TRAIT_TRANSIENT : 0;
	traits |= chance(g, 40) ? TRAIT_USER : 0;
	traits |= chance(g, 80) ? TRAIT_DEATH : 0;
	traits |= chance(g, 500) && traits & TRAIT_DEATH ? TRAIT_REJECTED : 0;
	traits |= chance(g, 50) ? TRAIT_COUNT : 0;
	if (c->queue < CONSUMABLE && c->second < CONSUMABLE) {
		traits |= chance(g, 120) ? TRAIT_CC : 0;
		traits |= chance(g, 80) ? TRAIT_BCC : 0;
	}
	if (c->queue >= CONSUMABLE && c->queue < SCRIPT_QUEUES)
		traits |= chance(g, 400) ? TRAIT_EXPIRATION : 0;
	traits |= replies && chance(g, 500) ? TRAIT_REPLY_TO : 0;
	return traits;
}

static bool choose_answer(struct generator *g, const struct client *client, struct command *c)
{
	if (g->messages == 0)
		return false;
	for (int tries = 0; tries < 8; tries++) {
		c->answers = 1 + below(g, g->messages);
		if (client->tokens[c->answers][0])
			return true;
	}
	return false;
}

static void publish_one(struct generator *g, struct script *script, const struct client *client,
	uint8_t channel, uint8_t queue)
{
	struct command *c = generate_add(script, OP_PUBLISH, client->number, channel);

	c->message = ++g->messages;
	c->queue = queue;
	c->second = (uint8_t)below(g, SCRIPT_QUEUES);
	c->traits = choose_traits(g, c, client->channels[channel].replies);
	if (chance(g, 250) && choose_answer(g, client, c))
		c->queue = KEY_REPLY;
}

/* It is alone in its step, because it is open whether earlier publishes of the step would still be
 * confirmed. */
bool generate_bad_publish(
	struct generator *g, struct script *script, const struct client *client, uint8_t channel)
{
	if (!generate_may_lose(script, client, channel))
		return false;
	publish_one(g, script, client, channel, (uint8_t)below(g, SCRIPT_QUEUES));
	script->commands[script->count - 1].traits &= ~(uint32_t)TRAIT_CC;
	script->commands[script->count - 1].traits |= choose_mistake(g);
	return true;
}

/* All publishes of a step go to one queue, so that messages that expire together have one order in
 * the next queue. A message that may expire without a trace is confirmed. */
bool generate_publish(
	struct generator *g, struct script *script, const struct client *client, uint8_t channel)
{
	uint8_t queue = chance(g, 80) ? KEY_MISSING : (uint8_t)below(g, SCRIPT_QUEUES);
	uint32_t count = 1 + below(g, 5);

	if (g->orders && chance(g, 700))
		queue = 0;

	if (queue >= CONSUMABLE && queue < SCRIPT_QUEUES && !client->channels[channel].confirms)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		publish_one(g, script, client, channel, queue);
		script->commands[script->count - 1].joined = i > 0;
	}
	return true;
}
