#include "core/tasks/dispatch.h"

#include <assert.h>

void dispatch_init(
	struct dispatch *dispatch, mtime pipe_wait, const struct effects *effects, void *io)
{
	*dispatch = (struct dispatch){.effects = effects, .io = io, .pipe_wait = pipe_wait};
	list_init(&dispatch->queued);
	list_init(&dispatch->running);
	list_init(&dispatch->in_time);
	for (int load = 0; load < POOL_PIPELINE_MAX; load++)
		list_init(&dispatch->by_load[load]);
}

void dispatch_add_slot(struct pipe *pipe, uint16_t slot)
{
	*pipe = (struct pipe){.slot = slot, .closed = PIPE_NOT_READY};
	list_init(&pipe->by_load);
	list_init(&pipe->running);
	list_init(&pipe->in_time);
	list_init(&pipe->tasks);
	list_init(&pipe->answered);
}

/* A pipe that is closed, full or spent is in no list. */
static void enlist(struct dispatch *dispatch, struct pipe *pipe)
{
	if (pipe->closed || pipe->load == POOL_PIPELINE_MAX || pipe_is_spent(pipe))
		return;
	list_append(&dispatch->by_load[pipe->load], &pipe->by_load);
	dispatch->loads |= UINT64_C(1) << pipe->load;
}

static void delist(struct dispatch *dispatch, struct pipe *pipe)
{
	if (list_is_empty(&pipe->by_load))
		return;
	list_remove(&pipe->by_load);
	if (list_is_empty(&dispatch->by_load[pipe->load]))
		dispatch->loads &= ~(UINT64_C(1) << pipe->load);
}

static void set_load(struct dispatch *dispatch, struct pipe *pipe, uint16_t load)
{
	delist(dispatch, pipe);
	dispatch->in_pipes += (uint32_t)load - pipe->load;
	pipe->load = load;
	enlist(dispatch, pipe);
	/* A task that runs alone is the only one in a pipe, so it is the one that leaves; for a
	 * task that is added, into_pipe sets this. */
	assert(!dispatch->is_exclusive || dispatch->in_pipes == 0);
	dispatch->is_exclusive = false;
}

/* The pipe whose head began last has a worker that is awake, if that is not long ago. */
static struct pipe *next_pipe(
	const struct dispatch *dispatch, uint32_t depth, uint32_t pack, mtime now)
{
	struct pipe *awake = pack > 1 ? dispatch_latest_running(dispatch, NULL) : NULL;
	bool may_be_given = awake && !list_is_empty(&awake->by_load) && awake->load < pack;
	if (may_be_given && now - awake->since < DISPATCH_WAKING)
		return awake;
	if (!dispatch->loads)
		return NULL;
	uint32_t load = (uint32_t)__builtin_ctzll(dispatch->loads);
	if (load >= depth)
		return NULL;
	return CONTAINER_OF(list_first(&dispatch->by_load[load]), struct pipe, by_load);
}

void dispatch_offer(struct dispatch *dispatch, struct delivery *delivery)
{
	delivery->state = DELIVERY_QUEUED;
	list_append(&dispatch->queued, &delivery->place);
	dispatch->queued_count++;
}

void dispatch_requeue(struct dispatch *dispatch, struct delivery *delivery)
{
	delivery->state = DELIVERY_QUEUED;
	list_prepend(&dispatch->queued, &delivery->place);
	dispatch->queued_count++;
}

static struct delivery *first_waiting(const struct dispatch *dispatch)
{
	struct link *first = list_first(&dispatch->queued);
	return first ? CONTAINER_OF(first, struct delivery, place) : NULL;
}

struct delivery *dispatch_take(struct dispatch *dispatch)
{
	struct delivery *delivery = first_waiting(dispatch);
	if (delivery) {
		list_remove(&delivery->place);
		dispatch->queued_count--;
	}
	return delivery;
}

static void stop_clock(struct pipe *pipe)
{
	list_remove(&pipe->running);
	list_remove(&pipe->in_time);
	pipe->closed &= ~(unsigned)PIPE_HELD_UP;
}

static void start_clock(struct dispatch *dispatch, struct pipe *pipe, mtime now)
{
	stop_clock(pipe);
	pipe->since = now;
	list_append(&dispatch->running, &pipe->running);
	if (dispatch->pipe_wait != MTIME_NEVER)
		list_append(&dispatch->in_time, &pipe->in_time);
}

bool dispatch_hold_up(struct dispatch *dispatch, mtime arrived_after)
{
	struct link *first;
	bool is_any = false;
	while ((first = list_first(&dispatch->in_time))) {
		struct pipe *pipe = CONTAINER_OF(first, struct pipe, in_time);
		if (arrived_after - pipe->since < dispatch->pipe_wait)
			break;
		list_remove(first);
		delist(dispatch, pipe);
		pipe->closed |= PIPE_HELD_UP;
		is_any = true;
	}
	return is_any;
}

/* Move the delivery, which was taken from those that wait, into the pipe. */
static void into_pipe(
	struct dispatch *dispatch, struct delivery *delivery, struct pipe *pipe, mtime now)
{
	delivery->state = DELIVERY_SENT;
	if (pipe->load == 0)
		start_clock(dispatch, pipe, now);
	list_append(&pipe->tasks, &delivery->place);
	set_load(dispatch, pipe, (uint16_t)(pipe->load + 1));
	dispatch->is_exclusive = settle_is_exclusive(delivery);
}

enum dispatch_stop dispatch_run(struct dispatch *dispatch, uint32_t depth, uint32_t pack, mtime now,
	struct delivery **ret_invalid)
{
	struct delivery *delivery;
	struct pipe *pipe;
	int wakes = 0;
	while ((delivery = first_waiting(dispatch))) {
		if (dispatch->in_pipes > 0 && (dispatch->is_exclusive || settle_is_exclusive(delivery)))
			break;
		if (!(pipe = next_pipe(dispatch, depth, pack, now)))
			break;
		if (pipe->load == 0 && wakes++ == DISPATCH_WAKES)
			return DISPATCH_ENOUGH;
		/* A publisher can set any number of attempts, also the maximum. */
		uint16_t before = delivery->attempt;
		uint16_t attempt = (uint16_t)(before + (before < UINT16_MAX));
		enum send_result result =
			dispatch->effects->send(dispatch->io, pipe->slot, delivery, attempt);
		if (result == SEND_NO_MEMORY)
			return DISPATCH_NO_MEMORY;
		list_remove(&delivery->place);
		dispatch->queued_count--;
		if (result == SEND_TOO_LARGE) {
			*ret_invalid = delivery;
			return DISPATCH_TOO_LARGE;
		}
		into_pipe(dispatch, delivery, pipe, now);
	}
	return DISPATCH_DONE;
}

static struct delivery *out_of_pipe(struct dispatch *dispatch, struct pipe *pipe)
{
	struct delivery *head = pipe_head(pipe);
	head->slot = pipe->slot;
	head->life = pipe->life;
	list_remove(&head->place);
	set_load(dispatch, pipe, (uint16_t)(pipe->load - 1));
	if (pipe->load == 0 && !list_is_empty(&pipe->by_load)) {
		/* Its worker was busy until now, so its caches are warm: it is first. */
		list_remove(&pipe->by_load);
		list_prepend(&dispatch->by_load[0], &pipe->by_load);
	}
	return head;
}

struct delivery *dispatch_end(struct dispatch *dispatch, struct pipe *pipe, mtime now)
{
	/* A pipe that was stopped has no clock and gets none: no limit applies to its tasks. */
	bool is_limited = !list_is_empty(&pipe->running);
	stop_clock(pipe);
	pipe->answers++;
	struct delivery *head = out_of_pipe(dispatch, pipe);
	if (!is_limited)
		pipe->outcome_on_exit = OUTCOME_UNSTARTED;
	else if (pipe->load > 0)
		start_clock(dispatch, pipe, now);
	return head;
}

void dispatch_slot_begin(struct pipe *pipe, uint32_t life)
{
	pipe->life = life;
	pipe->answers = 0;
	pipe->outcome_on_exit = OUTCOME_CRASHED;
	pipe->counted_until = MTIME_NEVER;
}

void dispatch_slot_up(struct dispatch *dispatch, struct pipe *pipe)
{
	assert(pipe->closed & PIPE_NOT_READY && pipe->load == 0);
	pipe->closed &= ~(unsigned)(PIPE_NOT_READY | PIPE_FULL);
	enlist(dispatch, pipe);
}

void dispatch_slot_limit(struct dispatch *dispatch, struct pipe *pipe, uint32_t tasks_max)
{
	delist(dispatch, pipe);
	pipe->tasks_max = tasks_max;
	enlist(dispatch, pipe);
}

void dispatch_slot_writable(struct dispatch *dispatch, struct pipe *pipe, bool is_writable)
{
	delist(dispatch, pipe);
	pipe->closed &= ~(unsigned)PIPE_FULL;
	if (!is_writable)
		pipe->closed |= PIPE_FULL;
	enlist(dispatch, pipe);
}

void dispatch_slot_dismiss(struct dispatch *dispatch, struct pipe *pipe)
{
	delist(dispatch, pipe);
	pipe->closed |= PIPE_DISMISSED;
}

void dispatch_slot_keep(struct dispatch *dispatch, struct pipe *pipe)
{
	pipe->closed &= ~(unsigned)PIPE_DISMISSED;
	enlist(dispatch, pipe);
}

void dispatch_slot_stop(struct dispatch *dispatch, struct pipe *pipe)
{
	delist(dispatch, pipe);
	pipe->closed |= PIPE_NOT_READY;
	stop_clock(pipe);
}

struct delivery *dispatch_slot_gone(struct dispatch *dispatch, struct pipe *pipe)
{
	dispatch_slot_stop(dispatch, pipe);
	/* From the last to the second, each before all that wait, so that they keep their order. */
	while (pipe->load > 1) {
		struct delivery *last = CONTAINER_OF(pipe->tasks.prev, struct delivery, place);
		list_remove(&last->place);
		set_load(dispatch, pipe, (uint16_t)(pipe->load - 1));
		if (last->source)
			dispatch_requeue(dispatch, last);
		else
			delivery_free(last);
	}
	return pipe->load ? out_of_pipe(dispatch, pipe) : NULL;
}

void dispatch_source_down(struct dispatch *dispatch, struct source *source)
{
	struct link *next;
	for (struct link *link = source->unacked.next; link != &source->unacked; link = next) {
		struct delivery *delivery = CONTAINER_OF(link, struct delivery, unacked);
		next = link->next;
		if (delivery->state == DELIVERY_SENT) {
			source_forget(delivery);
		} else if (delivery->state == DELIVERY_QUEUED) {
			source_forget(delivery);
			list_remove(&delivery->place);
			dispatch->queued_count--;
			delivery_free(delivery);
		}
	}
}

struct pipe *dispatch_longest_running(const struct dispatch *dispatch)
{
	struct link *first = list_first(&dispatch->running);
	return first ? CONTAINER_OF(first, struct pipe, running) : NULL;
}

mtime dispatch_deadline(const struct dispatch *dispatch, mtime hard_limit)
{
	const struct pipe *pipe = dispatch_longest_running(dispatch);
	return pipe ? mtime_after(pipe->since, hard_limit) : MTIME_NEVER;
}

struct pipe *dispatch_latest_running(const struct dispatch *dispatch, const struct pipe *after)
{
	const struct link *link = after ? after->running.prev : dispatch->running.prev;
	return link == &dispatch->running ? NULL : CONTAINER_OF(link, struct pipe, running);
}
