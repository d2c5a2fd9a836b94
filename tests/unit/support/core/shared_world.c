/* Events in true time, and the members: a pool that starts what its throttle lets start. */
#include "unit/support/core/shared_events.h"

#include <stdlib.h>
#include <string.h>

#define HASH_SEED UINT64_C(0x1234567890abcdef)
#define MARGIN    (2 * MTIME_MS) /* of a grant: see grants.c */

void shared_fail(const struct shared_world *world, const char *fact)
{
	unsigned long seed = (unsigned long)world->plan.seed;
	ck_abort_msg("seed %lu, at %ld us: %s: WPOOL_SEED=%lu %s", seed, (long)world->now, fact,
		seed, unit_own_path());
}

/* ---------- events ---------- */

static bool is_before(const struct shared_event *one, const struct shared_event *other)
{
	return one->at < other->at || (one->at == other->at && one->order < other->order);
}

static void swap(struct shared_event *one, struct shared_event *other)
{
	struct shared_event third = *one;
	*one = *other;
	*other = third;
}

static void push_again(struct shared_world *world, const struct shared_event *event)
{
	if (world->event_count == world->event_space) {
		world->event_space = 2 * world->event_space + 64;
		world->events = realloc(world->events, world->event_space * sizeof *world->events);
		SHARED_CHECK(world, world->events);
	}
	uint32_t i = world->event_count++;
	for (world->events[i] = *event; i > 0; i = (i - 1) / 2) {
		if (!is_before(&world->events[i], &world->events[(i - 1) / 2]))
			break;
		swap(&world->events[i], &world->events[(i - 1) / 2]);
	}
}

/* A write ends a turn, before what comes at the same time. */
void shared_push(struct shared_world *world, struct shared_event event)
{
	event.order = event.kind == WRITE ? 0 : ++world->order;
	push_again(world, &event);
}

static struct shared_event pop(struct shared_world *world)
{
	struct shared_event *events = world->events, first = events[0];
	uint32_t count = --world->event_count;
	events[0] = events[count];
	for (uint32_t i = 0, child; (child = 2 * i + 1) < count; i = child) {
		if (child + 1 < count && is_before(&events[child + 1], &events[child]))
			child++;
		if (!is_before(&events[child], &events[i]))
			break;
		swap(&events[child], &events[i]);
	}
	return first;
}

mtime shared_draw(struct shared_world *world, mtime span)
{
	return (mtime)(random_next(&world->random) % (uint64_t)(span + 1));
}

mtime shared_between(struct shared_world *world, mtime min, mtime max)
{
	return min + shared_draw(world, max - min);
}

bool shared_chance(struct shared_world *world, uint32_t per_mille)
{
	return random_chance(&world->random, per_mille);
}

/* ---------- a member's messages ---------- */

struct shared_message *shared_message_new(const struct shared_world *world, uint32_t handed)
{
	struct shared_message *message =
		calloc(1, sizeof *message + handed * sizeof *message->handed);
	SHARED_CHECK(world, message);
	return message;
}

static void send_request(
	struct shared_world *world, uint32_t from, const struct throttle_request *request)
{
	struct shared_message *message = shared_message_new(world, 0);
	SHARED_CHECK(world, request->count <= SHARED_KEYS);
	message->channel = world->members[from].channel;
	message->asker = from;
	message->leader = request->leader;
	message->member = request->member;
	message->number = request->number;
	message->lease = request->lease;
	message->figures = request->figures;
	message->count = request->count;
	message->unused_count = (uint32_t)mtime_min(request->unused_count, SHARED_UNUSED);
	memcpy(message->wanted, request->keys, request->count * sizeof *request->keys);
	memcpy(message->unused, request->unused, message->unused_count * sizeof *request->unused);
	world->requests++;
	world->members[from].requests++;
	shared_send(world, from, REQUEST_AT_BROKER, message);
}

static void send_answer(struct shared_world *world, uint32_t from,
	const struct shared_message *request, const struct throttle_answer *answer)
{
	struct shared_message *message = shared_message_new(world, 0);
	message->channel = request->channel;
	message->asker = request->asker;
	message->leader = answer->leader;
	message->member = answer->member;
	message->number = answer->number;
	message->figures = answer->figures;
	message->stamp = answer->stamp;
	message->in_windows = answer->in_windows;
	message->keys_known = answer->keys_known;
	message->count = answer->count;
	memcpy(message->granted, answer->keys, answer->count * sizeof *answer->keys);
	world->answers++;
	shared_send(world, from, ANSWER_AT_BROKER, message);
}

/* ---------- the process of a member ---------- */

void shared_begin(struct shared_world *world, uint32_t number)
{
	const struct shared_plan *plan = &world->plan;
	struct shared_member *member = &world->members[number];
	struct throttle_figures figures = {
		.limit = plan->limit, .period = plan->period, .max_keys = plan->max_keys};
	if (plan->keys > plan->max_keys) /* they need not agree on it */
		figures.max_keys -= number % plan->max_keys;
	member->throttle = throttle_new(&figures, HASH_SEED);
	ck_assert_ptr_nonnull(member->throttle);
	member->member = member_new(member->throttle, random_next(&world->random) | 1);
	ck_assert_ptr_nonnull(member->member);
	member->answers = member->changes = 0;
	member->leaving = STAYS;
	member->take_asked_at = MTIME_NEVER;
	memset(member->former, 0, sizeof member->former);
	memset(member->latest, 0, sizeof member->latest);
}

void shared_kill(struct shared_world *world, uint32_t number)
{
	struct shared_member *member = &world->members[number];
	for (uint32_t i = 0; i < member->turn_count; i++)
		member->waiting[member->turn[i].key]++;
	member->turn_count = 0;
	if (member->member)
		member->late_before +=
			member_facts(member->member, shared_clock(world, member)).grants.late;
	member_free(member->member);
	throttle_free(member->throttle);
	member->member = NULL;
	member->throttle = NULL;
	member->channel = 0;
	member->life++;
	member->busy_until = 0;
	member->leaving = STAYS;
	member->poll++;
	if (world->agreed_until == MTIME_NEVER && world->changed_at != MTIME_NEVER)
		world->agreed_until = world->now;
}

static void come_up(struct shared_world *world, uint32_t number)
{
	struct shared_member *member = &world->members[number];
	if (!member->throttle)
		shared_begin(world, number);
	member->channel = ++world->channels;
	member->is_leaving = member->is_cut = member->is_held = false;
	member->out_last = member->in_last = world->now;
	member_up(member->member);
	shared_attach(world, number);
}

/* ---------- tasks ---------- */

/* Number 0 is no key. */
static uint64_t key_number(uint32_t key)
{
	return key == 0 ? THROTTLE_NO_KEY : key;
}

/* The grants of a key as this side counts them. Return the end of the one that is used. */
static mtime use_grant(struct shared_world *world, struct shared_member *member, uint32_t key)
{
	struct shared_grant *grant = &member->former[key];
	if (grant->left == 0 || shared_clock(world, member) >= grant->ends - MARGIN)
		grant = &member->latest[key];
	if (world->plan.keys <= world->plan.max_keys)
		SHARED_CHECK(world,
			grant->left > 0 && shared_clock(world, member) < grant->ends - MARGIN);
	if (grant->left > 0)
		grant->left--;
	return grant->ends;
}

static void serve_key(
	struct shared_world *world, struct shared_member *member, uint32_t key, uint32_t max)
{
	mtime now = shared_clock(world, member);
	struct window *window = NULL;
	while (member->waiting[key] > 0 && member->retry_at[key] <= now &&
		member->turn_count < max) {
		mtime at = throttle_ask(member->throttle, key_number(key), now, &window);
		if (at > now) {
			member->retry_at[key] = at;
			return;
		}
		throttle_charge(member->throttle, window, now);
		member->waiting[key]--;
		member->turn[member->turn_count].key = key;
		member->turn[member->turn_count++].ends = use_grant(world, member, key);
	}
}

/* Mostly a moment passes until the write, sometimes the process is stopped before it. */
static mtime time_to_write(struct shared_world *world)
{
	mtime span = shared_draw(world, 300);
	if (world->now >= world->plan.work || !shared_chance(world, world->plan.stalled))
		return span;
	span = shared_draw(
		world, shared_chance(world, 700) ? 40 * MTIME_MS : 2 * world->plan.period);
	world->faults_end = mtime_max(world->faults_end, world->now + span);
	return span;
}

/* A turn: of each key as many tasks as may start, some at most. */
static void serve(struct shared_world *world, uint32_t number)
{
	struct shared_member *member = &world->members[number];
	uint32_t max = 1 + (uint32_t)shared_draw(world, SHARED_TURN - 1);
	for (uint32_t i = 0; i < world->plan.keys; i++)
		serve_key(world, member, (member->next_key + i) % world->plan.keys, max);
	member->next_key++;
	if (member->turn_count == 0)
		return;
	member->busy_until = world->now + time_to_write(world);
	shared_push(world, (struct shared_event){.at = member->busy_until,
				   .kind = WRITE,
				   .member = number,
				   .number = member->life});
}

static void count_late(struct shared_world *world, const struct shared_member *member)
{
	for (uint32_t i = 0; i < member->turn_count; i++) {
		bool is_late = false;
		for (uint32_t k = 0; k < member->turn_count; k++)
			is_late |= member->turn[k].key == member->turn[i].key &&
				   shared_clock(world, member) > member->turn[k].ends;
		world->late_of_turns += is_late;
	}
}

static void write_turn(struct shared_world *world, struct shared_member *member)
{
	mtime now = shared_clock(world, member);
	throttle_end_turn(member->throttle, now);
	count_late(world, member);
	for (uint32_t i = 0; i < member->turn_count; i++) {
		uint32_t key = member->turn[i].key;
		bool is_late = now > member->turn[i].ends;
		SHARED_CHECK(world, world->start_count[key] < SHARED_TASKS);
		world->starts[key][world->start_count[key]++] =
			(struct shared_start){.at = world->now, .is_late = is_late};
		world->late += is_late;
		world->led_at = mtime_min(world->led_at, world->now);
	}
	member->started += member->turn_count;
	member->turn_count = 0;
}

/* ---------- what a member does after each event ---------- */

/* What waits asks again if there are other figures, or an answer about its key. */
static void wake(struct shared_world *world, struct shared_member *member)
{
	uint64_t answers = throttle_answers(member->throttle), key;
	bool wakes_all = member->changes != throttle_changes(member->throttle);
	for (; member->answers < answers && !wakes_all; member->answers++) {
		if (throttle_answered_key(member->throttle, member->answers, &key))
			member->retry_at[key] = 0;
		else
			wakes_all = true;
	}
	if (wakes_all)
		memset(member->retry_at, 0, sizeof member->retry_at);
	member->answers = answers;
	member->changes = throttle_changes(member->throttle);
	(void)world;
}

static void plan_poll(struct shared_world *world, uint32_t number)
{
	struct shared_member *member = &world->members[number];
	mtime at = member->leaving == STAYS ? member_deadline(member->member) : MTIME_NEVER;
	for (uint32_t i = 0; i < world->plan.keys; i++)
		if (member->waiting[i] > 0)
			at = mtime_min(at, member->retry_at[i]);
	member->poll++;
	if (at == MTIME_NEVER)
		return;
	shared_push(world, (struct shared_event){.at = mtime_max(at - member->offset, world->now),
				   .kind = POLL,
				   .member = number,
				   .number = member->poll});
}

static void go_on(struct shared_world *world, uint32_t number)
{
	struct shared_member *member = &world->members[number];
	if (!member->throttle || member->turn_count > 0)
		return;
	wake(world, member);
	serve(world, number);
	mtime now = shared_clock(world, member);
	const struct throttle_request *request = NULL;
	if (member->leaving == STAYS && now >= member_deadline(member->member))
		request = member_request(member->member, now);
	if (request) {
		member->request_ends = now + request->lease;
		send_request(world, number, request);
	}
	if (member->turn_count == 0)
		plan_poll(world, number);
}

/* ---------- figures ---------- */

static bool all_agree(const struct shared_world *world)
{
	for (uint32_t i = 0; i < SHARED_MEMBERS; i++)
		if (!world->members[i].member ||
			member_figures(world->members[i].member).version == 0)
			return false;
	return true;
}

static void look_at_figures(struct shared_world *world)
{
	if (world->changed_at != MTIME_NEVER && world->agreed_at == MTIME_NEVER && all_agree(world))
		world->agreed_at = world->now;
}

static void change(struct shared_world *world, struct shared_member *member)
{
	if (!member->member)
		return;
	member_set(member->member, world->plan.new_limit, world->plan.new_period);
	world->changed_at = world->now;
}

/* ---------- handling ---------- */

static void on_request(
	struct shared_world *world, uint32_t number, const struct shared_message *message)
{
	static struct throttle_request request;
	struct shared_member *member = &world->members[number];
	request.member = message->member;
	request.number = message->number;
	request.leader = message->leader;
	request.lease = message->lease;
	request.figures = message->figures;
	request.count = message->count;
	request.unused_count = message->unused_count;
	memcpy(request.keys, message->wanted, message->count * sizeof *message->wanted);
	memcpy(request.unused, message->unused, message->unused_count * sizeof *message->unused);
	for (uint32_t i = 0; i < request.count; i++)
		world->late_heard += request.keys[i].late;
	const struct throttle_answer *answer =
		member_on_request(member->member, &request, shared_clock(world, member));
	if (answer)
		send_answer(world, number, message, answer);
}

static void copy_grants(struct shared_member *member, const struct shared_message *message)
{
	for (uint32_t i = 0; i < message->count; i++) {
		const struct granted *granted = &message->granted[i];
		if (granted->starts == 0)
			continue;
		member->former[granted->key] = member->latest[granted->key];
		member->latest[granted->key] = (struct shared_grant){
			.left = granted->starts, .ends = member->request_ends};
	}
}

static void on_answer(
	struct shared_world *world, struct shared_member *member, struct shared_message *message)
{
	static struct throttle_answer answer;
	mtime now = shared_clock(world, member);
	uint64_t before = grants_facts(member->throttle).granted;
	answer.leader = message->leader;
	answer.member = message->member;
	answer.number = message->number;
	answer.figures = message->figures;
	answer.stamp = message->stamp;
	answer.in_windows = message->in_windows;
	answer.keys_known = message->keys_known;
	answer.count = message->count;
	memcpy(answer.keys, message->granted, message->count * sizeof *message->granted);
	member_on_answer(member->member, &answer, now);
	if (grants_facts(member->throttle).granted != before)
		copy_grants(member, message);
}

static void arrive(struct shared_world *world, const struct shared_event *event)
{
	uint32_t *count = &world->arrival_count[event->number];
	struct shared_member *member = &world->members[event->member];
	for (uint32_t i = 0; i < event->count; i++) {
		SHARED_CHECK(world, *count < SHARED_TASKS);
		world->arrivals[event->number][(*count)++] = world->now;
	}
	if (member->waiting[event->number] == 0)
		member->retry_at[event->number] = 0;
	member->waiting[event->number] += event->count;
}

/* True: it is of a life, a channel or a plan that is over. */
static bool is_over(const struct shared_member *member, const struct shared_event *event)
{
	switch (event->kind) {
	case POLL:
		return event->number != member->poll;
	case WRITE:
	case COMES_UP:
	case PROCESS_ENDS:
		return event->number != member->life;
	case REQUEST_AT_MEMBER:
	case ANSWER_AT_MEMBER:
		return event->channel != member->channel || member->is_cut;
	case CANCEL_OK_AT_MEMBER:
	case COUNT_AT_MEMBER:
	case LEAVE_AT_MEMBER:
	case TAKE_AT_MEMBER:
	case HANDOVER_AT_MEMBER:
		return event->channel != member->channel || member->is_cut;
	case MEMBER_SEES:
	case LEAVE_ENDS:
		return event->channel != member->channel;
	default:
		return false;
	}
}

static void handle_of_member(struct shared_world *world, struct shared_event *event)
{
	struct shared_member *member = &world->members[event->member];
	switch (event->kind) {
	case POLL:
		break;
	case TASKS:
		arrive(world, event);
		break;
	case WRITE:
		write_turn(world, member);
		break;
	case REQUEST_AT_MEMBER:
		if (member->leaving == STAYS)
			on_request(world, event->member, event->message);
		break;
	case ANSWER_AT_MEMBER:
		if (member->leaving == STAYS)
			on_answer(world, member, event->message);
		break;
	case CHANGE:
		change(world, member);
		break;
	case MEMBER_SEES:
		if (member->leaving != STAYS) {
			shared_on_leave_event(world, event);
			break;
		}
		member->channel = 0;
		member_down(member->member);
		break;
	case COMES_UP:
		if (member->leaving == STAYS)
			come_up(world, event->member);
		break;
	default:
		shared_on_leave_event(world, event);
		break;
	}
	go_on(world, event->member);
}

static bool is_of_member(enum shared_kind kind)
{
	switch (kind) {
	case REQUEST_AT_BROKER:
	case ANSWER_AT_BROKER:
	case FAULT:
	case BROKER_SEES:
	case SUSPICION:
	case SUSPICION_ENDS:
	case CHOOSE:
	case HIT:
	case CANCEL_AT_BROKER:
	case COUNT_AT_BROKER:
	case LEAVE_AT_BROKER:
	case TAKE_AT_BROKER:
	case HANDOVER_AT_BROKER:
		return false;
	default:
		return true;
	}
}

static void handle(struct shared_world *world, struct shared_event event)
{
	struct shared_member *member = &world->members[event.member];
	if (!is_of_member(event.kind)) {
		shared_on_broker_event(world, &event);
	} else if (!is_over(member, &event)) {
		if (member->busy_until > world->now ||
			(member->turn_count > 0 && event.kind != WRITE)) {
			event.at = member->busy_until;
			push_again(world, &event);
			return;
		}
		handle_of_member(world, &event);
	}
	free(event.message);
	look_at_figures(world);
}

/* ---------- life ---------- */

/* Tasks of a key at a member: one by one, or some at once. */
static void plan_tasks(struct shared_world *world, uint32_t member, uint32_t key)
{
	const struct shared_plan *plan = &world->plan;
	mtime each = plan->period * 100 * SHARED_MEMBERS /
		     ((mtime)plan->limit * (mtime)mtime_max(plan->load, 1));
	for (mtime at = shared_draw(world, 2 * each); at < plan->work;) {
		uint32_t count = 1 + (uint32_t)shared_draw(world, plan->burst - 1);
		shared_push(world, (struct shared_event){.at = at,
					   .kind = TASKS,
					   .member = member,
					   .number = key,
					   .count = count});
		at += shared_draw(world, 2 * each * count) + 1;
	}
}

static void plan_faults(struct shared_world *world)
{
	const struct shared_plan *plan = &world->plan;
	for (uint32_t i = 0; i < plan->faults; i++)
		shared_push(
			world, (struct shared_event){.at = shared_draw(world, plan->work / 3 * 2),
				       .kind = FAULT});
	if (plan->changes)
		shared_push(
			world, (struct shared_event){.at = shared_draw(world, plan->work / 2),
				       .kind = CHANGE,
				       .member = (uint32_t)shared_draw(world, SHARED_MEMBERS - 1)});
}

static mtime any_offset(struct shared_world *world)
{
	return SHARED_PERIOD_MAX + shared_between(world, 1, 1000 * MTIME_SECOND);
}

void shared_init(struct shared_world *world, const struct shared_plan *plan)
{
	memset(world, 0, sizeof *world);
	world->plan = *plan;
	random_init(&world->random, plan->seed);
	world->changed_at = world->agreed_at = world->agreed_until = world->led_at = MTIME_NEVER;
	mtime offset = any_offset(world);
	bool is_one_machine = shared_chance(world, 300);
	for (uint32_t i = 0; i < SHARED_MEMBERS; i++) {
		world->members[i].offset = is_one_machine ? offset : any_offset(world);
		shared_push(world, (struct shared_event){.at = shared_draw(world, 50 * MTIME_MS),
					   .kind = COMES_UP,
					   .member = i});
		for (uint32_t key = 0; key < plan->keys; key++)
			plan_tasks(world, i, key);
	}
	plan_faults(world);
}

void shared_release(struct shared_world *world)
{
	for (uint32_t i = 0; i < SHARED_MEMBERS; i++) {
		member_free(world->members[i].member);
		throttle_free(world->members[i].throttle);
	}
	for (uint32_t i = 0; i < world->event_count; i++)
		free(world->events[i].message);
	for (uint32_t i = 0; i < world->queue_count; i++)
		free(world->queue[(world->queue_first + i) % SHARED_QUEUE]);
	free(world->events);
}

void shared_run(struct shared_world *world, mtime until)
{
	uint32_t at_once = 0;
	while (world->event_count > 0 && world->events[0].at <= until) {
		struct shared_event event = pop(world);
		at_once = event.at == world->now ? at_once + 1 : 0;
		world->now = event.at;
		SHARED_CHECK(world, at_once < 10000);
		handle(world, event);
	}
	world->now = until;
}

void shared_suspect_at(struct shared_world *world, mtime at, mtime until)
{
	shared_push(world, (struct shared_event){.at = at, .kind = SUSPICION, .until = until});
}

bool shared_is_granting(const struct shared_world *world, uint32_t number)
{
	const struct shared_member *member = &world->members[number];
	if (!member->member)
		return false;
	struct member_facts facts = member_facts(member->member, shared_clock(world, member));
	return facts.is_leading && !facts.is_silent;
}

void shared_task_for_each(struct shared_world *world)
{
	for (uint32_t i = 0; i < SHARED_MEMBERS; i++)
		shared_push(
			world, (struct shared_event){
				       .at = world->now, .kind = TASKS, .member = i, .count = 1});
}

uint32_t shared_waiting(const struct shared_world *world)
{
	uint32_t waiting = 0;
	for (uint32_t i = 0; i < SHARED_MEMBERS; i++) {
		waiting += world->members[i].turn_count;
		for (uint32_t key = 0; key < world->plan.keys; key++)
			waiting += world->members[i].waiting[key];
	}
	return waiting;
}

uint64_t shared_late_facts(const struct shared_world *world)
{
	uint64_t late = 0;
	for (uint32_t i = 0; i < SHARED_MEMBERS; i++) {
		const struct shared_member *member = &world->members[i];
		late += member->late_before;
		if (member->member)
			late += member_facts(member->member, shared_clock(world, member))
					.grants.late;
	}
	return late;
}
