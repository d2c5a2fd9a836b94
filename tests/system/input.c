/* Bad input: missing, wrong or hostile input is reported or waited for, and loses nothing. */
#include "system/system.h"

#include <signal.h>
#include <string.h>

static const char *const *echo_worker(void)
{
	static const char *worker[2];
	worker[0] = fixture_built("workers/echo");
	return worker;
}

static void expect_echo(const char *text)
{
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = text,
			.reply_to = fixture.replies,
			.headers = {{"X-Status", "201"}}});
	client_expect(fixture.client, fixture.replies, text);
}

START_TEST(missing_queue_is_reported_and_awaited)
{
	client_delete(fixture.client, fixture.queue);
	struct proc *serve = fixture_serve(NULL, echo_worker());
	proc_expect(serve, fixture.queue);
	client_declare(fixture.client, fixture.queue, CLIENT_CLASSIC);
	client_expect_consumers(fixture.client, fixture.queue, 1);
	expect_echo("here at last");
	fixture_stop(serve);
}
END_TEST

START_TEST(unreachable_broker_is_reported_and_retried)
{
	/* Port 1 of loopback: nobody listens. */
	const char *const options[] = {"--broker", "amqp://guest:secret@127.0.0.1:1/", NULL};
	struct proc *serve = fixture_serve(options, echo_worker());
	proc_expect(serve, "127.0.0.1");
	proc_expect(serve, "127.0.0.1");
	ck_assert(!proc_has_logged(serve, "secret"));
	fixture_stop(serve);
}
END_TEST

START_TEST(broker_that_starts_late_is_used)
{
	char *folder = scratch_path(fixture.folder, "node");
	struct broker *broker = broker_start(folder);
	broker_command(broker, "kill");
	const char *const options[] = {"--broker", broker_url(broker), NULL};
	struct proc *serve = fixture_serve(options, echo_worker());
	proc_expect(serve, "127.0.0.1");
	broker_command(broker, "restart");
	struct client *client = client_open(broker_url(broker));
	client_declare(client, fixture.queue, CLIENT_QUORUM);
	client_expect_consumers(client, fixture.queue, 1);
	fixture_stop(serve);
	client_free(client);
	broker_free(broker);
	free(folder);
}
END_TEST

START_TEST(wrong_password_is_reported_and_retried)
{
	char *url = scratch_text(
		"amqp://guest:not-the-password@127.0.0.1:%d/", broker_port(fixture.broker));
	const char *const options[] = {"--broker", url, NULL};
	struct proc *serve = fixture_serve(options, echo_worker());
	proc_expect(serve, "refused");
	ck_assert(!proc_has_logged(serve, "not-the-password"));
	ck_assert(proc_is_alive(serve));
	fixture_stop(serve);
	free(url);
}
END_TEST

START_TEST(missing_worker_command_is_reported)
{
	static const struct {
		const char *command, *words;
	} cases[] = {
		{"/no/such/worker", "No such file or directory"},
		{"/etc/passwd", "Permission denied"},
	};
	const char *const worker[] = {cases[_i].command, NULL};
	struct proc *serve = fixture_serve(NULL, worker);
	proc_expect(serve, cases[_i].words);
	ck_assert(proc_has_logged(serve, cases[_i].command));
	proc_expect(serve, "control socket: "); /* from here on it handles signals */
	client_send(fixture.client, fixture.queue, "kept");
	fixture_stop(serve);
	ck_assert_int_eq(broker_messages(fixture.broker, fixture.queue), 1);
}
END_TEST

START_TEST(bodies_of_all_sizes_pass)
{
	static const size_t sizes[] = {0, 1, 131064, 131065, 16 * 1024 * 1024};
	struct proc *serve = fixture_serve_ready(NULL, echo_worker());
	amqp_table_entry_t header = {.key = amqp_cstring_bytes("X-Status"),
		.value = {.kind = AMQP_FIELD_KIND_I32, .value.i32 = 201}};
	amqp_basic_properties_t properties = {
		._flags = AMQP_BASIC_REPLY_TO_FLAG | AMQP_BASIC_HEADERS_FLAG,
		.reply_to = amqp_cstring_bytes(fixture.replies),
		.headers = {1, &header},
	};
	char *body = malloc(sizes[_i] + 1);
	ck_assert_ptr_nonnull(body);
	for (size_t i = 0; i < sizes[_i]; i++)
		body[i] = (char)(i * 131 >> 3);
	client_publish(fixture.client, fixture.queue, body, sizes[_i], &properties);
	struct message *reply = client_take(fixture.client, fixture.replies);
	ck_assert_uint_eq(reply->size, sizes[_i]);
	ck_assert_int_eq(memcmp(reply->body, body, sizes[_i]), 0);
	message_free(reply);
	free(body);
	fixture_stop(serve);
	ck_assert_int_eq(broker_messages(fixture.broker, fixture.queue), 0);
}
END_TEST

START_TEST(body_over_limit_is_dead_lettered)
{
	struct proc *serve = fixture_serve_pool("max_body: 1MiB", fixture_built("workers/echo"));
	size_t size = 1024 * 1024 + 1;
	client_expect_consumers(fixture.client, fixture.queue, 1);
	char *body = malloc(size);
	ck_assert_ptr_nonnull(body);
	memset(body, 'x', size);
	client_publish(fixture.client, fixture.queue, body, size, NULL);
	struct message *dead = client_take(fixture.client, fixture.dead);
	ck_assert_uint_eq(dead->size, size);
	ck_assert(message_header_is(dead, "x-wpool-reason", "too-large"));
	message_free(dead);
	free(body);
	fixture_stop(serve);
	ck_assert_int_eq(broker_messages(fixture.broker, fixture.queue), 0);
}
END_TEST

#define KINDS 19

/* One header of each type that AMQP has, a table and an array among them. */
static void fill_every_kind(
	amqp_table_entry_t entries[KINDS], amqp_table_entry_t *inner, amqp_field_value_t *element)
{
	*element = (amqp_field_value_t){.kind = AMQP_FIELD_KIND_I32, .value.i32 = 5};
	*inner = (amqp_table_entry_t){.key = amqp_cstring_bytes("inner"), .value = *element};
	const amqp_field_value_t values[KINDS] = {
		{.kind = AMQP_FIELD_KIND_BOOLEAN, .value.boolean = 1},
		{.kind = AMQP_FIELD_KIND_I8, .value.i8 = -8},
		{.kind = AMQP_FIELD_KIND_U8, .value.u8 = 200},
		{.kind = AMQP_FIELD_KIND_I16, .value.i16 = -1600},
		{.kind = AMQP_FIELD_KIND_U16, .value.u16 = 60000},
		{.kind = AMQP_FIELD_KIND_I32, .value.i32 = -320000},
		{.kind = AMQP_FIELD_KIND_U32, .value.u32 = 4000000000},
		{.kind = AMQP_FIELD_KIND_I64, .value.i64 = INT64_MIN},
		{.kind = AMQP_FIELD_KIND_F32, .value.f32 = 1.5f},
		{.kind = AMQP_FIELD_KIND_F64, .value.f64 = -2.25},
		{.kind = AMQP_FIELD_KIND_DECIMAL, .value.decimal = {2, 12345}},
		{.kind = AMQP_FIELD_KIND_UTF8,
			.value.bytes = amqp_cstring_bytes("gr\xc3\xbc\xc3\x9f")},
		{.kind = AMQP_FIELD_KIND_UTF8, .value.bytes = amqp_cstring_bytes("\xff\xfe\x80")},
		{.kind = AMQP_FIELD_KIND_BYTES, .value.bytes = amqp_cstring_bytes("\x00\x01")},
		{.kind = AMQP_FIELD_KIND_TIMESTAMP, .value.u64 = 1700000000},
		{.kind = AMQP_FIELD_KIND_VOID},
		{.kind = AMQP_FIELD_KIND_TABLE, .value.table = {1, inner}},
		{.kind = AMQP_FIELD_KIND_ARRAY, .value.array = {1, element}},
		{.kind = AMQP_FIELD_KIND_I32, .value.i32 = 201},
	};
	static const char *const names[KINDS] = {"boolean", "i8", "u8", "i16", "u16", "i32", "u32",
		"i64", "float", "double", "decimal", "text", "not-utf8", "bytes", "time", "void",
		"table", "array", "X-Status"};
	for (size_t i = 0; i < KINDS; i++)
		entries[i] = (amqp_table_entry_t){amqp_cstring_bytes(names[i]), values[i]};
}

static void post_every_kind(const char *status)
{
	amqp_table_entry_t entries[KINDS + 1], inner;
	amqp_field_value_t element;
	fill_every_kind(entries, &inner, &element);
	entries[KINDS - 1].value = (amqp_field_value_t){
		.kind = AMQP_FIELD_KIND_UTF8, .value.bytes = amqp_cstring_bytes(status)};
	entries[KINDS] = (amqp_table_entry_t){amqp_cstring_bytes("X-Report"),
		{.kind = AMQP_FIELD_KIND_UTF8, .value.bytes = amqp_cstring_bytes("task")}};
	amqp_basic_properties_t properties = {
		._flags = AMQP_BASIC_REPLY_TO_FLAG | AMQP_BASIC_HEADERS_FLAG,
		.reply_to = amqp_cstring_bytes(fixture.replies),
		.headers = {KINDS + 1, entries},
	};
	client_publish(fixture.client, fixture.queue, "x", 1, &properties);
}

START_TEST(every_header_type_reaches_the_worker)
{
	static const char *const settings[] = {"headers: text", "headers: typed"};
	struct proc *serve = fixture_serve_pool(settings[_i], fixture_built("workers/echo"));
	post_every_kind("201");
	struct message *reply = client_take(fixture.client, fixture.replies);
	ck_assert_ptr_nonnull(strstr(reply->body, "-320000"));
	ck_assert_ptr_nonnull(strstr(reply->body, "-9223372036854775808"));
	ck_assert_ptr_nonnull(strstr(reply->body, "4000000000"));
	ck_assert_ptr_nonnull(strstr(reply->body, "\"void\""));
	ck_assert_ptr_nonnull(strstr(reply->body, "\"not-utf8\""));
	message_free(reply);
	fixture_stop(serve);
	ck_assert_int_eq(broker_messages(fixture.broker, fixture.queue), 0);
}
END_TEST

START_TEST(every_header_type_survives_a_copy)
{
	struct proc *serve = fixture_serve_ready(NULL, echo_worker());
	post_every_kind("404");
	struct message *dead = client_take(fixture.client, fixture.dead);
	amqp_table_entry_t entries[KINDS], inner;
	amqp_field_value_t element;
	fill_every_kind(entries, &inner, &element);
	for (size_t i = 0; i < KINDS - 1; i++) {
		char *name = strndup(entries[i].key.bytes, entries[i].key.len);
		const amqp_field_value_t *kept = message_header(dead, name);
		ck_assert_msg(kept != NULL, "header %s is gone", name);
		ck_assert_msg(kept->kind == entries[i].value.kind, "header %s became '%c'", name,
			kept->kind);
		free(name);
	}
	ck_assert_int_eq(message_header_number(dead, "i64"), INT64_MIN);
	message_free(dead);
	fixture_stop(serve);
}
END_TEST

START_TEST(text_that_is_not_utf8_passes)
{
	struct proc *serve = fixture_serve_ready(NULL, echo_worker());
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "\xff\xfe\x80 body",
			.reply_to = fixture.replies,
			.correlation_id = "\xc3\x28",
			.headers = {{"X-Status", "201"}, {"\xff name", "\xfe value"}}});
	struct message *reply = client_take(fixture.client, fixture.replies);
	ck_assert_str_eq(reply->body, "\xff\xfe\x80 body");
	ck_assert(message_text_is(reply->properties.correlation_id, "\xc3\x28"));
	message_free(reply);
	fixture_stop(serve);
	ck_assert_int_eq(broker_messages(fixture.broker, fixture.queue), 0);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("input", {missing_queue_is_reported_and_awaited, 1},
		{unreachable_broker_is_reported_and_retried, 1},
		{broker_that_starts_late_is_used, 1}, {wrong_password_is_reported_and_retried, 1},
		{missing_worker_command_is_reported, 2}, {bodies_of_all_sizes_pass, 5},
		{body_over_limit_is_dead_lettered, 1}, {every_header_type_reaches_the_worker, 2},
		{every_header_type_survives_a_copy, 1}, {text_that_is_not_utf8_passes, 1});
}
