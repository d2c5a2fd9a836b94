/* What a fake worker does: its own behaviour and that of its task decide. */
#include "sim/fail.h"
#include "sim/worker_report.h"

#include <signal.h>

/* ---------- what a worker does with a task ---------- */

static void answer_done(struct pool_runtime *runtime, uint16_t slot)
{
	const struct worker_task *task = &runtime->workers.worker[slot].tasks[0];

	account_done(&runtime->world->account, task->instance, task->id);
	worker_report_output(runtime, slot, STATUS_DONE, "", REASON_NONE);
}

static void fail(struct pool_runtime *runtime, uint16_t slot, int32_t status)
{
	runtime->world->account.message[runtime->workers.worker[slot].tasks[0].id].failures++;
	worker_report_output(runtime, slot, status, "", REASON_NONE);
}

static void answer_nowhere(struct pool_runtime *runtime, uint16_t slot)
{
	const struct worker_task *task = &runtime->workers.worker[slot].tasks[0];

	account_done(&runtime->world->account, task->instance, task->id);
	worker_report_output(runtime, slot, STATUS_REPLY, "", REASON_NONE);
}

static void answer_ignored(struct pool_runtime *runtime, uint16_t slot)
{
	const struct worker_task *task = &runtime->workers.worker[slot].tasks[0];

	account_done(&runtime->world->account, task->instance, task->id);
	worker_report_output(
		runtime, slot, STATUS_DONE, runtime->world->account.replies, REASON_NONE);
}

/* With another task in the pipe, the second answer would count as that task's. */
static void answer_twice(struct pool_runtime *runtime, uint16_t slot)
{
	answer_done(runtime, slot);
	if (runtime->workers.worker[slot].phase == WORKER_RUNNING &&
		runtime->workers.worker[slot].count == 0)
		worker_report_stray(runtime, slot, STATUS_DONE);
}

/* Ends the attempt and the worker, like a crash. */
static void answer_unknown(struct pool_runtime *runtime, uint16_t slot)
{
	static const int32_t statuses[] = {-2, 1, 199, 202, 399, 600};
	struct random *random = &runtime->world->random;
	int32_t status = statuses[random_below(random, sizeof statuses / sizeof *statuses)];

	worker_report_unknown(runtime, slot, status);
}

static void answer_slice(struct pool_runtime *runtime, uint16_t slot)
{
	if (runtime->workers.worker[slot].tasks[0].slice >= 3)
		answer_done(runtime, slot);
	else
		worker_report_output(
			runtime, slot, STATUS_REPLY, runtime->world->account.queue, REASON_NONE);
}

static void work(struct pool_runtime *runtime, uint16_t slot)
{
	const struct worker_task *task = &runtime->workers.worker[slot].tasks[0];

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
	case TEMPER_LONG:
		if (task->soft >= runtime->config.hard_limit || task->interrupted)
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
		worker_report_broken(runtime, slot);
		break;
	case TEMPER_SLICES:
		answer_slice(runtime, slot);
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
		worker_report_broken(runtime, slot);
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
		worker_report_broken(runtime, slot);
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

void workers_act(struct workers *workers, uint16_t slot)
{
	struct pool_runtime *runtime = workers->runtime;
	struct worker *worker = &workers->worker[slot];

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
	else if (worker->count > 0 && random_chance(&runtime->world->random, 50))
		worker_report_output(runtime, slot, STATUS_PROGRESS, "", REASON_NONE);
	else if (worker->count > 0)
		work(runtime, slot);
}
