/* A walk visits each session once, while others begin and end between its steps. */
#include "control/sessions/session_walk.h"

#include "os/clock.h"
#include "unit/support/runtime/runtime_rig.h"

#include <stdio.h>

#define SESSIONS 700
#define SEEDS    20

static struct runtime_rig rig;
static struct pool_set pool_set;
static const struct supervisor_view view = {.pool_set = &pool_set};
static struct pool_runtime *runtime;
static uint32_t chance;

static uint32_t random_below(uint32_t limit)
{
	chance = chance * 1664525 + 1013904223; /* Knuth, 3.3.4 */
	return (uint32_t)((uint64_t)chance * limit >> 32);
}

static void set_up(void)
{
	struct config_pool config;

	runtime_rig_open(&rig, 1);
	config = runtime_rig_config(runtime_rig_words(unit_own_path()), 1);
	config.prefetch = 100;
	config.session.key = strdup("header:session");
	config.session.quantum.tasks = 10;
	config.session.idle = MTIME_NEVER;
	config.session.max_active = MTIME_NEVER;
	config.session.max_sessions = 100000;
	config.session.max_unacked_age = MTIME_NEVER;
	config.session.takeover_delay = MTIME_NEVER;
	runtime = pool_set_add(&pool_set, &rig.tools, &config, clock_now());
	ck_assert_ptr_nonnull(runtime);
}

static void tear_down(void)
{
	pool_set_release(&pool_set);
	runtime_rig_close(&rig);
}

static void command(enum session_verb verb, unsigned number)
{
	char key[16];

	snprintf(key, sizeof key, "%u", number);
	ck_assert_ptr_null(pool_runtime_session_command(
		runtime, verb, SESSION_KEEP, text_from(key), clock_now()));
}

/* A paused session needs no message. */
static void begin(unsigned number)
{
	command(SESSION_VERB_PAUSE, number);
}

/* Without messages it ends when it is not paused any more. */
static void end(unsigned number)
{
	command(SESSION_VERB_RESUME, number);
	pool_runtime_turn(runtime, clock_now(), throttles_now(), 0);
}

static unsigned number_of(const struct session_facts *facts)
{
	uint64_t number;

	ck_assert(text_read_decimal(facts->key, UINT32_MAX, &number));
	return (unsigned)number;
}

START_TEST(each_session_is_visited_once_while_others_end)
{
	unsigned visits[2 * SESSIONS] = {0}, latest = SESSIONS;
	bool has_ended[2 * SESSIONS] = {false};
	enum session_walk_step step;
	struct session_facts facts;
	struct session_walk walk;

	chance = (uint32_t)_i;
	for (unsigned i = 0; i < SESSIONS; i++)
		begin(i);
	ck_assert_uint_eq(pool_session_counts(runtime->pool).remembered, SESSIONS);
	ck_assert_int_eq(session_walk_init(&walk, &view, runtime, TEXT_NONE), RC_OK);
	while ((step = session_walk_next(&walk, &facts)) != SESSION_WALK_END) {
		unsigned ending = random_below(SESSIONS);
		if (step == SESSION_WALK_FOUND)
			visits[number_of(&facts)]++;
		if (random_below(3) == 0 && !has_ended[ending]) {
			end(ending);
			has_ended[ending] = true;
		}
		if (random_below(10) == 0)
			begin(latest++);
	}
	session_walk_release(&walk);
	for (unsigned i = 0; i < latest; i++) {
		ck_assert_msg(visits[i] <= 1, "seed %d: %u: %u visits", _i, i, visits[i]);
		ck_assert_msg(visits[i] == 1 || has_ended[i] || i >= SESSIONS,
			"seed %d: %u is left out", _i, i);
	}
	ck_assert_uint_lt(pool_session_counts(runtime->pool).remembered, SESSIONS);
}
END_TEST

START_TEST(only_sessions_that_match_are_found)
{
	enum session_walk_step step;
	struct session_facts facts;
	struct session_walk walk;
	unsigned found = 0;

	for (unsigned i = 0; i < SESSIONS; i++)
		begin(i);
	ck_assert_int_eq(session_walk_init(&walk, &view, runtime, TEXT("key^=69")), RC_OK);
	while ((step = session_walk_next(&walk, &facts)) != SESSION_WALK_END)
		found += step == SESSION_WALK_FOUND;
	ck_assert_uint_eq(found, 11); /* 69, 690 to 699 */
	session_walk_release(&walk);
}
END_TEST

START_TEST(a_walk_ends_with_its_pool)
{
	struct session_facts facts;
	struct session_walk walk;

	begin(1);
	ck_assert_int_eq(session_walk_init(&walk, &view, runtime, TEXT_NONE), RC_OK);
	ck_assert_ptr_eq(session_walk_pool(&walk), runtime);
	pool_set_remove(&pool_set, runtime);
	ck_assert_ptr_null(session_walk_pool(&walk));
	ck_assert_int_eq(session_walk_next(&walk, &facts), SESSION_WALK_END);
	session_walk_release(&walk);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("control/session_walk");
	TCase *walks = tcase_create("walks");

	tcase_add_checked_fixture(walks, set_up, tear_down);
	tcase_add_loop_test(walks, each_session_is_visited_once_while_others_end, 0, SEEDS);
	tcase_add_test(walks, only_sessions_that_match_are_found);
	tcase_add_test(walks, a_walk_ends_with_its_pool);
	suite_add_tcase(s, walks);
	return s;
}

int main(int argc, char **argv)
{
	return runtime_rig_run(argc, argv, suite);
}
