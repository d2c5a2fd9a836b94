#include "unit/support/core/load.h"

#include <math.h>
#include <string.h>

#define AUDIT_EVERY 64

static mtime any_span(struct load *load, mtime mean, bool is_fixed)
{
	double chance = ((double)random_below(&load->random, 1000000) + 0.5) / 1000000;
	mtime span = is_fixed ? mean : (mtime)(-log(chance) * (double)mean);
	return span > 0 ? span : 1;
}

static void tell(struct load *load, struct event event)
{
	struct pool_facts facts;
	pool_step(load->pool, load->now, &event);
	facts = pool_facts(load->pool);
	if (facts.wanted < load->min_seen)
		load->min_seen = facts.wanted;
	if (facts.wanted > load->max_seen)
		load->max_seen = facts.wanted;
	ck_assert_uint_ge(facts.wanted, facts.min);
	ck_assert_uint_le(facts.wanted, facts.max);
}

/* ---------- effects ---------- */

static mtime end_of_task(struct load *load, mtime begun)
{
	return begun + any_span(load, load->task, load->is_fixed);
}

static enum send_result on_send(
	void *io, uint16_t slot, struct delivery *delivery, uint16_t attempt)
{
	struct load *load = io;
	struct load_worker *worker = &load->workers[slot];
	(void)delivery;
	(void)attempt;
	ck_assert(worker->is_ready && !worker->was_told);
	if (worker->count++ == 0)
		worker->due = end_of_task(load, load->now);
	return SEND_OK;
}

static void on_ack(void *io, uint64_t tag, bool multiple)
{
	(void)io;
	(void)tag;
	(void)multiple;
}

static void on_reject(void *io, uint64_t tag, enum reject how)
{
	struct load *load = io;
	(void)tag;
	(void)how;
	load->queued++;
}

static void on_publish(void *io, const struct parcel *parcel)
{
	(void)io;
	(void)parcel;
	ck_abort_msg("nothing is published");
}

static void on_source(void *io, enum source_request request, uint32_t window)
{
	struct load *load = io;
	load->consumes = request == SOURCE_CONSUME;
	load->window = window;
}

/* Nobody is interrupted. */
static void on_slot(void *io, uint16_t slot, uint32_t life, enum slot_request request)
{
	struct load *load = io;
	struct load_worker *worker = &load->workers[slot];
	if (request == SLOT_SPAWN) {
		*worker = (struct load_worker){
			.life = life, .lives = true, .due = load->now + load->boot};
		return;
	}
	ck_assert(request == SLOT_QUIT || !worker->is_ready);
	ck_assert_uint_eq(worker->count, 0);
	worker->was_told = true;
	worker->due = load->now + MTIME_MS;
}

static bool on_ask(
	void *io, uint16_t slot, uint32_t life, enum task_request request, uint64_t task_id)
{
	(void)io, (void)slot, (void)life, (void)request, (void)task_id;
	ck_abort_msg("no task has a soft limit");
	return false;
}

/* No pool here has sessions. */
static bool on_is_same(void *io, const struct delivery *before, const struct delivery *after)
{
	(void)io;
	(void)before;
	(void)after;
	return false;
}

static bool on_allow_slots(void *io, uint16_t slots)
{
	struct load *load = io;
	return slots <= LOAD_SLOTS && (!load->slots_max || slots <= load->slots_max);
}

static mtime on_waited(void *io, uint16_t slot, uint32_t life)
{
	(void)io;
	(void)slot;
	(void)life;
	return 0;
}

/* No message here has a time. */
static int64_t on_wall_ms(void *io)
{
	(void)io;
	return 0;
}

static void on_tell(void *io, const struct notice *notice)
{
	struct load *load = io;
	load->grown += notice->kind == NOTICE_GROWN;
	load->shrunk += notice->kind == NOTICE_SHRUNK;
	load->refused += notice->kind == NOTICE_GROWTH_REFUSED;
	if (notice->kind == NOTICE_GROWN || notice->kind == NOTICE_SHRUNK)
		load->changed_at = load->now;
}

static const struct effects effects = {on_send, on_ack, on_reject, on_publish, on_source, on_slot,
	on_ask, on_is_same, on_allow_slots, on_waited, on_wall_ms, on_tell, NULL, NULL, NULL, NULL};

/* ---------- the world ---------- */

static void move_worker(struct load *load, uint16_t slot)
{
	struct load_worker *worker = &load->workers[slot];
	struct event event = {.slot = {.slot = slot, .life = worker->life}};
	mtime due = worker->due;
	event.arrived_after = load->turned_at;
	worker->due = MTIME_NEVER;
	if (worker->was_told) {
		worker->lives = false;
		event.kind = SLOT_GONE;
		event.slot.exit.kind = EXIT_STATUS;
	} else if (!worker->is_ready) {
		worker->is_ready = true;
		event.kind = SLOT_READY;
	} else {
		load->answered++;
		if (--worker->count > 0)
			worker->due = end_of_task(load, due);
		event.kind = SLOT_OUTPUT;
		event.slot.output = output_new(0);
		event.slot.output->status = STATUS_DONE;
	}
	tell(load, event);
}

static void move_workers(struct load *load)
{
	for (uint16_t slot = 0; slot < LOAD_SLOTS; slot++)
		while (load->workers[slot].lives && load->workers[slot].due <= load->now)
			move_worker(load, slot);
}

static void arrive(struct load *load)
{
	mtime mean = load->rate > 0 ? (mtime)((double)MTIME_SECOND / load->rate) : 0;
	if (!mean)
		load->next_message = MTIME_NEVER;
	else if (load->next_message == MTIME_NEVER)
		load->next_message = load->now + any_span(load, mean, load->is_even);
	while (load->next_message <= load->now) {
		load->queued++;
		load->next_message += any_span(load, mean, load->is_even);
	}
}

static void move_broker(struct load *load)
{
	if (load->is_up == load->is_cut_off) {
		load->is_up = !load->is_up;
		load->epoch += load->is_up;
		load->tag = 0;
		if (!load->is_up)
			load->queued += pool_facts(load->pool).unacked;
		tell(load, (struct event){.kind = load->is_up ? SOURCE_UP : SOURCE_DOWN,
				   .source.epoch = load->epoch});
	}
	while (load->is_up && load->consumes && load->queued > 0 &&
		pool_facts(load->pool).unacked < load->window) {
		struct delivery *delivery = delivery_new(0);
		ck_assert_ptr_nonnull(delivery);
		delivery->tag = ++load->tag;
		load->queued--;
		tell(load, (struct event){.kind = DELIVERY,
				   .source = {.epoch = load->epoch, .delivery = delivery}});
	}
}

static mtime next_time(const struct load *load)
{
	mtime next = mtime_min(pool_deadline(load->pool), load->next_message);
	for (int slot = 0; slot < LOAD_SLOTS; slot++)
		if (load->workers[slot].lives)
			next = mtime_min(next, load->workers[slot].due);
	return next;
}

/* A turn that costs something finds more at the next one, of which nobody knows when it came. */
static void turn(struct load *load)
{
	static unsigned turns;
	arrive(load);
	move_workers(load);
	move_broker(load);
	if (starts_look_at(&load->starts) <= load->now)
		starts_look(&load->starts, load->now, LOAD_PROCESSORS * load->now);
	tell(load, (struct event){.kind = TURN_END, .arrived_after = load->turned_at});
	if (++turns % AUDIT_EVERY == 0)
		pool_audit(load->pool);
	mtime cost = (mtime)(load->answered - load->handled) * load->each;
	load->turned_at = cost ? load->now : 0;
	load->now += cost;
	load->handled = load->answered;
}

static void step(struct load *load, mtime end)
{
	mtime next = mtime_min(next_time(load), end);
	if (next > load->now) {
		load->now = next;
		load->turned_at = 0;
	}
	turn(load);
}

void load_run(struct load *load, mtime span)
{
	mtime end = load->now + span;
	turn(load);
	while (load->now < end)
		step(load, end);
}

mtime load_run_until(struct load *load, uint32_t wanted)
{
	mtime begin = load->now, end = begin + 24 * 60 * MTIME_MINUTE;
	turn(load);
	while (load_wanted(load) != wanted) {
		step(load, end);
		ck_assert_int_lt(load->now, end);
	}
	return load->now - begin;
}

void load_start(struct load *load, uint16_t min, uint16_t max, uint64_t seed)
{
	struct pool_config config = {.name = "load",
		.concurrency = 1,
		.workers = min,
		.workers_max = max,
		.pipe_wait = 5 * MTIME_MS,
		.memory = 1 << 20,
		.boot_limit = MTIME_MINUTE,
		.hard_limit = MTIME_NEVER,
		.grace = 5 * MTIME_SECOND,
		.outbox_limit = 1 << 20,
		.policy = {.attempts = 3, .queue = TEXT("load")}};
	random_init(&load->random, seed);
	load->now = MTIME_SECOND;
	load->next_message = MTIME_NEVER;
	starts_init(&load->starts, 1000 * LOAD_PROCESSORS, 0);
	load->pool =
		pool_new(&config, &load->starts, &load->last_task_id, &effects, load, load->now);
	ck_assert_ptr_nonnull(load->pool);
	load_forget(load);
	load_run(load, MTIME_SECOND + 2 * load->boot);
}

void load_end(struct load *load)
{
	pool_free(load->pool);
}

void load_command(struct load *load, enum command what, uint32_t number, uint32_t max)
{
	tell(load, (struct event){.kind = COMMAND,
			   .command = {.what = what, .number = number, .max = max}});
}

void load_forget(struct load *load)
{
	load->grown = load->shrunk = load->refused = 0;
	load->min_seen = UINT32_MAX;
	load->max_seen = 0;
}

uint32_t load_wanted(const struct load *load)
{
	return pool_facts(load->pool).wanted;
}
