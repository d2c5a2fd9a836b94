/* Throttles by name: shared by pools, configured, set by an operator; the order of turns. */
#include "runtime/throttles/throttles.h"
#include "os/clock.h"
#include "unit/support/runtime/runtime_rig.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#define HOUR (60 * MTIME_MINUTE)

/* ---------- a configuration ---------- */

enum { ERP, TENANT, DEFINED };

static struct config_throttle defined[DEFINED];
static char erp[] = "erp", tenant[] = "tenant", by_tenant[] = "header:tenant",
	    by_customer[] = "header:customer";
static char *names_of_first[] = {erp, tenant, NULL}, *names_of_second[] = {tenant, NULL};
static struct config_pool pools[2] = {{.throttle = names_of_first}, {.throttle = names_of_second}};
static struct config config = {
	.throttles = defined, .throttle_count = DEFINED, .pools = pools, .pool_count = 2};
static struct throttles throttles;

static void define(void)
{
	defined[ERP] = (struct config_throttle){
		.name = erp, .limit = 100, .period = 5 * MTIME_SECOND, .max_keys = 1};
	defined[TENANT] = (struct config_throttle){.name = tenant,
		.limit = 20,
		.period = MTIME_SECOND,
		.key = by_tenant,
		.max_keys = 10,
		.when_exceeded = CONFIG_EXCEEDED_REPLY};
	ck_assert(throttles_define(&throttles, &config));
}

static void set_up(void)
{
	setenv("STATE_DIRECTORY", "/proc/wpool", 1);
	define();
}

static void tear_down(void)
{
	throttles_release(&throttles);
}

static const struct throttle_figures *figures_of(const char *name)
{
	return throttle_figures(throttles_find(&throttles, text_from(name))->throttle);
}

/* ---------- life ---------- */

START_TEST(pools_share_a_throttle_by_its_name)
{
	struct pool_config first = {.pipeline = 0}, second = {.pipeline = 5},
			   none = {.pipeline = 7};
	throttles_hold(&throttles, names_of_first, &first);
	throttles_hold(&throttles, names_of_second, &second);
	throttles_hold(&throttles, NULL, &none);
	ck_assert_uint_eq(first.throttle_count, 2);
	ck_assert_uint_eq(second.throttle_count, 1);
	ck_assert_uint_eq(none.throttle_count, 0);
	ck_assert_uint_eq(none.pipeline, 7);
	ck_assert_uint_eq(first.pipeline, 1);
	ck_assert_uint_eq(second.pipeline, 1);
	ck_assert_str_eq(first.throttles[0].name, "erp");
	ck_assert(!first.throttles[0].has_key);
	ck_assert_int_eq(first.throttles[0].excess, THROTTLE_DELAY);
	ck_assert_ptr_eq(first.throttles[1].throttle, second.throttles[0].throttle);
	ck_assert(second.throttles[0].has_key);
	ck_assert_int_eq(second.throttles[0].excess, THROTTLE_REPLY);
	struct throttle_keys keys = throttles_keys(&throttles, &first);
	ck_assert_uint_eq(keys.count, 2);
	ck_assert_ptr_eq(keys.of[1].throttle, first.throttles[1].throttle);
	ck_assert_int_eq(keys.of[0].source.kind, KEY_NONE);
	ck_assert_int_eq(keys.of[1].source.kind, KEY_HEADER);
	ck_assert(text_is(keys.of[1].source.header, TEXT("tenant")));
	ck_assert_uint_eq(figures_of("tenant")->limit, 20);
	ck_assert_uint_eq(figures_of("tenant")->max_keys, 10);

	throttles_let_go(&throttles, &second);
	ck_assert_uint_eq(throttles.count, 2);
	throttles_let_go(&throttles, &first);
	ck_assert_uint_eq(throttles.count, 0);
}
END_TEST

START_TEST(what_no_pool_uses_is_dropped)
{
	struct pool_config second = {0};
	ck_assert_uint_eq(throttles.count, 2);
	throttles_hold(&throttles, names_of_second, &second);
	throttles_drop_unused(&throttles);
	ck_assert_uint_eq(throttles.count, 1);
	ck_assert_ptr_null(throttles_find(&throttles, TEXT("erp")));
	throttles_let_go(&throttles, &second);
}
END_TEST

/* The pool that replaces another one has keys of its own. */
START_TEST(another_key_makes_another_throttle)
{
	struct pool_config before = {0}, after = {0};
	throttles_hold(&throttles, names_of_second, &before);
	defined[TENANT].key = by_customer;
	ck_assert(throttles_define(&throttles, &config));
	throttles_hold(&throttles, names_of_second, &after);
	ck_assert_ptr_ne(before.throttles[0].throttle, after.throttles[0].throttle);
	ck_assert(!throttles_is_latest(&throttles, throttles.list[1]));
	ck_assert(throttles_is_latest(&throttles, throttles.list[2]));
	throttles_let_go(&throttles, &before);
	ck_assert_str_eq(throttles_find(&throttles, TEXT("tenant"))->key, "header:customer");
	throttles_let_go(&throttles, &after);
	ck_assert_ptr_null(throttles_find(&throttles, TEXT("tenant")));
}
END_TEST

/* While the pool with the first one drains. */
START_TEST(the_first_key_again_is_the_first_throttle)
{
	struct pool_config first = {0}, second = {0}, third = {0};
	char *key = defined[TENANT].key;
	throttles_hold(&throttles, names_of_second, &first);
	defined[TENANT].key = by_customer;
	ck_assert(throttles_define(&throttles, &config));
	throttles_hold(&throttles, names_of_second, &second);
	defined[TENANT].key = key;
	ck_assert(throttles_define(&throttles, &config));
	throttles_hold(&throttles, names_of_second, &third);
	ck_assert_ptr_eq(first.throttles[0].throttle, third.throttles[0].throttle);
	ck_assert_uint_eq(throttles.count, 3);
	throttles_let_go(&throttles, &second);
	ck_assert_str_eq(throttles_find(&throttles, TEXT("tenant"))->key, key);
	throttles_let_go(&throttles, &first);
	throttles_let_go(&throttles, &third);
	ck_assert_ptr_null(throttles_find(&throttles, TEXT("tenant")));
}
END_TEST

/* Another process may have started tasks until now. */
START_TEST(at_first_nothing_starts_for_one_period)
{
	const struct named_throttle *named = throttles_find(&throttles, TEXT("erp"));
	mtime wait = throttle_wait(named->throttle, throttles_now());
	ck_assert_int_gt(wait, 4 * MTIME_SECOND);
	ck_assert_int_le(wait, 5 * MTIME_SECOND);
}
END_TEST

/* ---------- figures ---------- */

static void redefine(int64_t limit, mtime period)
{
	defined[ERP].limit = limit;
	defined[ERP].period = period;
	ck_assert(throttles_define(&throttles, &config));
	throttles_configure(&throttles);
}

static void expect_figures(uint32_t limit, mtime period)
{
	ck_assert_uint_eq(figures_of("erp")->limit, limit);
	ck_assert_int_eq(figures_of("erp")->period, period);
}

START_TEST(what_an_operator_sets_holds_until_another_figure_is_configured)
{
	struct named_throttle *named = throttles_find(&throttles, TEXT("erp"));
	ck_assert_ptr_null(throttles_set(&throttles, named, 50, 0));
	expect_figures(50, 5 * MTIME_SECOND);
	ck_assert_ptr_null(throttles_set(&throttles, named, 0, 2 * MTIME_SECOND));
	expect_figures(50, 2 * MTIME_SECOND);
	redefine(100, 5 * MTIME_SECOND);
	expect_figures(50, 2 * MTIME_SECOND);
	redefine(100, 6 * MTIME_SECOND);
	expect_figures(50, 6 * MTIME_SECOND);
	redefine(101, 6 * MTIME_SECOND);
	expect_figures(101, 6 * MTIME_SECOND);
	ck_assert_uint_eq(named->configured.limit, 101);
	defined[TENANT].max_keys = 30;
	redefine(101, 6 * MTIME_SECOND);
	ck_assert_uint_eq(figures_of("tenant")->max_keys, 30);
}
END_TEST

START_TEST(figures_that_do_not_fit_are_refused)
{
	struct named_throttle *first = throttles_find(&throttles, TEXT("erp"));
	struct named_throttle *second = throttles_find(&throttles, TEXT("tenant"));
	ck_assert_ptr_nonnull(throttles_set(&throttles, first, 1000001, 0));
	ck_assert_ptr_nonnull(throttles_set(&throttles, first, 0, MTIME_MS - 1));
	ck_assert_ptr_nonnull(throttles_set(&throttles, first, 0, 8761 * HOUR));
	expect_figures(100, 5 * MTIME_SECOND);
	ck_assert_ptr_null(throttles_set(&throttles, first, 1000000, 8760 * HOUR));
	ck_assert_ptr_null(throttles_set(&throttles, first, 0, MTIME_MS));
	/* 64 MiB are 8,388,608 starts; erp may have a million of them. */
	ck_assert_ptr_nonnull(throttles_set(&throttles, second, 738861, 0));
	ck_assert_ptr_null(throttles_set(&throttles, second, 738860, 0));
}
END_TEST

static void redefine_keys(int64_t of_tenant)
{
	defined[TENANT].max_keys = of_tenant;
	ck_assert(throttles_define(&throttles, &config));
	throttles_configure(&throttles);
}

/* 64 MiB are 8,388,608 starts. */
START_TEST(a_reload_gives_up_a_limit_that_does_not_fit_any_more)
{
	struct named_throttle *first = throttles_find(&throttles, TEXT("erp"));
	struct named_throttle *second = throttles_find(&throttles, TEXT("tenant"));
	ck_assert_ptr_null(throttles_set(&throttles, first, 388608, 0));
	ck_assert_ptr_null(throttles_set(&throttles, second, 400000, 0));
	redefine_keys(20);
	ck_assert_uint_eq(figures_of("tenant")->limit, 400000);
	ck_assert_uint_eq(figures_of("erp")->limit, 388608);
	defined[TENANT].limit = 8000;
	redefine_keys(1000);
	ck_assert_uint_eq(figures_of("tenant")->limit, 8000);
	ck_assert_uint_eq(figures_of("tenant")->max_keys, 1000);
	ck_assert_uint_eq(figures_of("erp")->limit, 388608);
	redefine_keys(1001); /* another one's is too large now */
	ck_assert_uint_eq(figures_of("tenant")->limit, 8000);
	expect_figures(100, 5 * MTIME_SECOND);
}
END_TEST

START_TEST(a_reload_gives_up_the_limit_of_more_keys)
{
	struct named_throttle *named = throttles_find(&throttles, TEXT("tenant"));
	ck_assert_ptr_null(throttles_set(&throttles, named, 800000, 2 * MTIME_SECOND));
	redefine_keys(11);
	ck_assert_uint_eq(figures_of("tenant")->limit, 20);
	ck_assert_uint_eq(figures_of("tenant")->max_keys, 11);
	ck_assert_int_eq(figures_of("tenant")->period, 2 * MTIME_SECOND);
}
END_TEST

/* ---------- a restart ---------- */

static char state[] = "/tmp/wpool-unit-XXXXXX";

static void set_up_state(void)
{
	ck_assert_ptr_nonnull(mkdtemp(state));
	setenv("STATE_DIRECTORY", state, 1);
	define();
}

static const char *file_of(const char *name)
{
	static char path[PATH_MAX];
	snprintf(path, sizeof path, "%s/throttle-erp.%s", state, name);
	return path;
}

static int each_file(bool is_removed)
{
	DIR *folder = opendir(state);
	const struct dirent *entry;
	int count = 0;
	while ((entry = readdir(folder))) {
		count += entry->d_name[0] != '.';
		if (is_removed)
			unlinkat(dirfd(folder), entry->d_name, 0);
	}
	closedir(folder);
	return count;
}

static void tear_down_state(void)
{
	tear_down();
	(void)each_file(true);
	ck_assert_int_eq(rmdir(state), 0);
}

static int count_files(void)
{
	return each_file(false);
}

static void restart(mtime period)
{
	throttles_release(&throttles);
	defined[ERP].period = period;
	ck_assert(throttles_define(&throttles, &config));
}

static mtime wait_at(mtime now)
{
	return throttle_wait(throttles_find(&throttles, TEXT("erp"))->throttle, now);
}

static mtime wait_now(void)
{
	return wait_at(throttles_now());
}

/* By one look at the clock. */
static mtime wait_ends_at(void)
{
	mtime now = throttles_now();
	return now + wait_at(now);
}

/* Less the time that a busy machine takes for the test. */
static void expect_wait(mtime wait)
{
	ck_assert_int_le(wait_now(), wait);
	ck_assert_int_gt(wait_now(), wait - 4 * MTIME_SECOND);
}

START_TEST(a_long_period_is_recorded)
{
	ck_assert_int_ne(access(file_of("0"), F_OK), 0);
	restart(HOUR);
	ck_assert_int_eq(access(file_of("0"), F_OK), 0);
	expect_wait(THROTTLES_WAIT);
	mtime first = wait_ends_at();
	restart(HOUR);
	expect_wait(THROTTLES_WAIT); /* no longer than the first one */
	ck_assert_int_le(wait_ends_at(), first);
}
END_TEST

START_TEST(a_damaged_record_is_one_period)
{
	restart(HOUR);
	throttles_release(&throttles);
	ck_assert_int_eq(truncate(file_of("0"), 70), 0);
	restart(HOUR);
	expect_wait(HOUR);
	ck_assert_int_eq(access(file_of("0.damaged"), F_OK), 0);
	restart(HOUR);
	expect_wait(HOUR);
}
END_TEST

START_TEST(without_a_folder_it_waits_all_the_same)
{
	setenv("STATE_DIRECTORY", "/proc/wpool", 1);
	restart(HOUR);
	expect_wait(THROTTLES_WAIT);
	ck_assert_ptr_null(throttles_find(&throttles, TEXT("erp"))->log);
	throttles_save(&throttles, throttles_now());
	throttles_end_turn(&throttles, throttles_now());
}
END_TEST

/* What was started before the record began is not in it. */
START_TEST(a_period_that_becomes_long_is_recorded_from_then_on)
{
	struct named_throttle *named = throttles_find(&throttles, TEXT("erp"));
	ck_assert_ptr_null(throttles_set(&throttles, named, 0, HOUR));
	ck_assert_int_eq(access(file_of("0"), F_OK), 0);
	restart(HOUR);
	expect_wait(HOUR);
	named = throttles_find(&throttles, TEXT("erp"));
	ck_assert_ptr_null(throttles_set(&throttles, named, 0, MTIME_SECOND));
	ck_assert_ptr_null(named->log);
	ck_assert_int_ne(access(file_of("0"), F_OK), 0);
}
END_TEST

/* ---------- records with a gap ---------- */

/* By a process that ends then. */
static void record(void)
{
	restart(HOUR);
	expect_wait(THROTTLES_WAIT);
	throttles_release(&throttles);
	ck_assert_int_eq(access(file_of("0"), F_OK), 0);
}

START_TEST(a_short_period_ends_a_record)
{
	record();
	restart(10 * MTIME_SECOND);
	ck_assert_int_ne(access(file_of("0"), F_OK), 0);
	ck_assert_int_ne(access(file_of("1"), F_OK), 0);
	restart(HOUR);
	expect_wait(THROTTLES_WAIT);
}
END_TEST

START_TEST(another_key_ends_a_record)
{
	record();
	defined[ERP].key = by_tenant;
	restart(HOUR);
	ck_assert_int_ne(access(file_of("0"), F_OK), 0);
	ck_assert_int_ne(access(file_of("1"), F_OK), 0);
	defined[ERP].key = NULL;
	restart(HOUR);
	expect_wait(THROTTLES_WAIT);
	ck_assert_int_eq(count_files(), 2);
}
END_TEST

/* The first one can be opened, and is not locked any more. */
START_TEST(what_cannot_be_opened_ends_a_record)
{
	record();
	ck_assert_int_eq(unlink(file_of("1")), 0);
	ck_assert_int_eq(mkdir(file_of("1"), 0700), 0);
	restart(HOUR);
	ck_assert_int_ne(access(file_of("0"), F_OK), 0);
	throttles_release(&throttles);
	ck_assert_int_eq(rmdir(file_of("1")), 0);
	restart(HOUR);
	expect_wait(THROTTLES_WAIT);
}
END_TEST

/* Until the pool with the one before is gone, both are recorded. */
START_TEST(another_key_in_a_reload_ends_a_record)
{
	struct pool_config before = {0}, after = {0};
	char *names[] = {erp, NULL};
	restart(HOUR);
	throttles_hold(&throttles, names, &before);
	defined[ERP].key = by_tenant;
	ck_assert(throttles_define(&throttles, &config));
	throttles_hold(&throttles, names, &after);
	ck_assert_int_eq(count_files(), 4);
	throttles_let_go(&throttles, &before);
	ck_assert_int_eq(count_files(), 2);
	ck_assert_int_ne(access(file_of("0"), F_OK), 0);
	throttles_let_go(&throttles, &after);
	ck_assert_int_eq(count_files(), 2); /* nothing is started without a pool */
}
END_TEST

/* Also one that begins with the same letters. */
START_TEST(what_others_record_stays)
{
	static const char *const others[] = {"throttle-erp2.0", "throttle-erp.0.damaged",
		"throttle-er.0", "throttle-erp-5f2e8d0c.0", "throttle-erp.0.0", "throttle-erp.2"};
	char path[PATH_MAX];
	record();
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		snprintf(path, sizeof path, "%s/%s", state, others[i]);
		close(open(path, O_CREAT | O_WRONLY, 0600));
	}
	int fd = open(file_of("0"), O_RDONLY);
	ck_assert_int_eq(flock(fd, LOCK_EX | LOCK_NB), 0); /* as another process does */
	restart(MTIME_SECOND);
	ck_assert_int_eq(count_files(), 2 + (int)(sizeof others / sizeof *others));
	close(fd);
	restart(MTIME_SECOND);
	ck_assert_int_eq(count_files(), (int)(sizeof others / sizeof *others));
}
END_TEST

/* ---------- turns ---------- */

static struct runtime_rig rig;
static struct pool_set pool_set;

static void set_up_pools(void)
{
	set_up();
	defined[ERP].period = MTIME_MS;
	ck_assert(throttles_define(&throttles, &config));
	throttles_configure(&throttles);
	runtime_rig_open(&rig, 1);
	rig.tools.throttles = &throttles;
}

static void tear_down_pools(void)
{
	pool_set_release(&pool_set);
	runtime_rig_close(&rig);
	tear_down();
}

static struct pool_runtime *add_pool(const char *name, const char *throttle)
{
	struct config_pool pool = runtime_rig_config(runtime_rig_words(unit_own_path()), 1);
	free(pool.name);
	pool.name = strdup(name);
	if (throttle) {
		pool.throttle = calloc(2, sizeof *pool.throttle);
		pool.throttle[0] = strdup(throttle);
	}
	struct pool_runtime *runtime = pool_set_add(&pool_set, &rig.tools, &pool, clock_now());
	ck_assert_ptr_nonnull(runtime);
	return runtime;
}

static void turn(void)
{
	pool_set_turn(&pool_set, &throttles, clock_now(), 0);
}

static const char *turn_of(int place)
{
	const struct link *link = &pool_set.turns;
	while (place-- >= 0)
		link = link->next;
	return CONTAINER_OF(link, struct pool_runtime, turn)->config.name;
}

static void expect_order(const char *first, const char *second, const char *third)
{
	ck_assert_str_eq(turn_of(0), first);
	ck_assert_str_eq(turn_of(1), second);
	ck_assert_str_eq(turn_of(2), third);
}

START_TEST(who_has_used_a_throttle_is_the_last_to_use_it_again)
{
	struct pool_runtime *a = add_pool("a", "erp"), *b = add_pool("b", "erp"),
			    *c = add_pool("c", NULL);
	turn();
	expect_order("a", "b", "c");
	a->has_used_throttle = true;
	turn();
	expect_order("b", "c", "a");
	turn();
	expect_order("b", "c", "a");
	b->has_used_throttle = a->has_used_throttle = true;
	turn();
	expect_order("c", "b", "a");
	pool_set_remove(&pool_set, c);
	ck_assert_str_eq(turn_of(0), "b");
	ck_assert_uint_eq(throttles_find(&throttles, TEXT("erp"))->pools, 2);
	pool_set_remove(&pool_set, a);
	ck_assert_uint_eq(throttles_find(&throttles, TEXT("erp"))->pools, 1);
	ck_assert_str_eq(turn_of(0), "b");
}
END_TEST

static Suite *throttles_suite(void)
{
	Suite *suite = suite_create("runtime/throttles");
	TCase *tcase = tcase_create("by name");
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, pools_share_a_throttle_by_its_name);
	tcase_add_test(tcase, what_no_pool_uses_is_dropped);
	tcase_add_test(tcase, another_key_makes_another_throttle);
	tcase_add_test(tcase, the_first_key_again_is_the_first_throttle);
	tcase_add_test(tcase, at_first_nothing_starts_for_one_period);
	tcase_add_test(tcase, what_an_operator_sets_holds_until_another_figure_is_configured);
	tcase_add_test(tcase, figures_that_do_not_fit_are_refused);
	tcase_add_test(tcase, a_reload_gives_up_a_limit_that_does_not_fit_any_more);
	tcase_add_test(tcase, a_reload_gives_up_the_limit_of_more_keys);
	suite_add_tcase(suite, tcase);
	tcase = tcase_create("a restart");
	tcase_add_checked_fixture(tcase, set_up_state, tear_down_state);
	tcase_add_test(tcase, a_long_period_is_recorded);
	tcase_add_test(tcase, a_damaged_record_is_one_period);
	tcase_add_test(tcase, without_a_folder_it_waits_all_the_same);
	tcase_add_test(tcase, a_period_that_becomes_long_is_recorded_from_then_on);
	suite_add_tcase(suite, tcase);
	tcase = tcase_create("records with a gap");
	tcase_add_checked_fixture(tcase, set_up_state, tear_down_state);
	tcase_add_test(tcase, a_short_period_ends_a_record);
	tcase_add_test(tcase, another_key_ends_a_record);
	tcase_add_test(tcase, what_cannot_be_opened_ends_a_record);
	tcase_add_test(tcase, another_key_in_a_reload_ends_a_record);
	tcase_add_test(tcase, what_others_record_stays);
	suite_add_tcase(suite, tcase);
	tcase = tcase_create("turns");
	tcase_add_checked_fixture(tcase, set_up_pools, tear_down_pools);
	tcase_add_test(tcase, who_has_used_a_throttle_is_the_last_to_use_it_again);
	suite_add_tcase(suite, tcase);
	return suite;
}

int main(int argc, char **argv)
{
	return runtime_rig_run(argc, argv, throttles_suite);
}
