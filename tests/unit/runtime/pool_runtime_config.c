/* A configuration becomes that of the parts of a pool: sessions. */
#include "runtime/pool_runtime_config.h"
#include "config/value/session_key.h"
#include "unit/support/config/loading.h"
#include <stdio.h>

/* settings: those of the pool beside queue and command, each with a comma before it. */
static const struct config_pool *load_pool(const char *settings)
{
	char yaml[600];
	snprintf(yaml, sizeof yaml, "pools: [{queue: q, command: w%s}]", settings);
	loading_load_yaml(text_from(yaml), NULL);
	ck_assert_msg(loaded.rc == RC_OK, "%s: %s", yaml, loaded.problems);
	return &loaded.config->pools[0];
}

static const struct config_pool *pool_with(const char *session)
{
	char settings[500];
	snprintf(settings, sizeof settings, ", session: {%s}", session);
	return load_pool(settings);
}

START_TEST(without_sessions)
{
	static const struct session_config none;
	struct pool_config pool = pool_runtime_pool_config(load_pool(""));
	struct consumer_config consumer = pool_runtime_consumer_config(load_pool(""), 0);
	ck_assert_mem_eq(&pool.session, &none, sizeof none);
	ck_assert_uint_eq(pool.prefetch, 0);
	ck_assert_int_eq(consumer.key.kind, KEY_NONE);
	ck_assert(!consumer.is_ordered && !consumer.key.is_required);
}
END_TEST

START_TEST(defaults)
{
	struct pool_config pool = pool_runtime_pool_config(pool_with("key: routing_key"));
	struct consumer_config consumer = pool_runtime_consumer_config(&loaded.config->pools[0], 0);
	const struct session_config *session = &pool.session;
	ck_assert_uint_eq(pool.prefetch, 2000);
	ck_assert(session->is_on && !session->is_return_free);
	ck_assert_uint_eq(session->quantum, 10);
	ck_assert_int_eq(session->on_failure, SESSION_SKIP);
	ck_assert_int_eq(session->idle, 0);
	ck_assert_uint_eq(session->max_active, 0);
	ck_assert_uint_eq(session->max_sessions, 100000);
	ck_assert_int_eq(session->max_unacked_age, 10 * MTIME_MINUTE);
	ck_assert_int_eq(session->takeover_delay, 30 * MTIME_SECOND);
	ck_assert_int_eq(consumer.key.kind, KEY_ROUTING_KEY);
	ck_assert(consumer.is_ordered && !consumer.is_return_free && !consumer.key.is_required);
}
END_TEST

START_TEST(everything_set)
{
	const struct config_pool *config = pool_with(
		"key: 'header:k', without_key: reject, quantum: 20ms, on_failure: block, idle: 3s, "
		"max_active: 4, max_sessions: 5, max_unacked_age: none, takeover_delay: none, "
		"delivery_limit: none");
	struct session_config session = pool_runtime_pool_config(config).session;
	struct consumer_config consumer = pool_runtime_consumer_config(config, 0);
	ck_assert_uint_eq(session.quantum, 0);
	ck_assert_int_eq(session.quantum_time, 20 * MTIME_MS);
	ck_assert_int_eq(session.on_failure, SESSION_BLOCK);
	ck_assert_int_eq(session.idle, 3 * MTIME_SECOND);
	ck_assert_uint_eq(session.max_active, 4);
	ck_assert_uint_eq(session.max_sessions, 5);
	ck_assert_int_eq(session.max_unacked_age, MTIME_NEVER);
	ck_assert_int_eq(session.takeover_delay, MTIME_NEVER);
	ck_assert(session.is_return_free && consumer.is_return_free);
	ck_assert_int_eq(consumer.key.kind, KEY_HEADER);
	ck_assert(text_is(consumer.key.header, TEXT("k")) && consumer.key.is_required);
}
END_TEST

/* check-config accepts exactly the keys that the consumer can read. */
START_TEST(the_same_keys_are_good)
{
	static const char *const keys[] = {"header:a", "header:", "header:x-wpool-attempt",
		"header:x-wpool-", "header:x-wpool", "header:X-wpool-a", "header:CC", "header:BCC",
		"header:cc", "header:x-death", "header:x-death2", "header:x-first-death-queue",
		"header:x-last-death-reason", "header:x-delivery-count", "header:x-acquired-count",
		"header:property:type", "property:", "property:content_type",
		"property:content_encoding", "property:headers", "property:delivery_mode",
		"property:priority", "property:correlation_id", "property:reply_to",
		"property:expiration", "property:message_id", "property:timestamp", "property:type",
		"property:user_id", "property:app_id", "property:cluster_id", "property:Type",
		"routing_key", "routing_key:", "Routing_key", "", "session"};
	int good = 0;
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		struct key_source source;
		bool is_good = !key_source_parse(text_from(keys[i]), &source);
		ck_assert_msg(is_good == !session_key_problem(text_from(keys[i])), "%s", keys[i]);
		good += is_good;
	}
	ck_assert_int_eq(good, 14);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("runtime/pool_runtime_config");
	TCase *sessions = tcase_create("sessions");
	tcase_add_checked_fixture(sessions, loading_set_up, loading_tear_down);
	tcase_add_test(sessions, without_sessions);
	tcase_add_test(sessions, defaults);
	tcase_add_test(sessions, everything_set);
	tcase_add_test(sessions, the_same_keys_are_good);
	suite_add_tcase(s, sessions);
	return s;
}

UNIT_MAIN(suite)
