#include "unit/support/core/keyed.h"

#include <stdio.h>
#include <stdlib.h>

struct pool_config keyed_config(uint16_t workers)
{
	struct pool_config config = rig_config(workers, 1);
	config.session = (struct session_config){.is_on = true,
		.quantum = 10,
		.max_sessions = 1000,
		.max_unacked_age = MTIME_NEVER,
		.takeover_delay = MTIME_NEVER,
		.is_return_free = true};
	return config;
}

/* Key and number are in the delivery's own bytes. */
struct delivery *keyed_parse(const char *word, uint64_t tag)
{
	size_t len = strcspn(word, " ");
	struct delivery *delivery = delivery_new(64);
	if (!delivery)
		ck_abort_msg("out of memory");
	size_t key = strcspn(word, "!=+@ ");
	const char *throttled = memchr(word, '@', len);
	const char *number = memchr(word, '=', len);
	delivery->tag = tag;
	delivery->reply_to = TEXT("caller");
	memcpy(delivery->bytes, word, key);
	if (throttled)
		delivery->throttle_keys[0] = (uint64_t)throttled[1];
	else if (word[0] != '-')
		delivery->throttle_keys[0] = (uint64_t)word[0];
	if (word[0] != '-')
		delivery->key = text_of(delivery->bytes, key);
	delivery->is_high = memchr(word, '!', len);
	delivery->redelivered = memchr(word, '+', len);
	char *id = (char *)delivery->bytes + 32;
	int size = snprintf(id, 32, "%lu", number ? strtoul(number + 1, NULL, 10) : tag);
	delivery->body = text_of(id, (size_t)size);
	return delivery;
}

void keyed_deliver_only(struct rig *rig, const char *messages)
{
	for (const char *word = messages; *word; word += strspn(word, " ")) {
		size_t len = strcspn(word, " ");
		rig_deliver_this(rig, keyed_parse(word, ++rig->last_tag));
		word += len;
	}
}

void keyed_deliver(struct rig *rig, const char *messages)
{
	keyed_deliver_only(rig, messages);
	rig_turn(rig);
}

void keyed_lose_channel(struct rig *rig)
{
	rig_source_fact(rig, SOURCE_DOWN);
	rig_turn(rig);
	rig_source_up(rig);
	rig->last_tag = 0;
	rig_turn(rig);
}

void keyed_answer(struct rig *rig, uint16_t slot, int32_t status, const char *done)
{
	rig_answer(rig, slot, status);
	rig_turn(rig);
	rig_expect(rig, done);
}

bool keyed_exists(const struct rig *rig, const char *key)
{
	struct session_facts facts;
	return pool_session_find(rig->pool, text_from(key), &facts);
}

void keyed_next_worker(struct rig *rig)
{
	rig_wait(rig, 3 * MTIME_SECOND);
	rig_ready(rig, 0, 2);
	rig_forget(rig);
	rig_turn(rig);
}

enum session_state keyed_state(const struct rig *rig, const char *key)
{
	struct session_facts facts;
	ck_assert(pool_session_find(rig->pool, text_from(key), &facts));
	return facts.state;
}

static void order(
	struct rig *rig, enum session_verb verb, enum session_queued queued, const char *key)
{
	rig->what = NULL;
	rig_step(rig, (struct event){.kind = SESSION_COMMAND,
			      .session = {.verb = verb, .queued = queued, .key = text_from(key)}});
}

void keyed_order(
	struct rig *rig, enum session_verb verb, enum session_queued queued, const char *key)
{
	order(rig, verb, queued, key);
	ck_assert_msg(!rig->what, "refused: %s", rig->what);
	rig_turn(rig);
}

void keyed_order_refused(struct rig *rig, enum session_verb verb, const char *key, const char *why)
{
	order(rig, verb, SESSION_DEAD_LETTER, key);
	ck_assert_str_eq(rig->what, why);
}
