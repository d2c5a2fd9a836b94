/* Messages of sessions on their way through wpool: the key in the task, messages without a usable
 * key, the rest of a task, attempts, dead letters and their replay. */
#include "harness/command.h"
#include "harness/control.h"
#include "system/system.h"

#include <stdio.h>
#include <string.h>

/* Echo workers, on a queue that wpool itself declares. */
static struct proc *serve(const char *key, const char *settings)
{
	client_delete(fixture.client, fixture.queue);
	struct proc *proc = fixture_serve_pools(scratch_text(
		"- {name: tested, queue: '%s', declare: on, command: ['%s'], workers: 2, "
		"properties: true, session: {key: '%s', without_key: reject}, %s}\n",
		fixture.queue, fixture_built("workers/echo"), key, settings));
	proc_expect(proc, "consuming queue");
	return proc;
}

static void post(const char *key, const char *id, const char *header, const char *value)
{
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = id,
			.correlation_id = id,
			.reply_to = fixture.replies,
			.headers = {{"X-Status", "201"}, {"session", key}, {header, value}}});
}

/* ---------- the key ---------- */

static const struct {
	const char *source, *name, *value; /* of a header; name NULL: a property is the key */
} sources[] = {
	{"header:session", "session", "gr\xc3\xbc\xc3\x9f 1"},
	{"header:account", "account", "7"},
	{"property:correlation_id", NULL, "c-1"},
};

START_TEST(a_task_carries_its_key)
{
	struct proc *proc = serve(sources[_i].source, "retry: {delay: [100ms]}");
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "x",
			.correlation_id = sources[_i].name ? "other" : sources[_i].value,
			.reply_to = fixture.replies,
			.headers = {{"X-Status", "201"}, {"X-Report", "task"},
				{sources[_i].name, sources[_i].value}}});
	struct message *reply = client_take(fixture.client, fixture.replies);
	json_t *report = json_loads(reply->body, 0, NULL);
	ck_assert_str_eq(control_text(report, "session"), sources[_i].value);
	json_decref(report);
	message_free(reply);
	fixture_stop(proc);
}
END_TEST

static const struct {
	const char *name, *value, *reason;
} unfit[] = {
	{NULL, NULL, "no-session"}, {"Session", "a", "no-session"}, {"session", "", "bad-session"},
	{"session", "a\xff", "bad-session"}, {"session", NULL, "bad-session"}, /* 256 bytes */
};

/* They never run, and those behind them do. */
START_TEST(a_message_without_a_usable_key_is_given_up)
{
	char longest[257];
	struct proc *proc = serve("header:session", "retry: {delay: [100ms]}");
	memset(longest, 'k', sizeof longest - 1);
	longest[sizeof longest - 1] = '\0';
	for (size_t i = 0; i < sizeof unfit / sizeof *unfit; i++) {
		const char *value = unfit[i].value ? unfit[i].value : longest;
		client_post(fixture.client, fixture.queue,
			&(struct letter){.body = "unfit",
				.headers = {{"X-Status", "200"}, {unfit[i].name, value}}});
		struct message *dead = client_take(fixture.client, fixture.dead);
		ck_assert(message_header_is(dead, "x-wpool-reason", unfit[i].reason));
		ck_assert_int_eq(message_header_number(dead, "x-wpool-attempt"), 0);
		message_free(dead);
	}
	post(longest + 1, "fits", NULL, NULL);
	client_expect(fixture.client, fixture.replies, "fits");
	ck_assert_int_eq(fixture_witnessed(NULL), 1);
	fixture_stop(proc);
}
END_TEST

/* Headers of other types, each of which 3.10 can store. */
static const amqp_field_value_t not_keys[] = {
	{AMQP_FIELD_KIND_TABLE, {.table = {0, NULL}}},
	{AMQP_FIELD_KIND_ARRAY, {.array = {0, NULL}}},
	{AMQP_FIELD_KIND_BOOLEAN, {.boolean = 1}},
	{AMQP_FIELD_KIND_F64, {.f64 = 7.0}},
	{AMQP_FIELD_KIND_DECIMAL, {.decimal = {0, 7}}},
};

START_TEST(a_header_of_another_type_is_no_key)
{
	struct proc *proc = serve("header:session", "retry: {delay: [100ms]}");
	for (size_t i = 0; i < sizeof not_keys / sizeof *not_keys; i++) {
		amqp_table_entry_t entry = {amqp_cstring_bytes("session"), not_keys[i]};
		amqp_basic_properties_t properties = {
			._flags = AMQP_BASIC_HEADERS_FLAG, .headers = {1, &entry}};
		client_publish(fixture.client, fixture.queue, "unfit", 5, &properties);
		struct message *dead = client_take(fixture.client, fixture.dead);
		ck_assert(message_header_is(dead, "x-wpool-reason", "bad-session"));
		message_free(dead);
	}
	post("a", "fits", NULL, NULL);
	client_expect(fixture.client, fixture.replies, "fits");
	ck_assert_int_eq(fixture_witnessed(NULL), 1);
	fixture_stop(proc);
}
END_TEST

/* ---------- failures and slices ---------- */

static void expect_replies(const char *const bodies[])
{
	for (; *bodies; bodies++)
		client_expect(fixture.client, fixture.replies, *bodies);
}

/* All wait behind the first one, whose slices and attempts come before them. */
START_TEST(slices_and_attempts_keep_their_place)
{
	static const char *const headers[][2] = {{"X-Hand-Back", "3"}, {"X-Fail-Until", "2"}};
	struct proc *proc = serve("header:session", "retry: {attempts: 3, delay: [100ms]}");
	post("a", "first", headers[_i][0], headers[_i][1]);
	post("a", "second", headers[_i][0], headers[_i][1]);
	post("a", "third", NULL, NULL);
	expect_replies((const char *const[]){"first", "second", "third", NULL});
	client_expect_ready(fixture.client, fixture.queue, 0);
	ck_assert_int_le(client_ready(fixture.client, fixture.dead), 0);
	fixture_stop(proc);
	ck_assert_int_eq(fixture_witnessed(NULL), 3);
	ck_assert_int_eq(broker_messages(fixture.broker, fixture.queue), 0);
}
END_TEST

/* Post a task whose rest fails, and take its dead letter. */
static struct message *fail_rest(void)
{
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "rest",
			.correlation_id = "c-1",
			.message_id = "m-1",
			.reply_to = fixture.replies,
			.headers = {{"session", "a"}, {"X-Hand-Back", "1"}, {"X-Status", "500"}}});
	return client_take(fixture.client, fixture.dead);
}

START_TEST(a_dead_letter_has_what_was_counted_in_memory)
{
	struct proc *proc = serve("header:session", "retry: {attempts: 2, delay: [100ms]}");
	struct message *dead = fail_rest();
	ck_assert_str_eq(dead->body, "rest");
	ck_assert(message_text_is(dead->properties.correlation_id, "c-1"));
	ck_assert(message_text_is(dead->properties.message_id, "m-1"));
	ck_assert(message_header_is(dead, "session", "a"));
	ck_assert(message_header_is(dead, "x-wpool-reason", "failed"));
	ck_assert_int_eq(message_header_number(dead, "x-wpool-attempt"), 2);
	ck_assert_int_eq(message_header_number(dead, "x-wpool-slice"), 1);
	ck_assert_int_eq(message_header_number(dead, "X-Hand-Back"), 0);
	message_free(dead);
	fixture_stop(proc);
}
END_TEST

/* It begins at its first attempt and slice, in its session. */
START_TEST(a_replayed_dead_letter_finds_its_session)
{
	struct proc *proc = serve("header:session", "retry: {attempts: 2, delay: [100ms]}");
	post("a", "fails", "X-Fail-Until", "2");
	client_expect_ready(fixture.client, fixture.dead, 1);
	fixture_stop(proc);
	proc = fixture_serve_pools(scratch_text(
		"- {name: tested, queue: '%s', command: ['%s'], properties: true, session: {key: "
		"'header:session', without_key: reject}, retry: {attempts: 3, delay: [100ms]}}\n",
		fixture.queue, fixture_built("workers/echo")));
	command_expect_text(RUN(0, "dead-letters", "replay", "--queue", fixture.queue, "--broker",
				    broker_url(fixture.broker)),
		"1 replayed");
	client_expect(fixture.client, fixture.replies, "fails");
	fixture_stop(proc);
}
END_TEST

/* It has its turn in its session: it is given up when the one before it is done, not before. */
START_TEST(an_unfit_message_waits_for_its_turn)
{
	char large[2001];
	struct proc *proc = serve("header:session", "max_body: 1KiB, retry: {delay: [100ms]}");
	memset(large, 'x', sizeof large - 1);
	large[sizeof large - 1] = '\0';
	post("a", "first", "X-Until", fixture_release_path("first"));
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = large, .headers = {{"session", "a"}}});
	post("a", "third", NULL, NULL);
	control_await_figure("tasks", "waiting", 2);
	ck_assert_int_le(client_ready(fixture.client, fixture.dead), 0);
	fixture_release("first");
	expect_replies((const char *const[]){"first", "third", NULL});
	struct message *dead = client_take(fixture.client, fixture.dead);
	ck_assert(message_header_is(dead, "x-wpool-reason", "too-large"));
	ck_assert_uint_eq(dead->size, sizeof large - 1);
	message_free(dead);
	fixture_stop(proc);
}
END_TEST

/* ---------- redeliveries ---------- */

/* A header of each type but L, which 3.10 does not read, in an order that is not that of their
 * names: a broker that adds a count decodes, sorts and encodes them again. */
static amqp_table_t headers_of_every_type(const char *id)
{
	static amqp_field_value_t item = {.kind = AMQP_FIELD_KIND_I32, .value.i32 = -7};
	static amqp_table_entry_t inner[2], entries[18];
	const amqp_table_entry_t all[] = {
		{amqp_cstring_bytes("zebra"), {AMQP_FIELD_KIND_I8, {.i8 = -1}}},
		{amqp_cstring_bytes("session"),
			{AMQP_FIELD_KIND_UTF8, {.bytes = amqp_cstring_bytes("a")}}},
		{amqp_cstring_bytes("yak"), {AMQP_FIELD_KIND_U8, {.u8 = 255}}},
		{amqp_cstring_bytes("X-Begin"),
			{AMQP_FIELD_KIND_UTF8,
				{.bytes = amqp_cstring_bytes(scratch_text("%s has begun", id))}}},
		{amqp_cstring_bytes("X-Until"),
			{AMQP_FIELD_KIND_UTF8,
				{.bytes = amqp_cstring_bytes(fixture_release_path(id))}}},
		{amqp_cstring_bytes("wolf"), {AMQP_FIELD_KIND_I16, {.i16 = INT16_MIN}}},
		{amqp_cstring_bytes("vole"), {AMQP_FIELD_KIND_U16, {.u16 = UINT16_MAX}}},
		{amqp_cstring_bytes("urchin"), {AMQP_FIELD_KIND_I32, {.i32 = INT32_MIN}}},
		{amqp_cstring_bytes("toad"), {AMQP_FIELD_KIND_U32, {.u32 = UINT32_MAX}}},
		{amqp_cstring_bytes("swan"), {AMQP_FIELD_KIND_I64, {.i64 = INT64_MIN}}},
		{amqp_cstring_bytes("raven"), {AMQP_FIELD_KIND_F32, {.f32 = 0.1f}}},
		{amqp_cstring_bytes("quail"), {AMQP_FIELD_KIND_F64, {.f64 = 0.1}}},
		{amqp_cstring_bytes("pig"), {AMQP_FIELD_KIND_DECIMAL, {.decimal = {2, 1250}}}},
		{amqp_cstring_bytes("owl"), {AMQP_FIELD_KIND_TIMESTAMP, {.u64 = 1700000000}}},
		{amqp_cstring_bytes("newt"), {AMQP_FIELD_KIND_VOID, {.i64 = 0}}},
		{amqp_cstring_bytes("mole"),
			{AMQP_FIELD_KIND_BYTES, {.bytes = amqp_cstring_bytes("\xff\xfe")}}},
		{amqp_cstring_bytes("lynx"), {AMQP_FIELD_KIND_ARRAY, {.array = {1, &item}}}},
		{amqp_cstring_bytes("kite"), {AMQP_FIELD_KIND_TABLE, {.table = {2, inner}}}},
	};
	inner[0] = all[0];
	inner[1] = all[2];
	memcpy(entries, all, sizeof entries);
	return (amqp_table_t){sizeof entries / sizeof *entries, entries};
}

/* The running one and the one behind it are known again when the broker delivers them again: both
 * run once, in order. */
START_TEST(a_redelivered_message_is_known_again)
{
	struct proc *proc = serve("header:session", "retry: {delay: [100ms]}");
	const char *const ids[] = {"first", "second"};
	for (size_t i = 0; i < 2; i++) {
		amqp_basic_properties_t properties = {
			._flags = AMQP_BASIC_HEADERS_FLAG | AMQP_BASIC_CORRELATION_ID_FLAG |
				  AMQP_BASIC_TIMESTAMP_FLAG | AMQP_BASIC_PRIORITY_FLAG,
			.headers = headers_of_every_type(ids[i]),
			.correlation_id = amqp_cstring_bytes(ids[i]),
			.timestamp = 1700000000,
			.priority = 3};
		client_publish(fixture.client, fixture.queue, ids[i], strlen(ids[i]), &properties);
	}
	proc_expect(proc, "first has begun");
	control_await_figure("tasks", "waiting", 1);
	broker_close_connections(fixture.broker);
	fixture_reconnect();
	control_await_figure("sessions", "reattached", 2);
	fixture_release("first");
	proc_expect(proc, "second has begun");
	fixture_release("second");
	client_expect_ready(fixture.client, fixture.queue, 0);
	fixture_stop(proc);
	ck_assert_int_eq(fixture_witnessed("first"), 1);
	ck_assert_int_eq(fixture_witnessed("second"), 1);
	ck_assert_int_eq(broker_messages(fixture.broker, fixture.queue), 0);
}
END_TEST

/* They differ in nothing but their place. */
START_TEST(equal_messages_run_once_each)
{
	enum { EQUAL = 20 };
	struct proc *proc = serve("header:session", "retry: {delay: [100ms]}");
	post("a", "held", "X-Until", fixture_release_path("held"));
	for (int i = 0; i < EQUAL; i++)
		client_post(fixture.client, fixture.queue,
			&(struct letter){.body = "equal",
				.headers = {{"X-Witness", "equal"}, {"session", "a"}}});
	control_await_figure("tasks", "waiting", EQUAL);
	broker_close_connections(fixture.broker);
	fixture_reconnect();
	control_await_figure("sessions", "reattached", EQUAL + 1);
	fixture_release("held");
	control_await_figure("totals", "done", EQUAL + 1);
	fixture_stop(proc);
	ck_assert_int_eq(fixture_witnessed("equal"), EQUAL);
	ck_assert_int_eq(broker_messages(fixture.broker, fixture.queue), 0);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("session_messages",
		{a_task_carries_its_key, sizeof sources / sizeof *sources},
		{a_message_without_a_usable_key_is_given_up, 1},
		{a_header_of_another_type_is_no_key, 1}, {slices_and_attempts_keep_their_place, 2},
		{a_dead_letter_has_what_was_counted_in_memory, 1},
		{a_replayed_dead_letter_finds_its_session, 1},
		{an_unfit_message_waits_for_its_turn, 1}, {a_redelivered_message_is_known_again, 1},
		{equal_messages_run_once_each, 1});
}
