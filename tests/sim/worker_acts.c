/* What a fake worker does, by its own temper and that of its task. */
#include "sim/fail.h"
#include "sim/worker_tell.h"

#include <signal.h>

/* ---------- what a worker does with a task ---------- */

static void answer_done(struct station *station, uint16_t slot)
{
	const struct worker_task *task = &station->workers.worker[slot].tasks[0];

	account_done(&station->world->account, task->instance, task->id);
	worker_tell_output(station, slot, STATUS_DONE, "", REASON_NONE);
}

static void fail(struct station *station, uint16_t slot, int32_t status)
{
	station->world->account.message[station->workers.worker[slot].tasks[0].id].failures++;
	worker_tell_output(station, slot, status, "", REASON_NONE);
}

static void answer_nowhere(struct station *station, uint16_t slot)
{
	const struct worker_task *task = &station->workers.worker[slot].tasks[0];

	account_done(&station->world->account, task->instance, task->id);
	worker_tell_output(station, slot, STATUS_REPLY, "", REASON_NONE);
}

static void answer_ignored(struct station *station, uint16_t slot)
{
	const struct worker_task *task = &station->workers.worker[slot].tasks[0];

	account_done(&station->world->account, task->instance, task->id);
	worker_tell_output(
		station, slot, STATUS_DONE, station->world->account.replies, REASON_NONE);
}

/* With another task in its pipe the second answer would be that one's: nobody could tell. */
static void answer_twice(struct station *station, uint16_t slot)
{
	answer_done(station, slot);
	if (station->workers.worker[slot].phase == WORKER_RUNNING &&
		station->workers.worker[slot].count == 0)
		worker_tell_stray(station, slot, STATUS_DONE);
}

/* It ends the attempt and the worker, as a crash does. */
static void answer_unknown(struct station *station, uint16_t slot)
{
	static const int32_t statuses[] = {-2, 1, 199, 202, 399, 600};
	struct random *random = &station->world->random;
	int32_t status = statuses[random_below(random, sizeof statuses / sizeof *statuses)];

	worker_tell_unknown(station, slot, status);
}

static void answer_slice(struct station *station, uint16_t slot)
{
	if (station->workers.worker[slot].tasks[0].slice >= 3)
		answer_done(station, slot);
	else
		worker_tell_output(
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
		worker_tell_output(
			station, slot, STATUS_REPLY, station->world->account.replies, REASON_NONE);
		break;
	case TEMPER_REPLY_NOWHERE:
		answer_nowhere(station, slot);
		break;
	case TEMPER_REPLY_UNROUTABLE:
		worker_tell_output(station, slot, STATUS_REPLY, "nowhere", REASON_NONE);
		break;
	case TEMPER_COSTS_CHANNEL:
		worker_tell_output(station, slot, STATUS_REPLY, BROKER_COSTS_CHANNEL, REASON_NONE);
		break;
	case TEMPER_COSTS_CONNECTION:
		worker_tell_output(
			station, slot, STATUS_REPLY, BROKER_COSTS_CONNECTION, REASON_NONE);
		break;
	case TEMPER_REPLY_INVALID:
		worker_tell_output(station, slot, STATUS_REPLY, station->world->account.replies,
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
		worker_tell_gone(station, slot, EXIT_SIGNAL, SIGSEGV);
		break;
	case TEMPER_HANG:
		break;
	case TEMPER_LONG:
		if (task->soft >= station->config.hard_limit || task->interrupted)
			answer_done(station, slot);
		break;
	case TEMPER_IGNORED:
		answer_ignored(station, slot);
		break;
	case TEMPER_TWICE:
		answer_twice(station, slot);
		break;
	case TEMPER_UNKNOWN:
		answer_unknown(station, slot);
		break;
	case TEMPER_BREAK:
		worker_tell_broken(station, slot);
		break;
	case TEMPER_SLICES:
		answer_slice(station, slot);
		break;
	case TEMPER_INVALID:
	case TEMPER_TOO_LARGE:
		sim_fail("message %u was given to a worker", task->id);
	case TEMPER_COUNT:
		break;
	}
}

/* ---------- what a worker does ---------- */

static void boot(struct station *station, uint16_t slot)
{
	if (station->workers.worker[slot].comes_to_nothing) {
		worker_tell_gone(station, slot, EXIT_STATUS, 1);
		return;
	}
	if (world_wants(station->world, TROUBLE_EXITS, 30)) {
		worker_tell_broken(station, slot);
		return;
	}
	if (world_wants(station->world, TROUBLE_EXITS, 100)) {
		worker_tell_gone(station, slot, EXIT_NOT_STARTED, 2);
		return;
	}
	if (world_wants(station->world, TROUBLE_EXITS, 500))
		return; /* it takes its time, perhaps too much */
	worker_tell_ready(station, slot);
}

/* A signal takes its time, and so does a worker that was asked to leave: what it does until then.
 */
static bool is_lagging(struct station *station, uint16_t slot)
{
	struct worker *worker = &station->workers.worker[slot];

	if (!world_wants(station->world, TROUBLE_LAG, 300))
		return false;
	if (worker->quit && !worker->broken && worker->phase == WORKER_RUNNING &&
		random_chance(&station->world->random, 300))
		worker_tell_broken(station, slot);
	return true;
}

/* True: this is all it does in this round. */
static bool obey(struct station *station, uint16_t slot)
{
	struct worker *worker = &station->workers.worker[slot];
	bool is_asked = worker->term || worker->quit;

	if (!worker->kill && (!is_asked || worker->stubborn))
		return false;
	if (is_lagging(station, slot))
		return false;
	if (worker->kill)
		worker_tell_gone(station, slot, EXIT_SIGNAL, SIGKILL);
	else if (worker->term)
		worker_tell_gone(station, slot, EXIT_SIGNAL, SIGTERM);
	else
		worker_tell_gone(station, slot, EXIT_STATUS, 0);
	return true;
}

void workers_act(struct workers *workers, uint16_t slot)
{
	struct station *station = workers->station;
	struct worker *worker = &workers->worker[slot];

	if (worker->phase != WORKER_NONE && world_wants(station->world, TROUBLE_RECYCLE, 50))
		worker_tell_memory(station, slot);
	if (worker->phase == WORKER_NONE || obey(station, slot))
		return;
	if (worker->broken)
		return;
	else if (worker->phase == WORKER_BOOTING)
		boot(station, slot);
	else if (world_wants(station->world, TROUBLE_EXITS, 15))
		worker_tell_gone(station, slot, EXIT_STATUS, 0);
	else if (world_wants(station->world, TROUBLE_ROOM, 15))
		worker_tell_room(station, slot, random_chance(&station->world->random, 500));
	else if (station->world->calm && worker->full)
		worker_tell_room(station, slot, true);
	else if (worker->count > 0 && random_chance(&station->world->random, 50))
		worker_tell_output(station, slot, STATUS_PROGRESS, "", REASON_NONE);
	else if (worker->count > 0)
		work(station, slot);
}
