#include "sim/order_takeover.h"

#include "core/pool_internal.h"
#include "sim/cover.h"
#include "sim/fail.h"
#include "sim/world.h"

#define CAREFUL_DEATHS 3
#define CAREFUL_SPAN   (10 * MTIME_MINUTE)

static uint8_t key_of(const struct pool_runtime *runtime, struct text key)
{
	const struct order *order = &runtime->world->order;

	for (uint8_t number = 1; number <= order->keys; number++)
		if (text_is(key, order_key(number)))
			return number;
	sim_fail("a session that no message has is handed over");
}

static const struct ordered *ordered_at(const struct pool_runtime *runtime, uint32_t id)
{
	return &runtime->world->order.message[id];
}

/* ---------- the token comes and goes ---------- */

static void mark(enum cover_takeover what)
{
	cover_mark(COVER_TAKEOVER, what, 0);
}

static void inherit(struct pool_runtime *runtime, const struct session_handover *handed)
{
	struct hand *hand = &runtime->hand;
	uint8_t key = key_of(runtime, handed->key);

	hand->is_unsteady = true;
	hand->is_paused[key] |= handed->is_paused;
	if (handed->is_paused)
		mark(TAKEOVER_PAUSED);
	if (handed->has_message)
		hand->heritage[key][handed->past.is_high] = (struct heritage){.is_there = true,
			.is_later = handed->past.is_later,
			.is_blocked = handed->past.is_blocked,
			.is_refused = handed->past.reason == REASON_THROTTLED,
			.is_postponed = handed->past.reason == REASON_POSTPONED,
			.is_poison = handed->past.is_poison,
			.has_rest = handed->has_rest,
			.failures = handed->past.attempt,
			.wait = handed->past.wait};
}

static void on_held(struct pool_runtime *runtime, const struct event *event)
{
	struct hand *hand = &runtime->hand;
	mtime now = runtime->world->now;

	sim_trace("supervisor %u: pool %u is active, %s, %u deaths", runtime->supervisor->number,
		runtime->channel, event->token.is_orderly ? "in order" : "after a delay",
		event->token.deaths);
	mark(event->token.is_orderly ? TAKEOVER_ORDERLY : TAKEOVER_DELAYED);
	if (event->token.deaths >= CAREFUL_DEATHS)
		mark(TAKEOVER_CAREFUL);
	hand->is_standby = false;
	runtime->world->order.holder = runtime;
	if (!event->token.is_orderly)
		hand->held_until = now + event->token.delay;
	if (event->token.deaths >= CAREFUL_DEATHS)
		hand->careful_until = now + CAREFUL_SPAN;
	hand->named = (struct naming_seen){0};
	for (size_t i = 0; i < event->token.handed_count; i++)
		inherit(runtime, &event->token.handed[i]);
}

void order_takeover_event(struct pool_runtime *runtime, const struct event *event)
{
	if (event->kind == TOKEN_HELD)
		on_held(runtime, event);
	else if (event->kind == TOKEN_NAMED)
		runtime->hand.named.is_confirmed = true;
	else if (event->kind == TOKEN_LOST) {
		mark(TAKEOVER_LOST);
		sim_trace("supervisor %u: pool %u has lost the token", runtime->supervisor->number,
			runtime->channel);
	}
}

/* ---------- what was handed over ---------- */

void order_takeover_arrives(
	struct pool_runtime *runtime, uint32_t id, const struct delivery *delivery)
{
	struct hand *hand = &runtime->hand;
	struct held *held = &hand->held[id];
	const struct ordered *message = ordered_at(runtime, id);
	struct heritage *at = &hand->heritage[message->key][message->is_high], heritage = *at;

	held->is_redelivered = delivery->redelivered;
	at->is_there = false;
	if (!heritage.is_there || !delivery->redelivered)
		return;
	held->is_poison = heritage.is_poison;
	if (heritage.is_poison) {
		mark(TAKEOVER_POISON);
		return;
	}
	held->failures = heritage.failures;
	held->has_rest = heritage.has_rest;
	if (heritage.has_rest)
		mark(TAKEOVER_REST);
	if (!heritage.is_later)
		return;
	mark(heritage.is_blocked ? TAKEOVER_BLOCKED : TAKEOVER_PARKED);
	held->is_front = true;
	held->is_refused = heritage.is_refused;
	held->is_postponed = heritage.is_postponed;
	held->state = heritage.is_blocked ? HAND_BLOCKED : HAND_PARKED;
	held->due = runtime->world->now + heritage.wait;
}

void order_takeover_forget(struct hand *hand)
{
	memset(hand->heritage, 0, sizeof hand->heritage);
}

bool order_takeover_awaits(const struct hand *hand, uint8_t key)
{
	return hand->heritage[key][false].is_there || hand->heritage[key][true].is_there;
}

/* ---------- what is sent ---------- */

bool order_takeover_holds(const struct pool_runtime *runtime, const struct held *held)
{
	bool holds = held->is_redelivered && runtime->world->now < runtime->hand.held_until;

	if (holds)
		mark(TAKEOVER_HELD);
	return holds;
}

/* The first message in hand of a lane that is meant; 0: none. */
static uint32_t find_first(const struct pool_runtime *runtime, uint8_t key, bool is_high,
	bool (*is_meant)(const struct held *))
{
	const struct hand *hand = &runtime->hand;

	for (uint32_t i = 0; i < hand->count; i++) {
		const struct ordered *message = ordered_at(runtime, hand->ids[i]);

		if (message->key == key && message->is_high == is_high &&
			is_meant(&hand->held[hand->ids[i]]))
			return hand->ids[i];
	}
	return 0;
}

static bool is_to_end(const struct held *held)
{
	return held->state != HAND_NONE && held->state != HAND_ENDED;
}

/* What comes back stands before all else of its lane; what came back to us behind a message that we
 * were the first to get was never with a former holder. */
static bool holds_lane(const struct pool_runtime *runtime, uint8_t key, bool is_high)
{
	uint32_t first = find_first(runtime, key, is_high, is_to_end);

	return first && order_takeover_holds(runtime, &runtime->hand.held[first]);
}

bool order_takeover_holds_session(const struct pool_runtime *runtime, uint8_t key)
{
	return holds_lane(runtime, key, false) || holds_lane(runtime, key, true);
}

static bool is_another_redelivered_at_work(const struct pool_runtime *runtime, uint32_t id)
{
	const struct hand *hand = &runtime->hand;

	for (uint32_t i = 0; i < hand->count; i++) {
		const struct held *held = &hand->held[hand->ids[i]];

		if (hand->ids[i] != id && held->state == HAND_RUNNING && held->is_redelivered &&
			held->is_named)
			return true;
	}
	return false;
}

static bool is_unacked(const struct held *held)
{
	return held->state != HAND_NONE;
}

/* After several deaths in a row: what may have been the cause is named before it runs. */
static void check_named(const struct pool_runtime *runtime, uint32_t id)
{
	const struct naming_seen *named = &runtime->hand.named;
	const struct ordered *message = ordered_at(runtime, id);
	uint32_t first = find_first(runtime, message->key, message->is_high, is_unacked);

	sim_require(named->is_confirmed && named->key == message->key &&
			    named->is_high == message->is_high,
		"message %u is sent, and the token does not name it", id);
	sim_require(!is_another_redelivered_at_work(runtime, id),
		"message %u runs beside another one that may end the supervisor", id);
	sim_require(first == id,
		"message %u is named, and after a death its name would be found for message %u", id,
		first);
}

void order_takeover_sent(struct pool_runtime *runtime, uint32_t id)
{
	struct hand *hand = &runtime->hand;
	struct held *held = &hand->held[id];

	sim_require(!hand->is_standby, "message %u is sent without a token", id);
	sim_require(!order_takeover_holds(runtime, held) &&
			    !order_takeover_holds_session(runtime, ordered_at(runtime, id)->key),
		"message %u is sent %lld us before a former holder has certainly ended", id,
		(long long)(hand->held_until - runtime->world->now));
	held->is_named = held->is_redelivered && runtime->world->now < hand->careful_until;
	if (held->is_named) {
		mark(TAKEOVER_NAMED);
		check_named(runtime, id);
	}
}

void order_takeover_names(struct pool_runtime *runtime, const struct session_handover *handover)
{
	struct naming_seen *named = &runtime->hand.named;

	*named = (struct naming_seen){0};
	if (handover)
		*named = (struct naming_seen){
			.key = key_of(runtime, handover->key), .is_high = handover->past.is_high};
}

/* The pool knows that no worker can get it; of one that is too large it is told as it is sent. */
static bool is_known_as_unfit(const struct pool_runtime *runtime, uint32_t id)
{
	return runtime->hand.held[id].is_poison ||
	       runtime->world->account.message[id].temper == TEMPER_INVALID;
}

bool order_takeover_is_first(const struct pool_runtime *runtime, uint32_t id)
{
	const struct ordered *message = ordered_at(runtime, id);

	return find_first(runtime, message->key, message->is_high, is_unacked) == id;
}

/* It waits until the token names it. */
bool order_takeover_awaits_name(const struct pool_runtime *runtime, uint32_t id)
{
	const struct hand *hand = &runtime->hand;
	const struct naming_seen *named = &hand->named;
	const struct ordered *message = ordered_at(runtime, id);

	if (runtime->world->now >= hand->careful_until || !hand->held[id].is_redelivered ||
		is_known_as_unfit(runtime, id))
		return false;
	return !named->is_confirmed || named->key != message->key ||
	       named->is_high != message->is_high || is_another_redelivered_at_work(runtime, id) ||
	       !order_takeover_is_first(runtime, id);
}

bool order_takeover_has_named(const struct pool_runtime *runtime)
{
	return !runtime->hand.is_standby && runtime->hand.named.is_confirmed;
}

/* A name that stays would be found for a message that has done nothing. */
void order_takeover_check(const struct pool_runtime *runtime)
{
	const struct naming_seen *named = &runtime->hand.named;

	sim_require(!named->key || runtime->hand.is_standby ||
			    find_first(runtime, named->key, named->is_high, is_to_end),
		"the token names a message of session %u, and none is in hand", named->key);
}

/* ---------- what is passed on ---------- */

static bool has_past(const struct held *held)
{
	return held->state == HAND_PARKED || held->state == HAND_BLOCKED ||
	       (held->state == HAND_WAITING && (held->has_rest || held->is_poison));
}

/* That it may have ended its worker need not be known. */
static bool must_pass(const struct held *held)
{
	return held->state == HAND_BLOCKED || held->has_rest || held->failures > 0 ||
	       held->is_poison;
}

static void check_passed(
	const struct pool_runtime *runtime, const struct session_handover *handover, uint32_t id)
{
	const struct held *held = &runtime->hand.held[id];
	mtime wait = mtime_max(held->due - runtime->world->now, 0);

	sim_require(handover->past.attempt == held->failures,
		"message %u is handed over with %u failures of %u", id, handover->past.attempt,
		held->failures);
	sim_require(handover->past.is_poison == (held->state == HAND_WAITING && held->is_poison),
		"message %u is handed over, and what its former holder died of is not", id);
	sim_require(handover->past.is_blocked == (held->state == HAND_BLOCKED) &&
			    handover->has_rest == held->has_rest,
		"message %u is handed over as another one", id);
	sim_require(held->state != HAND_PARKED || handover->past.wait == wait,
		"message %u is handed over with another wait", id);
}

/* What was handed to us and has not come back yet. */
static bool is_passed_as_found(
	const struct pool_runtime *runtime, const struct session_handover *handover, uint8_t key)
{
	const struct heritage *found = &runtime->hand.heritage[key][handover->past.is_high];

	return found->is_there && found->is_later == handover->past.is_later &&
	       found->is_blocked == handover->past.is_blocked &&
	       found->is_poison == handover->past.is_poison &&
	       found->has_rest == handover->has_rest && found->failures == handover->past.attempt &&
	       found->wait == handover->past.wait;
}

void order_takeover_passes(struct pool_runtime *runtime, const struct session_handover *handover)
{
	uint8_t key = key_of(runtime, handover->key);
	uint32_t id;

	if (pool_is_forced(&runtime->pool->context)) /* what still ran goes back as it was */
		return;
	if (!handover->has_message) {
		sim_require(
			runtime->hand.is_paused[key], "session %u is handed over as paused", key);
		runtime->hand.passed++;
		return;
	}
	id = find_first(runtime, key, handover->past.is_high, has_past);
	if (!id && is_passed_as_found(runtime, handover, key)) {
		runtime->hand.passed++;
		return;
	}
	sim_require(id, "session %u is handed over with a past that it does not have", key);
	check_passed(runtime, handover, id);
	runtime->hand.passed += must_pass(&runtime->hand.held[id]);
}

static bool has_to_pass(const struct pool_runtime *runtime, uint8_t key, bool is_high)
{
	uint32_t id = find_first(runtime, key, is_high, has_past);

	if (runtime->hand.heritage[key][is_high].is_there)
		return true;
	return id && must_pass(&runtime->hand.held[id]);
}

/* Nothing is left out. */
void order_takeover_closes(const struct pool_runtime *runtime)
{
	const struct hand *hand = &runtime->hand;
	uint32_t expected = 0;

	for (uint8_t key = 1; key <= runtime->world->order.keys; key++)
		expected += hand->is_paused[key] + has_to_pass(runtime, key, false) +
			    has_to_pass(runtime, key, true);
	sim_require(
		hand->passed == expected, "%u of %u facts are handed over", hand->passed, expected);
}
