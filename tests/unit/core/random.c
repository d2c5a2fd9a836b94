/* Whole random runs of a pool against a broker and workers made of arrays. What must hold, whatever
 * happens: no ack without a reason, no tag settled twice or in another epoch, no life blamed for
 * another's, nothing begun in a pause, nobody asked to leave with a task open, and at the end
 * nothing is left. pool_audit runs after every event. */
#include "unit/support/core/chance.h"

#define EVENTS 600

static void source_goes(struct world *world)
{
	if (!world->source_is_up)
		return;
	world->source_is_up = false;
	chance_tell(world,
		(struct event){.kind = SOURCE_DOWN, .source = {.epoch = world->source_epoch}});
}

/* Sometimes a new channel comes and the end of the old one was not reported. */
static void source_comes(struct world *world)
{
	if (world->source_is_up && !dice(10))
		return;
	world->source_is_up = true;
	world->source_epoch++;
	world->last_tag = 0;
	memset(world->fates, 0, sizeof world->fates);
	chance_tell(
		world, (struct event){.kind = SOURCE_UP, .source = {.epoch = world->source_epoch}});
}

static void deliver(struct world *world)
{
	if (!world->source_is_up || !world->consumes || world->last_tag == TAGS)
		return;
	struct delivery *delivery = rig_delivery(++world->last_tag);
	delivery->attempt = (uint16_t)(random() % 3);
	delivery->returns = dice(8) ? 8 + (uint32_t)(random() % 4) : 0;
	delivery->redelivered = dice(2);
	delivery->renewed = dice(8) ? (uint16_t)(random() % 12) : 0;
	delivery->soft_ms = dice(4) ? random() % 5000 : -1;
	delivery->invalid = dice(30) ? REASON_BAD_HEADERS : REASON_NONE;
	world->fates[world->last_tag] = OPEN;
	chance_tell(world, (struct event){.kind = DELIVERY,
				   .source = {.epoch = world->source_epoch, .delivery = delivery}});
}

static void obey(struct world *world)
{
	if (world->source_is_up && world->closes && dice(3)) {
		source_goes(world);
	} else if (world->source_is_up && world->consumes && dice(10)) {
		chance_tell(world, (struct event){.kind = SOURCE_CANCELLED,
					   .source = {.epoch = world->source_epoch}});
	} else if (world->source_is_up && world->rests && dice(3)) {
		chance_tell(world, (struct event){.kind = SOURCE_RESTED,
					   .source = {.epoch = world->source_epoch}});
	}
}

/* A reply that was alone when the broker closed the channel is dropped, where that is the policy.
 */
static void allow_culprit(struct world *world)
{
	struct number *alone = NULL;
	int open = 0;
	for (uint64_t seq = 1; seq <= world->last_seq; seq++) {
		if (!world->numbers[seq].is_open)
			continue;
		alone = &world->numbers[seq];
		open++;
	}
	if (open == 1 && alone->kind == PARCEL_REPLY)
		chance_allow_ack(world, alone->tag, alone->epoch);
}

static void outbox_goes(struct world *world)
{
	bool drops = world->config.policy.unroutable == UNROUTABLE_DROP;
	enum outbox_loss loss = (enum outbox_loss)(random() % 3);
	if (drops && loss == LOSS_CLOSED) /* the model counts no losses */
		loss = LOSS_CONNECTION;
	if (drops && loss == LOSS_CHANNEL)
		allow_culprit(world);
	world->outbox_is_up = false;
	chance_tell(world, (struct event){.kind = OUTBOX_DOWN,
				   .outbox = {.epoch = world->outbox_epoch, .loss = loss}});
}

static void outbox_moves(struct world *world)
{
	if (!world->outbox_is_up) {
		world->outbox_is_up = true;
		world->last_seq = 0;
		chance_tell(world, (struct event){.kind = OUTBOX_UP,
					   .outbox = {.epoch = ++world->outbox_epoch}});
	} else if (dice(8) || world->last_seq > NUMBERS / 2) {
		outbox_goes(world);
	}
}

/* What the broker's answer to this number means for the delivery, by the contract. */
static void judge(struct world *world, struct number *number, bool confirmed)
{
	if (!number->is_open)
		return;
	number->is_open = false;
	bool is_dropped = number->is_returned && number->kind == PARCEL_REPLY &&
			  world->config.policy.unroutable == UNROUTABLE_DROP;
	if (confirmed && (!number->is_returned || is_dropped))
		chance_allow_ack(world, number->tag, number->epoch);
}

static void settle_number(struct world *world)
{
	if (!world->outbox_is_up || world->last_seq == 0)
		return;
	uint64_t seq = 1 + (uint64_t)random() % world->last_seq;
	struct event event = {.kind = dice(6) ? REFUSED : CONFIRMED,
		.outbox = {.epoch = world->outbox_epoch, .seq = seq, .multiple = dice(3)}};
	if (dice(6) && world->numbers[seq].is_open) {
		world->numbers[seq].is_returned = true;
		event.kind = RETURNED;
		event.outbox.multiple = false;
		event.outbox.again = dice(2);
		chance_tell(world, event);
		if (dice(2))
			chance_tell(world, (struct event){.kind = QUEUE_FOUND,
						   .outbox.epoch = world->outbox_epoch});
		return;
	}
	for (uint64_t i = event.outbox.multiple ? 1 : seq; i <= seq; i++)
		judge(world, &world->numbers[i], event.kind == CONFIRMED);
	chance_tell(world, event);
}

static void answer(struct world *world, uint16_t slot)
{
	static const int32_t statuses[] = {200, 200, 200, 201, 201, 201, 500, 400, -1, 777};
	static const char *const queues[] = {NULL, NULL, "own", "elsewhere"};
	struct worker *worker = &world->workers[slot];
	int32_t status = statuses[random() % 10];
	struct output *output = rig_output(status, queues[random() % 4]);
	output->retry_after_ms = dice(3) ? random() % 5000 : -1;
	if (worker->count && status != -1 && status != 777 && !worker->is_broken) {
		if (status == 200)
			chance_allow_ack(world, worker->tags[0], worker->epochs[0]);
		worker->count--;
		memmove(worker->tags, worker->tags + 1, worker->count * sizeof *worker->tags);
		memmove(worker->epochs, worker->epochs + 1, worker->count * sizeof *worker->epochs);
	} else if (status != -1 || !worker->count) {
		worker->is_broken = true;
	}
	chance_tell(world, (struct event){.kind = SLOT_OUTPUT,
				   .slot = {.slot = slot, .life = worker->life, .output = output}});
}

/* Events of channels and lives that are over: nothing may follow from them. */
static void something_stale(struct world *world)
{
	static const enum event_kind outbox_kinds[] = {
		CONFIRMED, REFUSED, RETURNED, QUEUE_FOUND, OUTBOX_DOWN};
	static const enum event_kind source_kinds[] = {
		SOURCE_UP, SOURCE_RESTED, SOURCE_CANCELLED, SOURCE_DOWN};
	uint16_t slot = (uint16_t)(random() % world->config.workers);
	chance_tell(world, (struct event){.kind = outbox_kinds[random() % 5],
				   .outbox = {.epoch = world->outbox_epoch - 1,
					   .seq = 1 + (uint64_t)random() % 8,
					   .multiple = dice(2)}});
	chance_tell(world, (struct event){.kind = source_kinds[random() % 4],
				   .source = {.epoch = world->source_epoch - 1}});
	chance_tell(world, (struct event){.kind = DELIVERY,
				   .source = {.epoch = world->source_epoch - 1,
					   .delivery = rig_delivery(world->last_tag + 1)}});
	chance_tell(world, (struct event){.kind = SLOT_OUTPUT,
				   .slot = {.slot = slot,
					   .life = world->workers[slot].life - 1,
					   .output = rig_output(200, NULL)}});
}

static void worker_acts(struct world *world)
{
	uint16_t slot = (uint16_t)(random() % SLOTS);
	struct worker *worker = &world->workers[slot];
	struct event event = {.kind = SLOT_GONE, .slot = {.slot = slot, .life = worker->life}};
	if (!worker->lives)
		return;
	if (dice(worker->is_leaving ? 3 : 40)) {
		event.slot.exit = (struct exit_info){.kind = EXIT_STATUS};
		event.slot.output = dice(2) ? rig_output(0, NULL) : NULL;
		worker->lives = false;
		worker->count = 0;
	} else if (!worker->is_ready) {
		worker->is_ready = true;
		event.kind = SLOT_READY;
		if (worker->is_leaving && dice(2))
			return;
	} else if (dice(30)) {
		event.kind = SLOT_BROKEN;
		worker->is_broken = true;
	} else if (dice(10)) {
		event.kind = SLOT_WRITABLE;
		event.slot.is_writable = dice(2);
	} else {
		answer(world, slot);
		return;
	}
	chance_tell(world, event);
}

static void turn(struct world *world)
{
	world->idle += random() % MTIME_SECOND;
	if (starts_look_at(&world->starts) <= world->now)
		starts_look(&world->starts, world->now, world->idle);
	chance_tell(world, (struct event){.kind = TURN_END});
	mtime deadline = pool_deadline(world->pool);
	CHECK(world, deadline > world->now);
	if (dice(4) && deadline != MTIME_NEVER)
		world->now = deadline;
	else
		world->now += random() % (2 * MTIME_SECOND);
}

/* More workers than possible are refused, and so are commands during a stop. */
static void steer(struct world *world)
{
	static const enum command commands[] = {COMMAND_PAUSE, COMMAND_RESUME, COMMAND_RESUME,
		COMMAND_SCALE, COMMAND_RESTART, COMMAND_KILL};
	struct event event = {.kind = COMMAND, .command.what = commands[random() % 6]};
	event.command.number = (uint32_t)(random() % (SLOTS + 2));
	event.command.slot = (uint16_t)(random() % (SLOTS + 1));
	event.command.gives_up = dice(2);
	if (event.command.what == COMMAND_PAUSE || event.command.what == COMMAND_RESUME)
		world->is_paused = event.command.what == COMMAND_PAUSE;
	chance_tell(world, event);
}

static void source_moves(struct world *world)
{
	dice(8) ? source_goes(world) : source_comes(world);
}

static void act(struct world *world)
{
	static void (*const acts[])(struct world *) = {source_moves, outbox_moves, settle_number,
		settle_number, settle_number, turn, turn, turn, obey, deliver, deliver, deliver,
		worker_acts, worker_acts, worker_acts, worker_acts, something_stale, steer};
	acts[random() % (long)(sizeof acts / sizeof *acts)](world);
}

static void world_init(struct world *world, unsigned seed)
{
	*world = (struct world){.seed = seed, .config = rig_config(SLOTS - 2, DEPTH)};
	srandom(seed);
	world->config.policy.unroutable = (enum unroutable)(random() % 3);
	world->config.policy.dead_letter_by_broker = dice(3);
	world->config.policy.retried = dice(3) ? (uint32_t)random() : SETTLE_RETRIED_ALL;
	world->config.policy.delay_count = (uint8_t)(random() % 3);
	world->config.policy.delays[0] = MTIME_SECOND;
	world->config.policy.delays[1] = MTIME_MINUTE;
	world->config.concurrency = 1;
	world->config.on_soft = dice(3) ? SOFT_CONTEXT_SWITCH : SOFT_NOTHING;
	world->config.pipeline = world->config.on_soft ? 1 : DEPTH;
	world->config.soft_limit = dice(2) ? 3 * MTIME_SECOND : MTIME_NEVER;
	world->config.prefetch = dice(2) ? 0 : 100;
	starts_init(&world->starts, 1 + (uint32_t)random() % (1000 * SLOTS), 0);
	world->pool = pool_new(
		&world->config, &world->starts, &world->last_task_id, &chance_effects, world, 0);
}

static void leave(struct world *world, enum command command, int patience)
{
	for (int slot = 0; slot < SLOTS && command == COMMAND_FORCE; slot++)
		world->workers[slot].is_broken = true; /* they are not heard any more */
	chance_tell(world, (struct event){.kind = COMMAND, .command.what = command});
	for (int i = 0; i < patience && !pool_is_quiet(world->pool); i++)
		act(world);
}

START_TEST(random_runs_keep_the_contract)
{
	for (unsigned seed = (unsigned)_i * 100; seed < (unsigned)_i * 100 + 100; seed++) {
		static struct world world;
		world_init(&world, seed);
		for (int i = 0; i < EVENTS; i++)
			act(&world);
		if (!dice(4))
			leave(&world, COMMAND_DRAIN, (int)(random() % 400));
		if (!dice(4)) {
			leave(&world, COMMAND_FORCE, 4000);
			CHECK(&world, pool_is_quiet(world.pool));
		}
		pool_free(world.pool);
	}
}
END_TEST

static Suite *random_suite(void)
{
	Suite *suite = suite_create("core/random");
	TCase *runs = tcase_create("runs");
	tcase_set_timeout(runs, 120);
	tcase_add_loop_test(runs, random_runs_keep_the_contract, 0, 10);
	suite_add_tcase(suite, runs);
	return suite;
}

UNIT_MAIN(random_suite)
