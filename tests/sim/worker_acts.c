/* What a fake worker does: its own behaviour and that of its task decide. */
#include "sim/fail.h"
#include "sim/worker_report.h"

#include <signal.h>

/* ---------- what a worker does with a task ---------- */

static const struct worker_task *current(const struct pool_runtime *runtime, uint16_t slot)
{
	const struct worker *worker = &runtime->workers.worker[slot];

	return &worker->tasks[worker->current];
}

/* An answer that the pool does not hear changes nothing: the task runs again. */
static void note_done(struct pool_runtime *runtime, uint16_t slot)
{
	const struct worker_task *task = current(runtime, slot);

	if (worker_report_is_heard(runtime, slot))
		account_done(&runtime->world->account, task->instance, task->id);
}

static void answer_done(struct pool_runtime *runtime, uint16_t slot)
{
	bool is_last = random_chance(&runtime->world->random, 20);

	note_done(runtime, slot);
	worker_report_output(
		runtime, slot, is_last ? STATUS_DONE_LAST : STATUS_DONE, "", REASON_NONE);
}

static void fail(struct pool_runtime *runtime, uint16_t slot, int32_t status)
{
	struct message_account *message =
		&runtime->world->account.message[current(runtime, slot)->id];

	message->failures += worker_report_is_heard(runtime, slot);
	worker_report_output(runtime, slot, status, "", REASON_NONE);
}

static void answer_nowhere(struct pool_runtime *runtime, uint16_t slot)
{
	note_done(runtime, slot);
	worker_report_output(runtime, slot, STATUS_REPLY, "", REASON_NONE);
}

static void answer_ignored(struct pool_runtime *runtime, uint16_t slot)
{
	note_done(runtime, slot);
	worker_report_output(
		runtime, slot, STATUS_DONE, runtime->world->account.replies, REASON_NONE);
}

/* Without an id the second answer would count as the next task's, if there is one. */
static void answer_twice(struct pool_runtime *runtime, uint16_t slot)
{
	const struct worker *worker = &runtime->workers.worker[slot];
	bool is_told_apart =
		workers_have_many(runtime) || random_chance(&runtime->world->random, 500);

	answer_done(runtime, slot);
	if (worker->phase == WORKER_RUNNING && (is_told_apart || worker->count == 0))
		worker_report_stray(
			runtime, slot, STATUS_DONE, is_told_apart ? ID_ANSWERED : ID_MISSING);
}

/* In a frame that cannot be read, or in one whose id belongs to no open task of this worker. */
static void break_protocol(struct pool_runtime *runtime, uint16_t slot)
{
	struct random *random = &runtime->world->random;
	bool is_progress = random_chance(random, 300);
	enum cover_id which = random_below(random, ID_COUNT);
	bool is_wrong = which != ID_RIGHT && (which != ID_MISSING || workers_have_many(runtime));

	if (is_wrong && random_chance(random, 500))
		worker_report_stray(
			runtime, slot, is_progress ? STATUS_PROGRESS : STATUS_DONE, which);
	else
		worker_report_broken(runtime, slot, which);
}

/* Ends the attempt and the worker, like a crash. */
static void answer_unknown(struct pool_runtime *runtime, uint16_t slot)
{
	static const int32_t statuses[] = {-3, 1, 199, 202, 399, 600};
	struct random *random = &runtime->world->random;
	int32_t status = statuses[random_below(random, sizeof statuses / sizeof *statuses)];

	if (runtime->config.session.is_on && status == -3)
		status = STATUS_ACCEPTED;
	worker_report_unknown(runtime, slot, status);
}

static void answer_slice(struct pool_runtime *runtime, uint16_t slot)
{
	if (current(runtime, slot)->slice >= 3)
		answer_done(runtime, slot);
	else
		worker_report_output(
			runtime, slot, STATUS_REPLY, runtime->world->account.queue, REASON_NONE);
}

static void answer_postponed(struct pool_runtime *runtime, uint16_t slot)
{
	struct message_account *message =
		&runtime->world->account.message[current(runtime, slot)->id];

	if (message->postponed >= 3) {
		answer_done(runtime, slot);
		return;
	}
	message->postponed += worker_report_is_heard(runtime, slot);
	worker_report_output(runtime, slot, STATUS_POSTPONED, "", REASON_NONE);
}

static void work(struct pool_runtime *runtime, uint16_t slot)
{
	const struct worker_task *task = current(runtime, slot);

	switch (runtime->world->account.message[task->id].temper) {
	case TEMPER_DONE:
		answer_done(runtime, slot);
		break;
	case TEMPER_REPLY:
		worker_report_output(
			runtime, slot, STATUS_REPLY, runtime->world->account.replies, REASON_NONE);
		break;
	case TEMPER_REPLY_NOWHERE:
		answer_nowhere(runtime, slot);
		break;
	case TEMPER_REPLY_UNROUTABLE:
		worker_report_output(runtime, slot, STATUS_REPLY, "nowhere", REASON_NONE);
		break;
	case TEMPER_COSTS_CHANNEL:
		worker_report_output(
			runtime, slot, STATUS_REPLY, BROKER_COSTS_CHANNEL, REASON_NONE);
		break;
	case TEMPER_COSTS_CONNECTION:
		worker_report_output(
			runtime, slot, STATUS_REPLY, BROKER_COSTS_CONNECTION, REASON_NONE);
		break;
	case TEMPER_REPLY_INVALID:
		worker_report_output(runtime, slot, STATUS_REPLY, runtime->world->account.replies,
			REASON_REPLY_INVALID);
		break;
	case TEMPER_REJECT:
		fail(runtime, slot, STATUS_REJECTED);
		break;
	case TEMPER_FAIL_ONCE:
		if (task->attempt == 1)
			fail(runtime, slot, STATUS_FAILED);
		else
			answer_done(runtime, slot);
		break;
	case TEMPER_FAIL:
		fail(runtime, slot, STATUS_FAILED);
		break;
	case TEMPER_POISON:
		worker_report_gone(runtime, slot, EXIT_SIGNAL, SIGSEGV);
		break;
	case TEMPER_HANG:
		break;
	case TEMPER_BLOCK:
		runtime->workers.worker[slot].blocked = true;
		break;
	case TEMPER_LONG:
		if (task->soft >= workers_hard_limit(runtime, task) || task->interrupted ||
			task->cancelled)
			answer_done(runtime, slot);
		break;
	case TEMPER_IGNORED:
		answer_ignored(runtime, slot);
		break;
	case TEMPER_TWICE:
		answer_twice(runtime, slot);
		break;
	case TEMPER_UNKNOWN:
		answer_unknown(runtime, slot);
		break;
	case TEMPER_BREAK:
		break_protocol(runtime, slot);
		break;
	case TEMPER_SLICES:
		answer_slice(runtime, slot);
		break;
	case TEMPER_POSTPONE:
		answer_postponed(runtime, slot);
		break;
	case TEMPER_INVALID:
	case TEMPER_TOO_LARGE:
		sim_fail("message %u was given to a worker", task->id);
	case TEMPER_COUNT:
		break;
	}
}

/* ---------- what a worker does ---------- */

static void boot(struct pool_runtime *runtime, uint16_t slot)
{
	if (runtime->workers.worker[slot].cost > 0)
		return;
	if (runtime->workers.worker[slot].comes_to_nothing) {
		worker_report_gone(runtime, slot, EXIT_STATUS, 1);
		return;
	}
	if (world_wants(runtime->world, TROUBLE_EXITS, 30)) {
		worker_report_broken(runtime, slot, ID_MISSING);
		return;
	}
	if (world_wants(runtime->world, TROUBLE_EXITS, 100)) {
		worker_report_gone(runtime, slot, EXIT_NOT_STARTED, 2);
		return;
	}
	if (world_wants(runtime->world, TROUBLE_EXITS, 500))
		return; /* it goes on working, perhaps for too long */
	worker_report_ready(runtime, slot);
}

/* What a worker does until a signal arrives, or between being asked to leave and leaving. */
static bool is_lagging(struct pool_runtime *runtime, uint16_t slot)
{
	struct worker *worker = &runtime->workers.worker[slot];

	if (!world_wants(runtime->world, TROUBLE_LAG, 300))
		return false;
	if (worker->quit && !worker->broken && worker->phase == WORKER_RUNNING &&
		random_chance(&runtime->world->random, 300))
		worker_report_broken(runtime, slot, ID_MISSING);
	return true;
}

/* True: it does nothing else in this round. */
static bool obey(struct pool_runtime *runtime, uint16_t slot)
{
	struct worker *worker = &runtime->workers.worker[slot];
	bool is_asked = worker->term || worker->quit;

	if (!worker->kill && (!is_asked || worker->stubborn))
		return false;
	if (is_lagging(runtime, slot))
		return false;
	if (worker->kill)
		worker_report_gone(runtime, slot, EXIT_SIGNAL, SIGKILL);
	else if (worker->term)
		worker_report_gone(runtime, slot, EXIT_SIGNAL, SIGTERM);
	else
		worker_report_gone(runtime, slot, EXIT_STATUS, 0);
	return true;
}

/* True: it does nothing with this task until something else happens. */
static bool is_stuck(const struct pool_runtime *runtime, const struct worker_task *task)
{
	enum temper temper = runtime->world->account.message[task->id].temper;

	return temper == TEMPER_HANG ||
	       (temper == TEMPER_LONG && task->soft < workers_hard_limit(runtime, task) &&
		       !task->interrupted && !task->cancelled);
}

/* Any of its open tasks; in a calm world one that moves, because all else moves at once. */
static uint32_t choose_task(const struct pool_runtime *runtime, const struct worker *worker)
{
	uint32_t start = random_below(&runtime->world->random, worker->count);

	if (!workers_have_many(runtime))
		return 0;
	for (uint32_t i = 0; runtime->world->calm && i < worker->count; i++) {
		uint32_t index = (start + i) % worker->count;

		if (!is_stuck(runtime, &worker->tasks[index]))
			return index;
	}
	return start;
}

/* In one world of four. */
static bool wants_accept(const struct pool_runtime *runtime)
{
	struct world *world = runtime->world;

	return world->seed % 4 == 1 && !runtime->config.session.is_on &&
	       world_wants(world, TROUBLE_ACCEPT, 100);
}

/* An orphan is delivered again. */
static void accept(struct pool_runtime *runtime, uint16_t slot)
{
	struct worker_task *task =
		&runtime->workers.worker[slot].tasks[runtime->workers.worker[slot].current];

	if (worker_report_is_heard(runtime, slot))
		account_accepted(&runtime->world->account, task->instance, task->id,
			runtime->supervisor->number);
	worker_report_output(runtime, slot, STATUS_ACCEPTED, "", REASON_NONE);
}

static void act_on_task(struct pool_runtime *runtime, uint16_t slot)
{
	struct worker *worker = &runtime->workers.worker[slot];

	worker->current = choose_task(runtime, worker);
	if (wants_accept(runtime))
		accept(runtime, slot);
	else if (random_chance(&runtime->world->random, 50))
		worker_report_progress(runtime, slot);
	else
		work(runtime, slot);
}

void workers_act(struct workers *workers, uint16_t slot)
{
	struct pool_runtime *runtime = workers->runtime;
	struct worker *worker = &workers->worker[slot];

	if (worker->is_dead && worker->phase != WORKER_NONE) {
		worker_report_gone(runtime, slot, EXIT_SIGNAL, SIGKILL);
		return;
	}
	if (worker->phase != WORKER_NONE && world_wants(runtime->world, TROUBLE_RECYCLE, 50))
		worker_report_memory(runtime, slot);
	if (worker->phase == WORKER_NONE || obey(runtime, slot))
		return;
	if (worker->broken)
		return;
	else if (worker->phase == WORKER_BOOTING)
		boot(runtime, slot);
	else if (world_wants(runtime->world, TROUBLE_EXITS, 15))
		worker_report_gone(runtime, slot, EXIT_STATUS, 0);
	else if (world_wants(runtime->world, TROUBLE_PIPE_FULL, 15))
		worker_report_room(runtime, slot, random_chance(&runtime->world->random, 500));
	else if (runtime->world->calm && worker->full)
		worker_report_room(runtime, slot, true);
	else if (worker->count > 0 && !worker->blocked)
		act_on_task(runtime, slot);
}
