#include "unit/support/core/throttled.h"

#include <stdlib.h>
#include <string.h>

struct throttle *throttle;

void throttled_set_up(void)
{
	throttle = throttled_new(2);
}

void throttled_tear_down(void)
{
	throttle_free(throttle);
}

struct throttle *throttled_new(uint32_t limit)
{
	struct throttle_figures figures = {
		.limit = limit, .period = THROTTLED_PERIOD, .max_keys = 100};
	struct throttle *made = throttle_new(&figures, 1);
	ck_assert_ptr_nonnull(made);
	return made;
}

void throttled_set(struct throttle *of, uint32_t limit, mtime period)
{
	struct throttle_figures figures = {.limit = limit, .period = period, .max_keys = 100};
	throttle_configure(of, &figures);
}

void throttled_add(
	struct pool_config *config, struct throttle *of, bool has_key, enum throttle_excess excess)
{
	static const char *const names[PASSES_MAX] = {"t0", "t1", "t2", "t3"};
	uint8_t number = config->throttle_count++;
	config->throttles[number] = (struct pool_throttle){
		.throttle = of, .name = names[number], .has_key = has_key, .excess = excess};
}

struct pool_config throttled_config(uint16_t workers, struct throttle *of, bool has_key)
{
	struct pool_config config = rig_config(workers, 1);
	config.hard_limit = MTIME_NEVER;
	throttled_add(&config, of, has_key, THROTTLE_DELAY);
	return config;
}

static struct delivery *parse(const char *word, size_t len, uint64_t tag)
{
	struct delivery *delivery = rig_delivery(tag);
	const char *attempt = memchr(word, '/', len);
	size_t keys = strcspn(word, "/!~ ");
	for (size_t i = 0; i < keys && i < PASSES_MAX; i++)
		if (word[i] != '-')
			delivery->throttle_keys[i] = (uint64_t)word[i];
	delivery->attempt = attempt ? (uint16_t)strtoul(attempt + 1, NULL, 10) : 0;
	if (memchr(word, '!', len)) {
		delivery->redelivered = true;
		delivery->renewed = SETTLE_ALONE_AT;
	}
	if (memchr(word, '~', len))
		delivery->reply_to = TEXT_NONE;
	return delivery;
}

void throttled_deliver_only(struct rig *rig, const char *messages)
{
	for (const char *word = messages; *word; word += strspn(word, " ")) {
		size_t len = strcspn(word, " ");
		rig_deliver_this(rig, parse(word, len, ++rig->last_tag));
		word += len;
	}
}

void throttled_deliver(struct rig *rig, const char *messages)
{
	throttled_deliver_only(rig, messages);
	rig_turn(rig);
}

void throttled_answer(struct rig *rig, uint16_t slot, const char *done)
{
	rig_answer(rig, slot, STATUS_DONE);
	rig_turn(rig);
	rig_expect(rig, done);
}

void throttled_wait(struct rig *rig, mtime span, const char *done)
{
	rig_wait(rig, span);
	rig_expect(rig, done);
}

void throttled_expect(const struct rig *rig, uint32_t count, const char *by)
{
	struct pool_facts facts = pool_facts(rig->pool);
	ck_assert_uint_eq(facts.throttled, count);
	if (by)
		ck_assert_str_eq(facts.throttled_by, by);
	else
		ck_assert_ptr_null(facts.throttled_by);
	ck_assert_int_eq(by == NULL, facts.throttled_since == MTIME_NEVER);
}
