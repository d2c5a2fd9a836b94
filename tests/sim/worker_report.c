#include "sim/worker_report.h"

#include "core/pool_internal.h"
#include "sim/blame.h"
#include "sim/copies.h"
#include "sim/fail.h"

static struct event slot_event(enum event_kind kind, uint16_t slot, const struct worker *worker)
{
	struct event event = {.kind = kind};

	event.slot.slot = slot;
	event.slot.life = worker->life;
	return event;
}

static void report(struct pool_runtime *runtime, const struct event *event)
{
	runtime->world->moved = true;
	pool_step(runtime->pool, runtime->world->now, event);
}

/* The attempt is over: its message must not be requeued as if it had not been started. */
static void note_end(struct pool_runtime *runtime, const struct worker_task *task)
{
	if (!order_has_key(&runtime->world->order, task->id))
		account_ended(&runtime->world->account, task->instance, task->requeues,
			runtime->supervisor->number);
}

static struct output *last_words(struct world *world)
{
	struct output *output = random_chance(&world->random, 500) ? output_new(0) : NULL;

	if (output)
		output = output_add_stderr_line(output, TEXT("that is what it said"));
	return output;
}

void worker_report_gone(
	struct pool_runtime *runtime, uint16_t slot, enum exit_kind kind, int32_t number)
{
	struct worker *worker = &runtime->workers.worker[slot];
	struct event event = slot_event(SLOT_GONE, slot, worker);

	uint32_t count = worker->count, unheard_count = worker->unheard_count;
	bool are_suspects;

	sim_trace("worker %u is gone (%d), %u tasks open", slot, number, worker->count);
	blame_gone(runtime, worker);
	if (worker->count > 0 && !workers_have_many(runtime)) {
		runtime->world->account.message[worker->tasks[0].id].failures++;
		/* A worker that was given up may leave a task that counts as not started. */
		if (!worker->given_up)
			note_end(runtime, &worker->tasks[0]);
	}
	if (unheard_count > 0 && !workers_have_many(runtime))
		runtime->world->account.message[worker->unheard[0].id].failures++;
	worker->phase = WORKER_NONE;
	worker->count = worker->unheard_count = 0;
	are_suspects = worker->are_suspects;
	event.slot.exit = (struct exit_info){.kind = kind, .number = number, .stage = "exec"};
	event.slot.output = last_words(runtime->world);
	report(runtime, &event);
	blame_check_gone(runtime);
	for (uint32_t i = 0; i < count; i++)
		order_gone(runtime, &worker->tasks[i], are_suspects);
	for (uint32_t i = 0; i < unheard_count; i++)
		order_gone(runtime, &worker->unheard[i], are_suspects);
}

static void take_current(struct worker *worker)
{
	struct worker_task *task = &worker->tasks[worker->current];

	worker->answered = task->task_id;
	worker->count--;
	worker->since = sim_now;
	memmove(task, task + 1, (worker->count - worker->current) * sizeof *task);
	if (worker->count > 0 && worker->tasks[0].began == MTIME_NEVER)
		worker->tasks[0].began = sim_now;
}

/* ---------- the id in an output ---------- */

/* Where the id counts, one that is missing or belongs to another task is an error. */
static void mark_id(const struct pool_runtime *runtime, enum cover_id which)
{
	cover_mark(COVER_ID, which, workers_have_many(runtime));
}

/* The id of a task of another worker; 0: none has one. */
static uint64_t foreign_id(struct pool_runtime *runtime, uint16_t slot)
{
	uint16_t start = (uint16_t)random_below(&runtime->world->random, SLOTS_MAX);

	for (uint16_t i = 0; i < SLOTS_MAX; i++) {
		uint16_t other = (uint16_t)((start + i) % SLOTS_MAX);
		const struct worker *worker = &runtime->workers.worker[other];

		if (other != slot && worker->count > 0)
			return worker->tasks[random_below(&runtime->world->random, worker->count)]
				.task_id;
	}
	return 0;
}

/* An id of that kind; if there is none, one that nobody has. */
static uint64_t choose_id(struct pool_runtime *runtime, uint16_t slot, enum cover_id which)
{
	const struct worker *worker = &runtime->workers.worker[slot];
	uint64_t id = 0;

	if (which == ID_RIGHT && worker->count > 0)
		id = worker->tasks[worker->current].task_id;
	else if (which == ID_ANSWERED)
		id = worker->answered;
	else if (which == ID_FOREIGN)
		id = foreign_id(runtime, slot);
	if (!id && which != ID_MISSING) {
		which = ID_UNKNOWN;
		id = runtime->supervisor->last_task_id + 1;
	}
	mark_id(runtime, which);
	return id;
}

/* Without concurrency an output may leave it out. */
static uint64_t right_id(struct pool_runtime *runtime, uint16_t slot)
{
	bool has_one = workers_have_many(runtime) || random_chance(&runtime->world->random, 500);

	return choose_id(runtime, slot, has_one ? ID_RIGHT : ID_MISSING);
}

/* ---------- outputs ---------- */

static struct output *new_output(size_t size, int32_t status, uint64_t task_id)
{
	struct output *output = output_new(size);

	sim_require(output, "out of memory");
	output->status = status;
	output->task_id = task_id;
	return output;
}

bool worker_report_is_heard(const struct pool_runtime *runtime, uint16_t slot)
{
	return !slots_at(&runtime->pool->slots, slot)->is_muted;
}

/* -1: it sets none. */
static int64_t choose_hard_limit(const struct pool_runtime *runtime)
{
	static const int64_t limits_ms[] = {0, 1, 3000, 18000, 45000};
	struct random *random = &runtime->world->random;

	if (!random_chance(random, 500))
		return -1;
	return limits_ms[random_below(random, sizeof limits_ms / sizeof *limits_ms)];
}

/* One that is over stays over, and none applies to a worker that is ending. */
static void set_hard_limit(struct pool_runtime *runtime, uint16_t slot, int64_t limit_ms)
{
	struct worker *worker = &runtime->workers.worker[slot];
	struct worker_task *task = &worker->tasks[worker->current];
	mtime limit = limit_ms * MTIME_MS;
	mtime began = workers_have_many(runtime) ? task->sent : worker->since;
	bool is_over = limit <= runtime->world->now - began;
	enum cover_limit how = limit > workers_hard_limit(runtime, task) ? LIMIT_LONGER
			       : is_over                                 ? LIMIT_PAST
									 : LIMIT_SHORTER;

	if (!workers_is_taking(&runtime->workers, slot))
		how = LIMIT_LATE;
	else if (task->is_due)
		how = LIMIT_DUE;
	else if (limit == 0)
		how = LIMIT_BAD;
	else
		task->hard = limit;
	cover_mark(COVER_LIMIT, how, workers_have_many(runtime));
	sim_trace("its hard limit is to be %lld ms", (long long)limit_ms);
}

static void report_output(struct pool_runtime *runtime, uint16_t slot, int32_t status,
	const char *reply_queue, enum reason invalid, int64_t hard_limit_ms)
{
	struct worker *worker = &runtime->workers.worker[slot];
	struct worker_task task = worker->tasks[worker->current];
	struct event event = slot_event(SLOT_OUTPUT, slot, worker);
	struct output *output = new_output(4, status, right_id(runtime, slot));
	bool is_heard = worker_report_is_heard(runtime, slot);
	bool is_answer = output_ends_task(output), counts = is_answer && is_heard;

	output->invalid = invalid;
	output->hard_limit_ms = hard_limit_ms;
	output->retry_after_ms = status >= STATUS_FAILED ? copies_choose_output(task.id) : -1;
	output->postpone_ms = status == STATUS_POSTPONED ? copies_choose_postpone(task.id) : -1;
	output->bytes[0] = (uint8_t)(task.id >> 24);
	output->bytes[1] = (uint8_t)(task.id >> 16);
	output->bytes[2] = (uint8_t)(task.id >> 8);
	output->bytes[3] = (uint8_t)task.id;
	output->body = text_of(output->bytes, 4);
	output->reply_queue = text_from(reply_queue);
	event.slot.output = output;
	sim_trace("worker %u answers %d for message %u", slot, status, task.id);
	if (is_answer) {
		if (is_heard)
			note_end(runtime, &task);
		take_current(worker);
		if (workers_have_many(runtime))
			cover_mark(COVER_SUSPECT, SUSPECT_ANSWERED, !task.is_suspect);
	}
	worker->has_ended |= status == STATUS_DONE_LAST && is_heard;
	blame_heard(worker, task.task_id);
	if (counts)
		order_answered(runtime, &task, output);
	else if (is_answer)
		worker->unheard[worker->unheard_count++] = task;
	report(runtime, &event);
	if (counts)
		order_after_answer(runtime, &task);
}

void worker_report_output(struct pool_runtime *runtime, uint16_t slot, int32_t status,
	const char *reply_queue, enum reason invalid)
{
	report_output(runtime, slot, status, reply_queue, invalid, -1);
}

void worker_report_progress(struct pool_runtime *runtime, uint16_t slot)
{
	int64_t limit_ms = choose_hard_limit(runtime);

	if (limit_ms >= 0 && worker_report_is_heard(runtime, slot))
		set_hard_limit(runtime, slot, limit_ms);
	report_output(runtime, slot, STATUS_PROGRESS, "", REASON_NONE, limit_ms);
}

void worker_report_memory(struct pool_runtime *runtime, uint16_t slot)
{
	struct worker *worker = &runtime->workers.worker[slot];
	struct event event = slot_event(SLOT_MEMORY, slot, worker);

	event.slot.bytes = worker->bytes;
	sim_trace("worker %u has %llu bytes", slot, (unsigned long long)worker->bytes);
	worker->reports_memory = true;
	report(runtime, &event);
	worker->reports_memory = false;
}

/* The worker sends nothing after it. */
static void break_protocol(struct pool_runtime *runtime, uint16_t slot, const struct event *event)
{
	struct worker *worker = &runtime->workers.worker[slot];
	bool is_output = event->kind == SLOT_OUTPUT;

	worker->broken = true;
	blame_broken(
		runtime, worker, is_output ? event->slot.output->task_id : event->slot.task_id);
	report(runtime, event);
}

void worker_report_broken(struct pool_runtime *runtime, uint16_t slot, enum cover_id which)
{
	struct worker *worker = &runtime->workers.worker[slot];
	struct event event = slot_event(SLOT_BROKEN, slot, worker);

	event.slot.what = "a frame that makes no sense";
	event.slot.output = output_add_detail(NULL, TEXT("4 bytes: de ad be ef"));
	event.slot.task_id = choose_id(runtime, slot, which);
	sim_trace("worker %u breaks the protocol, naming task %llu", slot,
		(unsigned long long)event.slot.task_id);
	break_protocol(runtime, slot, &event);
}

void worker_report_room(struct pool_runtime *runtime, uint16_t slot, bool room)
{
	struct event event = slot_event(SLOT_WRITABLE, slot, &runtime->workers.worker[slot]);

	event.slot.is_writable = room;
	runtime->workers.worker[slot].full = !room;
	report(runtime, &event);
}

void worker_report_ready(struct pool_runtime *runtime, uint16_t slot)
{
	struct worker *worker = &runtime->workers.worker[slot];
	struct event event = slot_event(SLOT_READY, slot, worker);

	worker->phase = WORKER_RUNNING;
	worker->given_max = runtime->config.recycle.tasks;
	event.slot.computed = runtime->world->start_cost;
	report(runtime, &event);
}

void worker_report_unknown(struct pool_runtime *runtime, uint16_t slot, int32_t status)
{
	struct worker *worker = &runtime->workers.worker[slot];
	struct event event = slot_event(SLOT_OUTPUT, slot, worker);

	event.slot.output = new_output(0, status, right_id(runtime, slot));
	sim_trace("worker %u answers %d for message %u", slot, status,
		worker->tasks[worker->current].id);
	break_protocol(runtime, slot, &event);
}

void worker_report_stray(
	struct pool_runtime *runtime, uint16_t slot, int32_t status, enum cover_id which)
{
	struct worker *worker = &runtime->workers.worker[slot];
	struct event event = slot_event(SLOT_OUTPUT, slot, worker);

	event.slot.output = new_output(0, status, choose_id(runtime, slot, which));
	sim_trace("worker %u answers %d for task %llu", slot, status,
		(unsigned long long)event.slot.output->task_id);
	break_protocol(runtime, slot, &event);
}
