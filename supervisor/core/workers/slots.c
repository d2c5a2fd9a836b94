/* The lives of the processes in the slots. */
#include "core/workers/slots_internal.h"

#include "core/failure_wait.h"

#include <assert.h>

/* The wait after a task has ended a worker in a slot that has worked before: five starts in 10 s.
 * It need not grow, because each such end costs the task an attempt, and these are limited. */
#define WAIT_AFTER_POISON (2 * MTIME_SECOND)

#define STARTS_PER_TURN 4

void slots_emit(const struct slots *slots, enum notice_kind kind, const struct slot *slot,
	struct notice notice)
{
	notice.kind = kind;
	notice.slot = slot->pipe.slot;
	notice.life = slot->life;
	pool_emit(slots->context, notice);
}

/* The task whose attempt fails if the worker ends now, or NULL: there is none, or it is not known.
 */
static const struct delivery *culprit_of(const struct slots *slots, const struct pipe *pipe)
{
	bool is_only = dispatch_begun(slots->dispatch, pipe) == 1;
	if (pipe->blame != BLAME_MARKED)
		return pipe->blame == BLAME_BEGUN && is_only ? pipe_head(pipe) : NULL;
	for (struct link *link = pipe->tasks.next; link != &pipe->tasks; link = link->next) {
		const struct delivery *delivery = CONTAINER_OF(link, struct delivery, place);
		if (delivery->is_blamed)
			return delivery;
	}
	return NULL;
}

/* The same for a notice about a worker that ends: fill in who pays. After its end slot->life is
 * that of the next one. */
static void slots_emit_ending(
	const struct slots *slots, const struct slot *slot, struct notice notice)
{
	const struct pipe *pipe = &slot->pipe;
	uint32_t begun = dispatch_begun(slots->dispatch, pipe);
	bool is_unknown = pipe->blame == BLAME_BEGUN && begun > 1;
	notice.slot = pipe->slot;
	notice.life = pipe->life;
	notice.delivery = culprit_of(slots, pipe);
	notice.open = begun;
	notice.are_suspects = begun > 0 && (is_unknown || pipe->blame == BLAME_SUSPECTS);
	pool_emit(slots->context, notice);
}

static void send_request(
	const struct slots *slots, const struct slot *slot, enum slot_request request)
{
	const struct pool_context *context = slots->context;
	context->effects->slot(context->io, slot->pipe.slot, slot->life, request);
}

static void set_timer(struct slots *slots, struct slot *slot, mtime span)
{
	timers_set(&slots->timers, &slot->timer, mtime_after(slots->context->now, span));
}

/* ---------- was a life a success? ---------- */

static void clear_failures(struct slots *slots, struct slot *slot)
{
	slots->failing -= slot->failures > 0;
	slot->failures = 0;
}

static bool is_success(const struct slots *slots, const struct slot *slot)
{
	bool is_long = slot->ready_at != MTIME_NEVER &&
		       slots->context->now - slot->ready_at >= LIFE_IS_LONG;
	return slot->pipe.answers > 0 || is_long;
}

bool slots_succeeds(struct slots *slots, struct slot *slot)
{
	if (!is_success(slots, slot))
		return false;
	clear_failures(slots, slot);
	return true;
}

bool slots_is_failing(const struct slots *slots, const struct slot *slot)
{
	return slot->failures > 0 && !(slot->state == LIFE_READY && is_success(slots, slot));
}

/* Return how long to wait before the next life. One that was asked to leave is no failure, nor is
 * one whose task an operator has killed. */
static mtime judge_life(struct slots *slots, struct slot *slot)
{
	if (slots_succeeds(slots, slot) || slot->is_asked || slot->pipe.killed > 0)
		return 0;
	if (slot->is_proven && slot->pipe.load > 0)
		return WAIT_AFTER_POISON;
	bool was_ready = slot->ready_at != MTIME_NEVER;
	slots->failing += slot->failures == 0;
	slot->failures++; /* at most one in 30 s: 32 bits are enough */
	slot->is_proven = false;
	if (slot->generation == slots->generation) {
		slots->roll.never_ready += !was_ready;
		slots->roll.failed_when_ready += was_ready;
	}
	return failure_wait(failure_wait_step(slot->failures));
}

/* ---------- the actions of life.h ---------- */

static void do_nothing(struct slots *slots, struct slot *slot)
{
	(void)slots;
	(void)slot;
}

static void do_line_up(struct slots *slots, struct slot *slot)
{
	set_timer(slots, slot, MTIME_NEVER);
	list_append(&slots->line, &slot->in_line);
}

static void do_spawn(struct slots *slots, struct slot *slot)
{
	dispatch_slot_begin(&slot->pipe, slot->life);
	slot->is_muted = slot->is_asked = false;
	if (slot->generation != slots->generation) /* the program may be another one */
		slot->is_proven = false;
	slot->generation = slots->generation;
	slot->due = RECYCLE_NOT;
	slot->bytes = 0;
	slot->ended_for = NULL;
	output_free(slot->violation);
	slot->violation = NULL;
	slot->ready_at = MTIME_NEVER;
	slot->started_at = slots->context->now;
	slot->boot_until = mtime_after(slot->started_at, slots->context->config.boot_limit);
	timers_set(&slots->timers, &slot->timer, slot->boot_until);
	send_request(slots, slot, SLOT_SPAWN);
}

static void do_welcome(struct slots *slots, struct slot *slot)
{
	slot->ready_at = slots->context->now;
	slots->ready++;
	set_timer(slots, slot, MTIME_NEVER);
	slots_draw_limits(slots, slot);
	slots->recycling.next_at = mtime_min(slots->recycling.next_at, slot->old_at);
	dispatch_slot_up(slots->dispatch, &slot->pipe);
	if (slot->generation == slots->generation)
		slots->roll.never_ready = 0;
	slots_emit(slots, NOTICE_WORKER_READY, slot, (struct notice){0});
}

static void do_quit(struct slots *slots, struct slot *slot)
{
	dispatch_slot_stop(slots->dispatch, &slot->pipe);
	set_timer(slots, slot, slots->context->config.grace);
	send_request(slots, slot, SLOT_QUIT);
}

static void do_term(struct slots *slots, struct slot *slot)
{
	dispatch_slot_stop(slots->dispatch, &slot->pipe);
	set_timer(slots, slot, slots->context->config.grace);
	send_request(slots, slot, SLOT_TERM);
}

static void do_kill(struct slots *slots, struct slot *slot)
{
	dispatch_slot_stop(slots->dispatch, &slot->pipe);
	set_timer(slots, slot, MTIME_NEVER);
	send_request(slots, slot, SLOT_KILL);
}

static void do_bury(struct slots *slots, struct slot *slot)
{
	mtime wait = judge_life(slots, slot);
	slot->life++;
	set_timer(slots, slot, wait);
}

static void do_retire(struct slots *slots, struct slot *slot)
{
	slots->retired++;
	clear_failures(slots, slot); /* its failures are no longer the pool's */
	set_timer(slots, slot, MTIME_NEVER);
}

static void do_revive(struct slots *slots, struct slot *slot)
{
	slots->retired--;
	set_timer(slots, slot, 0);
}

static void leave_line(struct slots *slots, struct slot *slot)
{
	list_remove(&slot->in_line);
	if (list_is_empty(&slots->line))
		starts_leave_line(slots->starts, &slots->place);
}

static void end_start(struct slots *slots, const struct slot *slot, bool is_ready)
{
	slots->starting--;
	mtime took = is_ready ? slots->context->now - slot->started_at : MTIME_NEVER;
	starts_end(slots->starts, took, slot->computed);
}

void slots_step(struct slots *slots, struct slot *slot, enum life_fact fact)
{
	static void (*const actions[])(struct slots *, struct slot *) = {
		[ACTION_IGNORE] = do_nothing,
		[ACTION_LINE_UP] = do_line_up,
		[ACTION_SPAWN] = do_spawn,
		[ACTION_WELCOME] = do_welcome,
		[ACTION_QUIT] = do_quit,
		[ACTION_TERM] = do_term,
		[ACTION_KILL] = do_kill,
		[ACTION_BURY] = do_bury,
		[ACTION_RETIRE] = do_retire,
		[ACTION_REVIVE] = do_revive,
	};
	struct life_step step = life_next(slot->state, fact);
	if (slot->state == LIFE_READY)
		slots->ready--;
	if (slot->state == LIFE_IN_LINE)
		leave_line(slots, slot);
	if (slot->state == LIFE_STARTING)
		end_start(slots, slot, step.next == LIFE_READY);
	slots->starting += step.next == LIFE_STARTING;
	slot->state = step.next;
	slots_changed(slots);
	actions[step.action](slots, slot);
}

/* ---------- recycling: the limits of one life ---------- */

void slots_draw_limits(struct slots *slots, struct slot *slot)
{
	const struct recycle_limits *limits = &slots->context->config.recycle;
	uint16_t number = slot->pipe.slot;
	slot->old_at = mtime_after(slot->ready_at, recycle_age(limits, number, slot->life));
	dispatch_slot_limit(
		slots->dispatch, &slot->pipe, recycle_tasks(limits, number, slot->life));
}

void slots_mark_due(struct slots *slots, struct slot *slot, enum recycle_reason reason)
{
	slot->due = reason;
	slots->recycling.state = REPLACE_LOOKS;
}

void slots_emit_recycled(const struct slots *slots, const struct slot *slot,
	enum recycle_reason reason, uint64_t bytes)
{
	slots_emit_ending(slots, slot,
		(struct notice){
			.kind = NOTICE_WORKER_RECYCLED,
			.recycled = reason,
			.number = slot->pipe.answers,
			.duration = slots->context->now - slot->ready_at,
			.bytes = bytes,
		});
}

void slots_leave(struct slots *slots, struct slot *slot)
{
	slot->is_asked = true;
	slots_step(slots, slot, FACT_LEAVE);
}

void slots_check_spent(struct slots *slots, struct slot *slot)
{
	const struct pipe *pipe = &slot->pipe;
	if (!pipe->tasks_max)
		return;
	if (!slot->due && pipe->answers >= recycle_enough(pipe->tasks_max))
		slots_mark_due(slots, slot, RECYCLE_TASKS);
	bool stays = pool_stays(slots->context) && !slot_is_leaving(slot);
	if (pipe->load == 0 && slot->state == LIFE_READY && stays && pipe_is_spent(pipe)) {
		slots_emit_recycled(slots, slot, RECYCLE_TASKS, 0);
		slots_leave(slots, slot);
	}
}

/* ---------- what workers do ---------- */

static void record_cause(struct slot *slot, const char *what)
{
	if (!slot->ended_for)
		slot->ended_for = what;
}

void slots_on_ready(struct slots *slots, struct slot *slot, mtime computed)
{
	slot->computed = computed;
	slots_step(slots, slot, FACT_READY);
}

void slots_on_writable(struct slots *slots, struct slot *slot, bool is_writable)
{
	if (slot->state == LIFE_READY)
		dispatch_slot_writable(slots->dispatch, &slot->pipe, is_writable);
}

/* A worker that is leaving keeps its grace. What one has answered before it is killed counts. */
void slots_on_memory(struct slots *slots, struct slot *slot, uint64_t bytes)
{
	const struct recycle_limits *limits = &slots->context->config.recycle;
	if (slot->state != LIFE_READY)
		return;
	slot->bytes = bytes;
	if (limits->memory_kill && bytes > limits->memory_kill) {
		running_blame_killed(&slot->pipe);
		slots_emit_recycled(slots, slot, RECYCLE_KILL, bytes);
		record_cause(slot, "memory limit");
		slots_step(slots, slot, FACT_BROKEN);
	} else if (limits->memory && bytes > limits->memory && !slot->due) {
		slots_mark_due(slots, slot, RECYCLE_MEMORY);
	}
}

/* A protocol error names an open task, or none of those that are open. Then it may come from any of
 * them, or from none; but a suspect that is alone has failed, so that it does not run for ever. For
 * a worker that is ending this was decided before. */
static void blame_for_error(struct slots *slots, struct pipe *pipe, struct delivery *named)
{
	const struct delivery *head = pipe_head(pipe);
	if (pipe->on_exit == OUTCOME_CRASHED)
		pipe->on_exit = OUTCOME_BROKEN;
	bool is_ending = pipe->closed & PIPE_NOT_READY;
	if (is_ending || slots->dispatch->concurrency == 1)
		return;
	if (named) {
		named->is_blamed = true;
		pipe->blame = BLAME_MARKED;
	} else if (head && !head->is_suspect) {
		pipe->blame = BLAME_SUSPECTS;
	}
}

/* No notice for a worker that is leaving. The detail is kept only if this is why it ends. */
void slots_on_broken(struct slots *slots, struct slot *slot, struct delivery *named,
	const char *what, struct output *output)
{
	struct pipe *pipe = &slot->pipe;
	if (slot->is_muted || slot->ended_for) {
		output_free(output);
		output = NULL;
	}
	if (slot->is_muted)
		return;
	slot->is_muted = true;
	slot->violation = output;
	pipe->violation = what;
	blame_for_error(slots, pipe, named);
	running_blame_killed(pipe);
	if (slot->state != LIFE_QUITTING && slot->state != LIFE_KILLED)
		slots_emit_ending(slots, slot,
			(struct notice){
				.kind = NOTICE_WORKER_BROKEN, .what = what, .output = output});
	record_cause(slot, what);
	slots_step(slots, slot, FACT_BROKEN);
}

void slots_on_answered(struct slots *slots, struct slot *slot, mtime from, mtime until)
{
	if (!slot_is_leaving(slot)) {
		if (slots->dispatch->concurrency == 1)
			autoscale_worked(&slots->autoscale, from, until);
		slots->autoscale.answered++;
	}
	slot->is_proven = true;
	clear_failures(slots, slot);
	if (slot->state == LIFE_READY && slot->pipe.killed == 0)
		set_timer(slots, slot, MTIME_NEVER);
	if (slot->generation == slots->generation)
		slots->roll.failed_when_ready = 0;
	slots_check_spent(slots, slot);
	slots_on_emptied(slots, slot);
}

/* The exit of a worker that was asked to leave is not kept. The notice is about the life that has
 * ended; slot->life is the next one. */
void slots_on_gone(struct slots *slots, struct slot *slot, struct exit_info exit,
	const struct output *last_output)
{
	if (!slot->is_asked) {
		slot->exit = exit;
		slot->exit_for = slot->ended_for;
		output_free(slot->exit_output);
		slot->exit_output =
			last_output ? output_add_detail(NULL, last_output->detail) : NULL;
		slot->ended_at = slots->context->now;
	}
	dispatch_slot_stop(slots->dispatch, &slot->pipe);
	slots_step(slots, slot, FACT_GONE);
	bool comes_again = pool_stays(slots->context) && !slot_is_leaving(slot);
	slots_emit_ending(slots, slot,
		(struct notice){
			.kind = slot->is_asked ? NOTICE_WORKER_LEFT : NOTICE_WORKER_DIED,
			.output = last_output,
			.exit = exit,
			.what = slot->ended_for,
			.duration =
				comes_again ? slot->timer.at - slots->context->now : MTIME_NEVER,
		});
}

void slots_on_emptied(struct slots *slots, struct slot *slot)
{
	if (slot->pipe.load == 0 && (!pool_stays(slots->context) || slot_is_leaving(slot)))
		slots_leave_throttled(slots, slot);
}

void slots_force(struct slots *slots, struct slot *slot)
{
	slot->is_muted = true;
	slot->is_asked = true;
	slots_step(slots, slot, FACT_FORCE);
}

void slots_end_worker(struct slots *slots, struct slot *slot, const char *what)
{
	/* Of one that is ending it is known who is to blame. */
	if (!(slot->pipe.closed & PIPE_NOT_READY))
		slot->pipe.blame = BLAME_NOBODY;
	record_cause(slot, what);
	slots_force(slots, slot);
}

void slots_kill_task(struct slots *slots, struct slot *slot, bool was_asked)
{
	if (was_asked) {
		set_timer(slots, slot, slots->context->config.grace);
		return;
	}
	record_cause(slot, "an operator killed its task");
	slots_step(slots, slot, FACT_TIMER);
}

/* ---------- limits in time ---------- */

static void overdue(
	struct slots *slots, struct slot *slot, enum life_fact fact, mtime limit, const char *what)
{
	running_blame_killed(&slot->pipe);
	slots_emit_ending(slots, slot,
		(struct notice){.kind = NOTICE_WORKER_OVERDUE, .duration = limit, .what = what});
	if (fact == FACT_HARD)
		slot->pipe.on_exit = OUTCOME_TIMED_OUT;
	record_cause(slot, what);
	slots_step(slots, slot, fact);
}

/* Time in which it waited for a processor does not count: when the machine is busy it could not do
 * anything about it. What it waits for just now is not known yet, a moment. */
static bool is_within_boot_limit(struct slots *slots, struct slot *slot)
{
	const struct pool_context *context = slots->context;
	mtime waited = context->effects->waited(context->io, slot->pipe.slot, slot->life);
	mtime until = mtime_after(slot->boot_until, waited);
	if (until <= context->now)
		return false;
	timers_set(&slots->timers, &slot->timer, until);
	return true;
}

/* Start a few workers a turn: a start takes about a millisecond, in which neither the broker nor
 * other workers are served. */
static void start_some(struct slots *slots)
{
	struct link *first;
	for (int i = 0; i < STARTS_PER_TURN && (first = list_first(&slots->line)); i++) {
		if (!starts_take(slots->starts, &slots->place))
			break;
		slots_step(slots, CONTAINER_OF(first, struct slot, in_line), FACT_TURN);
	}
	if (!list_is_empty(&slots->line))
		starts_line_up(slots->starts, &slots->place, slots->context->now);
}

static void leave_those_in_line(struct slots *slots)
{
	struct link *first;
	while ((first = list_first(&slots->line)))
		slots_leave(slots, CONTAINER_OF(first, struct slot, in_line));
}

static void judge_timers(struct slots *slots)
{
	const struct pool_config *config = &slots->context->config;
	while (timers_deadline(&slots->timers) <= slots->context->now) {
		struct slot *slot = CONTAINER_OF(timers_first(&slots->timers), struct slot, timer);
		const char *limit = life_overdue_text(slot->state);
		bool is_starting = slot->state == LIFE_STARTING;
		if (!limit)
			slots_step(slots, slot, FACT_TIMER);
		else if (!is_starting || !is_within_boot_limit(slots, slot))
			overdue(slots, slot, FACT_TIMER,
				is_starting ? config->boot_limit : config->grace, limit);
	}
}

void slots_start_due(struct slots *slots)
{
	judge_timers(slots);
	if (pool_stays(slots->context))
		start_some(slots);
	else
		leave_those_in_line(slots);
}

static void end_overdue(struct slots *slots, const struct delivery *delivery)
{
	overdue(slots, slot_of_pipe(delivery->pipe), FACT_HARD,
		running_hard_limit(delivery, slots->context->config.hard_limit),
		delivery->hard_limit ? "hard limit, which it set itself with HardLimitMilliseconds"
				     : "hard limit");
}

/* How long a worker of which a task is over the hard limit is watched: for the grace, but a pool
 * with a short limit and a long grace does not wait longer than a task may take. It is never 0: a
 * worker that is watched once more is watched until a later turn. */
static mtime watch_span(const struct pool_config *config)
{
	return mtime_max(mtime_min(config->grace, config->hard_limit), MTIME_MS);
}

mtime slots_hard_deadline(const struct slots *slots)
{
	const struct pool_config *config = &slots->context->config;
	const struct running *running = &slots->dispatch->running;
	return mtime_min(running_hard_deadline(running, config->hard_limit),
		running_watch_deadline(running, watch_span(config)));
}

/* The only task of a worker has hung. If there are others, the worker is watched: what it sends of
 * them shows that it works; without that, all of them are suspects. */
static void judge_hard_limits(struct slots *slots)
{
	const struct pool_config *config = &slots->context->config;
	struct dispatch *dispatch = slots->dispatch;
	mtime limit = config->hard_limit, now = slots->context->now;
	struct delivery *late;
	while ((late = running_over_hard(&dispatch->running, limit, now))) {
		if (late->pipe->begun > 1)
			dispatch_overdue(dispatch, late, now);
		else
			end_overdue(slots, late);
	}
	while ((late = running_judge(&dispatch->running, limit, watch_span(config), now)))
		end_overdue(slots, late);
}

void slots_begin_turn(struct slots *slots)
{
	const struct pool_context *context = slots->context;
	judge_hard_limits(slots);
	/* First, so that no worker is replaced on the strength of one that ends in this turn. */
	judge_timers(slots);
	if (pool_stays(context)) {
		slots_roll(slots);
		slots_recycle(slots);
	}
	slots_start_due(slots);
}
