#include "core/dispatch/running.h"

void running_init(struct running *running)
{
	*running = (struct running){0};
	list_init(&running->begun);
	list_init(&running->busy);
	list_init(&running->watched);
}

void running_release(struct running *running)
{
	timers_release(&running->soft);
	timers_release(&running->hard);
}

static struct delivery *task_at(const struct running *running, const struct link *link)
{
	return link == &running->begun ? NULL : CONTAINER_OF(link, struct delivery, begun);
}

void running_begin(struct running *running, struct delivery *delivery, mtime now)
{
	struct pipe *pipe = delivery->pipe;
	delivery->begun_at = now;
	delivery->soft = (struct timer){0};
	list_append(&running->begun, &delivery->begun);
	if (!running->longest)
		running->longest = delivery;
	if (pipe->begun++ == 0)
		list_append(&running->busy, &pipe->busy);
	running->count++;
	running->begun_sum += (uint64_t)now;
}

/* Of a task that is not overdue. Where no worker sets a limit, tasks are not looked at. */
static bool has_own_limit(const struct running *running, const struct delivery *delivery)
{
	return running->hard.count > 0 && delivery->hard_limit;
}

/* The task is not the longest any more: the next one that began and has no limit of its own is.
 * This only moves forward, so each task is passed once. */
static void pass_longest(struct running *running, const struct delivery *delivery)
{
	if (running->longest != delivery)
		return;
	do
		running->longest = task_at(running, running->longest->begun.next);
	while (running->longest && has_own_limit(running, running->longest));
}

void running_end(struct running *running, struct delivery *delivery)
{
	struct pipe *pipe = delivery->pipe;
	if (!running_has(delivery))
		return;
	pass_longest(running, delivery);
	list_remove(&delivery->begun);
	timers_set(&running->soft, &delivery->soft, MTIME_NEVER);
	if (delivery->is_overdue || has_own_limit(running, delivery)) {
		timers_set(&running->hard, &delivery->hard, MTIME_NEVER);
		delivery->hard_limit = 0;
	}
	if (delivery->is_overdue && --pipe->overdue == 0)
		list_remove(&pipe->watched);
	delivery->is_overdue = false;
	if (--pipe->begun == 0)
		list_remove(&pipe->busy);
	running->count--;
	running->begun_sum -= (uint64_t)delivery->begun_at;
}

struct delivery *running_latest(const struct running *running, const struct delivery *after)
{
	return task_at(running, after ? after->begun.prev : running->begun.prev);
}

/* ---------- the hard limit ---------- */

enum rc running_set_hard(struct running *running, struct delivery *delivery, mtime limit)
{
	if (timers_reserve(&running->hard, running->hard.count + 1) != RC_OK)
		return RC_MEMORY;
	pass_longest(running, delivery);
	delivery->hard_limit = limit;
	timers_set(&running->hard, &delivery->hard, mtime_after(delivery->begun_at, limit));
	return RC_OK;
}

static mtime due_at(const struct delivery *delivery, mtime limit)
{
	return mtime_after(delivery->begun_at, running_hard_limit(delivery, limit));
}

mtime running_hard_deadline(const struct running *running, mtime limit)
{
	const struct delivery *longest = running->longest;
	return mtime_min(longest ? mtime_after(longest->begun_at, limit) : MTIME_NEVER,
		timers_deadline(&running->hard));
}

struct delivery *running_over_hard(const struct running *running, mtime limit, mtime now)
{
	struct delivery *longest = running->longest;
	if (timers_deadline(&running->hard) <= now)
		return CONTAINER_OF(timers_first(&running->hard), struct delivery, hard);
	return longest && mtime_after(longest->begun_at, limit) <= now ? longest : NULL;
}

static void watch_pipe(struct running *running, struct pipe *pipe, mtime now)
{
	pipe->watched_since = now;
	pipe->heard_of = 0;
	pipe->heard_more = false;
	list_append(&running->watched, &pipe->watched);
}

void running_overdue(struct running *running, struct delivery *delivery, mtime now)
{
	pass_longest(running, delivery);
	list_remove(&delivery->begun);
	timers_set(&running->hard, &delivery->hard, MTIME_NEVER);
	delivery->is_overdue = true;
	if (delivery->pipe->overdue++ == 0)
		watch_pipe(running, delivery->pipe, now);
}

void running_heard(struct pipe *pipe, uint64_t task_id)
{
	if (!pipe->heard_of)
		pipe->heard_of = task_id;
	pipe->heard_more |= pipe->heard_of != task_id;
}

mtime running_watch_deadline(const struct running *running, mtime span)
{
	struct link *first = list_first(&running->watched);
	return first ? mtime_after(CONTAINER_OF(first, struct pipe, watched)->watched_since, span)
		     : MTIME_NEVER;
}

/* Blame those that have hung; return one that was overdue for `span`, blamed if any is, or NULL. */
static struct delivery *blame_hung(struct pipe *pipe, mtime limit, mtime span, mtime now)
{
	struct delivery *found = NULL;
	for (struct link *link = pipe->tasks.next; link != &pipe->tasks; link = link->next) {
		struct delivery *delivery = CONTAINER_OF(link, struct delivery, place);
		if (!delivery->is_overdue || mtime_after(due_at(delivery, limit), span) > now)
			continue;
		if (!found || !found->is_blamed)
			found = delivery;
		if (!pipe->heard_of || (pipe->heard_of == delivery->id && !pipe->heard_more))
			continue;
		delivery->is_blamed = true;
		pipe->blame = BLAME_MARKED;
	}
	return found;
}

/* The worker of a pipe whose first overdue task was answered meanwhile is watched once more. */
struct delivery *running_judge(struct running *running, mtime limit, mtime span, mtime now)
{
	while (running_watch_deadline(running, span) <= now) {
		struct pipe *pipe =
			CONTAINER_OF(list_first(&running->watched), struct pipe, watched);
		struct delivery *late = blame_hung(pipe, limit, span, now);
		if (late)
			return late;
		list_remove(&pipe->watched);
		watch_pipe(running, pipe, now);
	}
	return NULL;
}

/* ---------- tasks that are killed ---------- */

void running_blame_killed(struct pipe *pipe)
{
	if (pipe->killed == 0)
		return;
	for (struct link *link = pipe->tasks.next; link != &pipe->tasks; link = link->next) {
		struct delivery *delivery = CONTAINER_OF(link, struct delivery, place);
		delivery->is_blamed |= delivery->kill != KILL_NOT;
	}
	pipe->blame = BLAME_MARKED;
}

/* ---------- the soft limit ---------- */

enum rc running_reserve(struct running *running, uint32_t tasks)
{
	return timers_reserve(&running->soft, tasks);
}

void running_set_soft(struct running *running, mtime limit, mtime now)
{
	struct delivery *delivery = NULL;
	while ((delivery = running_latest(running, delivery)) && !delivery->soft.at) {
		int64_t own_ms = delivery->soft_ms;
		mtime span = limit;
		if (own_ms >= 0)
			span = own_ms < MTIME_NEVER / MTIME_MS ? own_ms * MTIME_MS : MTIME_NEVER;
		timers_set(&running->soft, &delivery->soft, mtime_after(now, span));
	}
}

struct delivery *running_take_over_soft(struct running *running, mtime now)
{
	if (timers_deadline(&running->soft) > now)
		return NULL;
	struct delivery *delivery =
		CONTAINER_OF(timers_first(&running->soft), struct delivery, soft);
	timers_set(&running->soft, &delivery->soft, MTIME_NEVER);
	return delivery;
}

/* ---------- the time that was worked ---------- */

void running_count(struct running *running, const struct delivery *delivery, mtime until)
{
	running->done += (uint64_t)(until - delivery->begun_at);
}

uint64_t running_worked(const struct running *running, mtime until)
{
	return running->done + running->count * (uint64_t)until - running->begun_sum;
}
