#include "sim/workers.h"

#include "sim/copies.h"
#include "sim/fail.h"
#include "sim/world.h"

#include <signal.h>
#include <stdlib.h>

/* ---------- telling the pool ---------- */

static struct event slot_event(enum event_kind kind, uint16_t slot, const struct worker *worker)
{
	struct event event = {.kind = kind};

	event.slot.slot = slot;
	event.slot.life = worker->life;
	return event;
}

static void tell(struct station *station, const struct event *event)
{
	station->world->moved = true;
	pool_step(station->pool, station->world->now, event);
}

/* The attempt is over: from now on its message must not go back as if never started. */
static void note_end(struct station *station, const struct worker_task *task)
{
	account_ended(&station->world->account, task->instance, task->requeues,
		station->supervisor->number);
}

static struct output *last_words(struct world *world)
{
	struct output *output = random_chance(&world->random, 500) ? output_new(0) : NULL;

	if (output)
		output->body = TEXT("that is what it said");
	return output;
}

static void tell_gone(struct station *station, uint16_t slot, enum exit_kind kind, int32_t number)
{
	struct worker *worker = &station->workers.worker[slot];
	struct event event = slot_event(SLOT_GONE, slot, worker);

	sim_trace("worker %u is gone (%d), %u tasks open", slot, number, worker->count);
	if (worker->count > 0) {
		station->world->account.message[worker->tasks[0].id].failures++;
		/* One that was given up may leave a task that counts as never started. */
		if (!worker->term)
			note_end(station, &worker->tasks[0]);
	}
	worker->phase = WORKER_NONE;
	worker->count = 0;
	event.slot.exit = (struct exit_info){.kind = kind, .number = number, .stage = "exec"};
	event.slot.output = last_words(station->world);
	tell(station, &event);
}

static void take_head(struct worker *worker)
{
	worker->count--;
	memmove(worker->tasks, worker->tasks + 1, worker->count * sizeof *worker->tasks);
}

static void tell_output(struct station *station, uint16_t slot, int32_t status,
	const char *reply_queue, enum reason unfit)
{
	struct worker *worker = &station->workers.worker[slot];
	struct worker_task task = worker->tasks[0];
	struct event event = slot_event(SLOT_OUTPUT, slot, worker);
	struct output *output = output_new(4);

	sim_require(output, "out of memory");
	output->status = status;
	output->unfit = unfit;
	output->retry_after_ms = status >= STATUS_FAILED ? copies_wish(task.id) : -1;
	output->bytes[0] = (uint8_t)(task.id >> 24);
	output->bytes[1] = (uint8_t)(task.id >> 16);
	output->bytes[2] = (uint8_t)(task.id >> 8);
	output->bytes[3] = (uint8_t)task.id;
	output->body = text_of(output->bytes, 4);
	output->reply_queue = text_from(reply_queue);
	event.slot.output = output;
	sim_trace("worker %u answers %d for message %u", slot, status, task.id);
	if (status != STATUS_PROGRESS) {
		note_end(station, &task);
		take_head(worker);
	}
	tell(station, &event);
}

static void tell_broken(struct station *station, uint16_t slot)
{
	struct worker *worker = &station->workers.worker[slot];
	struct event event = slot_event(SLOT_BROKEN, slot, worker);

	worker->broken = true;
	event.slot.what = "a frame that makes no sense";
	tell(station, &event);
}

/* ---------- the effects ---------- */

/* The attempt, its time, and who is at work beside it. */
static void check_send(const struct station *station, const struct worker_task *task,
	const struct delivery *delivery)
{
	const struct world *world = station->world;
	const struct copy_facts *facts = &world->account.facts[task->instance];

	sim_require(delivery->returns < 10, "message %u came back %u times and is sent", task->id,
		delivery->returns);
	for (uint16_t i = 0; i < WORKERS_MAX; i++)
		sim_require(station->workers.worker[i].count == 0 ||
				    !(task->alone || station->workers.worker[i].tasks[0].alone),
			"message %u is not alone, or beside one that ought to be", task->id);
	if (task->instance == 0)
		return;
	sim_require(task->attempt == facts->attempt + 1, "message %u is in attempt %u, after %u",
		task->id, task->attempt, facts->attempt);
	sim_require(task->alone == (facts->renewed >= 3), "message %u lost its renewals", task->id);
	sim_require(world->now >= facts->not_before, "message %u is seen %lld us too early",
		task->id, (long long)(facts->not_before - world->now));
}

static mtime soft_limit(
	const struct station *station, uint64_t instance, const struct delivery *delivery)
{
	mtime own = instance ? station->world->account.facts[instance].soft
			     : delivery->soft_ms * MTIME_MS;

	if (!station->config.interrupt)
		return MTIME_NEVER;
	return own > 0 ? own : station->config.soft_limit;
}

enum send_result workers_send(
	struct workers *workers, uint16_t slot, const struct delivery *delivery, uint16_t attempt)
{
	struct station *station = workers->station;
	struct worker *worker = &workers->worker[slot];
	const struct client_link *link = &station->supervisor->links[0];
	struct worker_task task = {
		.id = account_id(delivery->body), .slice = delivery->slice, .attempt = attempt};

	sim_require(worker->phase == WORKER_RUNNING && !worker->quit, "a task for a worker not up");
	sim_require(worker->count < POOL_PIPELINE_MAX, "a pipe over its depth");
	if (world_wants(station->world, TROUBLE_MEMORY, 5))
		return SEND_NO_MEMORY;
	if (station->world->account.message[task.id].temper == TEMPER_TOO_LARGE)
		return SEND_TOO_LARGE;
	if (link->peer)
		task.instance = broker_instance_of(link->peer, station->channel, delivery->tag);
	task.requeues = station->world->account.requeues[task.instance];
	task.alone = delivery->renewed >= 3;
	task.sent = station->world->now;
	task.soft = soft_limit(station, task.instance, delivery);
	check_send(station, &task, delivery);
	worker->tasks[worker->count++] = task;
	sim_trace("worker %u gets message %u, attempt %u", slot, task.id, attempt);
	return SEND_OK;
}

static void spawn(struct station *station, struct worker *worker, uint32_t life)
{
	sim_require(worker->phase == WORKER_NONE, "a slot started twice");
	*worker = (struct worker){.phase = WORKER_BOOTING, .life = life};
	worker->stubborn = random_chance(&station->world->random, 100) &&
			   settings_has(station->world->settings, TROUBLE_STUBBORN);
}

static void interrupt(struct station *station, struct worker *worker)
{
	struct worker_task *task = &worker->tasks[0];

	sim_require(worker->phase == WORKER_RUNNING && worker->count == 1 && !worker->term,
		"an interrupt for a worker with %u tasks", worker->count);
	sim_require(!task->interrupted, "message %u is interrupted twice", task->id);
	sim_require(station->world->now - task->sent >= task->soft,
		"message %u is interrupted too early", task->id);
	task->interrupted = true;
	sim_trace("message %u is interrupted", task->id);
}

static void term(const struct station *station, struct worker *worker)
{
	const struct worker_task *task = &worker->tasks[0];
	bool is_late = task->soft <= station->config.hard_limit &&
		       station->turned_at - task->sent >= task->soft;

	sim_require(worker->count == 0 || task->interrupted || !is_late,
		"message %u is stopped, and was never interrupted", task->id);
	worker->term = true;
}

void workers_wish(struct workers *workers, uint16_t slot, uint32_t life, enum slot_wish wish)
{
	struct worker *worker = &workers->worker[slot];

	if (wish == SLOT_SPAWN) {
		spawn(workers->station, worker, life);
		return;
	}
	if (worker->phase == WORKER_NONE || worker->life != life)
		return;
	switch (wish) {
	case SLOT_QUIT:
		sim_require(worker->count == 0 || worker->broken, "quit with %u tasks open",
			worker->count);
		worker->quit = true;
		break;
	case SLOT_TERM:
		term(workers->station, worker);
		break;
	case SLOT_KILL:
		worker->kill = true;
		break;
	case SLOT_INTERRUPT:
		interrupt(workers->station, worker);
		break;
	case SLOT_SPAWN:
		break;
	}
}

/* ---------- what a worker does with a task ---------- */

static void answer_done(struct station *station, uint16_t slot)
{
	const struct worker_task *task = &station->workers.worker[slot].tasks[0];

	account_done(&station->world->account, task->instance, task->id);
	tell_output(station, slot, STATUS_DONE, "", REASON_NONE);
}

static void fail(struct station *station, uint16_t slot, int32_t status)
{
	station->world->account.message[station->workers.worker[slot].tasks[0].id].failures++;
	tell_output(station, slot, status, "", REASON_NONE);
}

static void answer_nowhere(struct station *station, uint16_t slot)
{
	const struct worker_task *task = &station->workers.worker[slot].tasks[0];

	account_done(&station->world->account, task->instance, task->id);
	tell_output(station, slot, STATUS_REPLY, "", REASON_NONE);
}

static void answer_slice(struct station *station, uint16_t slot)
{
	if (station->workers.worker[slot].tasks[0].slice >= 3)
		answer_done(station, slot);
	else
		tell_output(
			station, slot, STATUS_REPLY, station->world->account.queue, REASON_NONE);
}

static void work(struct station *station, uint16_t slot)
{
	const struct worker_task *task = &station->workers.worker[slot].tasks[0];

	switch (station->world->account.message[task->id].temper) {
	case TEMPER_DONE:
		answer_done(station, slot);
		break;
	case TEMPER_REPLY:
		tell_output(
			station, slot, STATUS_REPLY, station->world->account.replies, REASON_NONE);
		break;
	case TEMPER_REPLY_NOWHERE:
		answer_nowhere(station, slot);
		break;
	case TEMPER_REPLY_UNROUTABLE:
		tell_output(station, slot, STATUS_REPLY, "nowhere", REASON_NONE);
		break;
	case TEMPER_COSTS_CHANNEL:
		tell_output(station, slot, STATUS_REPLY, BROKER_COSTS_CHANNEL, REASON_NONE);
		break;
	case TEMPER_COSTS_CONNECTION:
		tell_output(station, slot, STATUS_REPLY, BROKER_COSTS_CONNECTION, REASON_NONE);
		break;
	case TEMPER_REPLY_UNFIT:
		tell_output(station, slot, STATUS_REPLY, station->world->account.replies,
			REASON_REPLY_INVALID);
		break;
	case TEMPER_REJECT:
		fail(station, slot, STATUS_REJECTED);
		break;
	case TEMPER_FAIL_ONCE:
		if (task->attempt == 1)
			fail(station, slot, STATUS_FAILED);
		else
			answer_done(station, slot);
		break;
	case TEMPER_FAIL:
		fail(station, slot, STATUS_FAILED);
		break;
	case TEMPER_POISON:
		tell_gone(station, slot, EXIT_SIGNAL, SIGSEGV);
		break;
	case TEMPER_HANG:
		break;
	case TEMPER_LONG:
		if (task->soft >= station->config.hard_limit || task->interrupted)
			answer_done(station, slot);
		break;
	case TEMPER_BREAK:
		tell_broken(station, slot);
		break;
	case TEMPER_SLICES:
		answer_slice(station, slot);
		break;
	case TEMPER_UNFIT:
	case TEMPER_TOO_LARGE:
		sim_fail("message %u was given to a worker", task->id);
	case TEMPER_COUNT:
		break;
	}
}

/* ---------- what a worker does ---------- */

static void boot(struct station *station, uint16_t slot)
{
	struct worker *worker = &station->workers.worker[slot];
	struct event event = slot_event(SLOT_READY, slot, worker);

	if (world_wants(station->world, TROUBLE_EXITS, 100)) {
		tell_gone(station, slot, EXIT_NOT_STARTED, 2);
		return;
	}
	if (world_wants(station->world, TROUBLE_EXITS, 500))
		return; /* it takes its time, perhaps too much */
	worker->phase = WORKER_RUNNING;
	tell(station, &event);
}

static void tell_room(struct station *station, uint16_t slot, bool room)
{
	struct event event = slot_event(SLOT_ROOM, slot, &station->workers.worker[slot]);

	event.slot.room = room;
	station->workers.worker[slot].full = !room;
	tell(station, &event);
}

/* True: this is all it does in this round. */
static bool obey(struct station *station, uint16_t slot)
{
	struct worker *worker = &station->workers.worker[slot];

	if (worker->kill)
		tell_gone(station, slot, EXIT_SIGNAL, SIGKILL);
	else if (worker->term && !worker->stubborn)
		tell_gone(station, slot, EXIT_SIGNAL, SIGTERM);
	else if (worker->quit && !worker->stubborn)
		tell_gone(station, slot, EXIT_STATUS, 0);
	else
		return false;
	return true;
}

void workers_act(struct workers *workers, uint16_t slot)
{
	struct station *station = workers->station;
	struct worker *worker = &workers->worker[slot];

	if (worker->phase == WORKER_NONE || obey(station, slot))
		return;
	if (worker->phase == WORKER_BOOTING)
		boot(station, slot);
	else if (worker->broken)
		return;
	else if (world_wants(station->world, TROUBLE_EXITS, 15))
		tell_gone(station, slot, EXIT_STATUS, 0);
	else if (world_wants(station->world, TROUBLE_ROOM, 15))
		tell_room(station, slot, random_chance(&station->world->random, 500));
	else if (station->world->calm && worker->full)
		tell_room(station, slot, true);
	else if (worker->count > 0 && random_chance(&station->world->random, 50))
		tell_output(station, slot, STATUS_PROGRESS, "", REASON_NONE);
	else if (worker->count > 0)
		work(station, slot);
}

bool workers_is_anyone_alive(const struct workers *workers)
{
	for (uint16_t i = 0; i < WORKERS_MAX; i++)
		if (workers->worker[i].phase != WORKER_NONE)
			return true;
	return false;
}
