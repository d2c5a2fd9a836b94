#include "core/throttle/throttling.h"

#include "core/sessions/session.h"
#include "core/sessions/throttled.h"
#include "core/throttle/grants.h"

#include <assert.h>
#include <stdlib.h>

/* The two clocks are not read at the same moment, so a smaller difference shows no suspension. */
#define SUSPENSION_MIN (10 * MTIME_MS)
_Static_assert(THROTTLING_SILENCE_MAX >= GRANTS_WAIT_MAX, "tasks wait without an answer");
/* A throttle lets a task start from time to time, and still holds back what is behind it. */
#define BREAK_MAX MTIME_SECOND

/* ---------- the list of throttles ---------- */

static uint32_t count_changes(const struct throttling *throttling)
{
	uint32_t changes = 0;
	for (uint32_t i = 0; i < throttling->passes.count; i++)
		changes += throttle_changes(throttling->passes.of[i].throttle);
	return changes;
}

static void read_list(struct throttling *throttling)
{
	const struct pool_config *config = throttling->config;
	throttling->passes = (struct passes){.count = config->throttle_count};
	for (uint32_t i = 0; i < config->throttle_count; i++) {
		throttling->passes.of[i].throttle = config->throttles[i].throttle;
		throttling->answers[i] = throttle_answers(config->throttles[i].throttle);
	}
	throttling->changes = count_changes(throttling);
}

enum rc throttling_init(struct throttling *throttling, const struct pool_config *config,
	struct sessions *sessions, const struct effects *effects, void *io)
{
	*throttling = (struct throttling){.config = config,
		.sessions = sessions,
		.effects = effects,
		.io = io,
		.half = 1,
		.ahead = MTIME_NEVER,
		.held_back_at = INT64_MIN};
	list_init(&throttling->due);
	list_init(&throttling->waiting);
	list_init(&throttling->parked);
	read_list(throttling);
	return number_table_init(&throttling->by_number);
}

/* ---------- groups ---------- */

/* Sessions and tasks without one wait apart. */
#define OF_SESSIONS UINT64_C(0x9e3779b97f4a7c15)

static uint64_t number_of_group(uint32_t throttle, uint64_t key, bool is_of_sessions)
{
	uint64_t number = key ^ (uint64_t)throttle << 62;
	if (is_of_sessions)
		number ^= OF_SESSIONS;
	return number ? number : UINT64_MAX;
}

static uint64_t number_of(uint32_t throttle, const struct delivery *delivery)
{
	return number_of_group(
		throttle, delivery->throttle_keys[throttle], delivery->session != NULL);
}

static struct throttle_group *group_of_number(const struct throttling *throttling, uint64_t number)
{
	struct numbered *found = number_table_find(&throttling->by_number, number);
	return found ? CONTAINER_OF(found, struct throttle_group, number) : NULL;
}

static struct throttle_group *first_group(const struct link *groups)
{
	struct link *first = list_first(groups);
	return first ? CONTAINER_OF(first, struct throttle_group, place) : NULL;
}

static struct delivery *task_at(const struct link *member)
{
	return CONTAINER_OF(member, struct delivery, place);
}

static struct delivery *first_task(const struct throttle_group *group)
{
	return task_at(group->members.next);
}

static struct session *first_session(const struct throttle_group *group)
{
	return CONTAINER_OF(group->members.next, struct session, in_group);
}

static bool group_is_due(const struct throttle_group *group)
{
	return group->timer.at == MTIME_NEVER;
}

/* It is due, and for a moment it is empty. NULL: out of memory. */
static struct throttle_group *group_new(
	struct throttling *throttling, uint64_t number, bool is_of_sessions)
{
	uint32_t count = (uint32_t)throttling->by_number.count;
	if (timers_reserve(&throttling->timers, count + 1) != RC_OK)
		return NULL;
	struct throttle_group *group = calloc(1, sizeof *group);
	if (!group)
		return NULL;
	group->throttling = throttling;
	group->is_of_sessions = is_of_sessions;
	group->timer.at = MTIME_NEVER;
	list_init(&group->members);
	list_init(&group->place);
	number_table_add(&throttling->by_number, &group->number, number);
	list_append(is_of_sessions ? &throttling->parked : &throttling->due, &group->place);
	throttling->due_count += !is_of_sessions;
	return group;
}

static void group_end(struct throttle_group *group)
{
	struct throttling *throttling = group->throttling;
	throttling->due_count -= group_is_due(group) && !group->is_of_sessions;
	timers_set(&throttling->timers, &group->timer, MTIME_NEVER);
	number_table_remove(&throttling->by_number, &group->number);
	list_remove(&group->place);
	free(group);
}

static void group_wait(struct throttle_group *group, mtime until, mtime now)
{
	struct throttling *throttling = group->throttling;
	bool was_due = group_is_due(group);
	timers_set(&throttling->timers, &group->timer, until);
	if (group->is_of_sessions) {
		sessions_set_due(throttling->sessions, first_session(group), false, now);
		return;
	}
	throttling->due_count -= was_due;
	list_remove(&group->place);
	list_append(&throttling->waiting, &group->place);
}

static void group_wake(struct throttle_group *group, mtime now)
{
	struct throttling *throttling = group->throttling;
	timers_set(&throttling->timers, &group->timer, MTIME_NEVER);
	if (group->is_of_sessions) {
		sessions_set_due(throttling->sessions, first_session(group), true, now);
		return;
	}
	throttling->due_count++;
	list_remove(&group->place);
	list_append(&throttling->due, &group->place);
}

void throttling_session_left(struct throttle_group *group, mtime now)
{
	if (list_is_empty(&group->members))
		group_end(group);
	else if (group_is_due(group))
		sessions_set_due(group->throttling->sessions, first_session(group), true, now);
}

/* Tasks that come back from a worker are older than those that wait. */
static void group_add(struct throttle_group *group, struct delivery *delivery)
{
	struct link *next = &group->members;
	if (!list_is_empty(next) && delivery->tag < task_at(next->prev)->tag)
		for (next = next->next; task_at(next)->tag < delivery->tag; next = next->next)
			continue;
	list_remove(&delivery->place);
	list_insert_before(next, &delivery->place);
	delivery->group = group;
	group->throttling->in_groups++;
}

/* There is space or credit again. */
static void end_hold_for_credit(struct throttling *throttling)
{
	if (throttling->queued.needs_credit)
		throttling->queued = (struct throttle_hold){0};
}

/* Those that are due take turns. */
void throttling_remove(struct throttling *throttling, struct delivery *delivery)
{
	struct throttle_group *group = delivery->group;
	list_remove(&delivery->place);
	delivery->group = NULL;
	throttling->in_groups--;
	end_hold_for_credit(throttling);
	if (list_is_empty(&group->members)) {
		group_end(group);
	} else if (group_is_due(group)) {
		list_remove(&group->place);
		list_append(&throttling->due, &group->place);
	}
}

struct delivery *throttling_due(const struct throttling *throttling)
{
	struct throttle_group *group = first_group(&throttling->due);
	return group ? first_task(group) : NULL;
}

struct delivery *throttling_first(const struct throttling *throttling)
{
	struct throttle_group *group = first_group(&throttling->waiting);
	return group ? first_task(group) : throttling_due(throttling);
}

/* The last one ends the group. */
static void release_sessions(struct throttle_group *group, mtime now)
{
	struct throttling *throttling = group->throttling;
	bool is_last = false;
	while (!is_last) {
		is_last = group->members.next == group->members.prev;
		sessions_unthrottle(throttling->sessions, first_session(group), now);
	}
}

static void release_tasks(struct throttle_group *group, struct link *queued)
{
	while (!list_is_empty(&group->members)) {
		struct link *last = group->members.prev;
		task_at(last)->group = NULL;
		list_remove(last);
		list_prepend(queued, last);
	}
	group_end(group);
}

static struct throttle_group *any_group_of_tasks(const struct throttling *throttling)
{
	struct throttle_group *waiting = first_group(&throttling->waiting);
	return waiting ? waiting : first_group(&throttling->due);
}

static bool has_name(const struct throttling *throttling, const char *name)
{
	const struct pool_config *config = throttling->config;
	for (uint8_t i = 0; i < config->throttle_count; i++)
		if (config->throttles[i].name == name)
			return true;
	return false;
}

void throttling_configure(struct throttling *throttling, struct link *queued, mtime now)
{
	struct throttle_group *group;
	while ((group = any_group_of_tasks(throttling)))
		release_tasks(group, queued);
	while ((group = first_group(&throttling->parked)))
		release_sessions(group, now);
	throttling->in_groups = 0;
	throttling->queued = throttling->suspects = (struct throttle_hold){0};
	throttling->all = throttling->closed = (struct throttle_hold){0};
	throttling->list++;
	read_list(throttling);
	throttling->by = NULL;
	if (has_name(throttling, throttling->holder))
		return;
	throttling->holder = NULL;
	throttling->holds_back = false;
	throttling->held_back_at = INT64_MIN;
}

const char *throttling_name(const struct throttling *throttling, const char *name)
{
	return has_name(throttling, name) ? name : "(removed)";
}

/* The deliveries and the sessions may be freed already. */
void throttling_release(struct throttling *throttling)
{
	struct throttle_group *group;
	while ((group = any_group_of_tasks(throttling)) ||
		(group = first_group(&throttling->parked)))
		group_end(group);
	timers_release(&throttling->timers);
	number_table_release(&throttling->by_number);
}

/* ---------- the turn ---------- */

static void end_hold_if_over(struct throttle_hold *hold, mtime now)
{
	if (hold->needs_credit || hold->until <= now)
		*hold = (struct throttle_hold){0};
}

static void earn_credit(struct throttling *throttling, mtime now)
{
	uint32_t half = throttling->half;
	uint32_t a_minute = half > THROTTLING_CREDIT_A_MINUTE ? half : THROTTLING_CREDIT_A_MINUTE;
	mtime every = MTIME_MINUTE / a_minute;
	if (throttling->credit_at == 0)
		throttling->credit_at = now + every;
	while (throttling->credit < half && throttling->credit_at <= now) {
		throttling->credit++;
		throttling->credit_at += every;
	}
	if (throttling->credit_at <= now)
		throttling->credit_at = now + every;
}

static bool was_suspended(struct throttling *throttling, mtime now)
{
	mtime ahead = throttling->boot - now;
	bool is_first = throttling->ahead == MTIME_NEVER;
	bool has_jumped = !is_first && ahead >= throttling->ahead + SUSPENSION_MIN;
	if (is_first || has_jumped)
		throttling->ahead = ahead;
	return has_jumped;
}

/* A leader has answered about the key. */
static void wake_key(struct throttling *throttling, uint32_t throttle, uint64_t key, mtime now)
{
	for (int of_sessions = 0; of_sessions < 2; of_sessions++) {
		struct throttle_group *group =
			group_of_number(throttling, number_of_group(throttle, key, of_sessions));
		if (group && !group_is_due(group))
			group_wake(group, now);
	}
}

/* False: some are no longer known, so all must ask again. */
static bool wake_answered(struct throttling *throttling, mtime now)
{
	bool are_known = true;
	for (uint32_t i = 0; i < throttling->passes.count; i++) {
		const struct throttle *throttle = throttling->passes.of[i].throttle;
		uint64_t key, answers = throttle_answers(throttle);
		if (throttling->answers[i] == answers)
			continue;
		for (; are_known && throttling->answers[i] < answers; throttling->answers[i]++) {
			are_known = throttle_answered_key(throttle, throttling->answers[i], &key);
			if (are_known)
				wake_key(throttling, i, key, now);
		}
		throttling->answers[i] = answers;
		throttling->queued = throttling->suspects = (struct throttle_hold){0};
	}
	return are_known;
}

void throttling_begin_turn(struct throttling *throttling, uint32_t window, mtime boot, mtime now)
{
	uint32_t changes = count_changes(throttling);
	throttling->boot = boot;
	throttling->half = window > 3 ? window / 2 : 1;
	earn_credit(throttling, now);
	bool asks_again = was_suspended(throttling, now) || changes != throttling->changes;
	asks_again |= !wake_answered(throttling, now);
	throttling->changes = changes;
	mtime over = asks_again ? MTIME_NEVER : now;
	struct timer *first;
	while ((first = timers_first(&throttling->timers)) && first->at <= over)
		group_wake(CONTAINER_OF(first, struct throttle_group, timer), now);
	end_hold_if_over(&throttling->queued, over);
	end_hold_if_over(&throttling->suspects, over);
	end_hold_if_over(&throttling->closed, over);
	throttling->all = (struct throttle_hold){0};
}

mtime throttling_deadline(const struct throttling *throttling)
{
	mtime deadline = timers_deadline(&throttling->timers);
	if (throttling->queued.first)
		deadline = mtime_min(deadline, throttling->queued.until);
	if (throttling->queued.needs_credit && throttling->credit == 0)
		deadline = mtime_min(deadline, throttling->credit_at);
	if (throttling->suspects.first)
		deadline = mtime_min(deadline, throttling->suspects.until);
	if (throttling->all.until)
		deadline = mtime_min(deadline, throttling->all.until);
	if (throttling->closed.until)
		deadline = mtime_min(deadline, throttling->closed.until);
	return deadline;
}

/* The most important first. */
static const char *holder_of(const struct throttling *throttling)
{
	if (throttling->closed.until)
		return throttling->closed.by;
	if (throttling->all.until)
		return throttling->all.by;
	if (throttling->queued.first)
		return throttling->queued.by;
	return throttling->suspects.first ? throttling->suspects.by : throttling->by;
}

static bool is_in_break(const struct throttling *throttling, mtime now)
{
	return throttling->held_back_at != INT64_MIN && now - throttling->held_back_at <= BREAK_MAX;
}

uint32_t throttling_supply(const struct throttling *throttling)
{
	const struct pool_config *config = throttling->config;
	uint64_t supply = UINT32_MAX;
	if (throttling->sessions)
		return UINT32_MAX;
	for (uint8_t i = 0; i < config->throttle_count; i++) {
		const struct pool_throttle *throttle = &config->throttles[i];
		if (throttle->has_key || throttle->excess != THROTTLE_DELAY)
			continue;
		uint64_t own =
			throttle_supply(throttle->throttle, throttling->boot, THROTTLING_KEPT_MAX);
		supply = own < supply ? own : supply;
	}
	return (uint32_t)supply;
}

void throttling_end_turn(struct throttling *throttling, uint32_t waiting, mtime now)
{
	bool holds_back = waiting > 0 || throttling_is_closed(throttling);
	if (holds_back && !throttling->holds_back && !is_in_break(throttling, now))
		throttling->held_back_from = now;
	if (holds_back)
		throttling->holder = holder_of(throttling);
	if (holds_back || throttling->holds_back)
		throttling->held_back_at = now;
	throttling->holds_back = holds_back;
}

mtime throttling_since(const struct throttling *throttling, mtime now)
{
	bool is_held_back = throttling->holds_back || is_in_break(throttling, now);
	return is_held_back ? throttling->held_back_from : MTIME_NEVER;
}

/* ---------- may it start? ---------- */

/* The number of the throttle with a group that the task, or its session, must wait behind; count:
 * there is none, or it is in one. If its caller is told, it does not wait. */
static uint32_t find_group_before(
	const struct throttling *throttling, const struct delivery *delivery)
{
	const struct pool_config *config = throttling->config;
	struct decision decision;
	uint32_t count = throttling->passes.count;
	if (throttling->by_number.count == 0 || delivery->group ||
		(delivery->session && delivery->session->group))
		return count;
	for (uint32_t i = 0; i < count; i++)
		if (config->throttles[i].has_key &&
			group_of_number(throttling, number_of(i, delivery)) &&
			!settle_throttled(&config->policy, delivery, config->throttles[i].excess, 0,
				&decision))
			return i;
	return count;
}

/* Ask the throttles. Return as passes_ask; *ret_wait: how long it has to wait. */
static uint32_t ask_throttles(
	struct throttling *throttling, const struct delivery *delivery, mtime *ret_wait)
{
	struct passes *passes = &throttling->passes;
	mtime at = 0;
	for (uint32_t i = 0; i < passes->count; i++)
		passes->of[i].key = delivery->throttle_keys[i];
	uint32_t refuses = passes_ask(passes, throttling->boot, &at);
	*ret_wait = at - throttling->boot;
	return refuses;
}

static enum throttling_answer postpone(struct throttling *throttling, mtime wait)
{
	throttling->credit--;
	throttling->decision = settle_postpone(wait);
	throttling->decision.what = throttling->by;
	return THROTTLING_SETTLES;
}

/* It goes into the group of this number, or stays in it; or nothing more of the queue is chosen. */
static enum throttling_answer wait_in_group(struct throttling *throttling,
	struct delivery *delivery, uint64_t number, mtime wait, mtime now)
{
	bool is_in_any = delivery->group != NULL;
	mtime since = is_in_any ? delivery->throttled_at : now;
	bool is_full = !is_in_any && throttling->in_groups >= throttling->half;
	bool is_too_long = wait > THROTTLING_WAIT_MAX - (now - since);
	bool may_postpone = throttling->credit > 0 && settle_may_postpone(delivery);
	if ((is_full || is_too_long) && may_postpone)
		return postpone(throttling, wait);
	if (is_full)
		return THROTTLING_HOLDS;
	mtime until = mtime_after(now, mtime_min(wait, THROTTLING_WAIT_MAX));
	struct throttle_group *group = group_of_number(throttling, number);
	bool is_new = !group;
	if (is_new && !(group = group_new(throttling, number, false))) {
		throttling->until = mtime_after(now, THROTTLE_MEMORY_WAIT);
		if (!is_in_any)
			return THROTTLING_HOLDS;
		group_wait(delivery->group, throttling->until, now);
		return THROTTLING_WAITS;
	}
	if (group != delivery->group) {
		if (is_in_any)
			throttling_remove(throttling, delivery);
		group_add(group, delivery);
		delivery->throttled_at = since;
	}
	/* Those behind it wait at least as long. */
	if (is_new || first_task(group) == delivery)
		group_wait(group, until, now);
	return THROTTLING_WAITS;
}

/* The delivery waits until a task may start, but is not kept for too long. Until what is kept has
 * gone back, a task may start now and then. */
static void keep_or_close(
	struct throttling *throttling, const struct delivery *delivery, mtime until, mtime now)
{
	mtime kept_until = delivery->queued_at + THROTTLING_KEPT_MAX;
	if (throttling_is_closed(throttling))
		return;
	if (kept_until <= now || until - now > THROTTLING_KEPT_MAX)
		throttling->closed = (struct throttle_hold){
			.until = mtime_max(until, now + THROTTLING_CLOSED_MIN),
			.by = throttling->by};
	else
		throttling->all.until = mtime_min(until, kept_until);
}

static enum throttling_answer stop(struct throttling *throttling, mtime until)
{
	throttling->all = (struct throttle_hold){.until = until, .by = throttling->by};
	return THROTTLING_STOPS;
}

/* Its session goes into the group of this number, or stays in it. */
static enum throttling_answer park(struct throttling *throttling, struct delivery *delivery,
	uint64_t number, mtime wait, mtime now)
{
	struct throttle_group *group = group_of_number(throttling, number);
	bool is_new = !group;
	if (is_new && !(group = group_new(throttling, number, true)))
		return stop(throttling, mtime_after(now, THROTTLE_MEMORY_WAIT));
	bool is_first = group == delivery->session->group;
	if (!is_first)
		sessions_throttle(throttling->sessions, delivery, group, &group->members, now);
	if (is_new || is_first)
		group_wait(group, mtime_after(now, wait), now);
	return THROTTLING_WAITS;
}

static enum throttling_answer wait_for_key(struct throttling *throttling, struct delivery *delivery,
	uint32_t throttle, mtime wait, mtime now)
{
	uint64_t number = number_of(throttle, delivery);
	return delivery->session ? park(throttling, delivery, number, wait, now)
				 : wait_in_group(throttling, delivery, number, wait, now);
}

static enum throttling_answer wait_behind(
	struct throttling *throttling, struct delivery *delivery, uint32_t throttle, mtime now)
{
	const struct throttle_group *group =
		group_of_number(throttling, number_of(throttle, delivery));
	mtime wait = group_is_due(group) ? 1 : mtime_max(group->timer.at - now, 1);
	throttling->by = throttling->config->throttles[throttle].name;
	throttling->until = mtime_after(now, wait);
	return wait_for_key(throttling, delivery, throttle, wait, now);
}

/* In the silence after a start nothing is known to exceed the limit, so the task waits. */
static enum throttle_excess excess_of(
	const struct throttling *throttling, const struct pool_throttle *throttle, mtime wait)
{
	bool is_silent = wait <= THROTTLING_SILENCE_MAX &&
			 throttle_is_unsure(throttle->throttle, throttling->boot);
	return is_silent ? THROTTLE_DELAY : throttle->excess;
}

static enum throttling_answer refuse(struct throttling *throttling, struct delivery *delivery,
	uint32_t refuses, bool keeps_place, mtime wait, mtime now)
{
	const struct pool_throttle *throttle = &throttling->config->throttles[refuses];
	throttling->by = throttle->name;
	throttling->until = mtime_after(now, wait);
	if (settle_throttled(&throttling->config->policy, delivery,
		    excess_of(throttling, throttle, wait), wait, &throttling->decision)) {
		if (throttling->decision.parcel == PARCEL_REFUSAL)
			throttling->decision.what = throttle->name;
		return THROTTLING_SETTLES;
	}
	if (!throttle->has_key) {
		enum throttling_answer answer = stop(throttling, throttling->until);
		if (!throttling->sessions && !keeps_place)
			keep_or_close(throttling, delivery, throttling->until, now);
		return answer;
	}
	if (keeps_place)
		return THROTTLING_HOLDS;
	return wait_for_key(throttling, delivery, refuses, wait, now);
}

static void count_delay(struct throttling *throttling, struct delivery *delivery, uint32_t refuses)
{
	if (delivery->was_delayed)
		return;
	delivery->was_delayed = true;
	throttling->delays++;
	throttle_count_delay(throttling->passes.of[refuses].throttle);
}

void throttling_expect(const struct throttling *throttling, const struct link *queued)
{
	uint64_t keys[THROTTLING_AHEAD];
	for (uint32_t i = 0; i < throttling->passes.count; i++) {
		uint32_t count = 0;
		if (!throttling->config->throttles[i].has_key)
			continue;
		for (const struct link *link = queued->next;
			count < THROTTLING_AHEAD && link != queued; link = link->next)
			keys[count++] = task_at(link)->throttle_keys[i];
		throttle_expect(throttling->passes.of[i].throttle, keys, count);
	}
}

enum throttling_answer throttling_ask(
	struct throttling *throttling, struct delivery *delivery, bool keeps_place, mtime now)
{
	enum throttling_answer answer;
	mtime wait;
	uint32_t count = throttling->passes.count;
	if (delivery->keys_for != throttling->list) {
		throttling->effects->find_throttle_keys(throttling->io, delivery);
		delivery->keys_for = throttling->list;
	}
	/* A group stands for a refusal by its throttle; only one before that must be asked. */
	uint32_t group = keeps_place ? count : find_group_before(throttling, delivery);
	uint32_t refuses = group > 0 ? ask_throttles(throttling, delivery, &wait) : 0;
	if (refuses < group)
		answer = refuse(throttling, delivery, refuses, keeps_place, wait, now);
	else if (group < count)
		answer = wait_behind(throttling, delivery, group, now);
	else
		return THROTTLING_STARTS;
	if (answer != THROTTLING_SETTLES)
		count_delay(throttling, delivery, refuses < group ? refuses : group);
	return answer;
}

void throttling_started(struct throttling *throttling)
{
	passes_charge(&throttling->passes, throttling->boot);
	if (throttling->credit < throttling->half)
		throttling->credit++;
	end_hold_for_credit(throttling);
}
