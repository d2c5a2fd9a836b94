/* Random runs of a pool with throttles. What must hold, whatever happens: no window of a throttle
 * has more starts than its limit, by a plain list of all starts; what a throttle lets start does
 * not wait for it; and at the end nothing is left. pool_audit runs after every event. */
#include "core/pool_internal.h"
#include "unit/support/core/keyed.h"
#include "unit/support/core/throttled.h"

#include <stdio.h>

#define RUNS      300 /* in each loop */
#define EVENTS    400
#define THROTTLES 3
#define KEYS      4
#define SESSIONS  12
#define WORKERS   4
#define STARTS    4000
#define MESSAGES  1000

struct start {
	uint64_t key;
	mtime at;
};

struct limit {
	struct throttle *throttle;
	uint32_t limit;
	mtime period;
	struct start starts[STARTS];
	int count;
};

struct world {
	struct rig rig; /* first, for its effects */
	struct pool_config config;
	struct limit limits[THROTTLES];
	unsigned seed;
	bool is_up, is_outbox_up, is_consuming, is_paused, has_sessions, is_ending;
	bool has_token, must_name; /* in the token */
	struct {
		bool lives, is_ready, is_leaving;
		uint32_t life;
		uint64_t ids[WORKERS];
		uint32_t count;
	} workers[WORKERS];
	uint64_t number; /* of the latest message */
};

#define CHECK(world, fact) ck_assert_msg(fact, "seed %u: " #fact, (world)->seed)

static bool dice(long of)
{
	return random() % of == 0;
}

/* ---------- keys and limits ---------- */

static struct limit *limit_of(struct world *world, const struct throttle *wanted)
{
	for (int i = 0; i < THROTTLES; i++)
		if (world->limits[i].throttle == wanted)
			return &world->limits[i];
	return NULL;
}

/* The key of a message depends on the throttle, and not on its place in the list. */
static uint64_t key_of(
	const struct world *world, const struct limit *limit, const struct delivery *delivery)
{
	uint64_t number = strtoul((const char *)delivery->body.ptr, NULL, 10);
	uint64_t which = (uint64_t)(limit - world->limits);
	return (number * (2 * which + 3) / 2) % KEYS;
}

static void on_find_keys(void *io, struct delivery *delivery)
{
	struct world *world = io;
	for (uint32_t i = 0; i < world->config.throttle_count; i++) {
		const struct pool_throttle *throttle_i = &world->config.throttles[i];
		delivery->throttle_keys[i] =
			throttle_i->has_key
				? key_of(world, limit_of(world, throttle_i->throttle), delivery)
				: 0;
	}
}

/* The start that is `limit` before this one is out of its window. */
static bool has_space(const struct limit *limit, uint64_t key, mtime at)
{
	uint32_t in_window = 0;
	for (int i = limit->count - 1; i >= 0; i--) {
		if (limit->starts[i].key != key)
			continue;
		if (at - limit->starts[i].at >= limit->period)
			return true;
		if (++in_window == limit->limit)
			return false;
	}
	return true;
}

static uint64_t charged_key(
	const struct world *world, uint32_t number, const struct delivery *delivery)
{
	const struct limit *limit =
		limit_of((struct world *)world, world->config.throttles[number].throttle);
	return world->config.throttles[number].has_key ? key_of(world, limit, delivery) : 0;
}

static bool may_start(struct world *world, const struct delivery *delivery)
{
	mtime boot = world->rig.now + world->rig.suspended;
	for (uint32_t i = 0; i < world->config.throttle_count; i++)
		if (!has_space(limit_of(world, world->config.throttles[i].throttle),
			    charged_key(world, i, delivery), boot))
			return false;
	return true;
}

static enum send_result on_send(
	void *io, uint16_t slot, struct delivery *delivery, uint16_t attempt)
{
	struct world *world = io;
	(void)attempt;
	CHECK(world, world->workers[slot].is_ready && !world->workers[slot].is_leaving);
	CHECK(world, world->workers[slot].count < world->config.concurrency);
	CHECK(world, may_start(world, delivery));
	if (dice(40))
		return dice(2) ? SEND_NO_MEMORY : SEND_TOO_LARGE;
	for (uint32_t i = 0; i < world->config.throttle_count; i++) {
		struct limit *limit = limit_of(world, world->config.throttles[i].throttle);
		limit->starts[limit->count++] = (struct start){
			charged_key(world, i, delivery), world->rig.now + world->rig.suspended};
		CHECK(world, limit->count < STARTS);
	}
	world->workers[slot].ids[world->workers[slot].count++] = delivery->id;
	return SEND_OK;
}

/* ---------- the rest of the world ---------- */

static void on_source(void *io, enum source_request request, uint32_t window)
{
	struct world *world = io;
	(void)window;
	world->is_consuming = request == SOURCE_CONSUME;
}

static void on_publish(void *io, const struct parcel *parcel)
{
	struct world *world = io;
	CHECK(world, parcel->kind != PARCEL_REFUSAL || parcel->delivery->reply_to.len > 0);
	CHECK(world, parcel->kind != PARCEL_POSTPONE || parcel->delay >= MTIME_SECOND);
}

static void on_slot(void *io, uint16_t slot, uint32_t life, enum slot_request request)
{
	struct world *world = io;
	world->workers[slot].life = life;
	world->workers[slot].lives = true;
	world->workers[slot].is_leaving = request != SLOT_SPAWN;
	if (request == SLOT_SPAWN)
		world->workers[slot].is_ready = false;
}

static void on_name(void *io, const struct session_handover *handover)
{
	struct world *world = io;
	world->must_name = handover != NULL;
}

static void on_window(void *io, uint32_t window)
{
	(void)io;
	(void)window;
}

static void on_emit(void *io, const struct notice *notice)
{
	struct world *world = io;
	CHECK(world, notice->kind != NOTICE_TASK_POSTPONED || notice->what);
	CHECK(world, notice->kind != NOTICE_TASK_REFUSED || notice->what);
}

static void step(struct world *world, struct event event)
{
	rig_step(&world->rig, event);
	rig_forget(&world->rig);
}

/* No task that could start waits for a throttle. */
static void check_nothing_waits(struct world *world)
{
	const struct tasks *tasks = &world->rig.pool->tasks;
	const struct dispatch *dispatch = &tasks->dispatch;
	const struct throttling *throttling = &dispatch->throttling;
	const struct link *first = list_first(&dispatch->queued);
	const struct delivery *head = first ? CONTAINER_OF(first, struct delivery, place) : NULL;
	bool is_exclusive = head && settle_is_exclusive(head);
	if (world->is_paused || world->is_ending || !dispatch_has_place(dispatch) ||
		dispatch->suspect_count > 0 || is_exclusive || dispatch->is_exclusive ||
		tasks->send_again != MTIME_NEVER || tasks->source.state == SOURCE_IS_CLOSING)
		return;
	CHECK(world, !head || throttling->in_groups > 0 || !may_start(world, head));
	CHECK(world, throttling->all.until || throttling->due_count == 0);
	CHECK(world, throttling->all.until || !tasks->sessions ||
			     tasks->sessions->by_state[SESSION_READY] == 0);
}

static void turn(struct world *world)
{
	rig_turn(&world->rig);
	rig_forget(&world->rig);
	check_nothing_waits(world);
	mtime deadline = pool_deadline(world->rig.pool);
	CHECK(world, deadline > world->rig.now);
	CHECK(world, world->rig.pool->tasks.dispatch.throttling.in_groups <= 20);
	if (dice(2) && deadline != MTIME_NEVER)
		world->rig.now = deadline;
	else
		world->rig.now += random() % (dice(4) ? THROTTLED_PERIOD : MTIME_SECOND);
	if (dice(20))
		world->rig.suspended += random() % THROTTLED_PERIOD;
}

static void deliver(struct world *world)
{
	char word[64];
	if (!world->is_up || !world->is_consuming || world->number == MESSAGES ||
		tasks_window_is_full(&world->rig.pool->tasks))
		return;
	snprintf(word, sizeof word, "%c%s=%lu", dice(3) ? '-' : 'a' + (int)(random() % SESSIONS),
		dice(5) ? "!" : "", (unsigned long)++world->number);
	struct delivery *delivery = keyed_parse(word, ++world->rig.last_tag);
	if (!world->has_sessions)
		delivery->key = TEXT_NONE;
	if (world->has_token)
		delivery->redelivered = dice(2);
	if (dice(3))
		delivery->reply_to = TEXT_NONE;
	if (dice(20)) {
		delivery->redelivered = true;
		delivery->renewed = SETTLE_ALONE_AT;
	}
	delivery->is_suspect = dice(20);
	delivery->attempt = (uint16_t)(random() % 3);
	on_find_keys(world, delivery);
	rig_deliver_this(&world->rig, delivery);
	rig_forget(&world->rig);
}

static void source_moves(struct world *world)
{
	if (world->is_up && dice(10)) {
		rig_source_fact(&world->rig, SOURCE_DOWN);
		world->is_up = false;
	} else if (!world->is_up && world->is_consuming) {
		rig_source_up(&world->rig);
		world->rig.last_tag = 0;
		world->is_up = true;
	}
	rig_forget(&world->rig);
}

static void outbox_moves(struct world *world)
{
	if (!world->is_outbox_up) {
		rig_outbox_up(&world->rig);
		world->is_outbox_up = true;
	} else if (dice(15)) {
		rig_outbox_down(&world->rig, (enum outbox_loss)(random() % 4));
		world->is_outbox_up = false;
	}
	rig_forget(&world->rig);
}

static void settle_number(struct world *world)
{
	uint64_t last = world->rig.pool->tasks.outbox.last_seq;
	if (!world->is_outbox_up || last == 0)
		return;
	uint64_t seq = dice(3) ? last : 1 + (uint64_t)random() % last;
	enum event_kind kind = dice(5) ? RETURNED : dice(5) ? REFUSED : CONFIRMED;
	rig_outbox_fact(&world->rig, kind, seq, kind != RETURNED && dice(2));
	rig_forget(&world->rig);
}

static void worker_acts(struct world *world)
{
	static const int32_t statuses[] = {200, 200, 200, 200, 201, 500, 400};
	uint16_t slot = (uint16_t)(random() % WORKERS);
	uint32_t life = world->workers[slot].life;
	if (!world->workers[slot].lives)
		return;
	if (dice(world->workers[slot].is_leaving ? 2 : 25)) {
		world->workers[slot].lives = world->workers[slot].is_ready = false;
		world->workers[slot].count = 0;
		rig_gone(&world->rig, slot, life);
	} else if (!world->workers[slot].is_ready) {
		world->workers[slot].is_ready = true;
		rig_ready(&world->rig, slot, life);
	} else if (world->workers[slot].count > 0) {
		uint64_t id = world->workers[slot].ids[--world->workers[slot].count];
		rig_answer_task(&world->rig, slot, life, id, statuses[random() % 7]);
	}
	rig_forget(&world->rig);
}

static void choose_throttles(struct world *world)
{
	int first = (int)(random() % THROTTLES);
	world->config.throttle_count = (uint8_t)(random() % (THROTTLES + 1));
	for (int i = 0; i < world->config.throttle_count; i++) {
		struct limit *limit = &world->limits[(first + i) % THROTTLES];
		/* With a key or without, for good: the starts of before count for its keys. */
		world->config.throttles[i] = (struct pool_throttle){.throttle = limit->throttle,
			.name = "any",
			.has_key = limit != &world->limits[0],
			.excess = (enum throttle_excess)(dice(2) ? 0 : random() % 3)};
	}
}

static void set_limit(struct world *world)
{
	struct limit *limit = &world->limits[random() % THROTTLES];
	limit->limit = 1 + (uint32_t)(random() % 4);
	throttled_set(limit->throttle, limit->limit, limit->period);
}

static void steer(struct world *world)
{
	if (dice(2)) {
		set_limit(world);
	} else if (dice(4) && !world->is_ending) {
		choose_throttles(world);
		rig_configure(&world->rig, world->config);
	} else if (dice(4)) {
		world->is_paused = !world->is_paused;
		rig_command(&world->rig, world->is_paused ? COMMAND_PAUSE : COMMAND_RESUME);
	} else if (world->has_sessions) {
		char key[2] = {(char)('a' + random() % SESSIONS), 0};
		step(world, (struct event){.kind = SESSION_COMMAND,
				    .session = {.verb = (enum session_verb)(random() % 7),
					    .queued = (enum session_queued)(random() % 3),
					    .key = text_from(key)}});
	}
	rig_forget(&world->rig);
}

/* It names the message that was asked for last, if that is still wanted. */
static void token_acts(struct world *world)
{
	if (world->must_name && dice(2)) {
		world->must_name = false;
		step(world, (struct event){.kind = TOKEN_NAMED});
	}
}

static void act(struct world *world)
{
	static void (*const acts[])(struct world *) = {turn, turn, turn, turn, deliver, deliver,
		deliver, deliver, deliver, worker_acts, worker_acts, worker_acts, worker_acts,
		worker_acts, settle_number, settle_number, settle_number, outbox_moves,
		source_moves, steer, token_acts, token_acts};
	acts[random() % (long)(sizeof acts / sizeof *acts)](world);
}

static void world_init(struct world *world, unsigned seed, struct effects *effects)
{
	*world = (struct world){.seed = seed, .rig.now = MTIME_SECOND};
	srandom(seed);
	world->has_sessions = dice(2);
	world->config = world->has_sessions ? keyed_config(WORKERS) : rig_config(WORKERS, 1);
	world->has_token = world->has_sessions && dice(2);
	if (world->has_token)
		world->config.session.takeover_delay = 30 * MTIME_SECOND;
	world->config.concurrency = dice(2) ? 1 : 3;
	world->config.prefetch = (uint16_t)(1 + random() % 40);
	world->config.policy.delay_count = 1;
	world->config.policy.delays[0] = MTIME_SECOND;
	world->config.policy.blocks_session = dice(3);
	for (int i = 0; i < THROTTLES; i++) {
		world->limits[i].limit = 1 + (uint32_t)(random() % 4);
		world->limits[i].period =
			1 + random() % (dice(4) ? 2 * MTIME_MINUTE : THROTTLED_PERIOD);
		world->limits[i].throttle = throttled_new(1);
		throttled_set(
			world->limits[i].throttle, world->limits[i].limit, world->limits[i].period);
	}
	choose_throttles(world);
	*effects = rig_effects;
	effects->send = on_send;
	effects->source = on_source;
	effects->publish = on_publish;
	effects->slot = on_slot;
	effects->emit = on_emit;
	effects->name = on_name;
	effects->window = on_window;
	effects->find_throttle_keys = on_find_keys;
	starts_init(&world->rig.starts, 1000 * RIG_PROCESSORS, 0);
	world->rig.pool = pool_new(&world->config, &world->rig.starts, &world->rig.last_task_id,
		effects, world, world->rig.now);
	if (world->has_token)
		step(world, (struct event){.kind = TOKEN_HELD,
				    .token = {.is_orderly = true,
					    .deaths = dice(2) ? 3 : 0,
					    .window = world->config.prefetch}});
}

/* A drain needs neither credit nor a throttle. */
static void drain(struct world *world)
{
	world->is_ending = true;
	if (world->is_paused)
		rig_command(&world->rig, COMMAND_RESUME);
	rig_command(&world->rig, COMMAND_DRAIN);
	for (int i = 0; i < 4000 && !pool_is_quiet(world->rig.pool); i++) {
		enum source_request request = world->rig.pool->tasks.source.request;
		if (world->is_up && request == SOURCE_REST)
			rig_source_fact(&world->rig, SOURCE_RESTED);
		if (world->is_up && request >= SOURCE_LEAVE) {
			rig_source_fact(&world->rig, SOURCE_DOWN);
			world->is_up = false;
		}
		if (i == 3000)
			rig_command(&world->rig, COMMAND_FORCE);
		act(world);
	}
	CHECK(world, pool_is_quiet(world->rig.pool));
}

START_TEST(random_runs_keep_within_the_limits)
{
	for (unsigned seed = (unsigned)_i * RUNS; seed < (unsigned)_i * RUNS + RUNS; seed++) {
		static struct world world;
		struct effects effects;
		world_init(&world, seed, &effects);
		for (int i = 0; i < EVENTS; i++)
			act(&world);
		if (dice(2))
			drain(&world);
		pool_free(world.rig.pool);
		for (int i = 0; i < THROTTLES; i++)
			throttle_free(world.limits[i].throttle);
	}
}
END_TEST

static Suite *throttling_random_suite(void)
{
	Suite *suite = suite_create("core/throttling_random");
	TCase *runs = tcase_create("runs");
	tcase_set_timeout(runs, 120);
	tcase_add_loop_test(runs, random_runs_keep_within_the_limits, 0, 10);
	suite_add_tcase(suite, runs);
	return suite;
}

UNIT_MAIN(throttling_random_suite)
