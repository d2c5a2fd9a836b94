/* What throttles must do, computed from the true times of all starts. */
#include "amqp/table.h"
#include "core/pool_internal.h"
#include "sim/cover.h"
#include "sim/fail.h"
#include "sim/world.h"

#include <stdlib.h>

/* A machine that was suspended for less may not be noticed. */
#define UNNOTICED (10 * MTIME_MS)
#define WAIT_MAX  MTIME_MINUTE

static const struct throttle_definition *definition_of(
	const struct pool_runtime *runtime, uint8_t place)
{
	return &runtime->world->throttles.of[runtime->throttles.of[place]];
}

static struct supervisor_throttle *throttle_of(const struct pool_runtime *runtime, uint8_t place)
{
	return &runtime->supervisor->throttles.of[runtime->throttles.of[place]];
}

static mtime boot_of(const struct pool_runtime *runtime)
{
	return runtime->supervisor->throttles.boot;
}

static struct pool_runtime *in_turn; /* the pool that has its turn; NULL: none */

/* ---------- keys ---------- */

static uint8_t tenant_in(struct text headers)
{
	struct table_field field;

	if (!table_find(headers, TEXT("tenant"), &field) || field.type == 't' ||
		field.value.len == 0)
		return 0;
	uint8_t last = (uint8_t)field.value.ptr[field.value.len - 1];
	return field.type == 'S' ? (uint8_t)(last - '0') : last;
}

/* What a worker hands back has no headers of the publisher. */
static uint8_t tenant_of(const struct pool_runtime *runtime, const struct delivery *delivery)
{
	uint32_t id = account_id(delivery->body);
	uint8_t tenant = tenant_in(delivery->headers);

	sim_require(delivery->slice > 0 || tenant == runtime->world->throttles.tenant[id],
		"message %u is of tenant %u", id, tenant);
	return tenant;
}

static uint8_t key_at(
	const struct pool_runtime *runtime, uint8_t place, uint32_t id, uint8_t tenant)
{
	switch (definition_of(runtime, place)->source.kind) {
	case KEY_SESSION:
		return runtime->world->order.message[id].key;
	case KEY_HEADER:
		return tenant;
	case KEY_PROPERTY:
		return runtime->world->throttles.type[id];
	default:
		return 0;
	}
}

/* ---------- what may start ---------- */

static mtime latest_of(const struct throttled_starts *starts)
{
	return starts->of[starts->count - 1].late;
}

/* A start of this key is in the window that ends at this moment. */
static bool is_in_use(const struct supervisor_throttle *own, uint32_t key, mtime boot)
{
	const struct throttled_starts *starts = &own->starts[key];
	uint32_t count = starts->count;

	while (count > 0 && starts->of[count - 1].late > boot)
		count--;
	return count > 0 && boot - starts->of[count - 1].late < own->figures.period;
}

/* Those of later starts, too: in between there may have been no space. */
static uint32_t keys_in_use(const struct supervisor_throttle *own, mtime boot)
{
	uint32_t count = 0;

	for (uint32_t key = 0; key < THROTTLED_KEYS; key++)
		count += own->starts[key].count > 0 &&
			 boot - latest_of(&own->starts[key]) < own->figures.period;
	return count;
}

/* When a task with this key may start, as far as its own window goes. */
static mtime window_at(const struct supervisor_throttle *own, uint8_t key)
{
	const struct throttled_starts *starts = &own->starts[key];
	uint32_t limit = own->figures.limit;

	return starts->count < limit ? 0
				     : starts->of[starts->count - limit].late + own->figures.period;
}

/* The key has a start in its window, or there is space for another key. */
static bool has_space(const struct supervisor_throttle *own, uint8_t key, mtime boot)
{
	return is_in_use(own, key, boot) || keys_in_use(own, boot) < own->figures.max_keys;
}

static bool is_sure(const struct supervisor_throttle *own, mtime boot)
{
	return boot - own->unsure_from >= own->figures.period;
}

/* The first place in the pool's list whose throttle refuses; the number of places: none does.
 * *ret_at: when it would let it start. */
static uint8_t find_refusing(
	const struct pool_runtime *runtime, uint32_t id, uint8_t tenant, mtime boot, mtime *ret_at)
{
	for (uint8_t i = 0; i < runtime->throttles.count; i++) {
		const struct supervisor_throttle *own = throttle_of(runtime, i);
		uint8_t key = key_at(runtime, i, id, tenant);

		*ret_at = window_at(own, key);
		if (*ret_at > boot || !has_space(own, key, boot))
			return i;
	}
	return runtime->throttles.count;
}

/* One of its throttles may remember more than there was. */
static bool are_sure(const struct pool_runtime *runtime, mtime boot)
{
	for (uint8_t i = 0; i < runtime->throttles.count; i++)
		if (!is_sure(throttle_of(runtime, i), boot))
			return false;
	return true;
}

static mtime noticed(const struct pool_runtime *runtime)
{
	mtime boot = boot_of(runtime);

	return runtime->world->throttles.is_suspended ? boot - UNNOTICED : boot;
}

static bool is_let_at(const struct pool_runtime *runtime, uint32_t id, uint8_t tenant, mtime boot)
{
	mtime at;

	return find_refusing(runtime, id, tenant, boot, &at) == runtime->throttles.count;
}

/* With time the window of its key may end, and others then leave no space for it. */
static bool is_let(const struct pool_runtime *runtime, uint32_t id, uint8_t tenant)
{
	mtime boot = noticed(runtime);

	return are_sure(runtime, boot) && is_let_at(runtime, id, tenant, boot) &&
	       is_let_at(runtime, id, tenant, boot_of(runtime));
}

bool throttles_let(const struct pool_runtime *runtime, const struct delivery *delivery)
{
	return is_let(runtime, account_id(delivery->body), tenant_of(runtime, delivery));
}

bool throttles_may_hold(const struct pool_runtime *runtime, const struct delivery *delivery)
{
	return throttles_are_on(&runtime->throttles) && !throttles_let(runtime, delivery);
}

bool throttles_may_hold_message(const struct pool_runtime *runtime, uint32_t id)
{
	return throttles_are_on(&runtime->throttles) &&
	       !is_let(runtime, id, runtime->world->throttles.tenant[id]);
}

bool throttles_may_hold_all(const struct pool_runtime *runtime)
{
	mtime boot = noticed(runtime);

	for (uint8_t i = 0; i < runtime->throttles.count; i++) {
		const struct supervisor_throttle *own = throttle_of(runtime, i);

		if (definition_of(runtime, i)->source.kind == KEY_NONE &&
			(!is_sure(own, boot) || window_at(own, 0) > boot))
			return true;
	}
	return false;
}

/* ---------- a start ---------- */

static bool waits(const struct delivery *delivery)
{
	return delivery->state == DELIVERY_QUEUED && !delivery->session && !delivery->invalid;
}

#define EACH_WAITING(runtime, task)                                                                \
	for (const struct link *end = &(runtime)->pool->tasks.source.unacked, *at = end->next;     \
		at != end; at = at->next)                                                          \
		for (const struct delivery *task =                                                 \
				CONTAINER_OF(at, const struct delivery, unacked);                  \
			task && waits(task); task = NULL)

static void append(struct throttled_starts *starts, mtime boot)
{
	if (starts->count == starts->size) {
		starts->size = starts->size ? 2 * starts->size : 64;
		starts->of = realloc(starts->of, starts->size * sizeof *starts->of);
		sim_require(starts->of, "out of memory");
	}
	starts->of[starts->count++] = (struct throttled_start){boot, boot};
	starts->in_turn++;
}

static void check_start(const struct pool_runtime *runtime, uint8_t place, uint32_t id, uint8_t key)
{
	const struct supervisor_throttle *own = throttle_of(runtime, place);
	mtime boot = boot_of(runtime), at = window_at(own, key);

	sim_require(at <= boot,
		"message %u starts %lld us too early for throttle %u, key %u: %u in %lld us", id,
		(long long)(at - boot), runtime->throttles.of[place], key, own->figures.limit,
		(long long)own->figures.period);
	/* A record that was made under other figures may have had too many keys. */
	sim_require(own->has_changed || has_space(own, key, boot),
		"message %u starts, and %u keys are in use", id, own->figures.max_keys);
}

/* No worker has had it, and it must not run alone. */
static bool is_plain(const struct pool_runtime *runtime, const struct delivery *delivery)
{
	bool is_suspect = delivery->is_suspect && runtime->config.concurrency > 1;

	return !delivery->session && !is_suspect && !settle_is_exclusive(delivery);
}

/* Those with one key start in the order in which they came. With several throttles they may change
 * places, and so they may when they get others. One whose caller would be told does not wait behind
 * others, so it may be the first after a suspension that is too short to be noticed. */
static void check_order(
	const struct pool_runtime *runtime, const struct delivery *delivery, uint8_t key)
{
	bool is_told = definition_of(runtime, 0)->excess != THROTTLE_DELAY;

	if (runtime->throttles.count != 1 || (is_told && runtime->world->throttles.is_suspended) ||
		runtime->throttles.has_changed || !is_plain(runtime, delivery))
		return;
	EACH_WAITING(runtime, other)
	{
		uint32_t id = account_id(other->body);

		sim_require(other->tag > delivery->tag || other->id || !is_plain(runtime, other) ||
				    key_at(runtime, 0, id, tenant_of(runtime, other)) != key,
			"message %u overtakes message %u, of the same key",
			account_id(delivery->body), id);
	}
}

void throttles_started(struct pool_runtime *runtime, const struct delivery *delivery)
{
	struct pool_throttles *throttles = &runtime->throttles;
	uint32_t id = account_id(delivery->body);

	if (!throttles_are_on(throttles))
		return;
	uint8_t tenant = tenant_of(runtime, delivery);
	sim_require(in_turn == runtime, "message %u starts between turns", id);
	for (uint8_t i = 0; i < throttles->count; i++) {
		uint8_t key = key_at(runtime, i, id, tenant);

		check_order(runtime, delivery, key);
		check_start(runtime, i, id, key);
		append(&throttle_of(runtime, i)->starts[key], boot_of(runtime));
	}
	throttles->credit += throttles->credit < throttles->half;
}

/* ---------- those that may not ---------- */

/* Tasks without a session that wait for their throttles, others than this one. */
static uint32_t count_refused(const struct pool_runtime *runtime, const struct delivery *but)
{
	uint32_t count = 0;

	EACH_WAITING(runtime, delivery)
	{
		count += delivery != but && !throttles_let(runtime, delivery);
	}
	return count;
}

void throttles_refused(const struct delivery *delivery)
{
	cover_mark(COVER_REASON, REASON_NONE, PARCEL_REFUSAL);
	if (in_turn->world->order.is_on)
		order_loose_refused(in_turn, delivery);
}

/* The first one that refuses decides. */
void throttles_decided(const struct delivery *delivery, enum throttle_excess excess, mtime wait)
{
	const struct pool_runtime *runtime = in_turn;
	uint32_t id = account_id(delivery->body);
	mtime at, boot = boot_of(runtime);
	uint8_t place = find_refusing(runtime, id, tenant_of(runtime, delivery), boot, &at);

	if (!are_sure(runtime, boot))
		return;
	sim_require(place < runtime->throttles.count, "message %u may start, and is refused", id);
	sim_require(definition_of(runtime, place)->excess == excess,
		"message %u is refused by throttle %u, for which it is something else", id,
		runtime->throttles.of[place]);
	sim_require(at <= boot || wait == at - boot, "message %u is to wait %lld us, and not %lld",
		id, (long long)wait, (long long)(at - boot));
}

/* Not for longer than a minute, if it may be postponed: it has not come back. Behind others, and
 * before them if a worker has had it, it waits as long as they do. */
void throttles_waits(const struct delivery *delivery)
{
	const struct link *first = delivery->group->members.next;
	uint32_t id = account_id(delivery->body);
	mtime at, boot = boot_of(in_turn);

	(void)find_refusing(in_turn, id, tenant_of(in_turn, delivery), boot, &at);
	if (!are_sure(in_turn, boot))
		return;
	bool stays = delivery->id || delivery->returns > 0 || delivery->redelivered ||
		     first != &delivery->place || in_turn->throttles.credit == 0;
	sim_require(stays || at - boot <= WAIT_MAX, "message %u is to wait for %lld us", id,
		(long long)(at - boot));
}

/* Only what exceeds half of the window, or must wait for long, and as often as there is credit. */
static void postponed(struct pool_runtime *runtime, const struct notice *notice)
{
	const struct delivery *delivery = notice->delivery;
	struct pool_throttles *throttles = &runtime->throttles;
	uint32_t id = account_id(delivery->body);
	mtime waited = runtime->world->now - delivery->queued_at;
	bool is_long = notice->duration + waited > WAIT_MAX;

	cover_mark(COVER_REASON, REASON_NONE, PARCEL_POSTPONE);
	if (in_turn != runtime) {
		sim_require(runtime->world->throttles.reply_to[id],
			"message %u is postponed between turns", id);
		return;
	}
	sim_require(settle_may_postpone(delivery),
		"message %u is postponed, and the broker's count of its returns is lost", id);
	sim_require(throttles->credit > 0, "message %u is postponed, and too few start", id);
	throttles->credit--;
	sim_require(is_long || count_refused(runtime, delivery) >= throttles->half ||
			    !are_sure(runtime, noticed(runtime)),
		"message %u is postponed, and there is space", id);
	sim_require(
		!throttles_let(runtime, delivery), "message %u may start, and is postponed", id);
}

void throttles_told(struct pool_runtime *runtime, const struct notice *notice)
{
	if (notice->kind == NOTICE_TASK_POSTPONED)
		postponed(runtime, notice);
}

/* ---------- nothing waits that need not ---------- */

/* Ten a second or half of the window a minute, from the first turn, or from the last one in which
 * there was enough. */
static void earn_credit(struct pool_throttles *throttles, mtime now)
{
	mtime every = MTIME_MINUTE / (throttles->half > 600 ? throttles->half : 600);

	if (throttles->credit_at == 0)
		throttles->credit_at = now + every;
	while (throttles->credit_at <= now && throttles->credit < throttles->half) {
		throttles->credit++;
		throttles->credit_at += every;
	}
	if (throttles->credit_at <= now)
		throttles->credit_at = now + every;
}

void throttles_pool_begins(struct pool_runtime *runtime)
{
	uint32_t window = runtime->pool->tasks.source.window;

	in_turn = runtime;
	runtime->throttles.half = window > 3 ? window / 2 : 1;
	if (throttles_are_on(&runtime->throttles))
		earn_credit(&runtime->throttles, runtime->world->now);
}

void throttles_pool_ends(void)
{
	in_turn = NULL;
}

/* A task of the pool must be its only one, and others wait for it. */
static bool is_any_exclusive(const struct pool_runtime *runtime)
{
	EACH_WAITING(runtime, delivery)
	{
		if (settle_is_exclusive(delivery))
			return true;
	}
	return runtime->pool->tasks.dispatch.is_exclusive;
}

static bool may_send(const struct pool_runtime *runtime)
{
	const struct tasks *tasks = &runtime->pool->tasks;

	return runtime->pool->context.phase == POOL_RUNS && tasks->send_again == MTIME_NEVER &&
	       tasks->outbox.bytes <= runtime->config.outbox_limit && !tasks->is_standby &&
	       !(tasks->sessions && tasks->source.state == SOURCE_IS_CLOSING) &&
	       runtime->world->now >= runtime->hand.careful_until && !is_any_exclusive(runtime);
}

static bool has_place(const struct pool_runtime *runtime, uint16_t slot)
{
	const struct pipe *pipe = &slots_at(&runtime->pool->slots, slot)->pipe;

	return workers_is_taking(&runtime->workers, slot) &&
	       runtime->workers.worker[slot].count < runtime->config.concurrency && !pipe->closed &&
	       !pipe_is_spent(pipe);
}

static bool is_any_place(const struct pool_runtime *runtime)
{
	for (uint16_t i = 0; i < runtime->pool->slots.all.count; i++)
		if (has_place(runtime, i))
			return true;
	return false;
}

/* A suspect waits for a worker of its own. */
static bool is_suspect(const struct pool_runtime *runtime, const struct delivery *delivery)
{
	return delivery->is_suspect && runtime->config.concurrency > 1;
}

/* When the last of its throttles lets it start; MTIME_NEVER: that depends on other keys. */
static mtime starts_at(const struct pool_runtime *runtime, uint32_t id, uint8_t tenant)
{
	mtime latest = boot_of(runtime);

	for (uint8_t i = 0; i < runtime->throttles.count; i++) {
		const struct supervisor_throttle *own = throttle_of(runtime, i);

		latest = mtime_max(latest, window_at(own, key_at(runtime, i, id, tenant)));
		latest = mtime_max(latest, own->unsure_from + own->figures.period);
	}
	return is_let_at(runtime, id, tenant, latest) ? latest : MTIME_NEVER;
}

/* One that must not be postponed waits in the queue, and holds back what is behind it. */
static bool is_any_held(const struct pool_runtime *runtime)
{
	EACH_WAITING(runtime, delivery)
	{
		if (!delivery->group && !settle_may_postpone(delivery) &&
			!throttles_let(runtime, delivery))
			return true;
	}
	return false;
}

static void check_wait(const struct pool_runtime *runtime, const struct delivery *delivery)
{
	uint32_t id = account_id(delivery->body);
	uint8_t tenant = tenant_of(runtime, delivery);
	mtime at = starts_at(runtime, id, tenant);

	if (at < MTIME_NEVER)
		at = at - runtime->supervisor->throttles.ahead +
		     (runtime->world->throttles.is_suspended ? UNNOTICED : 0);
	sim_require(!is_let(runtime, id, tenant), "message %u waits, and may start", id);
	sim_require(at <= runtime->world->now || pool_runtime_deadline(runtime) <= at,
		"message %u may start in %lld us, and the pool does not know", id,
		(long long)(at - runtime->world->now));
}

void throttles_check_waiting(const struct pool_runtime *runtime)
{
	const struct pool_throttles *throttles = &runtime->throttles;
	bool is_full;

	if (!throttles_are_on(throttles) || !may_send(runtime) || !is_any_place(runtime))
		return;
	is_full = (throttles->credit == 0 || is_any_held(runtime)) &&
		  count_refused(runtime, NULL) >= throttles->half;
	EACH_WAITING(runtime, delivery)
	{
		if (is_suspect(runtime, delivery))
			continue;
		if (delivery->group || !is_full)
			check_wait(runtime, delivery);
		else
			sim_require(throttles->credit > 0 || !throttles_let(runtime, delivery) ||
					    pool_runtime_deadline(runtime) <= throttles->credit_at,
				"message %u may start, and waits behind others for ever",
				account_id(delivery->body));
	}
}
