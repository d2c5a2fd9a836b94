/* What a reload will do to each pool: planned from the pools that run and the new configuration. */
#include "runtime/reload_plan.h"
#include "os/clock.h"
#include "runtime/throttles/throttles.h"
#include "unit/support/config/loading.h"
#include "unit/support/runtime/runtime_rig.h"

static struct runtime_rig rig;
static struct pool_set pool_set;
static struct throttles throttles;
static struct config *in_force;
static struct buf shown;

static void set_up(void)
{
	setenv("STATE_DIRECTORY", "/proc/wpool", 1);
	loading_set_up();
	runtime_rig_open(&rig, 1);
	rig.tools.throttles = &throttles;
	buf_init(&shown, SIZE_MAX);
}

static void tear_down(void)
{
	pool_set_release(&pool_set);
	throttles_release(&throttles);
	config_free(in_force);
	in_force = NULL;
	buf_release(&shown);
	runtime_rig_close(&rig);
	loading_tear_down();
}

static struct config *load(const char *yaml)
{
	loading_load_yaml(text_from(yaml), NULL);
	ck_assert_msg(loaded.rc == RC_OK, "%s: %s", yaml, loaded.problems);
	struct config *config = loaded.config;
	loaded.config = NULL;
	return config;
}

/* Add the pools of a configuration, which is in force then. */
static void start(const char *yaml)
{
	config_free(in_force);
	in_force = load(yaml);
	ck_assert(throttles_define(&throttles, in_force));
	for (size_t i = 0; i < in_force->pool_count; i++)
		ck_assert_ptr_nonnull(
			pool_set_add(&pool_set, &rig.tools, &in_force->pools[i], clock_now()));
}

static void append_changes(const struct reload_changes *changes)
{
	for (size_t i = 0; i < changes->count; i++) {
		const struct reload_change *change = &changes->list[i];
		buf_printf(&shown, "%s%s", i > 0 ? ", " : ": ", change->setting->key);
		if (change->has_values)
			buf_printf(&shown, " %.*s -> %.*s", TEXT_ARGS(buf_text(&change->from)),
				TEXT_ARGS(buf_text(&change->to)));
		else
			ck_assert(buf_len(&change->from) == 0 && buf_len(&change->to) == 0);
	}
	buf_append_byte(&shown, '\n');
}

/* expected: a line for each pool, then the throttles, then the settings outside the pools. */
static void expect_plan(const char *yaml, const char *expected)
{
	struct config *other = load(yaml);
	struct reload_plan plan;
	ck_assert(reload_plan_make(&plan, &pool_set, in_force, other));
	buf_clear(&shown);
	for (size_t i = 0; i < plan.count; i++) {
		const struct reload_step *step = &plan.steps[i];
		buf_printf(&shown, "%s %s", step->name, reload_action_name(step->action));
		append_changes(&step->changes);
		ck_assert((step->runtime == NULL) == (step->action == RELOAD_ADD));
		ck_assert((step->config == NULL) == (step->action == RELOAD_REMOVE));
	}
	for (size_t i = 0; i < plan.throttle_count; i++) {
		const struct reload_throttle *throttle = &plan.throttles[i];
		buf_printf(&shown, "throttle %s %s", throttle->name,
			reload_action_name(throttle->action));
		append_changes(&throttle->changes);
	}
	if (plan.settings.count > 0) {
		buf_printf(&shown, "settings");
		append_changes(&plan.settings);
	}
	if (plan.needs_restart.count > 0) {
		buf_printf(&shown, "needs_restart");
		append_changes(&plan.needs_restart);
	}
	ck_assert_msg(text_is(buf_text(&shown), text_from(expected)), "%.*s instead of\n%s",
		TEXT_ARGS(buf_text(&shown)), expected);
	reload_plan_release(&plan);
	config_free(other);
}

#define ERP    "{name: erp, limit: 5, period: 1s}"
#define TENANT "{name: tenant, limit: 5, period: 1s, key: 'header:tenant'}"
#define ROUTED                                                                                     \
	"throttles: [" ERP ", {name: route, limit: 5, period: 1s, key: routing_key}]\npools:\n"
#define DEFINED "throttles: [" ERP ", " TENANT "]\npools:\n"

#define POOL(name, more) "- {name: " name ", queue: q, command: w, workers: 1" more "}\n"

static const struct {
	const char *old, *other, *expected;
} cases[] = {
	{"pools:\n" POOL("a", ""), "pools:\n" POOL("a", ""), "a unchanged\n"},
	{"pools:\n" POOL("a", ""), "pools:\n" POOL("a", "") POOL("b", ""),
		"a unchanged\nb added\n"},
	{"pools:\n" POOL("a", "") POOL("b", ""), "pools:\n" POOL("b", ""),
		"b unchanged\na removed\n"},
	{"pools:\n" POOL("a", ""), "pools:\n" POOL("b", ""), "b added\na removed\n"},

	/* The most disruptive setting decides. */
	{"pools:\n" POOL("a", ", prefetch: 2"), "pools:\n" POOL("a", ", prefetch: 3"),
		"a changed: prefetch 2 -> 3\n"},
	{"pools:\n" POOL("a", ", prefetch: 2, nice: 1"),
		"pools:\n" POOL("a", ", prefetch: 3, nice: 2"),
		"a restarting: nice 1 -> 2, prefetch 2 -> 3\n"},
	{"pools:\n" POOL("a", ", prefetch: 2, nice: 1, declare: on"),
		"pools:\n" POOL("a", ", prefetch: 3, nice: 2, declare: off"),
		"a replaced: declare on -> off, nice 1 -> 2, prefetch 2 -> 3\n"},

	/* The order of the new configuration, then the removed pools. */
	{"pools:\n" POOL("a", "") POOL("b", "") POOL("c", "") POOL("d", ""),
		"pools:\n" POOL("e", "") POOL("d", ", nice: 1") POOL("b", ", prefetch: 9"),
		"e added\nd restarting: nice 0 -> 1\nb changed: prefetch auto -> 9\n"
		"a removed\nc removed\n"},

	/* Values that may hold a secret are left out. */
	{"broker: {url: 'amqp://u:old@h'}\npools:\n" POOL("a", ", env: {KEY: old}"),
		"broker: {url: 'amqp://u:new@h'}\n"
		"pools: [{name: a, queue: q, command: [w, new], workers: 1, env: {KEY: new}}]\n",
		"a restarting: command, env\nneeds_restart: broker.url\n"},

	/* Figures hold at once; a key that moves replaces the pool, and so does a throttle for
	 * which a task in hand may have no key. */
	{"throttles: [" ERP "]\npools:\n" POOL("a", ", throttle: [erp]") POOL("b", ""),
		"throttles: [{name: erp, limit: 6, period: 2s, when_exceeded: reply}]\npools:\n" POOL(
			"a", ", throttle: [erp]") POOL("b", ""),
		"a changed\nb unchanged\n"
		"throttle erp changed: limit 5 -> 6, period 1s -> 2s, when_exceeded delay -> reply\n"},
	{"throttles: [" ERP "]\npools:\n" POOL("a", ", throttle: [erp]"),
		"throttles: [{name: erp, limit: 5, period: 1s, key: routing_key}]\npools:\n" POOL(
			"a", ", throttle: [erp]"),
		"a replaced\nthrottle erp changed: key  -> routing_key, max_keys 1 -> 10000\n"},
	{DEFINED POOL("a", ""), DEFINED POOL("a", ", throttle: [erp]"),
		"a changed: pipeline auto -> 1, throttle [] -> [erp]\n"},
	{DEFINED POOL("a", ", throttle: [tenant, erp]"), DEFINED POOL("a", ", throttle: [tenant]"),
		"a changed: throttle [tenant, erp] -> [tenant]\n"},
	{DEFINED POOL("a", ""), DEFINED POOL("a", ", throttle: [tenant]"),
		"a changed: pipeline auto -> 1, throttle [] -> [tenant]\n"},
	{DEFINED POOL("a", ", throttle: [tenant, erp]"),
		DEFINED POOL("a", ", throttle: [erp, tenant]"),
		"a changed: throttle [tenant, erp] -> [erp, tenant]\n"},
	{ROUTED POOL("a", ", properties: true, throttle: [erp]"),
		ROUTED POOL("a", ", properties: true, throttle: [erp, route]"),
		"a changed: throttle [erp] -> [erp, route]\n"},
	{ROUTED POOL("a", ", throttle: [erp]"), ROUTED POOL("a", ", throttle: [erp, route]"),
		"a replaced: throttle [erp] -> [erp, route]\n"},
	{ROUTED POOL("a", ", throttle: [erp, route]"), ROUTED POOL("a", ", throttle: [route]"),
		"a changed: throttle [erp, route] -> [route]\n"},
	{DEFINED POOL("a", ", throttle: [erp, tenant]"),
		"throttles: [" ERP
		", {name: other, limit: 1, period: 1s}]\npools:\n" POOL("a", ", throttle: [erp]"),
		"a changed: throttle [erp, tenant] -> [erp]\nthrottle other added\n"
		"throttle tenant removed\n"},

	/* Settings outside the pools. */
	{"pools:\n" POOL("a", ""),
		"drain: 1min\nlog: {level: debug}\nbroker: {heartbeat: 5s}\n"
		"http: {listen: '127.0.0.1:9464'}\npools:\n" POOL("a", ""),
		"a unchanged\nsettings: drain 1520s -> 1min, log.level info -> debug\n"
		"needs_restart: broker.heartbeat 15s -> 5s, http.listen off -> 127.0.0.1:9464\n"},
};

START_TEST(plan_has_an_action_for_each_pool)
{
	start(cases[_i].old);
	expect_plan(cases[_i].other, cases[_i].expected);
}
END_TEST

START_TEST(retiring_pools_are_not_planned)
{
	start("pools:\n" POOL("a", "") POOL("b", "") POOL("c", ""));
	struct pool_runtime *replaced = pool_set_find(&pool_set, TEXT("a"));
	struct config *newer = load("pools:\n" POOL("a", ""));
	struct pool_runtime *successor =
		pool_set_add(&pool_set, &rig.tools, &newer->pools[0], clock_now());
	pool_runtime_mark_replaced(replaced, successor);
	pool_set_remove(&pool_set, successor);
	config_free(newer);
	pool_runtime_drain(pool_set_find(&pool_set, TEXT("b")), clock_now());
	expect_plan("pools:\n" POOL("a", ", nice: 1") POOL("c", ""), "a added\nc unchanged\n");
	start("pools:\n" POOL("a", ", nice: 1")); /* beside the one that retires */
	expect_plan("pools:\n" POOL("a", ", nice: 2") POOL("c", ""),
		"a restarting: nice 1 -> 2\nc unchanged\n");
}
END_TEST

static Suite *reload_plan_suite(void)
{
	Suite *suite = suite_create("runtime/reload_plan");
	TCase *tcase = tcase_create("plan");
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_loop_test(
		tcase, plan_has_an_action_for_each_pool, 0, sizeof cases / sizeof *cases);
	tcase_add_test(tcase, retiring_pools_are_not_planned);
	suite_add_tcase(suite, tcase);
	return suite;
}

int main(int argc, char **argv)
{
	return runtime_rig_run(argc, argv, reload_plan_suite);
}
