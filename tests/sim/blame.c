#include "sim/blame.h"

#include "core/pool_internal.h"
#include "sim/cover.h"
#include "sim/fail.h"
#include "sim/world.h"

/* ---------- where a task is sent ---------- */

static uint32_t count_alone(const struct pool_runtime *runtime)
{
	uint32_t alone = 0;

	for (uint16_t i = 0; i < SLOTS_MAX; i++) {
		const struct worker *worker = &runtime->workers.worker[i];

		alone += worker->count > 0 && worker->tasks[0].is_suspect;
	}
	return alone;
}

/* Workers that are ready and stay. */
static uint32_t count_up(const struct pool_runtime *runtime)
{
	uint32_t up = 0;

	for (uint16_t i = 0; i < runtime->pool->slots.all.count; i++)
		up += workers_is_taking(&runtime->workers, i) &&
		      !slot_is_leaving(slots_at(&runtime->pool->slots, i));
	return up;
}

static uint32_t alone_max(const struct pool_runtime *runtime)
{
	uint32_t up = count_up(runtime);

	return up < 2 ? 1 : up / 2;
}

static bool is_known_suspect(const struct pool_runtime *runtime, const struct worker_task *task,
	const struct delivery *delivery)
{
	const struct account *account = &runtime->world->account;
	bool was_open = account->suspected[task->instance] == task->requeues + 1;

	if (order_has_key(account->order, task->id))
		return runtime->hand.held[task->id].is_suspect;
	if (account->order->is_on)
		was_open = order_loose_find(runtime, delivery)->is_suspect;
	if (task->instance == 0)
		return delivery->is_suspect;
	return was_open || account->facts[task->instance].suspect;
}

static const struct delivery *first_of(const struct link *list)
{
	const struct link *first = list_first(list);

	return first ? CONTAINER_OF(first, struct delivery, place) : NULL;
}

/* Nothing is sent beside it, and not too many workers work alone. A pool of one worker takes the
 * older task first, suspect or not, unless there are sessions, which take turns. */
static void check_suspect(const struct pool_runtime *runtime, const struct worker *worker,
	const struct worker_task *task, const struct delivery *delivery)
{
	const struct delivery *next = first_of(&runtime->pool->tasks.dispatch.queued);

	sim_require(worker->count == 0, "message %u is a suspect and not alone in its worker",
		task->id);
	sim_require(count_up(runtime) > 1 || !next || next->tag > delivery->tag ||
			    runtime->world->order.is_on || throttles_are_on(&runtime->throttles),
		"message %u is a suspect, and older ones wait for the only worker", task->id);
	sim_require(count_alone(runtime) < alone_max(runtime), "%u of %u workers work alone",
		count_alone(runtime) + 1, count_up(runtime));
}

/* The least loaded worker gets it. It may overtake a suspect if there is another worker for that
 * one, which gets nothing else: so it is idle in the end. */
static void check_ordinary(const struct pool_runtime *runtime, uint16_t slot,
	const struct worker_task *task, const struct delivery *delivery)
{
	const struct pool *pool = runtime->pool;
	const struct delivery *suspect = first_of(&pool->tasks.dispatch.suspects);
	uint32_t count = runtime->workers.worker[slot].count;

	sim_require(!(slots_at(&pool->slots, slot)->pipe.closed & PIPE_ALONE),
		"message %u is sent to a worker that is kept for a suspect", task->id);
	sim_require(!suspect || suspect->tag > delivery->tag || pool->tasks.dispatch.alone > 0 ||
			    runtime->world->order.is_on || throttles_may_hold(runtime, suspect),
		"message %u overtakes a suspect", task->id);
	for (uint16_t i = 0; i < pool->slots.all.count; i++) {
		const struct pipe *pipe = &slots_at(&pool->slots, i)->pipe;

		sim_require(runtime->workers.worker[i].count >= count || pipe->closed ||
				    pipe_is_spent(pipe),
			"message %u is sent to worker %u with %u tasks, and worker %u has %u",
			task->id, slot, count, i, runtime->workers.worker[i].count);
	}
}

void blame_sent(struct pool_runtime *runtime, uint16_t slot, struct worker_task *task,
	const struct delivery *delivery)
{
	const struct worker *worker = &runtime->workers.worker[slot];
	struct supervisor *supervisor = runtime->supervisor;

	sim_require(task->task_id > supervisor->latest_id, "message %u has the id of another task",
		task->id);
	supervisor->latest_id = task->task_id;
	if (!workers_have_many(runtime))
		return;
	task->is_suspect = is_known_suspect(runtime, task, delivery);
	sim_require(worker->count == 0 || !worker->tasks[0].is_suspect,
		"message %u is sent beside a suspect", task->id);
	for (uint32_t i = 0; i < worker->count; i++)
		sim_require(!worker->tasks[i].is_due,
			"message %u is sent to a worker with a task over the hard limit", task->id);
	cover_mark(COVER_SUSPECT, SUSPECT_SENT, !task->is_suspect);
	if (task->is_suspect)
		check_suspect(runtime, worker, task, delivery);
	else
		check_ordinary(runtime, slot, task, delivery);
}

/* ---------- the hard limit ---------- */

/* How long a worker with a task that is due is watched. */
static mtime watch_span(const struct pool_runtime *runtime)
{
	return mtime_min(runtime->config.grace, runtime->config.hard_limit);
}

static bool is_open_to_judgement(const struct worker *worker)
{
	return worker->phase == WORKER_RUNNING && worker->count > 0 && !worker->is_judged;
}

/* How long it has been over its hard limit; below 0: it is not. */
static mtime late_by(const struct pool_runtime *runtime, const struct worker_task *task)
{
	return runtime->world->now - task->sent - workers_hard_limit(runtime, task);
}

/* A task was due for as long as its worker is watched. */
static bool is_any_late(const struct pool_runtime *runtime, const struct worker *worker)
{
	for (uint32_t i = 0; i < worker->count; i++)
		if (worker->tasks[i].is_due &&
			late_by(runtime, &worker->tasks[i]) >= watch_span(runtime))
			return true;
	return false;
}

static const struct worker_task *first_due(const struct worker *worker)
{
	for (uint32_t i = 0; i < worker->count; i++)
		if (worker->tasks[i].is_due)
			return &worker->tasks[i];
	return NULL;
}

static void find_due(const struct pool_runtime *runtime, struct worker *worker)
{
	mtime now = runtime->world->now;

	if (!first_due(worker) || (now - worker->watched_since >= watch_span(runtime) &&
					  !is_any_late(runtime, worker))) {
		worker->watched_since = now;
		worker->heard_of = 0;
		worker->heard_more = false;
	}
	for (uint32_t i = 0; i < worker->count; i++) {
		struct worker_task *task = &worker->tasks[i];

		task->is_due |= late_by(runtime, task) >= 0;
	}
}

void blame_turn(struct pool_runtime *runtime)
{
	for (uint16_t i = 0; workers_have_many(runtime) && i < SLOTS_MAX; i++) {
		struct worker *worker = &runtime->workers.worker[i];

		if (is_open_to_judgement(worker))
			find_due(runtime, worker);
	}
}

static void check_limits(const struct pool_runtime *runtime, uint16_t slot)
{
	const struct worker *worker = &runtime->workers.worker[slot];
	const struct worker_task *due = first_due(worker);

	if (!is_open_to_judgement(worker) || !due)
		return;
	sim_require(runtime->world->now - worker->watched_since < watch_span(runtime),
		"message %u is over the hard limit, and worker %u goes on for too long", due->id,
		slot);
}

/* ---------- a worker that idles ---------- */

static bool is_idle(const struct pool_runtime *runtime, uint16_t slot)
{
	const struct worker *worker = &runtime->workers.worker[slot];

	return workers_is_taking(&runtime->workers, slot) && worker->count == 0 && !worker->full &&
	       !slot_is_leaving(slots_at(&runtime->pool->slots, slot)) &&
	       !pipe_is_spent(&slots_at(&runtime->pool->slots, slot)->pipe) &&
	       (!worker->given_max || worker->given < worker->given_max);
}

bool blame_is_any_idle(const struct pool_runtime *runtime)
{
	for (uint16_t i = 0; i < runtime->pool->slots.all.count; i++)
		if (is_idle(runtime, i))
			return true;
	return false;
}

/* True: tasks wait, and neither memory, nor the outbox, nor a task that needs the whole pool keeps
 * them. */
static bool may_send(const struct pool_runtime *runtime)
{
	const struct tasks *tasks = &runtime->pool->tasks;
	const struct delivery *next = first_of(&tasks->dispatch.queued);
	const struct delivery *suspect = first_of(&tasks->dispatch.suspects);
	bool is_exclusive = tasks->dispatch.is_exclusive || (next && settle_is_exclusive(next)) ||
			    (suspect && settle_is_exclusive(suspect));

	return runtime->pool->context.phase == POOL_RUNS && tasks->dispatch.queued_count > 0 &&
	       tasks->send_again == MTIME_NEVER &&
	       !(tasks->sessions && tasks->source.state == SOURCE_IS_CLOSING) &&
	       tasks->outbox.bytes <= runtime->config.outbox_limit &&
	       runtime->world->now >= runtime->hand.careful_until &&
	       !(is_exclusive && tasks->dispatch.in_pipes > 0);
}

/* A task waits only if no worker idles; or if it is a suspect, and enough workers work alone. */
static void check_idle(const struct pool_runtime *runtime)
{
	const struct dispatch *dispatch = &runtime->pool->tasks.dispatch;

	if (!may_send(runtime))
		return;
	sim_require(dispatch->suspect_count > 0 || dispatch->kept_count == 0,
		"%u workers are kept for suspects, and there is none", dispatch->kept_count);
	if (!blame_is_any_idle(runtime) || throttles_are_on(&runtime->throttles))
		return;
	sim_require(dispatch->queued_count == dispatch->suspect_count,
		"%u tasks wait, and a worker idles",
		dispatch->queued_count - dispatch->suspect_count);
	sim_require(count_alone(runtime) >= alone_max(runtime),
		"%u suspects wait, and a worker idles", dispatch->suspect_count);
}

void blame_check_turn(const struct pool_runtime *runtime)
{
	workers_check_hard(runtime);
	if (!workers_have_many(runtime))
		return;
	for (uint16_t i = 0; i < SLOTS_MAX; i++)
		check_limits(runtime, i);
	check_idle(runtime);
}

/* ---------- who is to blame ---------- */

static void blame(struct worker_task *task, enum reason reason)
{
	task->blamed = reason;
	sim_trace("message %u is to blame (%s)", task->id, reason_name(reason));
}

/* Those that an operator kills have failed, and no other becomes a suspect. False: there is none.
 */
static bool blame_killed(struct worker *worker)
{
	bool is_any = workers_has_killed(worker);

	for (uint32_t i = 0; i < worker->count; i++)
		if (worker->tasks[i].is_killed)
			blame(&worker->tasks[i], REASON_KILLED);
	if (is_any) {
		cover_mark(COVER_ENDED, ENDED_ORDERED, worker->count > 1 ? 2 : 1);
		worker->is_judged = true;
	}
	return is_any;
}

/* The only open task, or nobody and all are suspects. */
static void blame_open(struct worker *worker, enum reason reason, enum cover_ended how)
{
	if (worker->is_judged || blame_killed(worker))
		return;
	worker->is_judged = true;
	worker->are_suspects = worker->count > 1;
	cover_mark(COVER_ENDED, how, worker->count > 1 ? 2 : worker->count);
	if (worker->count == 1)
		blame(&worker->tasks[0], reason);
}

/* It was due for as long as its worker was watched, which sent something of another task. */
static bool has_hung(const struct pool_runtime *runtime, const struct worker *worker,
	const struct worker_task *task)
{
	return task->is_due && late_by(runtime, task) >= watch_span(runtime) && worker->heard_of &&
	       (worker->heard_of != task->task_id || worker->heard_more);
}

static bool blame_hung(const struct pool_runtime *runtime, struct worker *worker)
{
	bool is_any = false;

	for (uint32_t i = 0; i < worker->count; i++) {
		if (!has_hung(runtime, worker, &worker->tasks[i]))
			continue;
		blame(&worker->tasks[i], REASON_TIMED_OUT);
		is_any = true;
	}
	return is_any;
}

void blame_term(struct pool_runtime *runtime, struct worker *worker)
{
	uint16_t slot = (uint16_t)(worker - runtime->workers.worker);
	mtime now = runtime->world->now;
	bool was_watched = now - worker->watched_since >= watch_span(runtime);
	bool is_late = first_due(worker) && (worker->count == 1 || was_watched);

	if (!workers_have_many(runtime) || worker->count == 0 || worker->is_judged)
		return;
	sim_require(is_late || (workers_has_killed(worker) && now >= worker->kill_at),
		"worker %u is stopped, and none of its tasks is late for long", slot);
	if (is_late && worker->count > 1 && blame_hung(runtime, worker)) {
		worker->is_judged = true;
		cover_mark(COVER_ENDED, ENDED_HUNG, 2);
		blame_killed(worker);
		return;
	}
	blame_open(worker, REASON_TIMED_OUT, ENDED_SILENT);
}

void blame_kill(struct pool_runtime *runtime, struct worker *worker)
{
	/* Where an abort, the loss of the token or a last answer is the cause, nobody's attempt
	 * counts but those that an operator kills. A worker that is too large is killed at its
	 * report, whatever was aborted in it: then any of its tasks may have made it so. */
	bool is_ordered =
		(workers_has_aborted(worker) || runtime->hand.is_standby || worker->has_ended) &&
		!worker->reports_memory;

	if (worker->has_ended && workers_have_many(runtime))
		cover_mark(COVER_ENDED, ENDED_LAST, worker->count > 1 ? 2 : worker->count);
	if (is_ordered && !worker->is_judged) {
		blame_killed(worker);
		worker->is_judged = true;
	}
	if (workers_have_many(runtime))
		blame_open(worker, REASON_CRASHED, ENDED_KILLED);
}

void blame_heard(struct worker *worker, uint64_t task_id)
{
	if (!worker->heard_of)
		worker->heard_of = task_id;
	worker->heard_more |= worker->heard_of != task_id;
}

/* It comes from any of them, or from none. Only a suspect that is alone does not get another
 * chance. */
static void suspect_open(struct worker *worker)
{
	bool is_alone = worker->count == 1 && worker->tasks[0].is_suspect;

	if (is_alone) {
		blame_open(worker, REASON_PROTOCOL, ENDED_BROKEN);
		return;
	}
	worker->is_judged = worker->are_suspects = true;
	cover_mark(COVER_ENDED, ENDED_BROKEN, worker->count > 1 ? 2 : worker->count);
}

/* What it does before the kill reaches it is the reason of its attempt, but costs no other one. */
static void break_when_judged(struct worker *worker)
{
	for (uint32_t i = 0; i < worker->count; i++)
		if (worker->tasks[i].blamed == REASON_CRASHED)
			worker->tasks[i].blamed = REASON_PROTOCOL;
}

void blame_broken(struct pool_runtime *runtime, struct worker *worker, uint64_t task_id)
{
	struct worker_task *named = workers_find(worker, task_id);

	if (!workers_have_many(runtime))
		return;
	if (worker->is_judged) {
		break_when_judged(worker);
		return;
	}
	if (!named && !workers_has_killed(worker)) {
		suspect_open(worker);
		return;
	}
	worker->is_judged = true;
	if (named) {
		cover_mark(COVER_ENDED, ENDED_NAMED, worker->count > 1 ? 2 : 1);
		blame(named, REASON_PROTOCOL);
	}
	blame_killed(worker);
}

/* ---------- the end of a worker ---------- */

static void count_failure(const struct pool_runtime *runtime, const struct worker_task *task)
{
	struct account *account = &runtime->world->account;

	cover_mark(COVER_SUSPECT, SUSPECT_FAILED, !task->is_suspect);
	account->message[task->id].failures++;
	if (!order_has_key(account->order, task->id))
		account_ended(account, task->instance, task->requeues, runtime->supervisor->number);
}

/* A worker may still have it from a channel that was lost: that is past. */
static void suspect(const struct pool_runtime *runtime, const struct worker_task *task)
{
	struct account *account = &runtime->world->account;

	if (task->instance && task->requeues == account->requeues[task->instance])
		account->suspected[task->instance] = task->requeues + 1;
}

/* A forced stop took its tasks from the pool, and counts none. */
static void forget_all(struct worker *worker)
{
	for (uint32_t i = 0; i < worker->count; i++)
		worker->tasks[i].blamed = REASON_NONE;
	worker->are_suspects = false;
}

void blame_gone(struct pool_runtime *runtime, struct worker *worker)
{
	struct workers *workers = &runtime->workers;

	workers->ended_count = 0;
	if (!workers_have_many(runtime))
		return;
	blame_open(worker, REASON_CRASHED, ENDED_GONE);
	if (pool_is_forced(&runtime->pool->context))
		forget_all(worker);
	for (uint32_t i = 0; i < worker->count; i++) {
		const struct worker_task *task = &worker->tasks[i];

		if (task->blamed)
			count_failure(runtime, task);
		else if (worker->are_suspects)
			suspect(runtime, task);
	}
	workers->ended_count = worker->count;
	memcpy(workers->ended, worker->tasks, worker->count * sizeof *workers->ended);
	/* It was to blame before, it is accepted, or another one ended the worker with its answer;
	 * and the pool did not listen any more when it answered. */
	for (uint32_t i = 0; i < worker->unheard_count; i++) {
		if (pool_is_forced(&runtime->pool->context))
			continue;
		if (worker->unheard[i].blamed)
			count_failure(runtime, &worker->unheard[i]);
		else if (worker->are_suspects)
			suspect(runtime, &worker->unheard[i]);
		workers->ended[workers->ended_count++] = worker->unheard[i];
	}
}

static struct worker_task *find_ended(struct workers *workers, uint64_t task_id)
{
	for (uint32_t i = 0; i < workers->ended_count; i++)
		if (workers->ended[i].task_id == task_id)
			return &workers->ended[i];
	return NULL;
}

/* An operator may give up one whose attempts ended before. */
static bool ends_an_attempt(const struct pool_runtime *runtime, const struct notice *notice)
{
	if (notice->delivery &&
		runtime->world->order.message[account_id(notice->delivery->body)].is_disposed)
		return false;
	return notice->kind == NOTICE_TASK_RETRIED || notice->kind == NOTICE_TASK_GIVEN_UP ||
	       notice->kind == NOTICE_SESSION_BLOCKED;
}

static bool is_of_a_worker(enum reason reason)
{
	return reason == REASON_CRASHED || reason == REASON_TIMED_OUT ||
	       reason == REASON_PROTOCOL || reason == REASON_KILLED;
}

/* An orphan has no attempt that could count. */
void blame_told(struct pool_runtime *runtime, const struct notice *notice)
{
	bool is_orphan = notice->kind == NOTICE_TASK_ORPHANED;
	struct worker_task *task;

	if (!workers_have_many(runtime) || !(is_orphan || (ends_an_attempt(runtime, notice) &&
								  is_of_a_worker(notice->reason))))
		return;
	task = find_ended(&runtime->workers, notice->delivery->id);
	if (task)
		task->is_told = true;
	if (is_orphan || (!task && notice->reason == REASON_KILLED)) /* which was answered */
		return;
	sim_require(task, "an attempt of message %u counts (%s), and its worker has not ended",
		account_id(notice->delivery->body), reason_name(notice->reason));
	/* Nothing brings it again, so it ends with its worker, whoever is to blame. */
	if (notice->delivery->is_accepted && !task->blamed && notice->reason == REASON_CRASHED)
		return;
	sim_require(task->blamed, "message %u is innocent, and its attempt counts (%s)", task->id,
		reason_name(notice->reason));
	sim_require(task->blamed == notice->reason, "message %u: %s, and not %s", task->id,
		reason_name(notice->reason), reason_name(task->blamed));
}

void blame_check_gone(struct pool_runtime *runtime)
{
	struct workers *workers = &runtime->workers;

	for (uint32_t i = 0; i < workers->ended_count; i++)
		sim_require(!workers->ended[i].blamed || workers->ended[i].is_told ||
				    workers->ended[i].is_aborted,
			"message %u is to blame, and its attempt does not count",
			workers->ended[i].id);
	workers->ended_count = 0;
}
