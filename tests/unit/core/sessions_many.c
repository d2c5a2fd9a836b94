/* Sessions as a hostile publisher makes them: a million messages for one key, 100,000 keys. The
 * order holds, the others get their turn, and no more is remembered than the limits allow. */
#include "core/pool_facts.h"
#include "unit/support/core/keyed.h"

#include <stdio.h>

#define FLOOD   1000000
#define KEYS    100000
#define WINDOW  200
#define QUANTUM 10
#define WORKERS 4
#define OTHERS  3

struct place {
	uint32_t key, number; /* of the lane */
	bool is_high;
};

struct lane_order {
	uint32_t posted, begun;
};

/* A pool with a full window: each task that ends makes room for another message. */
struct flood {
	struct rig rig;
	struct place *places;         /* by tag, owned */
	struct lane_order (*keys)[2]; /* owned */
	struct place running[WORKERS];
	bool is_running[WORKERS];
	uint64_t begun, ended;
	uint32_t remembered_max;
};

static void flood_init(struct flood *flood, struct pool_config config, uint32_t keys, uint64_t tags)
{
	*flood = (struct flood){.places = calloc(tags + 1, sizeof *flood->places),
		.keys = calloc(keys, sizeof *flood->keys)};
	ck_assert(flood->places && flood->keys);
	config.session.quantum = QUANTUM;
	config.prefetch = WINDOW;
	rig_start(&flood->rig, config);
	flood->rig.is_unaudited = true;
}

static void flood_release(struct flood *flood)
{
	rig_wait(&flood->rig, MTIME_SECOND); /* the last acks */
	ck_assert_uint_eq(flood->ended, flood->rig.last_tag);
	ck_assert_uint_eq(pool_unacked(flood->rig.pool).count, 0);
	if (pool_session_counts(flood->rig.pool).remembered <= 1000)
		pool_audit(flood->rig.pool);
	rig_end(&flood->rig);
	free(flood->places);
	free(flood->keys);
}

/* check writes to a file at each of its own assertions, which is slow in millions. */
static void must(bool is_so, const char *what)
{
	if (!is_so)
		ck_abort_msg("%s", what);
}

static void post(struct flood *flood, uint32_t key, bool is_high)
{
	char word[32];
	snprintf(word, sizeof word, "k%u%s", key, is_high ? "!" : "");
	keyed_deliver_only(&flood->rig, word);
	flood->places[flood->rig.last_tag] =
		(struct place){key, flood->keys[key][is_high].posted++, is_high};
}

static void begin(struct flood *flood, unsigned slot, uint64_t tag)
{
	const struct place *place = &flood->places[tag];
	struct lane_order *lane = &flood->keys[place->key][place->is_high];
	for (unsigned other = 0; other < WORKERS; other++)
		must(!flood->is_running[other] || flood->running[other].key != place->key,
			"two tasks of a session run");
	must(place->number == lane->begun++, "a task is out of order");
	flood->running[slot] = *place;
	flood->is_running[slot] = true;
	flood->begun++;
}

/* Read what the turn has sent. */
static void begin_sent(struct flood *flood)
{
	unsigned slot;
	unsigned long tag;
	for (const char *at = flood->rig.done; (at = strstr(at, "send ")); at++) {
		must(sscanf(at, "send %u:%lu", &slot, &tag) == 2, at);
		begin(flood, slot, tag);
	}
	rig_forget(&flood->rig);
}

/* The worker's task is done; false: it has none. */
static bool finish(struct flood *flood, uint16_t slot, struct place *ret)
{
	if (!flood->is_running[slot])
		return false;
	*ret = flood->running[slot];
	flood->is_running[slot] = false;
	flood->ended++;
	rig_answer(&flood->rig, slot, 200);
	return true;
}

static void end_turn(struct flood *flood)
{
	flood->rig.now += MTIME_MS;
	rig_turn(&flood->rig);
	begin_sent(flood);
	struct session_counts counts = pool_session_counts(flood->rig.pool);
	if (counts.remembered > flood->remembered_max)
		flood->remembered_max = counts.remembered;
}

static const struct {
	uint16_t workers;
	bool is_high;
	uint32_t messages;
} floods[] = {{1, true, FLOOD}, {1, false, FLOOD / 10}, {WORKERS, true, FLOOD / 10}};

/* The first key has the window almost for itself, with a normal message from the beginning. */
START_TEST(a_million_messages_of_one_key_let_the_others_have_their_turn)
{
	bool is_high = floods[_i].is_high;
	uint32_t messages = floods[_i].messages;
	struct flood flood;
	struct place place;
	flood_init(&flood, keyed_config(floods[_i].workers), 1 + OTHERS,
		(uint64_t)WORKERS * messages + WINDOW);
	post(&flood, 0, false);
	for (uint32_t i = 1; i < WINDOW; i++)
		post(&flood, i <= OTHERS ? i : 0, i > OTHERS && is_high);
	do {
		end_turn(&flood);
		for (uint16_t slot = 0; slot < WORKERS; slot++) {
			if (!finish(&flood, slot, &place))
				continue;
			must(!is_high || place.key > 0 || place.is_high ||
					flood.keys[0][true].begun == messages,
				"a normal message went before a high one");
			if (flood.keys[0][is_high].posted < messages)
				post(&flood, place.key, place.key == 0 && is_high);
		}
	} while (flood.ended < flood.rig.last_tag);
	ck_assert_uint_eq(flood.keys[0][is_high].begun, messages);
	ck_assert_uint_eq(flood.remembered_max, 1 + OTHERS);
	for (uint32_t other = 1; other <= OTHERS; other++)
		ck_assert_uint_ge(flood.keys[other][false].begun, messages / QUANTUM - WINDOW);
	flood_release(&flood);
}
END_TEST

/* All remembered while they are idle, or ended as soon as they are empty. */
static const struct {
	mtime idle;
	uint32_t max_sessions, remembered;
} memories[] = {{60 * MTIME_MINUTE, KEYS, KEYS}, {60 * MTIME_MINUTE, 1000, 1000}, {0, KEYS, WINDOW},
	{60 * MTIME_MINUTE, 10, WINDOW}};

/* Each key has two messages, half of a window apart. */
START_TEST(a_hundred_thousand_keys_have_their_turn)
{
	struct pool_config config = keyed_config(WORKERS);
	struct flood flood;
	struct place place;
	config.session.idle = memories[_i].idle;
	config.session.max_sessions = memories[_i].max_sessions;
	flood_init(&flood, config, KEYS, 2 * KEYS);
	for (uint32_t key = 0; key < KEYS || flood.ended < flood.rig.last_tag;) {
		for (; key < KEYS && flood.rig.last_tag < flood.ended + WINDOW - 2; key++) {
			post(&flood, key, false);
			if (key >= WINDOW / 2)
				post(&flood, key - WINDOW / 2, false);
		}
		end_turn(&flood);
		for (uint16_t slot = 0; slot < WORKERS; slot++)
			finish(&flood, slot, &place);
	}
	end_turn(&flood);
	ck_assert_uint_eq(flood.begun, 2 * KEYS - WINDOW / 2);
	ck_assert_uint_le(flood.remembered_max, memories[_i].remembered);
	ck_assert_uint_ge(pool_session_counts(flood.rig.pool).remembered,
		memories[_i].idle ? memories[_i].max_sessions : 0);
	flood_release(&flood);
}
END_TEST

static Suite *many_suite(void)
{
	Suite *suite = suite_create("core/sessions_many");
	TCase *flood = tcase_create("flood"), *keys = tcase_create("keys");
	tcase_add_loop_test(flood, a_million_messages_of_one_key_let_the_others_have_their_turn, 0,
		sizeof floods / sizeof *floods);
	tcase_set_timeout(flood, 600); /* under valgrind */
	suite_add_tcase(suite, flood);
	tcase_add_loop_test(keys, a_hundred_thousand_keys_have_their_turn, 0,
		sizeof memories / sizeof *memories);
	tcase_set_timeout(keys, 600);
	suite_add_tcase(suite, keys);
	return suite;
}

UNIT_MAIN(many_suite)
