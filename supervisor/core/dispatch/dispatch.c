#include "core/dispatch/dispatch_internal.h"

#include "core/effects.h"

#include <assert.h>

/* At most so many idle workers get a task in one run. If tasks are short, the first of them have
 * answered by the next run; a thousand at once would keep the processors from the broker and the
 * supervisor. */
#define DISPATCH_WAKES 64

enum rc dispatch_init(struct dispatch *dispatch, const struct pool_config *config,
	struct sessions *sessions, uint64_t *last_id, const struct effects *effects, void *io)
{
	*dispatch = (struct dispatch){.effects = effects,
		.io = io,
		.sessions = sessions,
		.last_id = last_id,
		.concurrency = config->concurrency,
		.pipe_wait = MTIME_NEVER};
	list_init(&dispatch->queued);
	list_init(&dispatch->suspects);
	list_init(&dispatch->in_time);
	list_init(&dispatch->kept);
	running_init(&dispatch->running);
	enum rc rc = throttling_init(&dispatch->throttling, config, sessions, effects, io);
	bool is_single = config->concurrency == 1;
	if (by_load_init(&dispatch->open, is_single ? POOL_PIPELINE_MAX : config->concurrency) !=
			RC_OK ||
		number_table_init(&dispatch->by_id) != RC_OK)
		rc = RC_MEMORY;
	return rc;
}

void dispatch_release(struct dispatch *dispatch)
{
	running_release(&dispatch->running);
	throttling_release(&dispatch->throttling);
	number_table_release(&dispatch->by_id);
	by_load_release(&dispatch->open);
}

/* ---------- pipes ---------- */

void dispatch_add_slot(struct pipe *pipe, uint16_t slot)
{
	*pipe = (struct pipe){.slot = slot, .closed = PIPE_NOT_READY};
	list_init(&pipe->by_load);
	list_init(&pipe->busy);
	list_init(&pipe->in_time);
	list_init(&pipe->kept);
	list_init(&pipe->watched);
	list_init(&pipe->tasks);
	list_init(&pipe->answered);
}

void dispatch_enlist(struct dispatch *dispatch, struct pipe *pipe)
{
	if (!pipe->closed && pipe->load < dispatch->open.max && !pipe_is_spent(pipe))
		by_load_append(&dispatch->open, pipe);
}

void dispatch_close(struct dispatch *dispatch, struct pipe *pipe, enum pipe_closed why)
{
	by_load_remove(&dispatch->open, pipe);
	pipe->closed |= why;
}

bool dispatch_has_place(const struct dispatch *dispatch)
{
	const struct pipe *pipe = by_load_first(&dispatch->open);
	return pipe && (pipe->load == 0 || dispatch->concurrency > 1);
}

/* ---------- tasks that wait ---------- */

static bool runs_alone(const struct dispatch *dispatch, const struct delivery *delivery)
{
	return delivery->is_suspect && dispatch->concurrency > 1;
}

static void count_queued(
	struct dispatch *dispatch, const struct delivery *delivery, int32_t difference)
{
	dispatch->queued_count += difference;
	if (runs_alone(dispatch, delivery))
		dispatch->suspect_count += difference;
}

static struct link *queue_of(struct dispatch *dispatch, const struct delivery *delivery)
{
	return runs_alone(dispatch, delivery) ? &dispatch->suspects : &dispatch->queued;
}

uint32_t dispatch_waiting(const struct dispatch *dispatch)
{
	uint32_t in_sessions = dispatch->sessions ? dispatch->sessions->waiting_count : 0;
	return dispatch->queued_count + in_sessions;
}

static uint32_t count_ready(const struct dispatch *dispatch)
{
	return dispatch->sessions ? dispatch->sessions->by_state[SESSION_READY] : 0;
}

/* Those in the list of tasks that are no suspects. */
static uint32_t count_others(const struct dispatch *dispatch)
{
	return dispatch->queued_count - dispatch->suspect_count - dispatch->throttling.in_groups;
}

uint32_t dispatch_runnable(const struct dispatch *dispatch)
{
	const struct throttling *throttling = &dispatch->throttling;
	uint32_t ready = count_ready(dispatch);
	if (!throttling_is_on(throttling))
		return dispatch->queued_count + ready;
	if (throttling->all.until)
		return 0;
	uint32_t others = throttling->queued.first ? 0 : count_others(dispatch);
	return dispatch_suspects(dispatch) + others + throttling->due_count + ready;
}

uint32_t dispatch_suspects(const struct dispatch *dispatch)
{
	bool waits = dispatch->throttling.all.until || dispatch_suspects_are_held(dispatch);
	return waits ? 0 : dispatch->suspect_count;
}

uint32_t dispatch_throttled(const struct dispatch *dispatch)
{
	const struct throttling *throttling = &dispatch->throttling;
	uint32_t parked = dispatch->sessions ? dispatch->sessions->throttled : 0;
	if (throttling->all.until)
		return dispatch->queued_count + count_ready(dispatch) + parked;
	return throttling->in_groups + parked +
	       (throttling->queued.first ? count_others(dispatch) : 0) +
	       (dispatch_suspects_are_held(dispatch) ? dispatch->suspect_count : 0);
}

static struct delivery *first_of(const struct link *tasks)
{
	struct link *first = list_first(tasks);
	return first ? CONTAINER_OF(first, struct delivery, place) : NULL;
}

/* The first task of the list, unless a throttle refuses it. */
static struct delivery *first_free(const struct link *tasks, const struct throttle_hold *hold)
{
	struct delivery *first = first_of(tasks);
	return first && first == hold->first ? NULL : first;
}

/* The next task without a session that is no suspect. What a throttle has held back is older than
 * what waits in the list. */
static struct delivery *next_other(const struct dispatch *dispatch)
{
	const struct throttling *throttling = &dispatch->throttling;
	struct delivery *due = throttling_is_on(throttling) ? throttling_due(throttling) : NULL;
	return due ? due : first_free(&dispatch->queued, &throttling->queued);
}

/* Tasks without a session take turns with the sessions; suspects do not. */
static void wait_for_turn(struct dispatch *dispatch)
{
	if (dispatch->sessions && next_other(dispatch))
		sessions_unkeyed_waits(dispatch->sessions);
}

/* One of them is not in its list any more, or nothing of the list is chosen. */
static void leave_turn_if_last(struct dispatch *dispatch)
{
	if (dispatch->sessions && !next_other(dispatch))
		sessions_unkeyed_begins(dispatch->sessions, *dispatch->last_id, true);
}

void dispatch_offer(struct dispatch *dispatch, struct delivery *delivery)
{
	delivery->state = DELIVERY_QUEUED;
	if (runs_alone(dispatch, delivery))
		dispatch_add_suspect(dispatch, delivery);
	else
		list_append(&dispatch->queued, &delivery->place);
	count_queued(dispatch, delivery, 1);
	wait_for_turn(dispatch);
}

/* A suspect is the first one of its session again, and waits to run alone when it has its turn. */
void dispatch_requeue(struct dispatch *dispatch, struct delivery *delivery, mtime now)
{
	if (delivery->session) {
		delivery->is_later |= runs_alone(dispatch, delivery);
		sessions_put_back(dispatch->sessions, delivery, now);
		return;
	}
	delivery->state = DELIVERY_QUEUED;
	if (delivery_is_detached(delivery)) {
		if (!runs_alone(dispatch, delivery))
			sessions_forget_lost(dispatch->sessions, delivery);
		return;
	}
	list_prepend(queue_of(dispatch, delivery), &delivery->place);
	count_queued(dispatch, delivery, 1);
	wait_for_turn(dispatch);
}

/* It leaves the list, whose other tasks may be chosen again. */
static void end_hold_of(struct throttle_hold *hold, const struct delivery *delivery)
{
	if (hold->first == delivery)
		*hold = (struct throttle_hold){0};
}

static void end_wait_for_throttle(struct throttling *throttling, struct delivery *delivery)
{
	if (delivery->group)
		throttling_remove(throttling, delivery);
	end_hold_of(&throttling->queued, delivery);
	end_hold_of(&throttling->suspects, delivery);
}

/* Take it out of the list that it waits in. */
static void unlist(struct dispatch *dispatch, struct delivery *delivery)
{
	if (throttling_is_on(&dispatch->throttling))
		end_wait_for_throttle(&dispatch->throttling, delivery);
	list_remove(&delivery->place);
	count_queued(dispatch, delivery, -1);
}

/* A suspect of a session has begun for its session when it was put into the list of suspects. */
static inline void unqueue(struct dispatch *dispatch, struct delivery *delivery, mtime now)
{
	struct session *session = delivery->session;
	if (session && session->state != SESSION_RUNNING) {
		sessions_begin(dispatch->sessions, delivery, now);
		return;
	}
	unlist(dispatch, delivery);
	if (dispatch->sessions && !session && !runs_alone(dispatch, delivery))
		sessions_unkeyed_begins(
			dispatch->sessions, *dispatch->last_id, !next_other(dispatch));
}

static struct delivery *take(struct dispatch *dispatch, struct delivery *delivery)
{
	if (delivery)
		unlist(dispatch, delivery);
	return delivery;
}

struct delivery *dispatch_take_suspect(struct dispatch *dispatch)
{
	return take(dispatch, first_of(&dispatch->suspects));
}

struct delivery *dispatch_take(struct dispatch *dispatch)
{
	struct delivery *held_back = throttling_first(&dispatch->throttling);
	return take(dispatch, held_back ? held_back : first_of(&dispatch->queued));
}

/* ---------- into pipes, and out of them ---------- */

static void set_load(struct dispatch *dispatch, struct pipe *pipe, uint16_t load)
{
	by_load_remove(&dispatch->open, pipe);
	dispatch->in_pipes += (uint32_t)load - pipe->load;
	if (dispatch->in_pipes > dispatch->in_pipes_max)
		dispatch->in_pipes_max = dispatch->in_pipes;
	pipe->load = load;
	if (load == 0 && pipe->closed & PIPE_ALONE)
		dispatch_alone_is_empty(dispatch, pipe);
	dispatch_enlist(dispatch, pipe);
	/* An exclusive task is the only one in a pipe, so it is the one that leaves; for a task
	 * that is added, into_pipe sets this. */
	assert(!dispatch->is_exclusive || dispatch->in_pipes == 0);
	dispatch->is_exclusive = false;
}

void dispatch_measured(struct dispatch *dispatch)
{
	dispatch->in_pipes_max = dispatch->in_pipes;
}

void dispatch_abort(struct dispatch *dispatch, const struct delivery *delivery,
	enum session_rest goes, mtime now)
{
	bool is_begun = running_has(delivery);
	sessions_abort(dispatch->sessions, delivery->session, goes, is_begun, now);
	if (is_begun)
		dispatch->effects->ask(dispatch->io, delivery->pipe->slot, delivery->pipe->life,
			TASK_CANCEL, delivery->id);
}

static void begin(struct dispatch *dispatch, struct delivery *delivery, mtime now)
{
	const struct session *session = delivery->session;
	running_begin(&dispatch->running, delivery, now);
	if (session && session->rest_goes != REST_IS_RETRIED)
		dispatch_abort(dispatch, delivery, session->rest_goes, now);
	if (dispatch->pipe_wait != MTIME_NEVER)
		list_append(&dispatch->in_time, &delivery->pipe->in_time);
}

/* List all pipes in which a task runs again, in the order in which these began. */
static void watch_running(struct dispatch *dispatch)
{
	struct delivery *delivery = NULL;
	while ((delivery = running_latest(&dispatch->running, delivery))) {
		struct pipe *pipe = delivery->pipe;
		list_remove(&pipe->in_time);
		if (!(pipe->closed & PIPE_HELD_UP))
			list_prepend(&dispatch->in_time, &pipe->in_time);
	}
}

/* While there is no limit, pipes are not listed. */
void dispatch_configure(struct dispatch *dispatch, mtime pipe_wait)
{
	bool begins = dispatch->pipe_wait == MTIME_NEVER && pipe_wait != MTIME_NEVER;
	dispatch->pipe_wait = pipe_wait;
	if (begins)
		watch_running(dispatch);
}

/* Move the delivery, which was taken from those that wait, into the pipe. */
static void into_pipe(
	struct dispatch *dispatch, struct delivery *delivery, struct pipe *pipe, mtime now)
{
	delivery->state = DELIVERY_SENT;
	delivery->pipe = pipe;
	delivery->is_blamed = false;
	delivery->kill = KILL_NOT;
	number_table_add(&dispatch->by_id, &delivery->open, delivery->id);
	if (pipe->load == 0 || dispatch->concurrency > 1)
		begin(dispatch, delivery, now);
	list_append(&pipe->tasks, &delivery->place);
	if (!list_is_empty(&pipe->kept)) { /* it stays PIPE_ALONE until the suspect ends */
		list_remove(&pipe->kept);
		dispatch->kept_count--;
	}
	set_load(dispatch, pipe, (uint16_t)(pipe->load + 1));
	dispatch->is_exclusive = settle_is_exclusive(delivery);
	if (delivery->session)
		sessions_name_sent(dispatch->sessions, delivery);
}

/* Those of a worker that is being ended do not count: dispatch_slot_stop. */
void dispatch_count_accepted(
	struct dispatch *dispatch, const struct delivery *delivery, int32_t difference)
{
	if (!(delivery->pipe->closed & PIPE_NOT_READY))
		dispatch->accepted += difference;
}

static void out_of_pipe(struct dispatch *dispatch, struct delivery *delivery)
{
	struct pipe *pipe = delivery->pipe;
	if (delivery->is_accepted)
		dispatch_count_accepted(dispatch, delivery, -1);
	delivery->slot = pipe->slot;
	delivery->life = pipe->life;
	running_end(&dispatch->running, delivery);
	if (pipe->overdue == 0)
		pipe->closed &= ~(unsigned)PIPE_OVERDUE;
	if (delivery->kill && --pipe->killed == 0)
		pipe->closed &= ~(unsigned)PIPE_KILLED;
	number_table_remove(&dispatch->by_id, &delivery->open);
	list_remove(&delivery->place);
	/* If this supervisor dies now, it was not the cause. */
	if (dispatch->sessions && sessions_name_ended(dispatch->sessions, delivery->id))
		dispatch->effects->name(dispatch->io, NULL);
	delivery->pipe = NULL;
	set_load(dispatch, pipe, (uint16_t)(pipe->load - 1));
}

struct delivery *dispatch_find(const struct dispatch *dispatch, uint64_t id)
{
	struct numbered *found = number_table_find(&dispatch->by_id, id);
	return found ? CONTAINER_OF(found, struct delivery, open) : NULL;
}

void dispatch_end(struct dispatch *dispatch, struct delivery *delivery, mtime now)
{
	struct pipe *pipe = delivery->pipe;
	bool is_limited = running_has(delivery);
	dispatch_end_wait(pipe);
	pipe->answers++;
	out_of_pipe(dispatch, delivery);
	if (pipe->load == 0 && !list_is_empty(&pipe->by_load)) {
		/* Its worker was busy until now, so its caches are warm: it is first. */
		by_load_remove(&dispatch->open, pipe);
		by_load_prepend(&dispatch->open, pipe);
	}
	if (dispatch->concurrency > 1)
		return;
	if (!is_limited)
		pipe->blame = BLAME_NOBODY;
	if (pipe->load > 0 && is_limited)
		begin(dispatch, pipe_head(pipe), now);
	else if (pipe->load > 0)
		pipe_head(pipe)->begun_at = now;
}

struct delivery *dispatch_take_last(struct dispatch *dispatch, struct pipe *pipe)
{
	if (pipe->load == 0)
		return NULL;
	struct delivery *last = CONTAINER_OF(pipe->tasks.prev, struct delivery, place);
	out_of_pipe(dispatch, last);
	return last;
}

/* ---------- which task, which pipe ---------- */

/* The pipe whose head began last has a worker that is awake, if that is not long ago. */
static struct pipe *next_pipe(
	const struct dispatch *dispatch, uint32_t depth, uint32_t pack, mtime now)
{
	struct delivery *latest = pack > 1 ? running_latest(&dispatch->running, NULL) : NULL;
	if (latest && now - latest->begun_at < DISPATCH_WAKING) {
		struct pipe *awake = latest->pipe;
		if (!list_is_empty(&awake->by_load) && awake->load < pack)
			return awake;
	}
	struct pipe *pipe = by_load_first(&dispatch->open);
	return pipe && pipe->load < depth ? pipe : NULL;
}

/* Suspects go before all others, which have other workers. But an exclusive task must have its
 * turn, and so must those that have no other worker. */
static bool is_suspects_turn(const struct dispatch *dispatch, const struct delivery *suspect,
	const struct delivery *next)
{
	if (!suspect || !next)
		return suspect != NULL;
	bool is_in_order = dispatch->up < 2 || settle_is_exclusive(next);
	return !is_in_order || suspect->tag < next->tag;
}

/* The next task that is no suspect, or NULL. A session whose turn it is, and whose next task is a
 * suspect, gives it to the list of suspects. */
static struct delivery *next_in_turn(struct dispatch *dispatch, mtime now)
{
	struct delivery *unkeyed = next_other(dispatch);
	struct delivery *next;
	if (!dispatch->sessions)
		return unkeyed;
	while ((next = sessions_next(dispatch->sessions, unkeyed)) && next->session &&
		runs_alone(dispatch, next)) {
		sessions_begin(dispatch->sessions, next, now);
		dispatch_add_suspect(dispatch, next);
		count_queued(dispatch, next, 1);
	}
	return next;
}

/* Return the next task that can be sent, and its pipe; or NULL. */
static struct delivery *choose(
	struct dispatch *dispatch, uint32_t depth, uint32_t pack, mtime now, struct pipe **ret_pipe)
{
	if (dispatch->is_exclusive)
		return NULL;
	struct delivery *next = next_in_turn(dispatch, now);
	struct delivery *suspect = first_free(&dispatch->suspects, &dispatch->throttling.suspects);
	if (!is_suspects_turn(dispatch, suspect, next))
		dispatch_unkeep_down_to(dispatch, 0);
	else if (settle_is_exclusive(suspect) && dispatch->in_pipes > 0)
		return NULL;
	else if ((*ret_pipe = dispatch_pipe_for_suspect(dispatch, now)))
		return suspect;
	if (!next || (settle_is_exclusive(next) && dispatch->in_pipes > 0))
		return NULL;
	*ret_pipe = next_pipe(dispatch, depth, pack, now);
	return *ret_pipe ? next : NULL;
}

/* Its outputs. */
static void forget_last_attempt(struct delivery *delivery)
{
	output_free(delivery->progress);
	output_free(delivery->parcel.output);
	delivery->progress = delivery->parcel.output = NULL;
}

/* ---------- throttles ---------- */

/* A session waits whose task the token may have named: it names another one. */
static void rename_next(struct dispatch *dispatch, mtime now)
{
	if (!sessions_has_name(dispatch->sessions))
		return;
	dispatch_check_name(dispatch, true, now);
	sessions_name_next(dispatch->sessions, dispatch->effects, dispatch->io);
}

static void hold_list(struct dispatch *dispatch, struct delivery *delivery, bool keeps_place)
{
	struct throttling *throttling = &dispatch->throttling;
	if (runs_alone(dispatch, delivery)) {
		dispatch_hold_suspect(dispatch, delivery);
		return;
	}
	throttling->queued = (struct throttle_hold){.first = delivery,
		.until = throttling->until,
		.needs_credit = !keeps_place,
		.by = throttling->by};
	leave_turn_if_last(dispatch);
}

/* The list of tasks may be chosen from again. */
static void charge_throttles(struct dispatch *dispatch)
{
	throttling_started(&dispatch->throttling);
	wait_for_turn(dispatch);
}

/* True: the throttles let the task start, or no worker gets it. Else it waits now; or *ret_stop is
 * set, and with DISPATCH_REFUSED it moves out. */
static bool may_start(struct dispatch *dispatch, struct delivery *delivery, mtime now,
	enum dispatch_stop *ret_stop)
{
	bool keeps_place = runs_alone(dispatch, delivery) || settle_is_exclusive(delivery);
	if (delivery->invalid)
		return true;
	switch (throttling_ask(&dispatch->throttling, delivery, keeps_place, now)) {
	case THROTTLING_STARTS:
		return true;
	case THROTTLING_STOPS:
		*ret_stop = DISPATCH_THROTTLED;
		break;
	case THROTTLING_SETTLES:
		unqueue(dispatch, delivery, now);
		*ret_stop = DISPATCH_REFUSED;
		break;
	case THROTTLING_HOLDS:
		hold_list(dispatch, delivery, keeps_place);
		break;
	case THROTTLING_WAITS:
		if (delivery->session)
			rename_next(dispatch, now);
		else
			leave_turn_if_last(dispatch);
		break;
	}
	return false;
}

void dispatch_begin_turn(struct dispatch *dispatch, uint32_t window, mtime boot, mtime now)
{
	if (!throttling_is_on(&dispatch->throttling))
		return;
	throttling_begin_turn(&dispatch->throttling, window, boot, now);
	wait_for_turn(dispatch);
}

void dispatch_rethrottle(struct dispatch *dispatch, mtime now)
{
	throttling_configure(&dispatch->throttling, &dispatch->queued, now);
	wait_for_turn(dispatch);
}

/* ---------- the run ---------- */

static enum send_result send(struct dispatch *dispatch, struct delivery *delivery, uint16_t slot)
{
	if (delivery->progress || delivery->parcel.output)
		forget_last_attempt(delivery);
	/* A publisher can set any number of attempts, also the maximum. */
	uint16_t before = delivery->attempt;
	uint16_t attempt = (uint16_t)(before + (before < UINT16_MAX));
	delivery->id = ++*dispatch->last_id;
	return dispatch->effects->send(dispatch->io, slot, delivery, attempt);
}

/* Have the token name the next task that needs it, while a worker has room for one. */
static void name_next(struct dispatch *dispatch, uint32_t depth, uint32_t pack, mtime now)
{
	if (dispatch->sessions && !list_is_empty(&dispatch->sessions->unnamed) &&
		next_pipe(dispatch, depth, pack, now))
		sessions_name_next(dispatch->sessions, dispatch->effects, dispatch->io);
}

static enum dispatch_stop send_chosen(struct dispatch *dispatch, uint32_t depth, uint32_t pack,
	mtime now, struct delivery **ret_task)
{
	struct delivery *delivery;
	struct pipe *pipe;
	int wakes = 0, sends = 0, refusals = 0, asks = 0;
	bool is_throttled = throttling_is_on(&dispatch->throttling);
	while ((delivery = choose(dispatch, depth, pack, now, &pipe))) {
		enum dispatch_stop stop = DISPATCH_DONE;
		if (is_throttled && asks++ % THROTTLING_AHEAD == 0)
			throttling_expect(&dispatch->throttling, &dispatch->queued);
		if (is_throttled && !may_start(dispatch, delivery, now, &stop)) {
			if (stop == DISPATCH_REFUSED)
				*ret_task = delivery;
			if (stop != DISPATCH_DONE)
				return stop;
			if (refusals++ == DISPATCH_SENDS)
				return DISPATCH_ENOUGH;
			continue;
		}
		bool is_woken = pipe->load == 0;
		if ((is_woken && wakes++ == DISPATCH_WAKES) || sends++ == DISPATCH_SENDS)
			return DISPATCH_ENOUGH;
		if (delivery->invalid) {
			unqueue(dispatch, delivery, now);
			*ret_task = delivery;
			return DISPATCH_INVALID;
		}
		enum send_result result = send(dispatch, delivery, pipe->slot);
		if (result == SEND_NO_MEMORY)
			return DISPATCH_NO_MEMORY;
		unqueue(dispatch, delivery, now);
		if (result == SEND_TOO_LARGE) {
			delivery->invalid = REASON_TOO_LARGE;
			*ret_task = delivery;
			return DISPATCH_INVALID;
		}
		if (is_throttled)
			charge_throttles(dispatch);
		into_pipe(dispatch, delivery, pipe, now);
	}
	return DISPATCH_DONE;
}

enum dispatch_stop dispatch_run(struct dispatch *dispatch, uint32_t depth, uint32_t pack, mtime now,
	struct delivery **ret_task)
{
	name_next(dispatch, depth, pack, now);
	enum dispatch_stop stop = send_chosen(dispatch, depth, pack, now, ret_task);
	/* A start may have brought another session of its throttle's group to its turn. */
	if (throttling_is_on(&dispatch->throttling))
		name_next(dispatch, depth, pack, now);
	return stop;
}

bool dispatch_hold_up(struct dispatch *dispatch, mtime arrived_after)
{
	struct link *first;
	bool is_any = false;
	while ((first = list_first(&dispatch->in_time))) {
		struct pipe *pipe = CONTAINER_OF(first, struct pipe, in_time);
		if (arrived_after - pipe_head(pipe)->begun_at < dispatch->pipe_wait)
			break;
		list_remove(first);
		dispatch_close(dispatch, pipe, PIPE_HELD_UP);
		is_any = true;
	}
	return is_any;
}

void dispatch_overdue(struct dispatch *dispatch, struct delivery *delivery, mtime now)
{
	running_overdue(&dispatch->running, delivery, now);
	dispatch_close(dispatch, delivery->pipe, PIPE_OVERDUE);
}

void dispatch_kill(struct dispatch *dispatch, struct delivery *delivery, enum task_kill kill)
{
	if (!delivery->kill)
		delivery->pipe->killed++;
	delivery->kill = (uint8_t)kill;
	dispatch_close(dispatch, delivery->pipe, PIPE_KILLED);
}

/* ---------- what waits is withdrawn, or lost ---------- */

void dispatch_withdraw(struct dispatch *dispatch, const struct session *session, mtime now)
{
	struct delivery *front = session->front;
	if (session->state != SESSION_RUNNING || front->state != DELIVERY_QUEUED)
		return;
	unlist(dispatch, front);
	dispatch_requeue(dispatch, front, now);
}

void dispatch_check_name(struct dispatch *dispatch, bool is_needed, mtime now)
{
	struct sessions *sessions = dispatch->sessions;
	is_needed &= now < sessions->naming.until;
	if (!sessions->naming.tag || (is_needed && !sessions_name_is_over(sessions)))
		return;
	struct session *session = sessions_forget_name(sessions, now);
	if (session)
		dispatch_withdraw(dispatch, session, now);
	dispatch->effects->name(dispatch->io, NULL);
}

/* What waits to run alone is not sent while it is detached. */
static void withdraw(struct dispatch *dispatch, struct delivery *delivery, mtime now)
{
	if (delivery->session->front == delivery)
		dispatch_withdraw(dispatch, delivery->session, now);
}

static void lose_delivery(struct dispatch *dispatch, struct delivery *delivery, mtime now)
{
	bool waits = !delivery->session && delivery->state == DELIVERY_QUEUED;
	if (delivery->session)
		withdraw(dispatch, delivery, now);
	else if (waits)
		unlist(dispatch, delivery);
	if (waits && !(dispatch->sessions && runs_alone(dispatch, delivery))) {
		source_forget(delivery);
		delivery_free(delivery);
	} else if (dispatch->sessions) {
		sessions_detach(dispatch->sessions, delivery, now);
	} else if (delivery->state == DELIVERY_SENT) {
		source_forget(delivery);
	}
}

/* In one pass: of a wide window nothing is in the processor's cache. */
void dispatch_source_down(struct dispatch *dispatch, struct source *source, mtime now)
{
	struct link *before;
	for (struct link *link = source->unacked.prev; link != &source->unacked; link = before) {
		before = link->prev;
		lose_delivery(dispatch, CONTAINER_OF(link, struct delivery, unacked), now);
	}
	if (dispatch->sessions) /* none without a key waits any more */
		sessions_unkeyed_begins(dispatch->sessions, *dispatch->last_id, true);
}
