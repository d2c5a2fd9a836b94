#include "core/dispatch.h"

#include <assert.h>

void dispatch_init(
	struct dispatch *dispatch, mtime pipe_wait, const struct effects *effects, void *io)
{
	*dispatch = (struct dispatch){.effects = effects, .io = io, .pipe_wait = pipe_wait};
	list_init(&dispatch->open.waiting);
	list_init(&dispatch->running);
	list_init(&dispatch->fresh);
	for (int load = 0; load < POOL_PIPELINE_MAX; load++)
		list_init(&dispatch->by_load[load]);
}

void dispatch_set_pipe_wait(struct dispatch *dispatch, mtime pipe_wait)
{
	dispatch->pipe_wait = pipe_wait;
}

void dispatch_add_slot(struct slot *slot)
{
	list_init(&slot->by_load);
	list_init(&slot->running);
	list_init(&slot->fresh);
	list_init(&slot->pipe);
}

bool dispatch_is_spent(const struct slot *slot)
{
	return slot->tasks_most && slot->answers + slot->load >= slot->tasks_most;
}

/* A full slot stands in no list; one that is held up, spent, not open or leaving neither. */
static void enlist(struct dispatch *dispatch, struct slot *slot)
{
	if (!slot->open || slot->is_leaving || slot->is_held_up ||
		slot->load == POOL_PIPELINE_MAX || dispatch_is_spent(slot))
		return;
	list_append(&dispatch->by_load[slot->load], &slot->by_load);
	dispatch->loads |= UINT64_C(1) << slot->load;
}

static void delist(struct dispatch *dispatch, struct slot *slot)
{
	if (list_is_empty(&slot->by_load))
		return;
	list_remove(&slot->by_load);
	if (list_is_empty(&dispatch->by_load[slot->load]))
		dispatch->loads &= ~(UINT64_C(1) << slot->load);
}

static void count(struct dispatch *dispatch, struct slot *slot, uint16_t load)
{
	dispatch->in_pipes += (uint32_t)load - slot->load;
	assert(!dispatch->is_alone || dispatch->in_pipes == 0);
	/* It was the one that leaves; of one that comes, into_pipe says. */
	dispatch->is_alone = false;
	slot->load = load;
}

static void set_load(struct dispatch *dispatch, struct slot *slot, uint16_t load)
{
	delist(dispatch, slot);
	count(dispatch, slot, load);
	enlist(dispatch, slot);
}

static struct slot *least_loaded(const struct dispatch *dispatch, uint32_t depth)
{
	if (!dispatch->loads)
		return NULL;
	uint32_t load = (uint32_t)__builtin_ctzll(dispatch->loads);
	if (load >= depth)
		return NULL;
	return CONTAINER_OF(list_first(&dispatch->by_load[load]), struct slot, by_load);
}

/* Of the running ones the latest that began, if it is not far yet: it is awake. */
static struct slot *awake(const struct dispatch *dispatch, uint32_t pack, mtime now)
{
	const struct link *running = &dispatch->running;
	if (list_is_empty(running))
		return NULL;
	struct slot *slot = CONTAINER_OF(running->prev, struct slot, running);
	bool may_be_given = !list_is_empty(&slot->by_load) && slot->load < pack;
	bool is_far = now - slot->since >= DISPATCH_WAKING;
	return may_be_given && !is_far ? slot : NULL;
}

static struct slot *next_slot(
	const struct dispatch *dispatch, uint32_t depth, uint32_t pack, mtime now)
{
	struct slot *slot = pack > 1 ? awake(dispatch, pack, now) : NULL;
	return slot ? slot : least_loaded(dispatch, depth);
}

static void leave_session(struct dispatch *dispatch, struct delivery *delivery)
{
	list_remove(&delivery->place);
	dispatch->open.backlog--;
}

void dispatch_offer(struct dispatch *dispatch, struct delivery *delivery)
{
	delivery->state = DELIVERY_QUEUED;
	list_append(&dispatch->open.waiting, &delivery->place);
	dispatch->open.backlog++;
}

void dispatch_requeue(struct dispatch *dispatch, struct delivery *delivery)
{
	delivery->state = DELIVERY_QUEUED;
	list_prepend(&dispatch->open.waiting, &delivery->place);
	dispatch->open.backlog++;
}

static bool may_be_sent(const struct dispatch *dispatch, const struct delivery *delivery)
{
	if (dispatch->in_pipes == 0)
		return true;
	return !dispatch->is_alone && !settle_is_alone(delivery);
}

static struct delivery *first_waiting(const struct dispatch *dispatch)
{
	struct link *first = list_first(&dispatch->open.waiting);
	return first ? CONTAINER_OF(first, struct delivery, place) : NULL;
}

struct delivery *dispatch_take(struct dispatch *dispatch)
{
	struct delivery *delivery = first_waiting(dispatch);
	if (delivery)
		leave_session(dispatch, delivery);
	return delivery;
}

static void stop_clock(struct slot *slot)
{
	list_remove(&slot->running);
	list_remove(&slot->fresh);
	slot->is_held_up = false;
}

static void start_clock(struct dispatch *dispatch, struct slot *slot, mtime now)
{
	stop_clock(slot);
	slot->since = now;
	list_append(&dispatch->running, &slot->running);
	if (dispatch->pipe_wait != MTIME_NEVER)
		list_append(&dispatch->fresh, &slot->fresh);
}

/* The first of those that may still end in time, if it has not. */
static struct slot *first_overdue(const struct dispatch *dispatch, mtime absent)
{
	struct link *first = list_first(&dispatch->fresh);
	struct slot *slot = first ? CONTAINER_OF(first, struct slot, fresh) : NULL;
	return slot && absent - slot->since >= dispatch->pipe_wait ? slot : NULL;
}

bool dispatch_hold_up(struct dispatch *dispatch, mtime absent)
{
	struct slot *slot;
	bool is_any = false;
	while ((slot = first_overdue(dispatch, absent))) {
		list_remove(&slot->fresh);
		delist(dispatch, slot);
		slot->is_held_up = is_any = true;
	}
	return is_any;
}

static void into_pipe(
	struct dispatch *dispatch, struct delivery *delivery, struct slot *slot, mtime now)
{
	leave_session(dispatch, delivery);
	delivery->state = DELIVERY_SENT;
	if (slot->load == 0)
		start_clock(dispatch, slot, now);
	list_append(&slot->pipe, &delivery->place);
	set_load(dispatch, slot, (uint16_t)(slot->load + 1));
	dispatch->is_alone = settle_is_alone(delivery);
}

/* The attempts before may be a publisher's invention: the greatest number there is stays that. */
static enum send_result send(
	struct dispatch *dispatch, const struct slot *slot, struct delivery *delivery)
{
	uint16_t before = delivery->attempt;
	uint16_t attempt = (uint16_t)(before + (before < UINT16_MAX));
	return dispatch->effects->send(dispatch->io, slot->number, delivery, attempt);
}

enum dispatch_stop dispatch_run(struct dispatch *dispatch, uint32_t depth, uint32_t pack, mtime now,
	struct delivery **ret_unfit)
{
	struct delivery *delivery;
	struct slot *slot;
	int wakes = 0;
	while ((delivery = first_waiting(dispatch)) && may_be_sent(dispatch, delivery) &&
		(slot = next_slot(dispatch, depth, pack, now))) {
		if (slot->load == 0 && wakes++ == DISPATCH_WAKES)
			return DISPATCH_ENOUGH;
		switch (send(dispatch, slot, delivery)) {
		case SEND_OK:
			into_pipe(dispatch, delivery, slot, now);
			break;
		case SEND_TOO_LARGE:
			leave_session(dispatch, delivery);
			*ret_unfit = delivery;
			return DISPATCH_TOO_LARGE;
		case SEND_NO_MEMORY:
			return DISPATCH_NO_MEMORY;
		}
	}
	return DISPATCH_DONE;
}

/* Its process was busy until now: its memory is warm. */
static void prefer_if_idle(struct dispatch *dispatch, struct slot *slot)
{
	if (slot->load > 0 || list_is_empty(&slot->by_load))
		return;
	list_remove(&slot->by_load);
	list_prepend(&dispatch->by_load[0], &slot->by_load);
}

static struct delivery *out_of_pipe(struct dispatch *dispatch, struct slot *slot)
{
	struct delivery *head = slot_head(slot);
	list_remove(&head->place);
	set_load(dispatch, slot, (uint16_t)(slot->load - 1));
	prefer_if_idle(dispatch, slot);
	return head;
}

struct delivery *dispatch_end(struct dispatch *dispatch, struct slot *slot, mtime now)
{
	/* A slot that was stopped has no clock, and gets none: nothing in its pipe is judged. */
	bool is_judged = !list_is_empty(&slot->running);
	stop_clock(slot);
	struct delivery *head = out_of_pipe(dispatch, slot);
	if (slot->load > 0 && is_judged)
		start_clock(dispatch, slot, now);
	return head;
}

void dispatch_done(struct dispatch *dispatch, struct delivery *delivery)
{
	(void)dispatch; /* today no session waits for the end of one of its tasks */
	source_release(delivery);
}

void dispatch_slot_up(struct dispatch *dispatch, struct slot *slot)
{
	assert(!slot->open && slot->load == 0);
	slot->open = true;
	enlist(dispatch, slot);
}

void dispatch_slot_look(struct dispatch *dispatch, struct slot *slot)
{
	delist(dispatch, slot);
	enlist(dispatch, slot);
}

void dispatch_slot_room(struct dispatch *dispatch, struct slot *slot, bool room)
{
	slot->open = room;
	dispatch_slot_look(dispatch, slot);
}

void dispatch_slot_dismiss(struct dispatch *dispatch, struct slot *slot)
{
	delist(dispatch, slot);
	slot->is_leaving = true;
}

void dispatch_slot_keep(struct dispatch *dispatch, struct slot *slot)
{
	slot->is_leaving = false;
	enlist(dispatch, slot);
}

void dispatch_slot_stop(struct dispatch *dispatch, struct slot *slot)
{
	delist(dispatch, slot);
	slot->open = false;
	stop_clock(slot);
}

/* From the last to the second, each before all that wait: so they keep their order. */
static void requeue_unstarted(struct dispatch *dispatch, struct slot *slot)
{
	while (slot->load > 1) {
		struct delivery *last = CONTAINER_OF(slot->pipe.prev, struct delivery, place);
		list_remove(&last->place);
		count(dispatch, slot, (uint16_t)(slot->load - 1));
		if (last->source)
			dispatch_requeue(dispatch, last);
		else
			delivery_free(last);
	}
}

struct delivery *dispatch_slot_gone(struct dispatch *dispatch, struct slot *slot)
{
	dispatch_slot_stop(dispatch, slot);
	requeue_unstarted(dispatch, slot);
	return slot->load ? out_of_pipe(dispatch, slot) : NULL;
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
			leave_session(dispatch, delivery);
			delivery_free(delivery);
		}
	}
}

struct slot *dispatch_longest_running(const struct dispatch *dispatch)
{
	struct link *first = list_first(&dispatch->running);
	return first ? CONTAINER_OF(first, struct slot, running) : NULL;
}

mtime dispatch_deadline(const struct dispatch *dispatch, mtime hard_limit)
{
	const struct slot *slot = dispatch_longest_running(dispatch);
	return slot ? mtime_after(slot->since, hard_limit) : MTIME_NEVER;
}
