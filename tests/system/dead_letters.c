/* wpool dead-letters: reading leaves everything in place, and a replay loses nothing, whatever
 * happens to it, and publishes the message as it was. */
#include "harness/command.h"
#include "harness/control.h"
#include "harness/deadline.h"
#include "harness/scratch.h"
#include "harness/terminal.h"
#include "system/system.h"

#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARGUMENTS 24

/* Start `wpool dead-letters VERB --queue fixture.queue OPTION...`. */
static struct proc *start_verb(const char *verb, const char *const options[])
{
	const char *arguments[ARGUMENTS] = {"dead-letters", verb, "--queue", fixture.queue,
		"--broker", broker_url(fixture.broker)};
	for (size_t i = 0, at = 6; options && options[i]; i++)
		arguments[at++] = options[i];
	return fixture_wpool(arguments);
}

#define START_VERB(verb, ...) start_verb(verb, (const char *const[]){__VA_ARGS__, NULL})

/* Run it; it must exit with this code. What it wrote to stdout moves out. */
static char *run_verb(const char *verb, const char *const options[], int code)
{
	struct proc *proc = start_verb(verb, options);
	int got = proc_wait(proc);
	char *errors = proc_stderr(proc);
	ck_assert_msg(got == code, "%s ended with %d, not %d: %s", verb, got, code, errors);
	free(errors);
	return proc_stdout(proc);
}

#define RUN_VERB(verb, code, ...) run_verb(verb, (const char *const[]){__VA_ARGS__, NULL}, code)

/* A dead letter as a pool leaves it. */
static void post_dead(const char *body, const char *reason)
{
	client_post(fixture.client, fixture.dead,
		&(struct letter){.body = body,
			.message_id = body,
			.correlation_id = "c",
			.headers = {{"x-wpool-queue", fixture.queue}, {"x-wpool-reason", reason},
				{"x-wpool-attempt", "3"}, {"mine", "kept"}}});
}

/* Bodies 0 to count - 1; every third one crashed, the others failed. */
static void post_many(enum client_queue kind, int count)
{
	client_declare(fixture.client, fixture.dead, kind);
	for (int i = 0; i < count; i++) {
		char body[16];
		snprintf(body, sizeof body, "%d", i);
		post_dead(body, i % 3 ? "failed" : "crashed");
	}
}

static void expect_many(const char *queue, int count)
{
	client_expect_ready(fixture.client, queue, count);
	for (int i = 0; i < count; i++) {
		char body[16];
		snprintf(body, sizeof body, "%d", i);
		client_expect(fixture.client, queue, body);
	}
}

/* Also if only some are read, in more than one step of the prefetch window. */
START_TEST(reading_keeps_count_and_order)
{
	post_many(_i ? CLIENT_CLASSIC : CLIENT_QUORUM, 50);
	command_expect_text(RUN_VERB("list", 0, "--limit", "30"), "30 of 50 messages");
	command_expect_text(RUN_VERB("list", 0, "--limit", "3"), "3 of 50 messages");
	command_expect_text(RUN_VERB("list", 0, "--match", "message_id=7"), "1 of 50 messages");
	command_expect_text(
		RUN_VERB("show", 0, "--json"), "\"count\":50,\"looked_at\":50,\"complete\":true");
	command_expect_text(RUN_VERB("list", 0, "--limit", "20"), "20 of 50 messages");
	expect_many(fixture.dead, 50);
}
END_TEST

/* Post bodies 0 to count - 1 as dead letters, fast. */
static void publish_many(int count)
{
	char *path = scratch_path(fixture.folder, "letters");
	FILE *file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	for (int i = 0; i < count; i++)
		fprintf(file, "%d\n", i);
	ck_assert_int_eq(fclose(file), 0);
	char *header = scratch_text("x-wpool-queue=%s", fixture.queue);
	const char *const arguments[] = {"publish", "--queue", fixture.dead, "--lines", "--header",
		header, "--broker", broker_url(fixture.broker), path, NULL};
	struct proc *proc = fixture_wpool(arguments);
	ck_assert_int_eq(proc_wait(proc), 0);
	client_expect_ready(fixture.client, fixture.dead, count);
}

/* All bodies from `from` to below `to` are read, each once. */
static void expect_shown(int from, int to)
{
	json_t *shown = control_parse(RUN_VERB("show", 0, "--json")), *message;
	const json_t *messages = json_object_get(shown, "messages");
	bool *seen = calloc((size_t)to, sizeof *seen);
	size_t i;
	ck_assert(json_is_true(json_object_get(shown, "complete")));
	ck_assert_int_eq((int)json_array_size(messages), to - from);
	json_array_foreach(messages, i, message)
	{
		int body = atoi(control_text(message, "body"));
		ck_assert_msg(body >= from && body < to && !seen[body], "%d is wrong", body);
		seen[body] = true;
	}
	free(seen);
	json_decref(shown);
	client_expect_ready(fixture.client, fixture.dead, to - from);
}

/* A consumer's window has 65,535 places at most; all that stay are held at once. */
START_TEST(more_than_a_window_is_read)
{
	enum { COUNT = 66000, DROPPED = 100 };
	client_declare(fixture.client, fixture.dead, _i ? CLIENT_CLASSIC : CLIENT_QUORUM);
	publish_many(COUNT);
	expect_shown(0, COUNT);
	command_expect_text(RUN_VERB("drop", 0, "--yes", "--limit", scratch_text("%d", DROPPED)),
		"100 dropped; 65,900 left in ");
	expect_shown(DROPPED, COUNT);
	command_expect_text(RUN_VERB("replay", 0, "--match", "x-wpool-queue=elsewhere"),
		"0 matched, 0 replayed");
	command_expect_text(run_verb("replay", NULL, 0), "65,900 matched, 65,900 replayed");
	client_expect_ready(fixture.client, fixture.queue, COUNT - DROPPED);
	client_purge(fixture.client, fixture.queue);
}
END_TEST

START_TEST(list_and_show_print_messages)
{
	post_many(CLIENT_QUORUM, 4);
	char *lines = run_verb("list", NULL, 0);
	command_expect_text(strdup(lines), "REASON   ATTEMPTS  QUEUE");
	command_expect_text(strdup(lines), "MESSAGE ID  CORRELATION ID  BYTES");
	command_expect_text(strdup(lines), "crashed         3  ");
	command_expect_text(lines, "\n\n4 of 4 messages in ");
	lines = RUN_VERB("list", 0, "--column", "mine");
	command_expect_text(strdup(lines), "BYTES  mine\n");
	command_expect_text(lines, "1  kept\n");
	lines = RUN_VERB("show", 0, "--match", "message_id=3");
	command_expect_text(strdup(lines), "message 4 (message_id 3)\n");
	command_expect_text(strdup(lines), "    mine (string): kept\n");
	command_expect_text(lines, "  body: 1 byte\n    3\n");
}
END_TEST

START_TEST(match_and_limit_select_messages)
{
	static const struct {
		const char *options[6];
		const char *words;
	} cases[] = {
		{{"--match", "x-wpool-reason=crashed"}, "2 of 5"},
		{{"--match", "x-wpool-reason=failed"}, "3 of 5"},
		{{"--match", "x-wpool-reason=failed", "--limit", "2"}, "2 of 5"},
		{{"--match", "x-wpool-reason=failed", "--match", "message_id=4"}, "1 of 5"},
		{{"--match", "x-wpool-reason=failed", "--match", "message_id=3"}, "0 of 5"},
		{{"--match", "correlation_id=c"}, "5 of 5"},
		{{"--match", "mine=kept", "--limit", "100"}, "5 of 5"},
	};
	post_many(CLIENT_QUORUM, 5);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		command_expect_text(run_verb("list", cases[i].options, 0), cases[i].words);
	command_expect_text(
		RUN_VERB("replay", 0, "--match", "x-wpool-reason=failed", "--limit", "2"),
		"2 matched, 2 replayed, 0 returned, 0 refused; 3 left");
	client_expect(fixture.client, fixture.queue, "1");
	client_expect(fixture.client, fixture.queue, "2");
	client_expect_ready(fixture.client, fixture.dead, 3);
}
END_TEST

/* On a terminal; without one, nothing is asked. */
START_TEST(replay_of_everything_asks_first)
{
	char *wpool = strdup(fixture_built("wpool"));
	const struct {
		const char *options[2], *answer, *end;
		int code;
	} cases[] = {
		{{NULL}, "n\n", "nothing was replayed", 75},
		{{"--limit", "1"}, "", "1 replayed", 0},
		{{"--match", "x-wpool-reason=crashed"}, "", "1 replayed", 0},
		{{NULL}, "y\n", "2 replayed", 0},
		{{"--yes"}, "", "2 replayed", 0},
		{{NULL}, "", "0 replayed", 0},
	};

	post_many(CLIENT_QUORUM, 4);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		if (cases[i].options[0] && strcmp(cases[i].options[0], "--yes") == 0)
			post_dead("4", "failed"), post_dead("5", "failed");
		struct terminal *terminal = terminal_start(120, 10,
			(const char *const[]){wpool, "dead-letters", "replay", "--queue",
				fixture.queue, "--broker", broker_url(fixture.broker),
				cases[i].options[0], cases[i].options[1], NULL});
		if (*cases[i].answer)
			terminal_expect(terminal, "messages in");
		terminal_type(terminal, cases[i].answer);
		terminal_expect(terminal, cases[i].end);
		ck_assert_int_eq(terminal_wait(terminal), cases[i].code);
		terminal_free(terminal);
	}
	client_expect_ready(fixture.client, fixture.queue, 6);
	free(wpool);
}
END_TEST

/* The fingerprint of the message with this id. */
static char *fingerprint_of(const char *id)
{
	char *match = scratch_text("message_id=%s", id);
	char *output = RUN_VERB("list", 0, "--json", "--match", match);
	json_t *list = json_loads(output, 0, NULL);
	char *text = strdup(json_string_value(json_object_get(
		json_array_get(json_object_get(list, "messages"), 0), "fingerprint")));
	json_decref(list);
	free(output);
	return text;
}

/* Also after the queue has counted in its headers that the message was handed back. */
START_TEST(fingerprint_selects_one_message)
{
	post_many(_i ? CLIENT_CLASSIC : CLIENT_QUORUM, 5);
	char *fingerprint = fingerprint_of("3"), *other = fingerprint_of("2");
	ck_assert_str_ne(fingerprint, other);
	for (int i = 0; i < 2; i++) {
		char *again = fingerprint_of("3");
		ck_assert_str_eq(again, fingerprint);
		free(again);
	}
	command_expect_text(RUN_VERB("list", 0, "--fingerprint", fingerprint), "1 of 5 messages");
	command_expect_text(RUN_VERB("replay", 0, "--fingerprint", fingerprint),
		"1 matched, 1 replayed, 0 returned, 0 refused; 4 left");
	client_expect(fixture.client, fixture.queue, "3");
	command_expect_text(
		RUN_VERB("drop", 0, "--yes", "--fingerprint", fingerprint), "0 dropped; 4 left");
	command_expect_text(
		RUN_VERB("drop", 0, "--yes", "--fingerprint", other), "1 dropped; 3 left");
	free(fingerprint);
	free(other);
}
END_TEST

START_TEST(skip_leaves_out_the_first_that_match)
{
	post_many(CLIENT_QUORUM, 6);
	char *lines = RUN_VERB("list", 0, "--json", "--skip", "2", "--limit", "3");
	command_expect_text(strdup(lines), "{\"position\":3,");
	command_expect_text(strdup(lines), "{\"position\":5,");
	ck_assert_ptr_null(strstr(lines, "{\"position\":2,"));
	ck_assert_ptr_null(strstr(lines, "{\"position\":6,"));
	free(lines);
	command_expect_text(RUN_VERB("list", 0, "--skip", "1", "--match", "x-wpool-reason=crashed"),
		"1 of 6 messages");
	command_expect_text(RUN_VERB("list", 0, "--skip", "6"), "0 of 6 messages");
}
END_TEST

/* The address is neither in the list of processes nor in the environment. */
START_TEST(address_may_come_from_standard_input)
{
	char line[1000];
	post_many(CLIENT_QUORUM, 1);
	snprintf(line, sizeof line, "echo '%s' | %s dead-letters list --queue %s --broker -",
		broker_url(fixture.broker), fixture_built("wpool"), fixture.queue);
	struct proc *proc = proc_start(
		fixture.folder, (const char *const[]){"/bin/sh", "-c", line, NULL}, NULL);
	ck_assert_int_eq(proc_wait(proc), 0);
	command_expect_text(proc_stdout(proc), "1 of 1 message");
	proc_free(proc);
}
END_TEST

START_TEST(drop_removes_matching_messages)
{
	post_many(CLIENT_QUORUM, 6);
	struct proc *proc = start_verb("drop", NULL);
	ck_assert_int_eq(proc_wait(proc), 64);
	command_expect_text(proc_stderr(proc), "--yes");
	command_expect_text(
		RUN_VERB("drop", 0, "--yes", "--match", "x-wpool-reason=failed", "--json"),
		"\"matched\":4,\"dropped\":4,\"left\":2}");
	client_expect_ready(fixture.client, fixture.dead, 2);
	client_expect(fixture.client, fixture.dead, "0");
	client_expect(fixture.client, fixture.dead, "3");
	command_expect_text(RUN_VERB("drop", 0, "--yes"), "0 dropped; 0 left");
}
END_TEST

/* The task is given up after one attempt. After the replay its first attempt fails again, and the
 * second succeeds. */
START_TEST(replayed_task_starts_at_first_attempt)
{
	struct proc *serve = fixture_serve_pool(
		"properties: true, retry: {attempts: 1}", fixture_built("workers/echo"));
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "again",
			.reply_to = fixture.replies,
			.correlation_id = "id-1",
			.headers = {{"X-Fail-Until", "1"}, {"X-Status", "201"}}});
	proc_expect(serve, "attempt 1 of 1; given up");
	client_expect_ready(fixture.client, fixture.dead, 1);
	fixture_stop(serve);
	command_expect_text(run_verb("replay", NULL, 0),
		"1 matched, 1 replayed, 0 returned, 0 refused; 0 left");
	ck_assert_int_eq(client_ready(fixture.client, fixture.dead), 0);
	serve = fixture_serve_pool(
		"properties: true, retry: {attempts: 2}", fixture_built("workers/echo"));
	struct message *reply = client_take(fixture.client, fixture.replies);
	ck_assert_str_eq(reply->body, "again");
	ck_assert(message_text_is(reply->properties.correlation_id, "id-1"));
	message_free(reply);
	ck_assert_int_eq(proc_count_logged(serve, "attempt 1 of 2; retrying"), 1);
	client_expect_ready(fixture.client, fixture.queue, 0);
	fixture_stop(serve);
	ck_assert_int_eq(broker_messages(fixture.broker, fixture.queue), 0);
	ck_assert_int_eq(broker_messages(fixture.broker, fixture.dead), 0);
}
END_TEST

enum { MANY = 400, ROUNDS = 5 };

/* Empty the queue; each of MANY must have been in it. */
static void expect_all(const char *queue)
{
	bool seen[MANY] = {false};
	for (long left = client_ready(fixture.client, queue); left > 0; left--) {
		struct message *message = client_take(fixture.client, queue);
		int number = atoi(message->body);
		ck_assert(number >= 0 && number < MANY);
		seen[number] = true;
		message_free(message);
	}
	for (int i = 0; i < MANY; i++)
		ck_assert_msg(seen[i], "%d is lost", i);
}

/* Wait until so many are replayed, or the program has ended. */
static void await_ready(struct proc *replay, long count)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	while (proc_is_alive(replay) && client_ready(fixture.client, fixture.queue) < count)
		fixture_poll(deadline, 1, "replayed messages are ready");
}

START_TEST(killed_replay_loses_nothing)
{
	post_many(_i ? CLIENT_CLASSIC : CLIENT_QUORUM, MANY);
	for (int round = 0; round < ROUNDS; round++) {
		long before = client_ready(fixture.client, fixture.queue);
		struct proc *replay = start_verb("replay", NULL);
		await_ready(replay, before + 1 + round * 7);
		proc_signal(replay, round == ROUNDS - 1 ? SIGINT : SIGKILL);
		int code = proc_wait(replay); /* it may be over, or not yet ready for a signal */
		ck_assert_msg(code > 128 || code == 75 || code == 0, "%d", code);
	}
	/* Its unacked messages return when the broker notices that it is gone. */
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	while (client_ready(fixture.client, fixture.dead) !=
		broker_messages(fixture.broker, fixture.dead))
		fixture_poll(deadline, 20, "all dead letters are ready again");
	char *said = run_verb("replay", NULL, 0);
	ck_assert_msg(broker_messages(fixture.broker, fixture.dead) == 0, "%s", said);
	expect_all(fixture.queue);
}
END_TEST

/* The target queue is suspended and confirms nothing, so that the replay cannot end before. */
START_TEST(replay_stops_when_connection_is_lost)
{
	post_many(CLIENT_QUORUM, MANY);
	fixture_declare(CLIENT_CLASSIC);
	broker_control_queue(fixture.broker, fixture.queue, "suspend");
	struct proc *replay = start_verb("replay", NULL);
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	while (client_ready(fixture.client, fixture.dead) == MANY)
		fixture_poll(deadline, 1, "the replay has taken a dead letter");
	broker_close_connections(fixture.broker); /* also of the test's client */
	broker_control_queue(fixture.broker, fixture.queue, "resume");
	fixture.client = client_open(broker_url(fixture.broker));
	ck_assert_int_eq(proc_wait(replay), 75);
	command_expect_text(
		proc_stderr(replay), "the connection was lost; what was not removed is still");
	broker_expect_messages(fixture.broker, fixture.dead, MANY);
	client_expect_ready(fixture.client, fixture.dead, MANY);
	free(run_verb("replay", NULL, 0));
	ck_assert_int_eq(broker_messages(fixture.broker, fixture.dead), 0);
	expect_all(fixture.queue);
}
END_TEST

/* No target in the message, a missing queue, an existing queue, and the pool's own queue. */
START_TEST(message_without_target_goes_where_it_is_sent)
{
	client_declare(fixture.client, fixture.dead, CLIENT_QUORUM);
	client_post(
		fixture.client, fixture.dead, &(struct letter){.body = "a", .message_id = "m-1"});
	struct proc *proc = START_VERB("replay", "--by-header");
	ck_assert_int_eq(proc_wait(proc), 64);
	command_expect_text(
		proc_stderr(proc), "message 1 (message_id m-1) has no x-wpool-queue; use --to");
	command_expect_text(
		proc_stdout(proc), "1 matched, 0 replayed, 0 returned, 0 refused, 1 without");
	client_expect_ready(fixture.client, fixture.dead, 1);
	command_expect_text(RUN_VERB("replay", 69, "--to", "no-such-queue", "--json"),
		"\"matched\":1,\"replayed\":0,\"returned\":1,\"refused\":0,");
	client_expect_ready(fixture.client, fixture.dead, 1);
	command_expect_text(RUN_VERB("replay", 0, "--to", fixture.replies), "1 replayed");
	client_expect(fixture.client, fixture.replies, "a");
	client_post(fixture.client, fixture.dead, &(struct letter){.body = "b"});
	command_expect_text(run_verb("replay", NULL, 0), "1 replayed");
	client_expect(fixture.client, fixture.queue, "b");
	ck_assert_int_eq(broker_messages(fixture.broker, fixture.dead), 0);
}
END_TEST

START_TEST(large_and_empty_bodies_survive)
{
	enum { SIZE = 16 * 1024 * 1024 };
	char *body = malloc(SIZE);
	ck_assert_ptr_nonnull(body);
	for (size_t i = 0; i < SIZE; i++)
		body[i] = (char)(i * 2654435761u >> 13);
	client_declare(fixture.client, fixture.dead, CLIENT_QUORUM);
	client_publish(fixture.client, fixture.dead, body, SIZE, NULL);
	client_publish(fixture.client, fixture.dead, "", 0, NULL);
	command_expect_text(run_verb("list", NULL, 0), "16,777,216");
	char *json = RUN_VERB("show", 0, "--json");
	ck_assert_uint_gt(strlen(json), SIZE / 3 * 4);
	command_expect_text(json, "\"size\":16777216,\"body_base64\":\"");
	command_expect_text(
		run_verb("show", NULL, 0), "16,776,960 more bytes; --json has them all");
	free(RUN_VERB("replay", 0, "--to", fixture.queue));
	struct message *message = client_take(fixture.client, fixture.queue);
	ck_assert_uint_eq(message->size, SIZE);
	ck_assert_int_eq(memcmp(message->body, body, SIZE), 0);
	message_free(message);
	client_expect(fixture.client, fixture.queue, "");
	free(body);
}
END_TEST

#define FIELD(name, letter, member, number)                                                        \
	{                                                                                          \
		{sizeof(name) - 1, (void *)(uintptr_t)(name)},                                     \
		{                                                                                  \
			.kind = (letter), .value.member = (number)                                 \
		}                                                                                  \
	}

/* The size of a value without a pointer. */
static size_t scalar_size(uint8_t kind)
{
	static const char *const by_size[] = {"V", "tbB", "su", "", "Iif", "", "", "", "ldT"};
	for (size_t size = 0; size < sizeof by_size / sizeof *by_size; size++)
		if (strchr(by_size[size], kind))
			return size;
	return 0;
}

START_TEST(all_header_types_survive)
{
	char raw[] = {'\xff', 0};
	amqp_table_entry_t inner[] = {FIELD("deep", 'l', i64, -5)};
	amqp_field_value_t list[] = {{.kind = 'I', .value.i32 = 7}, {.kind = 'V'}};
	amqp_table_entry_t entries[] = {
		FIELD("t", 't', boolean, 1),
		FIELD("b", 'b', i8, -8),
		FIELD("B", 'B', u8, 200),
		FIELD("s", 's', i16, -300),
		FIELD("u", 'u', u16, 60000),
		FIELD("I", 'I', i32, -70000),
		FIELD("i", 'i', u32, 4000000000u),
		FIELD("l", 'l', i64, -5000000000ll),
		FIELD("f", 'f', f32, 1.5f),
		FIELD("d", 'd', f64, 2.25),
		FIELD("T", 'T', u64, 1700000000u),
		FIELD("V", 'V', i64, 0),
		FIELD("D", 'D', decimal, ((amqp_decimal_t){2, 1234})),
		FIELD("x", 'x', bytes, ((amqp_bytes_t){2, raw})),
		FIELD("F", 'F', table, ((amqp_table_t){1, inner})),
		FIELD("A", 'A', array, ((amqp_array_t){2, list})),
		FIELD("S", 'S', bytes, amqp_cstring_bytes("text")),
		FIELD("x-wpool-reason", 'S', bytes, amqp_cstring_bytes("failed")),
		FIELD("x-wpool-attempt", 'l', i64, 3),
	};
	enum { KEPT = sizeof entries / sizeof *entries - 2 };
	amqp_basic_properties_t properties = {
		._flags = AMQP_BASIC_HEADERS_FLAG | AMQP_BASIC_PRIORITY_FLAG |
			  AMQP_BASIC_TIMESTAMP_FLAG | AMQP_BASIC_EXPIRATION_FLAG,
		.headers = {sizeof entries / sizeof *entries, entries},
		.priority = 4,
		.timestamp = 1234567890,
		.expiration = amqp_cstring_bytes("3600000")};
	client_declare(fixture.client, fixture.dead, CLIENT_QUORUM);
	client_publish(fixture.client, fixture.dead, "body", 4, &properties);
	free(RUN_VERB("show", 0, "--json"));
	free(RUN_VERB("replay", 0, "--to", fixture.queue));
	struct message *message = client_take(fixture.client, fixture.queue);
	ck_assert_int_eq(message->properties.headers.num_entries, KEPT);
	for (int i = 0; i < KEPT; i++) {
		char name[8] = "";
		memcpy(name, entries[i].key.bytes, entries[i].key.len);
		const amqp_field_value_t *got = message_header(message, name);
		ck_assert_msg(got && got->kind == entries[i].value.kind, "header %s", name);
		ck_assert_msg(
			memcmp(&got->value, &entries[i].value.value, scalar_size(got->kind)) == 0,
			"header %s", name);
	}
	const amqp_field_value_t *table = message_header(message, "F");
	ck_assert_int_eq(table->value.table.entries[0].value.value.i64, -5);
	const amqp_field_value_t *array = message_header(message, "A");
	ck_assert_int_eq(array->value.array.entries[0].value.i32, 7);
	ck_assert_int_eq(array->value.array.entries[1].kind, 'V');
	ck_assert_int_eq(message_header(message, "D")->value.decimal.value, 1234);
	ck_assert_int_eq(memcmp(message_header(message, "x")->value.bytes.bytes, raw, 2), 0);
	ck_assert(message_header_is(message, "S", "text"));
	ck_assert_int_eq(message->properties.priority, 4);
	ck_assert_uint_eq(message->properties.timestamp, 1234567890);
	ck_assert(!(message->properties._flags & AMQP_BASIC_EXPIRATION_FLAG));
	message_free(message);
}
END_TEST

START_TEST(usage_errors_are_named)
{
	static const struct {
		const char *verb, *options[6];
		int code;
		const char *words;
	} cases[] = {
		{"list", {NULL}, 69,
			"no wpool serve has made it yet, or it was deleted, or the pool's "
			"retry.dead_letter is another one (--dead-letters)\n"},
		{"list", {"--dead-letters", "no-such"}, 69,
			"there is no queue no-such: no wpool serve has made it yet, or it was "
			"deleted, or the pool's retry.dead_letter is another one\n"},
		{"lits", {NULL}, 64, "'lits'"},
		{"list", {"--match", "x"}, 64, "--match 'x'"},
		{"list", {"--limit", "0"}, 64, "--limit '0'"},
		{"list", {"--to", "q"}, 64, "--to goes with replay"},
		{"list", {"--yes"}, 64, "--yes goes with replay and drop"},
		{"replay", {"--to", ""}, 64, "--to is empty"},
		{"drop", {"--by-header"}, 64, "--by-header goes with replay"},
		{"replay", {"--by-header", "--to", "q"}, 64, "exclude each other"},
		{"list", {"--broker", "amqp://127.0.0.1:1", "--wait", "300ms"}, 69,
			"no connection"},
		{"list", {"--broker", "http://u:secret@x/"}, 64, "amqp"},
		{"list", {"show"}, 64, "unexpected \"show\""},
		{"list", {"--skip", "-1"}, 64, "--skip '-1'"},
		{"show", {"--column", "x"}, 64, "--column goes with list"},
		{"list", {"--column", "x", "--json"}, 64, "without --json"},
		{"drop", {"--yes", "--skip", "1"}, 64, "--skip goes with list and show"},
		{"list", {"--fingerprint", "12"}, 64, "--fingerprint '12'"},
		{"list", {"--broker", "-"}, 64, "standard input has no line with an address"},
	};
	struct proc *proc = start_verb(cases[_i].verb, cases[_i].options);
	ck_assert_int_eq(proc_wait(proc), cases[_i].code);
	command_expect_text(proc_stderr(proc), cases[_i].words);
	ck_assert(!proc_has_logged(proc, "secret"));
}
END_TEST

/* ---------- faults and odd messages ---------- */

static void post_dead_for(int count, const char *target)
{
	for (int i = 0; i < count; i++)
		client_post(fixture.client, fixture.dead,
			&(struct letter){.body = "b", .headers = {{"x-wpool-queue", target}}});
}

/* Replace the queue by one whose process is suspended and confirms nothing. */
static void declare_silent(const char *queue)
{
	client_delete(fixture.client, queue);
	client_declare(fixture.client, queue, CLIENT_CLASSIC);
	broker_control_queue(fixture.broker, queue, "suspend");
}

/* A single active consumer has the queue and its deliveries; the other messages stay there. */
START_TEST(queue_of_single_active_consumer_is_left)
{
	char declare[400];
	const char *held = fixture.dead;
	snprintf(declare, sizeof declare,
		"element(1, rabbit_amqqueue:declare(rabbit_misc:r(<<\"/\">>, queue, <<\"%s\">>), "
		"true, false, [{<<\"x-queue-type\">>, longstr, <<\"quorum\">>}, "
		"{<<\"x-single-active-consumer\">>, bool, true}], none, <<\"guest\">>))",
		held);
	free(broker_eval(fixture.broker, declare));
	for (int i = 0; i < 100; i++)
		client_post(fixture.client, held,
			&(struct letter){.body = "b", .headers = {{"X-Sleep-Ms", "600000"}}});
	const char *arguments[] = {"serve", "--queue", held, "--workers", "1", "--broker",
		broker_url(fixture.broker), "--", fixture_built("workers/echo"), NULL};
	struct proc *other = fixture_wpool(arguments);
	client_expect_consumers(fixture.client, held, 1);
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	while (client_ready(fixture.client, held) == 100)
		fixture_poll(deadline, 10, "the other consumer has a delivery");
	struct proc *list = START_VERB("list", "--wait", "5s");
	ck_assert_int_eq(proc_wait(list), 75);
	command_expect_text(proc_stderr(list), "another consumer may have the queue for itself");
	proc_signal(other, SIGKILL);
	proc_wait(other);
}
END_TEST

static bool has_unconfirmed(int wanted)
{
	int count = -1;
	char *got =
		broker_eval(fixture.broker, "lists:sum([N || [{messages_unconfirmed, N}] <- "
					    "rabbit_channel:info_all([messages_unconfirmed])])");
	ck_assert_msg(sscanf(got, "{ok, %d}", &count) == 1, "eval said %s", got);
	free(got);
	return count == wanted;
}

/* Ctrl-C is handled also when everything is sent and only confirms are missing. */
START_TEST(interrupted_replay_waits_for_confirms)
{
	client_declare(fixture.client, fixture.dead, CLIENT_QUORUM);
	post_dead_for(5, fixture.queue);
	declare_silent(fixture.queue);
	struct proc *replay = start_verb("replay", NULL);
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	while (!has_unconfirmed(5))
		fixture_poll(deadline, 10, "5 messages are unconfirmed");
	proc_signal(replay, SIGINT);
	proc_expect(replay, "interrupted; waiting for the confirms of what was sent");
	broker_control_queue(fixture.broker, fixture.queue, "resume");
	ck_assert_int_eq(proc_wait(replay), 0);
	command_expect_text(
		proc_stdout(replay), "5 matched, 5 replayed, 0 returned, 0 refused; 0 left");
	ck_assert_int_eq(broker_messages(fixture.broker, fixture.dead), 0);
	client_expect_ready(fixture.client, fixture.queue, 5);
}
END_TEST

/* An ack has no response: after a lost connection it is unknown which of them arrived. */
START_TEST(uncertain_counts_are_reported_as_such)
{
	client_declare(fixture.client, fixture.dead, CLIENT_QUORUM);
	post_dead_for(10, fixture.replies);
	post_dead_for(10, fixture.queue);
	declare_silent(fixture.queue);
	struct proc *replay = START_VERB("replay", "--by-header");
	broker_expect_messages(fixture.broker, fixture.dead, 10);
	broker_close_connections(fixture.broker); /* also of the test's client */
	broker_control_queue(fixture.broker, fixture.queue, "resume");
	fixture.client = client_open(broker_url(fixture.broker));
	ck_assert_int_eq(proc_wait(replay), 75);
	command_expect_text(proc_stdout(replay), "20 matched, 10 replayed, ");
	command_expect_text(proc_stdout(replay), "; at least 10 left in ");
	client_expect_ready(fixture.client, fixture.dead, 10);
	replay = START_VERB("replay", "--json");
	ck_assert_int_eq(proc_wait(replay), 0);
	command_expect_text(
		proc_stdout(replay), "\"certain\":true,\"matched\":10,\"replayed\":10,");
}
END_TEST

START_TEST(terminal_escapes_are_neutralised)
{
	client_declare(fixture.client, fixture.dead, CLIENT_QUORUM);
	post_dead_for(1, "\033[31mred");
	struct proc *replay = START_VERB("replay", "--by-header");
	ck_assert_int_eq(proc_wait(replay), 69);
	ck_assert(!proc_has_logged(replay, "\033"));
	command_expect_text(proc_stderr(replay), "no queue \\x1b[31mred takes it: 312 NO_ROUTE");
	replay = start_verb("replay", NULL);
	ck_assert_int_eq(proc_wait(replay), 64);
	ck_assert(!proc_has_logged(replay, "\033"));
	command_expect_text(proc_stderr(replay), "names the queue \\x1b[31mred; it stays");
}
END_TEST

/* The broker dead-letters the message twice, from one queue and then from the next. The latter is
 * the queue that it names. */
START_TEST(message_dead_lettered_by_policy_is_replayed)
{
	char declare[500];
	char *const queues[] = {fixture.queue, fixture.replies};
	const char *const next[] = {fixture.replies, fixture.dead};
	client_declare(fixture.client, fixture.dead, CLIENT_QUORUM);
	for (size_t i = 0; i < 2; i++) {
		client_delete(fixture.client, queues[i]);
		snprintf(declare, sizeof declare,
			"element(1, rabbit_amqqueue:declare(rabbit_misc:r(<<\"/\">>, queue, "
			"<<\"%s\">>), true, false, [{<<\"x-dead-letter-exchange\">>, longstr, "
			"<<>>}, {<<\"x-dead-letter-routing-key\">>, longstr, <<\"%s\">>}, "
			"{<<\"x-message-ttl\">>, long, 1}], none, <<\"guest\">>))",
			queues[i], next[i]);
		free(broker_eval(fixture.broker, declare));
	}
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "b", .headers = {{"mine", "kept"}}});
	client_expect_ready(fixture.client, fixture.dead, 1);
	struct proc *list = start_verb("list", NULL);
	ck_assert_int_eq(proc_wait(list), 0);
	command_expect_text(proc_stdout(list), fixture.replies);
	client_delete(fixture.client, fixture.replies);
	client_declare(fixture.client, fixture.replies, CLIENT_CLASSIC);
	free(run_verb("replay", NULL, 64));
	client_expect_ready(fixture.client, fixture.dead, 1);
	struct proc *replay = START_VERB("replay", "--by-header");
	ck_assert_int_eq(proc_wait(replay), 0);
	struct message *message = client_take(fixture.client, fixture.replies);
	ck_assert(message_header_is(message, "mine", "kept"));
	ck_assert_ptr_null(message_header(message, "x-death"));
	message_free(message);
}
END_TEST

/* The error names the reason, besides exit code 74. */
START_TEST(failed_write_of_summary_is_an_error)
{
	static const char *const verbs[] = {"replay", "drop --yes"};
	char line[1000];
	client_declare(fixture.client, fixture.dead, CLIENT_QUORUM);
	for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
		post_dead_for(1, fixture.queue);
		snprintf(line, sizeof line,
			"exec %s dead-letters %s --queue %s --broker %s >/dev/full",
			fixture_built("wpool"), verbs[i], fixture.queue,
			broker_url(fixture.broker));
		struct proc *proc = proc_start(
			fixture.folder, (const char *const[]){"/bin/sh", "-c", line, NULL}, NULL);
		ck_assert_int_eq(proc_wait(proc), 74);
		command_expect_text(proc_stderr(proc), "standard output: No space left on device");
		proc_free(proc);
	}
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("dead letters", {reading_keeps_count_and_order, 2},
		{more_than_a_window_is_read, 2}, {list_and_show_print_messages, 1},
		{match_and_limit_select_messages, 1}, {drop_removes_matching_messages, 1},
		{replay_of_everything_asks_first, 1}, {fingerprint_selects_one_message, 2},
		{skip_leaves_out_the_first_that_match, 1},
		{address_may_come_from_standard_input, 1},
		{replayed_task_starts_at_first_attempt, 1}, {killed_replay_loses_nothing, 2},
		{replay_stops_when_connection_is_lost, 1},
		{message_without_target_goes_where_it_is_sent, 1},
		{large_and_empty_bodies_survive, 1}, {all_header_types_survive, 1},
		{usage_errors_are_named, 19}, {queue_of_single_active_consumer_is_left, 1},
		{interrupted_replay_waits_for_confirms, 1},
		{uncertain_counts_are_reported_as_such, 1}, {terminal_escapes_are_neutralised, 1},
		{message_dead_lettered_by_policy_is_replayed, 1},
		{failed_write_of_summary_is_an_error, 1});
}
