/* Which runs have throttles, and what happens to these. */
#include "sim/throttles.h"

#include "amqp/table.h"
#include "sim/cover.h"
#include "sim/fail.h"
#include "sim/supervisor.h"

#include <stdlib.h>

#define THROTTLES_EVERY   3   /* seeds */
#define UNTHROTTLED       150 /* pools, of a thousand */
#define OTHER_LISTS       500 /* of a thousand reloads */
#define FIGURES_IN_1000   3   /* rounds, like these */
#define SUSPENSIONS       2
#define STOPS_IN_A_TURN   100
#define LONGEST_STOP      (50 * MTIME_MS)
#define LONGEST_SUSPENDED (20 * MTIME_SECOND)
#define LARGEST_LIMIT     5
#define RECORDS           500 /* starts of a throttle, of a thousand */
#define LONG_AGO          (-60 * MTIME_MINUTE)

static const char *const names[THROTTLES_MAX] = {"first", "second", "third", "fourth"};
static const char *const types[THROTTLED_KEYS] = {"", "a", "b", "c", "d", "e", "f"};

/* ---------- choice ---------- */

/* A long one lets some start, so that a run does not take a day. */
static struct throttle_figures choose_figures(struct random *random, bool has_key)
{
	bool is_long = !has_key || random_chance(random, 500);
	const mtime periods[] = {5 * MTIME_MS, 50 * MTIME_MS, 300 * MTIME_MS, MTIME_SECOND,
		MTIME_SECOND, 4 * MTIME_SECOND, 15 * MTIME_SECOND,
		is_long ? 25 * MTIME_MINUTE : 90 * MTIME_SECOND};
	uint32_t which = random_below(random, sizeof periods / sizeof *periods);
	uint32_t limit = 1 + random_below(random, LARGEST_LIMIT);

	return (struct throttle_figures){
		.limit = which > 5 ? LARGEST_LIMIT : limit, .period = periods[which]};
}

static struct key_source choose_source(const struct world *world, struct random *random)
{
	uint32_t what = random_below(random, 100);

	if (what < 35)
		return (struct key_source){.kind = KEY_NONE};
	if (what < 60 && world->order.is_on)
		return (struct key_source){.kind = KEY_SESSION};
	if (what < 75)
		return (struct key_source){.kind = KEY_PROPERTY, .property = PROPERTY_TYPE};
	return (struct key_source){.kind = KEY_HEADER, .header = TEXT("tenant")};
}

static enum throttle_excess choose_excess(struct random *random)
{
	uint32_t what = random_below(random, 100);

	return what < 65 ? THROTTLE_DELAY : what < 85 ? THROTTLE_REPLY : THROTTLE_DEAD_LETTER;
}

static struct throttle_definition choose_definition(
	const struct world *world, struct random *random)
{
	struct throttle_definition definition = {
		.source = choose_source(world, random), .excess = choose_excess(random)};
	bool has_key = definition.source.kind != KEY_NONE;

	definition.figures = choose_figures(random, has_key);
	definition.figures.max_keys = !has_key ? 1
				      : random_chance(random, 300)
					      ? 1 + random_below(random, THROTTLED_KEYS)
					      : 1000;
	return definition;
}

static void trace_definition(const struct throttle_definition *definition, const char *name)
{
	static const char *const keys[] = {[KEY_NONE] = "all",
		[KEY_HEADER] = "each tenant",
		[KEY_PROPERTY] = "each type",
		[KEY_SESSION] = "each session"};
	static const char *const excesses[] = {"delay", "reply", "dead-letter"};

	sim_trace("throttle %s: %u of %s in %lld us, %u keys, %s", name, definition->figures.limit,
		keys[definition->source.kind], (long long)definition->figures.period,
		definition->figures.max_keys, excesses[definition->excess]);
}

/* Of the run before. */
static void forget_starts(struct world *world)
{
	for (uint32_t i = 0; i < SUPERVISORS_MAX; i++) {
		struct supervisor_throttles *own = &world->supervisors[i].throttles;

		own->ahead = 0;
		for (uint32_t k = 0; k < THROTTLES_MAX; k++)
			own->of[k].has_changed = false;
		for (uint32_t k = 0; k < THROTTLES_MAX; k++)
			for (uint32_t key = 0; key < THROTTLED_KEYS; key++)
				own->of[k].starts[key].count = own->of[k].starts[key].in_turn = 0;
	}
}

void throttles_choose(struct world *world)
{
	struct throttle_plan *plan = &world->throttles;
	struct random *random = &plan->random;

	memset(plan, 0, sizeof *plan);
	forget_starts(world);
	random_init(random, world->seed ^ 0x7468726f74746c65u);
	if (world->seed % THROTTLES_EVERY || !world_may(world, TROUBLE_THROTTLES))
		return;
	plan->is_on = true;
	plan->is_suspended = random_chance(random, 300);
	plan->count = 1 + random_below(random, THROTTLES_MAX);
	plan->tenants = (uint8_t)(1 + random_below(random, THROTTLED_KEYS - 1));
	for (uint32_t i = 0; i < plan->count; i++) {
		plan->of[i] = choose_definition(world, random);
		trace_definition(&plan->of[i], names[i]);
	}
}

void throttles_choose_list(struct pool_runtime *runtime)
{
	struct throttle_plan *plan = &runtime->world->throttles;
	struct pool_throttles *list = &runtime->throttles;
	uint32_t count, first;

	if (!plan->is_on || (list->count && !random_chance(&plan->random, OTHER_LISTS)))
		return;
	count = random_chance(&plan->random, UNTHROTTLED)
			? 0
			: 1 + random_below(&plan->random, plan->count);
	first = random_below(&plan->random, plan->count);
	list->count = (uint8_t)count;
	for (uint32_t i = 0; i < count; i++)
		list->of[i] = (uint8_t)((first + i) % plan->count);
	sim_trace("supervisor %u: pool %u has %u throttles, from throttle %s on",
		runtime->supervisor->number, runtime->channel, count, names[first]);
}

void throttles_resize(struct pool_runtime *runtime)
{
	if (throttles_are_on(&runtime->throttles))
		runtime->config.pipeline = 1;
}

/* ---------- arrivals ---------- */

/* None, or one that counts as none. */
static void put_no_tenant(struct random *random, struct buf *headers)
{
	uint32_t which = random_below(random, 3);

	if (which == 1)
		table_put_string(headers, TEXT("tenant"), TEXT_NONE);
	else if (which == 2)
		table_put_bool(headers, TEXT("tenant"), true);
}

/* An integer is the same key as its digits. */
static void put_tenant(struct random *random, uint8_t tenant, struct buf *headers)
{
	char digits[] = {(char)('0' + tenant)};

	if (!tenant)
		put_no_tenant(random, headers);
	else if (random_chance(random, 300))
		table_put_integer(headers, TEXT("tenant"), tenant);
	else
		table_put_string(headers, TEXT("tenant"), text_of(digits, 1));
}

/* A worker's own reply to it would be another end than its temper has. One of a session that cannot
 * be told would come again behind others of its session. */
static bool may_have_caller(const struct world *world, uint32_t id)
{
	return !order_any_key(&world->order, id) &&
	       world->account.message[id].temper != TEMPER_REPLY_NOWHERE;
}

static const char *choose_reply_to(struct world *world, struct random *random)
{
	uint32_t what = random_below(random, 100);

	if (what < 30)
		return NULL;
	return what < 90   ? world->account.replies
	       : what < 96 ? "nowhere"
	       : what < 98 ? BROKER_COSTS_CHANNEL
			   : BROKER_COSTS_CONNECTION;
}

static void put_type(struct throttle_plan *plan, uint32_t id, struct properties *properties)
{
	const char *type = types[plan->type[id]];

	if (*type || random_chance(&plan->random, 500))
		properties_set(properties, PROPERTY_TYPE, text_from(type));
}

void throttles_arrive(
	struct world *world, uint32_t id, struct buf *headers, struct properties *properties)
{
	struct throttle_plan *plan = &world->throttles;
	struct random *random = &plan->random;
	uint32_t twin = world->order.message[id].twins;
	uint8_t tenant = (uint8_t)random_below(random, plan->tenants + 1u);

	uint8_t type = (uint8_t)random_below(random, plan->tenants + 1u);

	if (!plan->is_on)
		return;
	plan->tenant[id] = twin && twin != id ? plan->tenant[twin] : tenant;
	plan->type[id] = twin && twin != id ? plan->type[twin] : type;
	put_type(plan, id, properties);
	put_tenant(random, plan->tenant[id], headers);
	sim_trace("message %u is of tenant %u, type %u", id, plan->tenant[id], plan->type[id]);
	plan->reply_to[id] = may_have_caller(world, id) ? choose_reply_to(world, random) : NULL;
	if (plan->reply_to[id])
		properties_set(properties, PROPERTY_REPLY_TO, text_from(plan->reply_to[id]));
}

/* ---------- life ---------- */

/* The number that the core has for this key. */
static uint64_t number_of(
	const struct throttle *throttle, const struct throttle_definition *definition, uint32_t key)
{
	char digit = (char)('0' + key);

	if (key == 0)
		return THROTTLE_NO_KEY;
	if (definition->source.kind == KEY_SESSION)
		return throttle_key(throttle, order_key((uint8_t)key));
	if (definition->source.kind == KEY_PROPERTY)
		return throttle_key(throttle, text_from(types[key]));
	return throttle_key(throttle, text_of(&digit, 1));
}

static mtime boot_of(const struct supervisor *supervisor)
{
	return supervisor->world->now + supervisor->throttles.ahead;
}

static const struct throttled_start *start_at(
	const struct supervisor_throttle *own, uint32_t key, const uint32_t *done)
{
	const struct throttled_starts *starts = &own->starts[key];

	return done[key] < starts->count ? &starts->of[done[key]] : NULL;
}

/* The key of the next start of all; THROTTLED_KEYS: there is none. */
static uint32_t next_start(const struct supervisor_throttle *own, const uint32_t *done)
{
	uint32_t next = THROTTLED_KEYS;

	for (uint32_t key = 0; key < THROTTLED_KEYS; key++) {
		const struct throttled_start *start = start_at(own, key, done);

		if (start &&
			(next == THROTTLED_KEYS || start->late < start_at(own, next, done)->late))
			next = key;
	}
	return next;
}

/* The record of the processes before has all their starts. */
static void restore(struct supervisor_throttle *own, const struct throttle_definition *definition)
{
	uint32_t done[THROTTLED_KEYS] = {0}, key;

	while ((key = next_start(own, done)) < THROTTLED_KEYS) {
		throttle_restore(own->throttle, number_of(own->throttle, definition, key), 1,
			start_at(own, key, done)->late);
		done[key]++;
	}
}

/* Where there is no record it is not known what the process before has begun, so one period
 * passes. A record that was made under other figures may need more keys than there are. */
static void begin(struct supervisor *supervisor, uint32_t number)
{
	struct throttle_plan *plan = &supervisor->world->throttles;
	struct supervisor_throttle *own = &supervisor->throttles.of[number];
	bool has_record = random_chance(&plan->random, RECORDS);

	own->figures = plan->of[number].figures;
	own->throttle = throttle_new(&own->figures, supervisor->world->seed + number);
	sim_require(own->throttle, "out of memory");
	own->unsure_from = has_record && !own->has_changed ? LONG_AGO : boot_of(supervisor);
	if (has_record)
		restore(own, &plan->of[number]);
	else
		throttle_missed(own->throttle, own->unsure_from);
}

void throttles_begin(struct supervisor *supervisor)
{
	for (uint32_t i = 0; i < supervisor->world->throttles.count; i++)
		begin(supervisor, i);
}

void throttles_end(struct supervisor *supervisor)
{
	for (uint32_t i = 0; i < THROTTLES_MAX; i++) {
		throttle_free(supervisor->throttles.of[i].throttle);
		supervisor->throttles.of[i].throttle = NULL;
	}
}

void throttles_configure(struct pool_runtime *runtime)
{
	const struct throttle_plan *plan = &runtime->world->throttles;
	const struct pool_throttles *list = &runtime->throttles;
	struct throttle_keys *keys = &runtime->consumer_config.throttles;

	runtime->config.throttle_count = list->count;
	keys->count = list->count;
	for (uint8_t i = 0; i < list->count; i++) {
		const struct throttle_definition *definition = &plan->of[list->of[i]];
		struct throttle *throttle = runtime->supervisor->throttles.of[list->of[i]].throttle;

		runtime->config.throttles[i] = (struct pool_throttle){.throttle = throttle,
			.name = names[list->of[i]],
			.has_key = definition->source.kind != KEY_NONE,
			.excess = definition->excess};
		keys->of[i].throttle = throttle;
		keys->of[i].source = definition->source;
	}
}

void throttles_find_keys(void *io, struct delivery *delivery)
{
	struct pool_runtime *runtime = io;
	struct properties properties;

	sim_require(properties_parse(delivery->properties, &properties) == RC_OK, "properties");
	throttle_keys_read(delivery, &properties, &runtime->consumer_config.throttles);
}

/* ---------- operators, and machines ---------- */

/* After a larger limit or a longer period it may remember more than there was. */
static void set_figures(struct supervisor *supervisor, uint32_t number)
{
	struct throttle_plan *plan = &supervisor->world->throttles;
	struct supervisor_throttle *own = &supervisor->throttles.of[number];
	bool has_key = plan->of[number].source.kind != KEY_NONE;
	struct throttle_figures figures = choose_figures(&plan->random, has_key);

	figures.max_keys = own->figures.max_keys;
	if (figures.limit > own->figures.limit || figures.period > own->figures.period)
		own->unsure_from = boot_of(supervisor);
	own->figures = figures;
	own->has_changed = true;
	throttle_configure(own->throttle, &figures);
	supervisor->has_events = true;
	sim_trace("supervisor %u: throttle %s lets %u start in %lld us", supervisor->number,
		names[number], figures.limit, (long long)figures.period);
}

static void suspend(struct supervisor *supervisor)
{
	struct random *random = &supervisor->world->throttles.random;
	mtime longest = random_chance(random, 300) ? LONGEST_SUSPENDED : LONGEST_STOP;
	mtime span = random_below(random, (uint32_t)longest);

	supervisor->throttles.ahead += span;
	sim_trace("supervisor %u: its machine was suspended for %lld us", supervisor->number,
		(long long)span);
}

void throttles_chance(struct world *world)
{
	struct throttle_plan *plan = &world->throttles;
	struct supervisor *supervisor;
	uint32_t what;

	if (!plan->is_on)
		return;
	what = random_below(&plan->random, 1000);
	supervisor = &world->supervisors[random_below(&plan->random, world->supervisor_count)];
	if (!supervisor_is_alive(supervisor))
		return;
	if (what < FIGURES_IN_1000)
		set_figures(supervisor, random_below(&plan->random, plan->count));
	else if (what < FIGURES_IN_1000 + SUSPENSIONS && plan->is_suspended)
		suspend(supervisor);
}

/* ---------- turns ---------- */

void throttles_begin_turn(struct supervisor *supervisor)
{
	supervisor->throttles.boot = boot_of(supervisor);
}

uint16_t throttles_first_pool(struct supervisor *supervisor)
{
	struct throttle_plan *plan = &supervisor->world->throttles;

	return plan->is_on ? (uint16_t)random_below(&plan->random, supervisor->pool_count) : 0;
}

/* The process may have been stopped before it wrote. */
static mtime end_of_turn(struct supervisor *supervisor)
{
	struct world *world = supervisor->world;
	struct random *random = &world->throttles.random;

	if (!world->calm && world->throttles.is_suspended && random_chance(random, STOPS_IN_A_TURN))
		supervisor->throttles.ahead += random_below(random, LONGEST_STOP);
	return boot_of(supervisor);
}

static void postdate(struct throttled_starts *starts, mtime end)
{
	for (; starts->in_turn > 0; starts->in_turn--)
		starts->of[starts->count - starts->in_turn].late = end;
}

static void end_turn_of(struct supervisor_throttle *own, mtime end)
{
	for (uint32_t key = 0; key < THROTTLED_KEYS; key++)
		postdate(&own->starts[key], end);
	throttle_end_turn(own->throttle, end);
}

void throttles_end_turn(struct supervisor *supervisor)
{
	const struct throttle_plan *plan = &supervisor->world->throttles;
	mtime end;

	if (!plan->is_on)
		return;
	EACH_POOL(supervisor, runtime)
	{
		throttles_check_waiting(runtime);
	}
	end = end_of_turn(supervisor);
	for (uint32_t i = 0; i < plan->count; i++)
		end_turn_of(&supervisor->throttles.of[i], end);
}
