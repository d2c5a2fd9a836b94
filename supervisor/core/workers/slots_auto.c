/* The number of workers, where the pool chooses it: measure for autoscale.h, carry out what it
 * decides. Never over its bounds; idle workers leave first, and no task is interrupted. */
#include "core/workers/slots_internal.h"

/* Count the workers that have a task: it may be their first one, and run for an hour. */
static void count_running(struct slots *slots, struct autoscale_look *look)
{
	struct pipe *pipe = NULL;
	while ((pipe = dispatch_latest_running(slots->dispatch, pipe))) {
		struct slot *slot = slot_of_pipe(pipe);
		if (slot_is_leaving(slot))
			continue;
		autoscale_worked(
			&slots->autoscale, pipe_works_since(pipe), slots->context->arrived_after);
		look->at_work++;
		slots_succeeds(slots, slot);
	}
	look->may_grow = slots->failing == 0;
}

static void grow(struct slots *slots, uint32_t wanted, uint32_t waiting)
{
	if (!slots_grow(slots, wanted)) {
		autoscale_refused(&slots->autoscale, slots->context->now);
		pool_emit(slots->context,
			(struct notice){
				.kind = NOTICE_GROWTH_REFUSED, .slot = -1, .number = wanted});
		return;
	}
	slots_emit_scaling(
		slots, NOTICE_GROWN, (struct scaling){.cause = SCALING_GREW, .figure = waiting});
	slots_judge_alarms(slots);
}

/* In a pause, and while no task can come, nothing is learned from idle workers. */
void slots_autoscale(struct slots *slots, bool can_judge, bool is_window_full)
{
	struct autoscale *autoscale = &slots->autoscale;
	mtime now = slots->context->now;
	struct autoscale_look look = {
		.wanted = slots->wanted,
		.waiting = slots->dispatch->queued_count,
		.is_any_idle = dispatch_has_idle(slots->dispatch),
		.is_full = is_window_full,
		.may_shrink = slots->roll.state == REPLACE_OFF,
	};
	if (!autoscale_is_on(autoscale))
		return;
	if (!can_judge) {
		autoscale_rest(autoscale, now);
		return;
	}
	if (!autoscale_is_due(autoscale, &look, now))
		return;
	count_running(slots, &look);
	uint32_t wanted = autoscale_judge(autoscale, &look, now);
	if (wanted > slots->wanted)
		grow(slots, wanted, look.waiting);
	if (wanted < slots->wanted) {
		slots_want(slots, wanted);
		slots_emit_scaling(slots, NOTICE_SHRUNK,
			(struct scaling){.cause = SCALING_SHRANK,
				.figure = autoscale->needed,
				.span = autoscale->patience});
	}
}

mtime slots_deadline(const struct slots *slots, bool can_judge)
{
	const struct pool_context *context = slots->context;
	if (slots_has_leavers(slots))
		return context->now;
	mtime deadline = alarms_deadline(&slots->alarms);
	if (can_judge && autoscale_is_on(&slots->autoscale))
		deadline =
			mtime_min(deadline, autoscale_deadline(&slots->autoscale, slots->wanted));
	if (pool_stays(context))
		deadline = mtime_min(deadline, slots->recycling.next_at);
	return mtime_min(deadline, dispatch_deadline(slots->dispatch, context->config.hard_limit));
}
