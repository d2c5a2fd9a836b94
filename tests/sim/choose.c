#include "sim/choose.h"

#include "sim/supervisor.h"

#define COMMANDS_LIMIT 32
#define DELIVERY_LIMIT 20

/* All of them work on one queue, so that the account need not ask who did what. */
static void choose_retries(struct random *random, struct settle_policy *policy)
{
	static const mtime delays[] = {
		250 * MTIME_MS, MTIME_SECOND, 10 * MTIME_SECOND, MTIME_MINUTE};

	policy->retried = SETTLE_RETRIED_ALL;
	if (random_chance(random, 300))
		policy->retried &= (uint32_t)random_next(random);
	policy->delay_count = (uint8_t)random_below(random, 4);
	for (uint8_t i = 0; i < policy->delay_count; i++)
		policy->delays[i] = delays[random_below(random, 4)];
}

static uint16_t choose_supervisors(struct world *world)
{
	uint32_t chance = random_below(&world->random, 100);
	bool is_alone = world->order.is_on && !world->order.has_token;
	uint32_t count = chance < 50 || is_alone ? 1 : chance < 85 ? 2 : SUPERVISORS_MAX;

	return (uint16_t)(count < world->settings->supervisors ? count
							       : world->settings->supervisors);
}

void choose_pools(struct world *world)
{
	struct random *random = &world->random;
	struct settle_policy policy = {
		.attempts = (uint16_t)(1 + random_below(random, 4)),
		.dead_letter_by_broker = random_chance(random, 200),
		.unroutable = random_below(random, 3),
		.slices = random_chance(random, 300) ? 1 + random_below(random, 3) : 100,
		.queue = TEXT(WORLD_QUEUE),
	};

	choose_retries(random, &policy);
	if (world->order.is_on && policy.unroutable == UNROUTABLE_RETRY)
		policy.unroutable = UNROUTABLE_REJECT;
	world->supervisor_count = choose_supervisors(world);
	EACH_SUPERVISOR(world, supervisor)
	{
		supervisor->world = world;
		supervisor->number = (uint8_t)(supervisor - world->supervisors + 1);
		supervisor_choose(supervisor, &policy);
	}
	world->policy = policy;
	world->account.drops_unroutable = policy.unroutable == UNROUTABLE_DROP;
}

/* RabbitMQ's defaults, lower limits, or none. */
void choose_limits(struct world *world)
{
	struct random *random = &world->random;
	uint32_t chance = random_below(random, 100);
	mtime lowered = (5 + random_below(random, 56)) * MTIME_SECOND;

	world->ack_timeout = chance < 50 ? CHOOSE_ACK_TIMEOUT : chance < 80 ? lowered : MTIME_NEVER;
	if (!settings_has(world->settings, TROUBLE_TIMEOUT))
		world->ack_timeout = MTIME_NEVER;
	broker_set_ack_timeout(world->broker, world->ack_timeout);
	broker_log_late(
		world->broker, chance % 2 ? COMMANDS_LIMIT : 1 + lowered / MTIME_SECOND % 3);
	if (random_chance(random, 300) && settings_has(world->settings, TROUBLE_LIMIT) &&
		!world->order.config.is_return_free)
		broker_set_delivery_limit(world->broker, WORLD_QUEUE, DELIVERY_LIMIT);
}
