/* Each event goes to the half that it concerns; a turn joins both; commands move the phase. */
#include "core/pool_internal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

struct pool *pool_new(const struct pool_config *config, struct starts *starts,
	uint64_t *last_task_id, const struct effects *effects, void *io, mtime now)
{
	assert(config->concurrency >= 1 && config->concurrency <= POOL_CONCURRENCY_MAX);
	assert(config->on_soft == SOFT_NOTHING || config->pipeline == 1);
	assert(config->concurrency == 1 || config->pipeline == 1);
	assert(config->pipeline || config->pipe_wait > 0);
	assert(config->throttle_count == 0 || config->pipeline == 1);
	assert(config->memory > 0);
	assert(!config->session.is_on || (config->prefetch > 0 && config->session.max_sessions));
	assert(!config->workers_max || config->workers_max >= config->workers);
	struct pool *pool = calloc(1, sizeof *pool);
	if (!pool)
		return NULL;
	pool->context =
		(struct pool_context){.config = *config, .effects = effects, .io = io, .now = now};
	if (tasks_init(&pool->tasks, &pool->context, last_task_id) != RC_OK) {
		free(pool);
		return NULL;
	}
	if (slots_init(&pool->slots, &pool->context, &pool->tasks.dispatch, starts) != RC_OK) {
		pool_free(pool);
		return NULL;
	}
	return pool;
}

void pool_free(struct pool *pool)
{
	if (!pool)
		return;
	tasks_end_sessions(&pool->tasks);
	for (uint32_t i = 0; i < pool->slots.all.count; i++)
		tasks_free_orphans(&slots_at(&pool->slots, i)->pipe);
	tasks_release(&pool->tasks);
	slots_release(&pool->slots);
	free(pool);
}

bool pool_is_quiet(const struct pool *pool)
{
	return !pool_stays(&pool->context) && pool->slots.retired == pool->slots.all.count &&
	       tasks_are_closed(&pool->tasks);
}

bool pool_is_publishing(const struct pool *pool)
{
	return outbox_sent_count(&pool->tasks.outbox) > 0;
}

bool pool_is_refused(const struct pool *pool)
{
	return outbox_sent_count(&pool->tasks.outbox) == 0 && pool->tasks.outbox.count > 0;
}

bool pool_must_wait(const struct pool *pool, uint64_t seq)
{
	const struct parcel *parcel = outbox_find(&pool->tasks.outbox, seq);
	return parcel && parcel->kind == PARCEL_POSTPONE;
}

bool pool_has_unfinished(const struct pool *pool)
{
	return pool->tasks.dispatch.in_pipes > 0 || pool->tasks.outbox.count > 0 ||
	       tasks_await_acks(&pool->tasks);
}

bool pool_was_cut_short(const struct pool *pool)
{
	return pool->is_cut_short || (pool_is_forced(&pool->context) && !pool_is_quiet(pool));
}

static enum worker_supply supply_of(const struct slots *slots)
{
	if (slots->ready)
		return WORKERS_READY;
	return slots->failing ? WORKERS_FAILING : WORKERS_COMING;
}

/* ---------- what workers do ---------- */

/* The open task of the pipe that has this id, or NULL. */
static struct delivery *find_open(
	const struct pool *pool, const struct pipe *pipe, uint64_t task_id)
{
	struct delivery *delivery = dispatch_find(&pool->tasks.dispatch, task_id);
	return delivery && delivery->pipe == pipe ? delivery : NULL;
}

/* Return the task that the output belongs to, or NULL and what is wrong. Without concurrency it is
 * the head, and the id may be missing. */
static struct delivery *task_of(const struct pool *pool, const struct pipe *pipe,
	const struct output *output, const char **ret_what)
{
	struct delivery *head = pipe_head(pipe);
	bool is_single = pool->context.config.concurrency == 1;
	bool is_head = head && (!output->task_id || output->task_id == head->id);
	struct delivery *named =
		is_single ? (is_head ? head : NULL) : find_open(pool, pipe, output->task_id);
	if (named)
		return named;
	if (!head)
		*ret_what = "an answer with no task open";
	else if (!output->task_id)
		*ret_what = "an answer without the id of its task";
	else if (is_single)
		*ret_what = "an answer with the id of another task";
	else
		*ret_what = "an answer with the id of a task that is not open";
	return NULL;
}

/* What the output has that is wrong: its status or its id, and which id it should have. Owned by
 * the caller; NULL: nothing to show. */
static struct output *detail_of(
	const struct pool *pool, const struct pipe *pipe, const struct output *output)
{
	char text[96];
	const struct delivery *head = pipe_head(pipe);
	unsigned long long id = output->task_id;
	bool is_single = pool->context.config.concurrency == 1;
	if (head && id && is_single)
		snprintf(text, sizeof text, "status %d, id %llu; the open task has %llu",
			(int)output->status, id, (unsigned long long)head->id);
	else if (id)
		snprintf(text, sizeof text, "status %d, id %llu", (int)output->status, id);
	else
		snprintf(text, sizeof text, "status %d", (int)output->status);
	return output_add_detail(NULL, text_from(text));
}

static void on_answer(struct pool *pool, struct slot *slot, struct delivery *delivery,
	enum outcome outcome, struct output *output)
{
	bool is_single = pool->context.config.concurrency == 1;
	mtime from = is_single ? pipe_works_since(&slot->pipe) : delivery->begun_at;
	mtime until = mtime_max(pool->context.arrived_after, from);
	tasks_answered(&pool->tasks, delivery, outcome, output, until);
	slots_on_answered(&pool->slots, slot, from, until);
}

static void on_output(struct pool *pool, struct slot *slot, struct output *output)
{
	const char *what = "an unknown status";
	enum outcome outcome;
	if (slot->is_muted) {
		output_free(output);
		return;
	}
	struct delivery *delivery = task_of(pool, &slot->pipe, output, &what);
	bool is_progress = output->status == STATUS_PROGRESS;
	bool is_accepted = output->status == STATUS_ACCEPTED && !pool->context.config.session.is_on;
	if (delivery && output->status == STATUS_ACCEPTED && !is_accepted)
		what = "status -2 (accepted), which a pool with sessions refuses";
	if (!delivery ||
		!(is_progress || is_accepted || settle_outcome(output->status, &outcome))) {
		slots_on_broken(
			&pool->slots, slot, delivery, what, detail_of(pool, &slot->pipe, output));
		output_free(output);
		return;
	}
	running_heard(&slot->pipe, delivery->id);
	if (is_progress) {
		tasks_progress(&pool->tasks, delivery, output);
	} else if (is_accepted) {
		tasks_accept(&pool->tasks, delivery);
		output_free(output);
	} else {
		/* Before its answer, so that no task behind it begins. */
		if (output->status == STATUS_DONE_LAST)
			slots_end_worker(&pool->slots, slot, "its last answer");
		on_answer(pool, slot, delivery, outcome, output);
	}
}

/* Which task a worker without concurrency means is known anyway. */
static void on_broken(struct pool *pool, struct slot *slot, const struct event *event)
{
	bool is_single = pool->context.config.concurrency == 1;
	slots_on_broken(&pool->slots, slot,
		is_single ? NULL : find_open(pool, &slot->pipe, event->slot.task_id),
		event->slot.what, event->slot.output);
}

/* What it sent against the protocol explains its end, and the failure of its task. */
static void on_gone(struct pool *pool, struct slot *slot, const struct event *event)
{
	struct output *last = event->slot.output;
	if (slot->violation)
		last = output_add_detail(last, slot->violation->detail);
	slots_on_gone(&pool->slots, slot, event->slot.exit, last);
	tasks_worker_gone(&pool->tasks, &slot->pipe, event->slot.exit, last);
	slots_on_emptied(&pool->slots, slot);
	tasks_hand_back_rest(&pool->tasks);
}

/* An event of a life that is over is dropped. */
static void on_slot(struct pool *pool, const struct event *event)
{
	struct slots *slots = &pool->slots;
	assert(event->kind >= SLOT_READY && event->kind <= SLOT_MEMORY);
	assert(event->slot.slot < slots->all.count);
	struct slot *slot = slots_at(slots, event->slot.slot);
	if (slot->life != event->slot.life)
		output_free(event->slot.output);
	else if (event->kind == SLOT_READY)
		slots_on_ready(slots, slot, event->slot.computed);
	else if (event->kind == SLOT_WRITABLE)
		slots_on_writable(slots, slot, event->slot.is_writable);
	else if (event->kind == SLOT_OUTPUT)
		on_output(pool, slot, event->slot.output);
	else if (event->kind == SLOT_BROKEN)
		on_broken(pool, slot, event);
	else if (event->kind == SLOT_GONE)
		on_gone(pool, slot, event);
	else
		slots_on_memory(slots, slot, event->slot.bytes);
}

/* ---------- commands ---------- */

static void do_drain(struct pool *pool, const struct event *event)
{
	(void)event;
	if (!pool_stays(&pool->context))
		return;
	pool->context.phase = POOL_DRAINS;
	tasks_drain(&pool->tasks);
	slots_drain(&pool->slots);
}

/* A quiet pool ignores it by design: its workers are gone and its channel is closed, so nothing is
 * left to kill or to hand back. */
static void do_force(struct pool *pool, const struct event *event)
{
	(void)event;
	if (pool_is_forced(&pool->context) || pool_is_quiet(pool))
		return;
	pool->is_cut_short = pool_has_unfinished(pool);
	pool->context.phase = POOL_FORCED;
	for (uint32_t i = 0; i < pool->slots.all.count; i++) {
		struct slot *slot = slots_at(&pool->slots, i);
		slots_force(&pool->slots, slot);
		tasks_cut_short(&pool->tasks, &slot->pipe);
	}
	tasks_hand_back(&pool->tasks);
}

static void do_pause(struct pool *pool, const struct event *event)
{
	(void)event;
	if (pool->context.phase == POOL_PAUSED)
		return;
	pool->context.phase = POOL_PAUSED;
	tasks_pause(&pool->tasks);
	pool_emit_plain(&pool->context, NOTICE_PAUSED, NULL);
}

/* The end of the turn decides when the pool consumes again. */
static void do_resume(struct pool *pool, const struct event *event)
{
	(void)event;
	if (pool->context.phase == POOL_PAUSED)
		pool_emit_plain(&pool->context, NOTICE_RESUMED, NULL);
	pool->context.phase = POOL_RUNS;
}

static void do_scale(struct pool *pool, const struct event *event)
{
	uint32_t min = event->command.number, max = event->command.max;
	const char *refusal = slots_scale(&pool->slots, min, max ? max : min);
	if (refusal)
		pool_emit_plain(&pool->context, NOTICE_COMMAND_REFUSED, refusal);
	tasks_set_workers(&pool->tasks, pool->slots.wanted);
}

static void do_restart(struct pool *pool, const struct event *event)
{
	(void)event;
	slots_restart(&pool->slots);
}

/* A start or a grace that has begun ends by the limit that it began with; how long a task may run
 * is checked in each turn. */
static void do_configure(struct pool *pool, const struct event *event)
{
	const struct pool_config *config = event->command.config;
	assert(config->on_soft == pool->context.config.on_soft);
	assert(config->concurrency == pool->context.config.concurrency);
	assert(config->throttle_count == 0 || config->pipeline == 1);
	pool->context.config = *config;
	tasks_configure(&pool->tasks);
	slots_configure(&pool->slots);
}

/* It is advice: whatever the worker does, the task is answered as usual. */
static void do_cancel(struct pool *pool, const struct event *event)
{
	const struct delivery *delivery =
		dispatch_find(&pool->tasks.dispatch, event->command.task_id);
	if (!delivery || !running_has(delivery)) {
		pool_emit_plain(&pool->context, NOTICE_COMMAND_REFUSED,
			delivery ? "the task's worker has not begun it, or is ending"
				 : "no worker has a task with this id");
		return;
	}
	if (!pool->context.effects->ask(pool->context.io, delivery->pipe->slot,
		    delivery->pipe->life, TASK_CANCEL, delivery->id))
		pool_emit_plain(&pool->context, NOTICE_COMMAND_REFUSED,
			"the task's worker does not read its standard input");
	else
		pool_emit(&pool->context, (struct notice){.kind = NOTICE_TASK_CANCELLED,
						  .slot = delivery->pipe->slot,
						  .life = delivery->pipe->life,
						  .delivery = delivery});
}

/* The task that an operator means, or NULL and why it cannot be killed. */
static struct delivery *find_killable(
	const struct pool *pool, const struct event *event, const char **ret_refusal)
{
	const struct slots *slots = &pool->slots;
	uint64_t id = event->command.task_id;
	bool is_there = event->command.slot < slots->all.count &&
			slot_has_process(slots_at(slots, event->command.slot));
	const struct pipe *pipe = is_there ? &slots_at(slots, event->command.slot)->pipe : NULL;
	struct delivery *delivery = !pipe ? NULL : id ? find_open(pool, pipe, id) : pipe_head(pipe);
	if (!pipe)
		*ret_refusal = "there is no worker in this slot";
	else if (!delivery)
		*ret_refusal = id ? "the worker in this slot has no task with this id"
				  : "the worker in this slot has no task";
	else if (!id && dispatch_begun(&pool->tasks.dispatch, pipe) > 1)
		*ret_refusal = "its worker has several tasks: the id of one is needed";
	else if (!running_has(delivery))
		*ret_refusal = "the task's worker has not begun it, or is ending";
	else
		return delivery;
	return NULL;
}

/* The worker is asked first, because its other tasks would have to run again. A worker whose task
 * was killed before keeps the grace that has begun, whichever of its tasks is killed then. */
static void do_kill(struct pool *pool, const struct event *event)
{
	const struct pool_context *context = &pool->context;
	const char *refusal = NULL;
	struct delivery *delivery = find_killable(pool, event, &refusal);
	if (!delivery) {
		pool_emit_plain(context, NOTICE_COMMAND_REFUSED, refusal);
		return;
	}
	struct slot *slot = slot_of_pipe(delivery->pipe);
	bool is_again = delivery->kill != KILL_NOT, has_grace = slot->pipe.killed > 0;
	dispatch_kill(&pool->tasks.dispatch, delivery,
		event->command.gives_up ? KILL_AND_GIVE_UP : KILL_AND_RETRY);
	bool is_asked = is_again || context->effects->ask(context->io, slot->pipe.slot, slot->life,
					    TASK_CANCEL, delivery->id);
	const char *what =
		is_again    ? "was asked before, and has what is left of limits.grace"
		: !is_asked ? "does not read its standard input and is ended"
		: has_grace ? "is asked to give it up, and has what is left of limits.grace since "
			      "another of its tasks was killed"
			    : "is asked to give it up, and has limits.grace to do so before it is "
			      "ended";
	pool_emit(context, (struct notice){.kind = NOTICE_TASK_KILLED,
				   .slot = slot->pipe.slot,
				   .life = slot->life,
				   .delivery = delivery,
				   .what = what});
	if (!is_asked || !has_grace)
		slots_kill_task(&pool->slots, slot, is_asked);
}

static void on_command(struct pool *pool, const struct event *event)
{
#define X(id, name) do_##name,
	static void (*const commands[])(struct pool *, const struct event *) = {COMMANDS(X)};
#undef X
	enum command what = event->command.what;
	bool is_for_its_end = what == COMMAND_DRAIN || what == COMMAND_FORCE ||
			      what == COMMAND_CANCEL || what == COMMAND_KILL;
	if (!pool_stays(&pool->context) && !is_for_its_end)
		pool_emit_plain(&pool->context, NOTICE_COMMAND_REFUSED, "the pool is stopping");
	else
		commands[what](pool, event);
}

/* ---------- sessions ---------- */

static void on_session_command(struct pool *pool, const struct event *event)
{
	const char *refusal = "the pool has no sessions";
	if (pool->tasks.source.request == SOURCE_CLOSE)
		refusal = "the pool is stopping"; /* what it settles now could not be acked */
	else if (pool->tasks.sessions)
		refusal = tasks_command_session(&pool->tasks, event);
	if (refusal)
		pool_emit_plain(&pool->context, NOTICE_SESSION_COMMAND_REFUSED, refusal);
}

static bool runs_keyed(const struct pipe *pipe)
{
	for (const struct link *link = pipe->tasks.next; link != &pipe->tasks; link = link->next)
		if (CONTAINER_OF(link, struct delivery, place)->session)
			return true;
	return false;
}

/* The other tasks of their workers count no attempt. */
static void end_aborted(struct pool *pool)
{
	struct delivery *delivery;
	struct sessions *sessions = pool->tasks.sessions;
	while (sessions && (delivery = sessions_take_overdue(sessions))) {
		assert(delivery->pipe);
		slots_end_worker(&pool->slots, slots_at(&pool->slots, delivery->pipe->slot),
			"its session was aborted");
	}
}

/* Another supervisor may run these tasks from now on. */
static void on_token_lost(struct pool *pool)
{
	tasks_on_token_lost(&pool->tasks);
	for (uint32_t i = 0; i < pool->slots.all.count; i++) {
		struct slot *slot = slots_at(&pool->slots, i);
		if (runs_keyed(&slot->pipe))
			slots_end_worker(&pool->slots, slot, "another supervisor may run its task");
	}
}

static void on_token(struct pool *pool, const struct event *event)
{
	assert(pool->tasks.sessions && event->kind <= TOKEN_LOST);
	if (event->kind == TOKEN_NAMED)
		sessions_named(pool->tasks.sessions, pool->context.now);
	else if (event->kind == TOKEN_HELD)
		tasks_on_token_held(&pool->tasks, event);
	else if (event->kind == TOKEN_WINDOW)
		tasks_on_window_named(&pool->tasks, event);
	else if (!pool->tasks.is_standby)
		on_token_lost(pool);
}

/* ---------- the end of a turn ---------- */

/* Everything that could be read was reported. Deadlines are checked here and only here, so that
 * after a suspension of the machine the sockets are read first. */
static void on_turn_end(struct pool *pool, mtime boot)
{
	pool->context.boot = boot;
	struct tasks *tasks = &pool->tasks;
	struct slots *slots = &pool->slots;
	uint16_t wanted = slots->wanted;
	tasks_begin_turn(tasks, pool->slots.ready);
	end_aborted(pool); /* a worker that ends now stands in for none that is replaced */
	slots_begin_turn(slots);
	tasks_judge_soft_limits(tasks);
	pace_turn(&tasks->pace, (uint32_t)tasks->outbox.count, pool->context.now);
	if (pool_stays(&pool->context)) {
		tasks_decide_consuming(tasks, supply_of(slots));
		tasks_dispatch(tasks, supply_of(slots));
		slots_autoscale(slots, tasks_flow(tasks), tasks_window_is_full(tasks));
		if (slots->wanted > wanted) /* one that was to leave may have a place */
			tasks_dispatch(tasks, supply_of(slots));
		tasks_set_workers(tasks, slots->wanted);
	} else {
		tasks_decide_drain(tasks);
	}
	tasks_flush(tasks, supply_of(slots));
	slots_end_turn(slots);
	tasks_end_turn(tasks);
}

mtime pool_deadline(const struct pool *pool)
{
	return mtime_min(tasks_deadline(&pool->tasks, supply_of(&pool->slots)),
		slots_deadline(&pool->slots, tasks_flow(&pool->tasks)));
}

/* ---------- the step ---------- */

static void emit_if_drained(struct pool *pool)
{
	enum pool_phase phase = pool->context.phase;
	if ((phase != POOL_DRAINS && phase != POOL_FORCED) || !pool_is_quiet(pool))
		return;
	if (phase == POOL_FORCED)
		tasks_emit_lost(&pool->tasks);
	pool->context.phase = phase == POOL_DRAINS ? POOL_DRAINED : POOL_STOPPED;
	pool_emit_plain(&pool->context, NOTICE_DRAINED, NULL);
}

void pool_step(struct pool *pool, mtime now, const struct event *event)
{
	static void (*const of_tasks[])(struct tasks *, const struct event *) = {
		[SOURCE_UP] = tasks_on_source_up,
		[SOURCE_RESTED] = tasks_on_source_rested,
		[SOURCE_CANCELLED] = tasks_on_source_cancelled,
		[SOURCE_DOWN] = tasks_on_source_down,
		[DELIVERY] = tasks_on_delivery,
		[OUTBOX_UP] = tasks_on_outbox_up,
		[OUTBOX_DOWN] = tasks_on_outbox_down,
		[CONFIRMED] = tasks_on_confirmed,
		[REFUSED] = tasks_on_refused,
		[RETURNED] = tasks_on_returned,
		[QUEUE_FOUND] = tasks_on_queue_found,
	};
	pool->context.now = now;
	pool->context.arrived_after = event->arrived_after ? event->arrived_after : now;
	if (event->kind <= QUEUE_FOUND)
		of_tasks[event->kind](&pool->tasks, event);
	else if (event->kind == TURN_END)
		on_turn_end(pool, event->boot);
	else if (event->kind == COMMAND)
		on_command(pool, event);
	else if (event->kind == SESSION_COMMAND)
		on_session_command(pool, event);
	else if (event->kind >= TOKEN_HELD)
		on_token(pool, event);
	else
		on_slot(pool, event);
	emit_if_drained(pool);
}
