/* How many slots are kept: which one leaves, and which one is filled again. With autoscaling,
 * measure for autoscale.h and carry out what it decides. Interrupts no task; never has more slots
 * than the maximum that was wanted, and one. */
#include "core/workers/slots_internal.h"

#include <assert.h>

#define LEAVES_PER_TURN 64

/* ---------- slots ---------- */

static enum rc add_slots(struct slots *slots, uint32_t count)
{
	uint32_t before = slots->all.count;
	if (timers_reserve(&slots->timers, count) != RC_OK ||
		stable_array_grow(&slots->all, count) != RC_OK)
		return RC_MEMORY;
	for (uint32_t number = before; number < count; number++) {
		struct slot *slot = slots_at(slots, number);
		*slot = (struct slot){.state = LIFE_RETIRED,
			.life = 1,
			.ready_at = MTIME_NEVER,
			.ended_at = MTIME_NEVER,
			.old_at = MTIME_NEVER,
			.timer.at = MTIME_NEVER};
		list_init(&slot->in_line);
		dispatch_add_slot(&slot->pipe, (uint16_t)number);
		dispatch_slot_dismiss(slots->dispatch, &slot->pipe);
		slots->retired++;
	}
	return RC_OK;
}

static bool has_slots(struct slots *slots, uint32_t count)
{
	const struct pool_context *context = slots->context;
	if (count <= slots->all.count)
		return true;
	return context->effects->allow_slots(context->io, (uint16_t)count) &&
	       add_slots(slots, count) == RC_OK;
}

void slots_release(struct slots *slots)
{
	for (; slots->starting > 0; slots->starting--)
		starts_end(slots->starts, MTIME_NEVER, MTIME_NEVER);
	starts_leave_line(slots->starts, &slots->place);
	timers_release(&slots->timers);
	for (uint32_t i = 0; i < slots->all.count; i++) {
		output_free(slots_at(slots, i)->violation);
		output_free(slots_at(slots, i)->exit_output);
	}
	stable_array_release(&slots->all);
}

/* ---------- more ---------- */

void slots_keep(struct slots *slots, struct slot *slot)
{
	dispatch_slot_keep(slots->dispatch, &slot->pipe);
	slots->kept++;
	if (slot->state == LIFE_RETIRED)
		slots_step(slots, slot, FACT_WANTED);
	else if (slot->state == LIFE_READY) /* new ones do not apply while it leaves */
		slots_renew_limits(slots, slot);
}

static bool is_at_work(const struct slot *slot)
{
	return slot->state == LIFE_READY && !slot->due;
}

static bool is_retired(const struct slot *slot)
{
	return slot->state == LIFE_RETIRED;
}

/* Its next worker starts when the present one has ended. */
static bool is_any(const struct slot *slot)
{
	(void)slot;
	return true;
}

/* There must be that many slots. */
static void keep_as_many(struct slots *slots, uint32_t count)
{
	static bool (*const orders[])(const struct slot *) = {is_at_work, is_retired, is_any};
	for (int order = 0; order < 3; order++)
		for (uint32_t i = 0; i < slots->all.count && slots->kept < count; i++) {
			struct slot *slot = slots_at(slots, i);
			if (slot_is_leaving(slot) && orders[order](slot))
				slots_keep(slots, slot);
		}
}

enum rc slots_init(struct slots *slots, const struct pool_context *context,
	struct dispatch *dispatch, struct starts *starts)
{
	const struct pool_config *config = &context->config;
	*slots = (struct slots){.context = context,
		.dispatch = dispatch,
		.starts = starts,
		.wanted = config->workers,
		.recycling.next_at = MTIME_NEVER};
	list_init(&slots->place);
	list_init(&slots->line);
	autoscale_init(&slots->autoscale, config->workers,
		config->workers_max ? config->workers_max : config->workers, context->now);
	stable_array_init(&slots->all, sizeof(struct slot));
	if (add_slots(slots, slots->wanted) != RC_OK)
		return RC_MEMORY;
	keep_as_many(slots, slots->wanted);
	return RC_OK;
}

bool slots_keep_more(struct slots *slots, uint32_t more, uint32_t leaving)
{
	if (!has_slots(slots, slots->kept + leaving + more))
		return false;
	keep_as_many(slots, slots->kept + more);
	return true;
}

/* ---------- fewer ---------- */

/* A thousand processes that wake up to exit at once would keep the processors from all others. */
void slots_leave_throttled(struct slots *slots, struct slot *slot)
{
	bool is_woken = slot->state == LIFE_READY;
	if (is_woken && slots->leaves >= LEAVES_PER_TURN) {
		if (slots->passed > slot->pipe.slot)
			slots->passed = slot->pipe.slot;
		return;
	}
	slots->leaves += is_woken;
	slots_leave(slots, slot);
}

static bool has_leavers(const struct slots *slots)
{
	return !pool_is_forced(slots->context) && slots->passed < slots->all.count;
}

/* Let idle workers go that are to leave, a limited number in a turn. */
static void leave_some(struct slots *slots)
{
	for (; has_leavers(slots) && slots->leaves < LEAVES_PER_TURN; slots->passed++) {
		struct slot *slot = slots_at(slots, slots->passed);
		bool is_chosen = slot_is_leaving(slot) && slot->state == LIFE_READY;
		if (slot->pipe.load == 0 && (pool_drains(slots->context) || is_chosen))
			slots_leave_throttled(slots, slot);
	}
}

void slots_drain(struct slots *slots)
{
	slots->passed = 0;
	leave_some(slots);
}

void slots_end_turn(struct slots *slots)
{
	slots->leaves = 0;
	leave_some(slots);
}

/* A process that is ending already is not asked again. */
void slots_dismiss(struct slots *slots, struct slot *slot)
{
	bool is_on_its_way =
		slot_has_process(slot) && slot->state != LIFE_STARTING && slot->state != LIFE_READY;
	dispatch_slot_dismiss(slots->dispatch, &slot->pipe);
	slots->kept--;
	if (slot->pipe.load == 0 && !is_on_its_way)
		slots_leave_throttled(slots, slot);
}

/* More tasks than these make no difference: it is not worth a walk over all slots for each. */
#define WEIGHT_TASKS 64

/* Slots without a ready worker leave first, then those with the fewest tasks; of equal ones those
 * from before the last restart and those that are due. */
uint32_t slots_weight(const struct slots *slots, const struct slot *slot)
{
	uint32_t tasks = slot->pipe.load < WEIGHT_TASKS ? slot->pipe.load : WEIGHT_TASKS;
	uint32_t weight = slot->state == LIFE_READY ? 2 + tasks : slot_has_process(slot);
	return 2 * weight + (slot->generation == slots->generation && !slot->due);
}

static bool has_surplus(const struct slots *slots)
{
	return slots->kept > slots->wanted + slots->recycling.spares;
}

/* One walk for each weight, not for each worker that leaves: most of ten thousand may. Of equal
 * ones the last leaves first, so that slot numbers stay low. */
void slots_dismiss_surplus(struct slots *slots)
{
	for (uint32_t weight = 0; has_surplus(slots); weight++)
		for (uint32_t i = slots->all.count; i-- > 0 && has_surplus(slots);) {
			struct slot *slot = slots_at(slots, i);
			if (!slot_is_leaving(slot) && slots_weight(slots, slot) == weight)
				slots_dismiss(slots, slot);
		}
}

/* ---------- another number ---------- */

/* Set the wanted number of workers. False: there is no memory for their slots. */
static bool want(struct slots *slots, uint32_t workers)
{
	if (!has_slots(slots, workers))
		return false;
	slots->scaling.before = slots->wanted;
	slots->wanted = (uint16_t)workers;
	slots->recycling.spares = 0;
	slots_dismiss_surplus(slots);
	keep_as_many(slots, workers);
	slots_changed(slots);
	return true;
}

/* Emit the change, and keep it for pool_facts. */
static void emit_scaling(struct slots *slots, enum notice_kind kind, struct scaling scaling)
{
	scaling.at = slots->context->now;
	scaling.before = slots->scaling.before;
	scaling.after = slots->wanted;
	scaling.min = slots->autoscale.min;
	scaling.max = slots->autoscale.max;
	slots->scaling = scaling;
	pool_emit(slots->context, (struct notice){.kind = kind,
					  .slot = -1,
					  .number = slots->wanted,
					  .scaling = &slots->scaling});
}

/* Begin to measure how busy places are. */
static void begin_places(struct slots *slots)
{
	slots->worked = running_worked(&slots->dispatch->running, slots->context->now);
	dispatch_measured(slots->dispatch);
}

/* A single number turns autoscaling off until the next command. */
const char *slots_scale(struct slots *slots, uint32_t min, uint32_t max)
{
	struct autoscale autoscale;
	if (min < 1 || min > max || max > POOL_WORKERS_MAX)
		return "a pool has 1 to 10000 workers";
	autoscale_init(&autoscale, (uint16_t)min, (uint16_t)max, slots->context->now);
	begin_places(slots);
	if (!want(slots, autoscale_within(&autoscale, slots->wanted)))
		return "there is no memory for so many workers";
	slots->autoscale = autoscale;
	emit_scaling(slots, NOTICE_SCALED, (struct scaling){.cause = SCALING_ASKED});
	return NULL;
}

/* ---------- the number that the pool chooses ---------- */

/* With concurrency a worker is as busy as its places are taken, and the tasks are not walked. */
static void count_places(struct slots *slots, struct autoscale_look *look)
{
	struct dispatch *dispatch = slots->dispatch;
	uint64_t worked = running_worked(&dispatch->running, slots->context->arrived_after);
	int64_t since = (int64_t)(worked - slots->worked);
	slots->worked = worked;
	if (since > 0)
		slots->autoscale.worked += since / (int64_t)dispatch->concurrency;
	/* A suspect takes all places of its worker. */
	uint32_t taken = dispatch_alone(dispatch) * (dispatch->concurrency - 1);
	slots->autoscale.worked +=
		taken * (slots->context->now - slots->autoscale.since) / dispatch->concurrency;
	look->places_max = dispatch->in_pipes_max + taken;
	dispatch_measured(dispatch);
}

/* Count the workers that have a task: it may be their first one, and run for an hour. */
static void count_running(struct slots *slots, struct autoscale_look *look)
{
	const struct link *busy = &slots->dispatch->running.busy;
	for (struct link *link = busy->next; link != busy; link = link->next) {
		struct pipe *pipe = CONTAINER_OF(link, struct pipe, busy);
		struct slot *slot = slot_of_pipe(pipe);
		if (slot_is_leaving(slot))
			continue;
		if (look->concurrency == 1)
			autoscale_worked(&slots->autoscale, pipe_works_since(pipe),
				slots->context->arrived_after);
		look->at_work++;
		slots_succeeds(slots, slot);
	}
	if (look->concurrency > 1)
		count_places(slots, look);
	look->may_grow = slots->failing == 0;
}

static void grow(struct slots *slots, uint32_t wanted, uint32_t waiting)
{
	if (!want(slots, wanted)) {
		autoscale_refused(&slots->autoscale, slots->context->now);
		pool_emit(slots->context,
			(struct notice){
				.kind = NOTICE_GROWTH_REFUSED, .slot = -1, .number = wanted});
		return;
	}
	emit_scaling(
		slots, NOTICE_GROWN, (struct scaling){.cause = SCALING_GREW, .figure = waiting});
	slots_start_due(slots);
}

static void shrink(struct slots *slots, uint32_t wanted)
{
	bool has_slots_already = want(slots, wanted);
	assert(has_slots_already);
	emit_scaling(slots, NOTICE_SHRUNK,
		(struct scaling){.cause = SCALING_SHRANK,
			.figure = slots->autoscale.needed,
			.span = slots->autoscale.patience});
}

/* In a pause, and while no task can come, idle workers do not show how many are needed. */
void slots_autoscale(struct slots *slots, bool can_judge, bool is_window_full)
{
	struct autoscale *autoscale = &slots->autoscale;
	mtime now = slots->context->now;
	struct autoscale_look look = {
		.wanted = slots->wanted,
		.waiting = dispatch_runnable(slots->dispatch),
		.concurrency = slots->dispatch->concurrency,
		.is_any_idle = dispatch_has_place(slots->dispatch),
		.is_full = is_window_full,
		.suspects = dispatch_suspects(slots->dispatch),
		.may_shrink =
			slots->roll.state == REPLACE_OFF && slots->dispatch->suspect_count == 0,
	};
	if (!autoscale_is_on(autoscale))
		return;
	if (!can_judge) {
		autoscale_rest(autoscale, now);
		begin_places(slots);
		return;
	}
	if (!autoscale_is_due(autoscale, &look, now))
		return;
	count_running(slots, &look);
	uint32_t wanted = autoscale_judge(autoscale, &look, now);
	if (wanted > slots->wanted)
		grow(slots, wanted, look.waiting);
	else if (wanted < slots->wanted)
		shrink(slots, wanted);
}

static mtime start_deadline(const struct slots *slots)
{
	return starts_is_free(slots->starts, &slots->place) ? slots->context->now + NEXT_TURN
							    : starts_look_at(slots->starts);
}

mtime slots_deadline(const struct slots *slots, bool can_judge)
{
	const struct pool_context *context = slots->context;
	if (has_leavers(slots))
		return context->now;
	mtime deadline = timers_deadline(&slots->timers);
	if (!list_is_empty(&slots->line))
		deadline = mtime_min(deadline, start_deadline(slots));
	if (can_judge && autoscale_is_on(&slots->autoscale))
		deadline =
			mtime_min(deadline, autoscale_deadline(&slots->autoscale, slots->wanted));
	if (pool_stays(context))
		deadline = mtime_min(deadline, slots->recycling.next_at);
	return mtime_min(deadline, slots_hard_deadline(slots));
}
