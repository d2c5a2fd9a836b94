/* Throttles with scope: cluster at two supervisors, whose requests and answers this test hands
 * over: their keys, their figures, who leads, and what health says of it. */
#include "config/url/url.h"
#include "core/throttle/member.h"
#include "os/clock.h"
#include "runtime/health.h"
#include "runtime/throttles/throttles.h"
#include "unit/support/runtime/runtime_rig.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define HOUR   (60 * MTIME_MINUTE)
#define PERIOD (5 * MTIME_SECOND)

/* ---------- two supervisors ---------- */

static char erp[] = "erp", tenant[] = "tenant", by_tenant[] = "header:tenant";
static char *names[] = {erp, NULL};

struct supervisor {
	struct config_throttle defined[2];
	struct config_pool pool;
	struct config config;
	struct throttles throttles;
};

static struct supervisor here, there;
static char state[] = "/tmp/wpool-unit-XXXXXX";
static int log_fd;

static void define(struct supervisor *supervisor)
{
	ck_assert(throttles_define(&supervisor->throttles, &supervisor->config));
}

static void begin(struct supervisor *supervisor, int64_t limit, mtime period)
{
	*supervisor = (struct supervisor){0};
	supervisor->defined[0] = (struct config_throttle){.name = erp,
		.limit = limit,
		.period = period,
		.scope = CONFIG_SCOPE_CLUSTER,
		.max_keys = 1};
	supervisor->pool.throttle = names;
	supervisor->config = (struct config){.throttles = supervisor->defined,
		.throttle_count = 1,
		.pools = &supervisor->pool,
		.pool_count = 1};
	define(supervisor);
}

static void end(struct supervisor *supervisor)
{
	throttles_release(&supervisor->throttles);
}

static void set_up(void)
{
	ck_assert_ptr_nonnull(mkdtemp(state));
	setenv("STATE_DIRECTORY", state, 1);
	log_fd = memfd_create("log", MFD_CLOEXEC);
	log_setup(log_fd, LOG_INFO, LOG_TEXT, false);
	begin(&here, 100, PERIOD);
	begin(&there, 100, PERIOD);
}

static int count_files(void)
{
	DIR *folder = opendir(state);
	const struct dirent *entry;
	int count = 0;

	while ((entry = readdir(folder)))
		count += entry->d_name[0] != '.';
	closedir(folder);
	return count;
}

static void tear_down(void)
{
	end(&here);
	end(&there);
	ck_assert_int_eq(count_files(), 0);
	ck_assert_int_eq(rmdir(state), 0);
	log_setup(2, LOG_INFO, LOG_TEXT, false);
	close(log_fd);
}

static struct named_throttle *erp_of(const struct supervisor *supervisor)
{
	return throttles_find(&supervisor->throttles, TEXT("erp"));
}

static struct member *member_of(const struct supervisor *supervisor)
{
	return erp_of(supervisor)->member;
}

static int times_logged(const char *text)
{
	static char lines[16 * 1024];
	ssize_t len = pread(log_fd, lines, sizeof lines - 1, 0);
	int times = 0;

	ck_assert_int_ge(len, 0);
	lines[len] = '\0';
	for (const char *at = lines; (at = strstr(at, text)); at++)
		times++;
	return times;
}

/* ---------- their messages ---------- */

/* Ahead of the clock, so that a slow machine changes nothing. */
static mtime now;

static void connect_both(void)
{
	now = throttles_now() + MTIME_MINUTE;
	member_up(member_of(&here));
	member_up(member_of(&there));
}

static void follow(struct supervisor *supervisor)
{
	throttles_follow(&supervisor->throttles, erp_of(supervisor), now);
}

/* When a task may start, or ask again. */
static mtime ask(const struct supervisor *from)
{
	struct window *window;

	return throttle_ask(erp_of(from)->throttle, THROTTLE_NO_KEY, now, &window);
}

/* The request for a task that waits, as soon as it may be sent. */
static const struct throttle_request *request_of(const struct supervisor *from)
{
	const struct throttle_request *request;

	now = ask(from);
	ck_assert_int_gt(ask(from), now);
	now = mtime_max(now, member_deadline(member_of(from)));
	request = member_request(member_of(from), now);
	ck_assert_ptr_nonnull(request);
	return request;
}

/* A request of one is answered by another, or by the same one. */
static void exchange_only(const struct supervisor *from, const struct supervisor *to)
{
	const struct throttle_answer *answer =
		member_on_request(member_of(to), request_of(from), now);

	ck_assert_ptr_nonnull(answer);
	member_on_answer(member_of(from), answer, now);
}

/* The same, and the turns of both end. */
static void exchange(struct supervisor *from, struct supervisor *to)
{
	exchange_only(from, to);
	follow(from);
	follow(to);
}

static void expect_figures(const struct supervisor *supervisor, uint32_t limit, mtime period)
{
	const struct named_throttle *named = erp_of(supervisor);

	ck_assert_uint_eq(throttle_figures(named->throttle)->limit, limit);
	ck_assert_int_eq(throttle_figures(named->throttle)->period, period);
	ck_assert_uint_eq(member_figures(named->member).limit, limit);
	ck_assert_int_eq(member_figures(named->member).period, period);
	ck_assert_uint_eq(named->wanted.limit, limit);
	ck_assert_int_eq(named->wanted.period, period);
}

/* ---------- life ---------- */

START_TEST(a_shared_throttle_has_a_member_and_no_record)
{
	end(&here);
	begin(&here, 100, HOUR);
	ck_assert_ptr_nonnull(erp_of(&here)->member);
	ck_assert_ptr_nonnull(erp_of(&here)->channel);
	ck_assert_ptr_null(erp_of(&here)->log);
	ck_assert_uint_eq(erp_of(&here)->channel_number, 0);
	throttles_save(&here.throttles, throttles_now());
	throttles_end_turn(&here.throttles, throttles_now());
	ck_assert_ptr_null(throttles_set(&here.throttles, erp_of(&here), 0, 2 * HOUR));
	ck_assert_int_eq(count_files(), 0);
}
END_TEST

/* A task waits for an answer, and not for the end of a silence. */
START_TEST(a_supervisor_that_starts_waits_for_no_period)
{
	ck_assert_int_eq(throttle_wait(erp_of(&here)->throttle, throttles_now()), 0);
}
END_TEST

/* What other supervisors start is not in them. */
START_TEST(records_of_before_are_removed)
{
	end(&here);
	here.defined[0].scope = CONFIG_SCOPE_SUPERVISOR;
	here.defined[0].period = HOUR;
	define(&here);
	end(&here);
	ck_assert_int_eq(count_files(), 2);
	here.defined[0].scope = CONFIG_SCOPE_CLUSTER;
	define(&here);
	ck_assert_int_eq(count_files(), 0);
}
END_TEST

START_TEST(a_key_has_the_same_number_at_all_supervisors)
{
	static char *other_names[] = {tenant, NULL};
	const struct throttle *other;

	ck_assert_uint_eq(throttle_key(erp_of(&here)->throttle, TEXT("acme")),
		throttle_key(erp_of(&there)->throttle, TEXT("acme")));
	ck_assert_uint_ne(throttle_key(erp_of(&here)->throttle, TEXT("acme")),
		throttle_key(erp_of(&here)->throttle, TEXT("ajax")));
	there.defined[0].name = tenant;
	there.pool.throttle = other_names;
	define(&there);
	other = throttles_find(&there.throttles, TEXT("tenant"))->throttle;
	ck_assert_uint_ne(throttle_key(erp_of(&here)->throttle, TEXT("acme")),
		throttle_key(other, TEXT("acme")));
}
END_TEST

START_TEST(each_member_has_a_number_of_its_own)
{
	connect_both();
	const struct throttle_request *one = request_of(&here), *other = request_of(&there);
	ck_assert_uint_ne(one->member, 0);
	ck_assert_uint_ne(other->member, 0);
	ck_assert_uint_ne(one->member, other->member);
}
END_TEST

/* The pool that replaces another one has a throttle of its own, as with another key. */
START_TEST(another_scope_makes_another_throttle)
{
	struct pool_config before = {0}, after = {0};

	here.defined[0].scope = CONFIG_SCOPE_SUPERVISOR;
	here.defined[0].period = HOUR;
	define(&here);
	throttles_drop_unused(&here.throttles);
	define(&here);
	throttles_hold(&here.throttles, names, &before);
	ck_assert_int_eq(count_files(), 2);
	here.defined[0].scope = CONFIG_SCOPE_CLUSTER;
	define(&here);
	throttles_hold(&here.throttles, names, &after);
	ck_assert_uint_eq(here.throttles.count, 2);
	ck_assert_ptr_ne(before.throttles[0].throttle, after.throttles[0].throttle);
	ck_assert_ptr_null(here.throttles.list[0]->member);
	ck_assert_ptr_nonnull(erp_of(&here)->member);
	ck_assert_int_eq(count_files(), 2); /* the pool that drains still records its starts */
	throttles_let_go(&here.throttles, &before);
	ck_assert_int_eq(count_files(), 0);
	here.defined[0].scope = CONFIG_SCOPE_SUPERVISOR;
	define(&here);
	ck_assert_ptr_null(erp_of(&here)->member);
	throttles_let_go(&here.throttles, &after);
	ck_assert_uint_eq(here.throttles.count, 1);
	throttles_drop_unused(&here.throttles);
	here.defined[0].period = PERIOD;
	define(&here); /* removes the record of the long period */
}
END_TEST

/* ---------- figures ---------- */

START_TEST(what_an_operator_sets_holds_at_all_supervisors)
{
	connect_both();
	ck_assert_ptr_null(throttles_set(&here.throttles, erp_of(&here), 50, 0));
	expect_figures(&here, 50, PERIOD);
	ck_assert_uint_eq(member_figures(member_of(&here)).version, 1);
	exchange(&here, &there);
	expect_figures(&there, 50, PERIOD);
	ck_assert_ptr_null(throttles_set(&there.throttles, erp_of(&there), 0, 2 * PERIOD));
	ck_assert_uint_eq(member_figures(member_of(&there)).version, 2);
	exchange(&here, &there);
	expect_figures(&here, 50, 2 * PERIOD);
	/* The same figures again are no news. */
	ck_assert_ptr_null(throttles_set(&here.throttles, erp_of(&here), 50, 2 * PERIOD));
	ck_assert_uint_eq(member_figures(member_of(&here)).version, 2);
}
END_TEST

/* No member would take a request with them. */
START_TEST(a_period_that_is_too_short_to_be_shared_is_refused)
{
	struct named_throttle *named = erp_of(&here);

	ck_assert_pstr_eq(throttles_set(&here.throttles, named, 0, CONFIG_SHARED_PERIOD_MIN - 1),
		"period is 500ms to 365d with scope: cluster");
	expect_figures(&here, 100, PERIOD);
	ck_assert_ptr_null(throttles_set(&here.throttles, named, 0, CONFIG_SHARED_PERIOD_MIN));
	expect_figures(&here, 100, CONFIG_SHARED_PERIOD_MIN);
}
END_TEST

#define FOLLOWS                                                                                    \
	"warn  throttle erp: 100 in 5s from now on, at all supervisors; configured here: 50 in "   \
	"7s (wpool throttle sets it for all, and so does a reload with another figure)\n"

START_TEST(the_figures_of_the_leader_count)
{
	end(&there);
	begin(&there, 50, 7 * MTIME_SECOND);
	connect_both();
	follow(&there);
	expect_figures(&there, 50, 7 * MTIME_SECOND);
	exchange(&there, &here);
	expect_figures(&there, 100, PERIOD);
	expect_figures(&here, 100, PERIOD);
	ck_assert_int_eq(times_logged(FOLLOWS), 1);
	follow(&there);
	exchange(&there, &here);
	ck_assert_int_eq(times_logged("from now on, at all supervisors"), 1);
	ck_assert_uint_eq(erp_of(&there)->configured.limit, 50);
}
END_TEST

static void redefine(struct supervisor *supervisor, int64_t limit)
{
	supervisor->defined[0].limit = limit;
	define(supervisor);
	throttles_configure(&supervisor->throttles);
}

START_TEST(a_reload_with_another_figure_sets_it_for_all)
{
	connect_both();
	redefine(&here, 100);
	ck_assert_uint_eq(member_figures(member_of(&here)).version, 0);
	redefine(&here, 60);
	ck_assert_uint_eq(member_figures(member_of(&here)).version, 1);
	exchange(&here, &there);
	expect_figures(&there, 60, PERIOD);
	redefine(&there, 100); /* as before */
	ck_assert_uint_eq(member_figures(member_of(&there)).version, 1);
	expect_figures(&there, 60, PERIOD);
}
END_TEST

/* The answer came in this turn. */
START_TEST(a_reload_does_not_undo_what_others_have_just_set)
{
	connect_both();
	ck_assert_ptr_null(throttles_set(&here.throttles, erp_of(&here), 50, 0));
	exchange_only(&here, &there);
	redefine(&there, 100); /* as before */
	expect_figures(&there, 50, PERIOD);
	ck_assert_uint_eq(member_figures(member_of(&there)).version, 1);
}
END_TEST

/* Each supervisor remembers as many keys as its own configuration says. */
START_TEST(the_number_of_keys_is_not_shared)
{
	end(&here);
	begin(&here, 100, PERIOD);
	end(&here);
	here.defined[0].key = by_tenant;
	here.defined[0].max_keys = 10;
	define(&here);
	here.defined[0].max_keys = 30;
	redefine(&here, 100);
	ck_assert_uint_eq(throttle_figures(erp_of(&here)->throttle)->max_keys, 30);
	ck_assert_uint_eq(member_figures(member_of(&here)).version, 0);
}
END_TEST

/* 64 MiB are 8,388,608 starts. */
#define LARGE 50000
#define FIT   (8388608 / LARGE)

static void begin_with_keys(struct supervisor *supervisor, int64_t max_keys)
{
	end(supervisor);
	supervisor->defined[0].key = by_tenant;
	supervisor->defined[0].max_keys = max_keys;
	define(supervisor);
}

static void agree_on_large_limit(void)
{
	begin_with_keys(&here, 100);
	begin_with_keys(&there, 80000);
	connect_both();
	follow(&there);
	ck_assert_ptr_nonnull(throttles_set(&there.throttles, erp_of(&there), LARGE, 0));
	ck_assert_ptr_null(throttles_set(&here.throttles, erp_of(&here), LARGE, 0));
	ck_assert_uint_eq(member_keys_led(member_of(&here)), 100);
	exchange_only(&here, &there);
}

/* It does so before it answers the request that has brought the limit. */
START_TEST(an_agreed_limit_that_does_not_fit_holds_for_fewer_keys)
{
	agree_on_large_limit();
	ck_assert_uint_eq(member_keys_led(member_of(&there)), FIT);
	follow(&there);
	expect_figures(&there, LARGE, PERIOD);
	ck_assert_uint_eq(throttle_figures(erp_of(&there)->throttle)->max_keys, 80000);
	follow(&there);
	ck_assert_int_eq(
		times_logged("warn  throttle erp: at most 167 keys while it leads, not 80000: "),
		1);
	/* Less may be set here, too, and more may not. */
	ck_assert_ptr_nonnull(throttles_set(&there.throttles, erp_of(&there), LARGE + 1, 0));
	ck_assert_ptr_null(throttles_set(&there.throttles, erp_of(&there), LARGE / 2, 0));
	ck_assert_uint_eq(member_keys_led(member_of(&there)), 8388608 / (LARGE / 2));
	ck_assert_ptr_null(throttles_set(&there.throttles, erp_of(&there), 100, 0));
	ck_assert_uint_eq(member_keys_led(member_of(&there)), 80000);
}
END_TEST

START_TEST(a_reload_gives_up_no_limit_that_all_share)
{
	agree_on_large_limit();
	redefine(&there, 100); /* as before */
	expect_figures(&there, LARGE, PERIOD);
	ck_assert_uint_eq(member_figures(member_of(&there)).version, 1);
	ck_assert_uint_eq(member_keys_led(member_of(&there)), FIT);
}
END_TEST

static void define_second(int64_t limit)
{
	static char *both[] = {erp, tenant, NULL};

	there.defined[1] = (struct config_throttle){
		.name = tenant, .limit = limit, .period = PERIOD, .max_keys = 1};
	there.config.throttle_count = 2;
	there.pool.throttle = both;
	redefine(&there, 100);
}

/* What is configured fits, and takes its place. */
START_TEST(an_agreed_limit_leaves_memory_for_other_throttles)
{
	agree_on_large_limit();
	follow(&there);
	define_second(300000);
	ck_assert_uint_eq(member_keys_led(member_of(&there)), (8388608 - 300000) / LARGE);
	ck_assert_ptr_nonnull(throttles_set(
		&there.throttles, throttles_find(&there.throttles, TEXT("tenant")), 400000, 0));
}
END_TEST

/* Each may start tasks of one key, however high the limit is. */
START_TEST(an_agreed_limit_holds_for_one_key_at_least)
{
	agree_on_large_limit();
	follow(&there);
	define_second(1000000);
	there.defined[1].key = by_tenant;
	there.defined[1].max_keys = 8;
	redefine(&there, 100);
	ck_assert_uint_eq(member_keys_led(member_of(&there)), 1);
}
END_TEST

/* ---------- leaders ---------- */

static void expect_leader(enum throttle_leader leader, const char *name)
{
	struct pool_config config = {0};
	const char *without;

	ck_assert_int_eq(throttles_leader(erp_of(&here)), leader);
	ck_assert_str_eq(throttle_leader_name(throttles_leader(erp_of(&here))), name);
	throttles_hold(&here.throttles, names, &config);
	without = throttles_without_leader(&here.throttles, &config);
	ck_assert_pstr_eq(without, leader == THROTTLE_LEADER_NONE ? "erp" : NULL);
	erp_of(&here)->pools--;
}

START_TEST(who_leads_is_known_from_the_answers)
{
	expect_leader(THROTTLE_LEADER_NONE, "none");
	connect_both();
	expect_leader(THROTTLE_LEADER_UNKNOWN, "unknown");
	exchange(&here, &there);
	expect_leader(THROTTLE_LEADER_ELSEWHERE, "elsewhere");
	exchange(&here, &here);
	expect_leader(THROTTLE_LEADER_HERE, "here");
	member_down(member_of(&here));
	expect_leader(THROTTLE_LEADER_NONE, "none");
	member_up(member_of(&here));
	expect_leader(THROTTLE_LEADER_ELSEWHERE, "elsewhere");
}
END_TEST

START_TEST(nobody_leads_if_three_requests_are_not_answered)
{
	connect_both();
	for (int lost = 0; lost < 3; lost++) {
		(void)request_of(&here);
		expect_leader(THROTTLE_LEADER_UNKNOWN, "unknown");
	}
	(void)request_of(&here);
	expect_leader(THROTTLE_LEADER_NONE, "none");
	exchange(&here, &there);
	expect_leader(THROTTLE_LEADER_ELSEWHERE, "elsewhere");
}
END_TEST

START_TEST(a_throttle_of_one_supervisor_needs_no_leader)
{
	struct pool_config config = {0};

	here.defined[0].scope = CONFIG_SCOPE_SUPERVISOR;
	define(&here);
	throttles_hold(&here.throttles, names, &config);
	ck_assert_ptr_null(throttles_without_leader(&here.throttles, &config));
	throttles_let_go(&here.throttles, &config);
}
END_TEST

/* ---------- health ---------- */

static struct runtime_rig rig;
static struct pool_set pool_set;

static void set_up_pool(void)
{
	set_up();
	log_setup(2, LOG_INFO, LOG_TEXT, false);
	runtime_rig_open(&rig, 1);
	rig.tools.throttles = &here.throttles;
}

static void tear_down_pool(void)
{
	pool_set_release(&pool_set);
	runtime_rig_close(&rig);
	tear_down();
}

/* Without a broker, which health asks for, too. */
static struct pool_runtime *add_pool(void)
{
	static char host[] = "127.0.0.1";
	static const struct broker_url hosts[] = {{.host = host, .port = 1}};
	static const struct broker_link_config link = {.hosts = hosts, .host_count = 1};
	struct config_pool pool = runtime_rig_config(runtime_rig_words(unit_own_path()), 1);
	struct pool_runtime *runtime;

	pool.throttle = calloc(2, sizeof *pool.throttle);
	pool.throttle[0] = strdup(erp);
	runtime = pool_set_add(&pool_set, &rig.tools, &pool, clock_now());
	ck_assert_ptr_nonnull(runtime);
	ck_assert(pool_runtime_connect(runtime, rig.tools.loop, &link));
	return runtime;
}

START_TEST(a_pool_without_a_leader_is_not_ready)
{
	const struct pool_runtime *runtime = add_pool();
	struct health health;

	health = health_of_pool(runtime);
	ck_assert(health_has(health.causes, HEALTH_NO_LEADER));
	ck_assert_str_eq(health.unled, "erp");
	connect_both();
	health = health_of_pool(runtime);
	ck_assert(!health_has(health.causes, HEALTH_NO_LEADER));
	ck_assert_ptr_null(health.unled);
	member_down(member_of(&here));
	health = health_of_pool(runtime);
	ck_assert(health_has(health.causes, HEALTH_NO_LEADER));
	ck_assert(!health_has(health.warnings, HEALTH_NO_LEADER));
}
END_TEST

static Suite *throttles_shared_suite(void)
{
	Suite *suite = suite_create("runtime/throttles_shared");

	UNIT_CASE_WITH(suite, "life", set_up, tear_down,
		a_shared_throttle_has_a_member_and_no_record,
		a_supervisor_that_starts_waits_for_no_period, records_of_before_are_removed,
		a_key_has_the_same_number_at_all_supervisors, each_member_has_a_number_of_its_own,
		another_scope_makes_another_throttle);
	UNIT_CASE_WITH(suite, "figures", set_up, tear_down,
		what_an_operator_sets_holds_at_all_supervisors,
		a_period_that_is_too_short_to_be_shared_is_refused, the_figures_of_the_leader_count,
		a_reload_with_another_figure_sets_it_for_all,
		a_reload_does_not_undo_what_others_have_just_set, the_number_of_keys_is_not_shared,
		an_agreed_limit_that_does_not_fit_holds_for_fewer_keys,
		a_reload_gives_up_no_limit_that_all_share,
		an_agreed_limit_leaves_memory_for_other_throttles,
		an_agreed_limit_holds_for_one_key_at_least);
	UNIT_CASE_WITH(suite, "leaders", set_up, tear_down, who_leads_is_known_from_the_answers,
		nobody_leads_if_three_requests_are_not_answered,
		a_throttle_of_one_supervisor_needs_no_leader);
	UNIT_CASE_WITH(
		suite, "health", set_up_pool, tear_down_pool, a_pool_without_a_leader_is_not_ready);
	return suite;
}

int main(int argc, char **argv)
{
	return runtime_rig_run(argc, argv, throttles_shared_suite);
}
