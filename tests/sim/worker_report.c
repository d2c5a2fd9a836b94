#include "sim/worker_report.h"

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
	account_ended(&runtime->world->account, task->instance, task->requeues,
		runtime->supervisor->number);
}

static struct output *last_words(struct world *world)
{
	struct output *output = random_chance(&world->random, 500) ? output_new(0) : NULL;

	if (output)
		output->stderr_line = TEXT("that is what it said");
	return output;
}

void worker_report_gone(
	struct pool_runtime *runtime, uint16_t slot, enum exit_kind kind, int32_t number)
{
	struct worker *worker = &runtime->workers.worker[slot];
	struct event event = slot_event(SLOT_GONE, slot, worker);

	sim_trace("worker %u is gone (%d), %u tasks open", slot, number, worker->count);
	if (worker->count > 0) {
		runtime->world->account.message[worker->tasks[0].id].failures++;
		/* A worker that was given up may leave a task that counts as not started. */
		if (!worker->given_up)
			note_end(runtime, &worker->tasks[0]);
	}
	worker->phase = WORKER_NONE;
	worker->count = 0;
	event.slot.exit = (struct exit_info){.kind = kind, .number = number, .stage = "exec"};
	event.slot.output = last_words(runtime->world);
	report(runtime, &event);
}

static void take_head(struct worker *worker)
{
	worker->count--;
	worker->since = sim_now;
	memmove(worker->tasks, worker->tasks + 1, worker->count * sizeof *worker->tasks);
}

void worker_report_output(struct pool_runtime *runtime, uint16_t slot, int32_t status,
	const char *reply_queue, enum reason invalid)
{
	struct worker *worker = &runtime->workers.worker[slot];
	struct worker_task task = worker->tasks[0];
	struct event event = slot_event(SLOT_OUTPUT, slot, worker);
	struct output *output = output_new(4);

	sim_require(output, "out of memory");
	output->status = status;
	output->invalid = invalid;
	output->retry_after_ms = status >= STATUS_FAILED ? copies_choose_output(task.id) : -1;
	output->bytes[0] = (uint8_t)(task.id >> 24);
	output->bytes[1] = (uint8_t)(task.id >> 16);
	output->bytes[2] = (uint8_t)(task.id >> 8);
	output->bytes[3] = (uint8_t)task.id;
	output->body = text_of(output->bytes, 4);
	output->reply_queue = text_from(reply_queue);
	event.slot.output = output;
	sim_trace("worker %u answers %d for message %u", slot, status, task.id);
	if (status != STATUS_PROGRESS) {
		note_end(runtime, &task);
		take_head(worker);
	}
	report(runtime, &event);
}

void worker_report_memory(struct pool_runtime *runtime, uint16_t slot)
{
	struct worker *worker = &runtime->workers.worker[slot];
	struct event event = slot_event(SLOT_MEMORY, slot, worker);

	event.slot.bytes = worker->bytes;
	sim_trace("worker %u has %llu bytes", slot, (unsigned long long)worker->bytes);
	report(runtime, &event);
}

void worker_report_broken(struct pool_runtime *runtime, uint16_t slot)
{
	struct worker *worker = &runtime->workers.worker[slot];
	struct event event = slot_event(SLOT_BROKEN, slot, worker);

	worker->broken = true;
	event.slot.what = "a frame that makes no sense";
	report(runtime, &event);
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
	event.slot.computed = runtime->world->start_cost;
	report(runtime, &event);
}

void worker_report_unknown(struct pool_runtime *runtime, uint16_t slot, int32_t status)
{
	struct worker *worker = &runtime->workers.worker[slot];
	struct event event = slot_event(SLOT_OUTPUT, slot, worker);

	event.slot.output = output_new(0);
	sim_require(event.slot.output, "out of memory");
	event.slot.output->status = status;
	sim_trace("worker %u answers %d for message %u", slot, status, worker->tasks[0].id);
	worker->broken = true;
	report(runtime, &event);
}

void worker_report_stray(struct pool_runtime *runtime, uint16_t slot, int32_t status)
{
	struct worker *worker = &runtime->workers.worker[slot];
	struct event event = slot_event(SLOT_OUTPUT, slot, worker);

	sim_require(worker->count == 0, "a stray answer with a task open");
	event.slot.output = output_new(0);
	sim_require(event.slot.output, "out of memory");
	event.slot.output->status = status;
	sim_trace("worker %u says %d, and has no task", slot, status);
	worker->broken = true;
	report(runtime, &event);
}
