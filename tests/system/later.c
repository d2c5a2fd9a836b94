/* Messages with a time begin then and not before; workers postpone tasks, which counts no attempt
 * and changes nothing. Tests bound times from below only: the worker itself reports what it begins
 * too early, by the same clock. */
#include "system/system.h"

#include "harness/command.h"
#include "harness/control.h"
#include "harness/deadline.h"

#include <signal.h>
#include <string.h>
#include <time.h>

static const enum client_queue kinds[] = {CLIENT_QUORUM, CLIENT_CLASSIC};

static int64_t wall_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

static char *wait_queue(const char *step)
{
	return scratch_text("%s.wait.%s", fixture.queue, step);
}

static void expect_clean_end(struct proc *serve)
{
	broker_expect_messages(fixture.broker, fixture.queue, 0);
	fixture_stop(serve);
	ck_assert_int_eq(broker_messages(fixture.broker, fixture.queue), 0);
	ck_assert_int_eq(broker_messages(fixture.broker, fixture.dead), 0);
	ck_assert_int_eq(proc_count_logged(serve, "too early"), 0);
}

static void expect_witness(const char *line)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	while (!fixture_witnessed(line))
		fixture_poll(deadline, 20, line);
}

START_TEST(a_published_delay_is_kept)
{
	fixture_declare(kinds[_i]);
	struct proc *serve = fixture_serve_echo_pool("retry: {attempts: 1}");
	char *body = scratch_path(fixture.folder, "body");
	int64_t start = wall_ms();
	scratch_write(body, "later");
	free(RUN(0, "publish", "--broker", broker_url(fixture.broker), "--queue", fixture.queue,
		"--delay", "2500ms", "--correlation-id", "later", body));
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "now", .correlation_id = "now"});
	expect_witness("now");
	expect_witness("later");
	ck_assert_int_ge(wall_ms() - start, 2500);
	ck_assert_int_eq(fixture_witnessed(NULL), 2);
	expect_clean_end(serve);
	free(body);
}
END_TEST

/* Nobody needs to be there while it waits. */
START_TEST(it_waits_in_the_broker)
{
	struct proc *serve = fixture_serve_echo_pool("retry: {attempts: 1}");
	char *waiting = wait_queue("3s");
	char *time = scratch_text("%lld", (long long)wall_ms() + 8500);
	client_post(fixture.client, fixture.queue,
		&(struct letter){
			.body = "x", .correlation_id = "later", .headers = {{"NotBefore", time}}});
	broker_expect_messages(fixture.broker, waiting, 1);
	broker_expect_messages(fixture.broker, fixture.queue, 0); /* the original is acked */
	proc_signal(serve, SIGKILL);
	ck_assert_int_eq(proc_wait(serve), 128 + SIGKILL);
	serve = fixture_serve_echo_pool("retry: {attempts: 1}");
	expect_witness("later");
	ck_assert_int_eq(fixture_witnessed(NULL), 1);
	expect_clean_end(serve);
	free(waiting);
	free(time);
}
END_TEST

static amqp_table_entry_t entry(const char *name, amqp_field_value_t value)
{
	return (amqp_table_entry_t){.key = amqp_cstring_bytes(name), .value = value};
}

/* The only dead letter, given up for this reason after so many attempts. */
static struct message *take_dead(const char *reason, int64_t attempts)
{
	struct message *dead = client_take(fixture.client, fixture.dead);
	ck_assert_msg(message_header_is(dead, "x-wpool-reason", reason), "not %s", reason);
	ck_assert_int_eq(message_header_number(dead, "x-wpool-attempt"), attempts);
	return dead;
}

static void await_postponed(json_int_t times)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	while (control_figure("totals", "postponed_by_worker") < times)
		fixture_poll(deadline, 20, "the task has been postponed several times");
}

/* It comes back six times, in its only attempt; its rejection shows what is left of it. */
START_TEST(what_is_postponed_is_unchanged)
{
	fixture_declare(kinds[_i]);
	struct proc *serve = fixture_serve_echo_pool("properties: true, retry: {attempts: 1}");
	const char *release = fixture_release_path("postponed");
	amqp_table_entry_t entries[] = {
		entry("X-Postpone-Until", (amqp_field_value_t){.kind = AMQP_FIELD_KIND_UTF8,
						  .value.bytes = amqp_cstring_bytes(release)}),
		entry("X-Postpone-Ms",
			(amqp_field_value_t){.kind = AMQP_FIELD_KIND_I32, .value.i32 = 300}),
		entry("X-Status",
			(amqp_field_value_t){.kind = AMQP_FIELD_KIND_I64, .value.i64 = 410}),
		entry("NotBefore",
			(amqp_field_value_t){.kind = AMQP_FIELD_KIND_TIMESTAMP, .value.u64 = 9}),
		entry("yes",
			(amqp_field_value_t){.kind = AMQP_FIELD_KIND_BOOLEAN, .value.boolean = 1}),
	};
	amqp_basic_properties_t sent = {
		._flags = AMQP_BASIC_HEADERS_FLAG | AMQP_BASIC_PRIORITY_FLAG |
			  AMQP_BASIC_TIMESTAMP_FLAG | AMQP_BASIC_REPLY_TO_FLAG |
			  AMQP_BASIC_CORRELATION_ID_FLAG | AMQP_BASIC_TYPE_FLAG |
			  AMQP_BASIC_APP_ID_FLAG | AMQP_BASIC_CONTENT_ENCODING_FLAG,
		.headers = {sizeof entries / sizeof *entries, entries},
		.priority = 7,
		.timestamp = 1700000000,
		.reply_to = amqp_cstring_bytes(fixture.replies),
		.correlation_id = amqp_cstring_bytes("id-1"),
		.type = amqp_cstring_bytes("order"),
		.app_id = amqp_cstring_bytes("shop"),
		.content_encoding = amqp_cstring_bytes("gzip"),
	};
	client_publish(fixture.client, fixture.queue, "\0binary\xff", 8, &sent);
	await_postponed(6);
	fixture_release("postponed");
	struct message *dead = take_dead("rejected", 1);
	ck_assert_uint_eq(dead->size, 8);
	ck_assert_int_eq(memcmp(dead->body, "\0binary\xff", 8), 0);
	ck_assert_int_eq(dead->properties.priority, 7);
	ck_assert_uint_eq(dead->properties.timestamp, 1700000000);
	ck_assert(message_text_is(dead->properties.reply_to, fixture.replies));
	ck_assert(message_text_is(dead->properties.correlation_id, "id-1"));
	ck_assert(message_text_is(dead->properties.type, "order"));
	ck_assert(message_text_is(dead->properties.app_id, "shop"));
	ck_assert(message_text_is(dead->properties.content_encoding, "gzip"));
	for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
		char *name = scratch_text(
			"%.*s", (int)entries[i].key.len, (const char *)entries[i].key.bytes);
		const amqp_field_value_t *value = message_header(dead, name);
		ck_assert_msg(value && value->kind == entries[i].value.kind, "%s", name);
		free(name);
	}
	ck_assert_ptr_null(message_header(dead, "x-death"));
	message_free(dead);
	expect_clean_end(serve);
	ck_assert_int_eq(proc_count_logged(serve, "retrying"), 0);
	ck_assert_int_ge(proc_count_logged(serve, " postponed by a worker"), 1);
}
END_TEST

/* Never started, at the first look. */
START_TEST(a_time_that_is_none_is_a_dead_letter)
{
	static const char *const times[] = {
		"", "tomorrow", "-1", "1.5e3", "32503680000000", "99999999999999999999"};
	struct proc *serve = fixture_serve_echo_pool("retry: {attempts: 3}");
	for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
		client_post(fixture.client, fixture.queue,
			&(struct letter){.body = "x", .headers = {{"NotBefore", times[i]}}});
		struct message *dead = take_dead("bad-headers", 0);
		ck_assert(message_header_is(dead, "NotBefore", times[i]));
		message_free(dead);
	}
	client_post(fixture.client, fixture.queue,
		&(struct letter){
			.body = "x", .correlation_id = "past", .headers = {{"NotBefore", "1"}}});
	expect_witness("past");
	ck_assert_int_eq(fixture_witnessed(NULL), 1);
	expect_clean_end(serve);
}
END_TEST

/* What follows in the session of a delayed message runs first; nothing passes one that its worker
 * postpones. */
START_TEST(sessions_keep_their_order)
{
	struct proc *serve = fixture_serve_echo_pool("session: {key: header:session}");
	char *time = scratch_text("%lld", (long long)wall_ms() + 1500);
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "x",
			.correlation_id = "delayed",
			.headers = {{"session", "a"}, {"NotBefore", time}}});
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "x",
			.correlation_id = "postponed",
			.headers = {{"session", "a"}, {"X-Postpone-Until", time}}});
	client_post(fixture.client, fixture.queue,
		&(struct letter){
			.body = "x", .correlation_id = "behind", .headers = {{"session", "a"}}});
	expect_witness("behind");
	ck_assert_int_eq(fixture_witnessed("postponed"), 1);
	expect_witness("delayed");
	expect_clean_end(serve);
	free(time);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("later", {a_published_delay_is_kept, 2}, {it_waits_in_the_broker, 1},
		{what_is_postponed_is_unchanged, 2}, {a_time_that_is_none_is_a_dead_letter, 1},
		{sessions_keep_their_order, 1});
}
