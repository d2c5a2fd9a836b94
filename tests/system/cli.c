/* The command line: publish and request work, and every usage error is named. */
#include "harness/command.h"
#include "system/system.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ARGUMENTS 12

static struct proc *run(const char *const arguments[], int code)
{
	struct proc *proc = fixture_wpool(arguments);
	int got = proc_wait(proc);
	char *said = proc_stderr(proc);
	ck_assert_msg(got == code, "%s ended with %d, not %d: %s", arguments[0], got, code, said);
	free(said);
	return proc;
}

START_TEST(publish_sends_files)
{
	char *first = scratch_path(fixture.folder, "first"),
	     *second = scratch_path(fixture.folder, "2");
	scratch_write(first, "one\nfile\n");
	scratch_write(second, "");
	const char *const arguments[] = {"publish", "--broker", broker_url(fixture.broker),
		"--queue", fixture.queue, "--header", "colour=blue", "--reply-to", "back",
		"--correlation-id", "id-1", first, second, NULL};
	run(arguments, 0);
	client_expect_ready(fixture.client, fixture.queue, 2);
	struct message *message = client_take(fixture.client, fixture.queue);
	ck_assert_str_eq(message->body, "one\nfile\n");
	ck_assert(message_header_is(message, "colour", "blue"));
	ck_assert(message_text_is(message->properties.reply_to, "back"));
	ck_assert(message_text_is(message->properties.correlation_id, "id-1"));
	ck_assert_int_eq(message->properties.delivery_mode, AMQP_DELIVERY_PERSISTENT);
	message_free(message);
	client_expect(fixture.client, fixture.queue, "");
}
END_TEST

START_TEST(publish_sets_the_session)
{
	char *file = scratch_path(fixture.folder, "file");
	scratch_write(file, "-50");
	const char *const header[] = {"publish", "--broker", broker_url(fixture.broker), "--queue",
		fixture.queue, "--session", "acme-7", "--high", file, NULL};
	const char *const property[] = {"publish", "--broker", broker_url(fixture.broker),
		"--queue", fixture.queue, "--session-key", "property:correlation_id", "--session",
		"acme-8", file, NULL};
	const char *const id[] = {"publish", "--broker", broker_url(fixture.broker), "--queue",
		fixture.queue, "--session-key", "property:message_id", "--session", "acme-9", file,
		NULL};
	run(header, 0);
	run(property, 0);
	run(id, 0);
	client_expect_ready(fixture.client, fixture.queue, 3);
	struct message *message = client_take(fixture.client, fixture.queue);
	ck_assert(message_header_is(message, "session", "acme-7"));
	ck_assert_int_eq(message->properties.priority, 5);
	message_free(message);
	message = client_take(fixture.client, fixture.queue);
	ck_assert_ptr_null(message_header(message, "session"));
	ck_assert(message_text_is(message->properties.correlation_id, "acme-8"));
	ck_assert(!(message->properties._flags & AMQP_BASIC_PRIORITY_FLAG));
	message_free(message);
	message = client_take(fixture.client, fixture.queue);
	ck_assert(message_text_is(message->properties.message_id, "acme-9"));
	message_free(message);
}
END_TEST

START_TEST(publish_sends_lines)
{
	char *lines = scratch_path(fixture.folder, "lines");
	scratch_write(lines, "one\ntwo\n\nlast without an end");
	const char *const arguments[] = {"publish", "--broker", broker_url(fixture.broker),
		"--queue", fixture.queue, "--lines", lines, NULL};
	command_expect_text(proc_stdout(run(arguments, 0)), "4 confirmed");
	client_expect(fixture.client, fixture.queue, "one");
	client_expect(fixture.client, fixture.queue, "two");
	client_expect(fixture.client, fixture.queue, "");
	client_expect(fixture.client, fixture.queue, "last without an end");
}
END_TEST

/* All that a message can have, through an exchange. */
START_TEST(publish_sets_every_property)
{
	char *file = scratch_path(fixture.folder, "file");
	scratch_write(file, "-50");
	const char *const arguments[] = {"publish", "--broker", broker_url(fixture.broker),
		"--exchange", "amq.direct", "--routing-key", fixture.queue, "--type", "order",
		"--content-type", "application/json", "--message-id", "m-1", "--priority", "7",
		"--expiration", "1h", file, NULL};
	client_bind(fixture.client, fixture.queue, "amq.direct", fixture.queue);
	command_expect_text(proc_stdout(run(arguments, 0)),
		"published 1 message to exchange amq.direct: 1 confirmed");
	struct message *message = client_take(fixture.client, fixture.queue);
	ck_assert(message_text_is(message->properties.type, "order"));
	ck_assert(message_text_is(message->properties.content_type, "application/json"));
	ck_assert(message_text_is(message->properties.message_id, "m-1"));
	ck_assert(message_text_is(message->properties.expiration, "3600000"));
	ck_assert_int_eq(message->properties.priority, 7);
	message_free(message);
}
END_TEST

START_TEST(exchange_that_takes_no_message_is_named)
{
	static const struct {
		const char *exchange, *words;
		const char *counts;
	} cases[] = {
		{"amq.direct", "NO_ROUTE (no queue is bound to the exchange amq.direct for this",
			"published 0 of 2 messages to exchange amq.direct: 0 confirmed, 2 returned"},
		{"no-such", "no exchange 'no-such'", ": 0 confirmed, 0 returned, 1 refused"},
	};
	char *file = scratch_path(fixture.folder, "file");
	scratch_write(file, "x\ny\n");
	const char *const arguments[] = {"publish", "--lines", "--broker",
		broker_url(fixture.broker), "--exchange", cases[_i].exchange, "--routing-key",
		"nobody", file, NULL};
	struct proc *proc = run(arguments, 69);
	char *problem = proc_stderr(proc), *first = strchr(problem, '\n');
	ck_assert_msg(first && !first[1], "not one line: %s", problem);
	command_expect_text(problem, cases[_i].words);
	command_expect_text(proc_stdout(proc), cases[_i].counts);
}
END_TEST

/* A tenth of a second between two of them: three need at least two of these spans. */
START_TEST(rate_is_kept)
{
	char *lines = scratch_path(fixture.folder, "lines");
	scratch_write(lines, "one\ntwo\nthree\n");
	const char *const arguments[] = {"publish", "--broker", broker_url(fixture.broker),
		"--queue", fixture.queue, "--lines", "--json", "--rate", "10", lines, NULL};
	char *counts = proc_stdout(run(arguments, 0));
	const char *seconds = strstr(counts, "\"seconds\"");
	ck_assert_ptr_nonnull(seconds);
	ck_assert_double_ge(strtod(strpbrk(seconds, "0123456789"), NULL), 0.2);
	free(counts);
	client_expect_ready(fixture.client, fixture.queue, 3);
}
END_TEST

START_TEST(unroutable_publish_is_an_error)
{
	char *file = scratch_path(fixture.folder, "file");
	scratch_write(file, "x");
	const char *const arguments[] = {"publish", "--broker", broker_url(fixture.broker),
		"--queue", "no-such-queue", file, NULL};
	struct proc *proc = fixture_wpool(arguments);
	ck_assert_int_ne(proc_wait(proc), 0);
	command_expect_text(proc_stderr(proc), "NO_ROUTE (does the queue no-such-queue exist?)");
	command_expect_text(proc_stdout(proc), "no-such-queue: 0 confirmed, 1 returned");
}
END_TEST

START_TEST(request_prints_its_reply)
{
	const char *const worker[] = {fixture_built("samples/fibonacci"), NULL};
	struct proc *serve = fixture_serve_ready(NULL, worker);
	const char *const arguments[] = {"request", "--broker", broker_url(fixture.broker),
		"--queue", fixture.queue, "--wait", "1min", "{\"Value\": 10}", NULL};
	command_expect_text(proc_stdout(run(arguments, 0)), "55");
	fixture_stop(serve);
}
END_TEST

/* Requests of different queues, one that no queue takes, one that gets no reply, wrong lines, and a
 * body that is not text: each has its answer, in order, and none ends the others. */
START_TEST(request_answers_lines)
{
	const char *const worker[] = {fixture_built("workers/echo"), NULL};
	char *lines = scratch_path(fixture.folder, "lines");
	const char *const names[] = {fixture.queue, "no-such-queue", fixture.dead};
	char *queue = scratch_text("\"queue\": \"%s\"", names[0]);
	struct proc *serve = fixture_serve_ready(NULL, worker);
	scratch_write(lines,
		scratch_text(
			"{\"body\": \"one\", %s}\n"
			"{\"body\": \"\", \"queue\": \"%s\"}\n"
			"{\"body\": \"lost\", \"queue\": \"%s\"}\n"
			"no JSON\n"
			"{%s}\n"
			"{\"body\": \"two\\nlines\", %s, \"headers\": {\"X-Status\": \"201\"}}\n"
			"{\"body\": \"last\", %s}",
			queue, names[1], names[2], queue, queue, queue));
	const char *const argv[] = {"/bin/sh", "-c", "exec \"$@\" < $0", lines,
		fixture_built("wpool"), "request", "--broker", broker_url(fixture.broker),
		"--lines", "--wait", "5s", "--header", "X-Status=201", NULL};
	struct proc *proc = proc_start(fixture.folder, argv, NULL);
	ck_assert_int_eq(proc_wait(proc), 69); /* that of the first failure */
	char *out = proc_stdout(proc), *end;
	const char *const expected[] = {
		scratch_text("{\"queue\":\"%s\",\"body\":\"one\"}", names[0]),
		"{\"queue\":\"no-such-queue\",\"error\":\"no queue takes it: 312 NO_ROUTE",
		scratch_text("{\"queue\":\"%s\",\"error\":\"no reply within 5 s: ", names[2]),
		"{\"queue\":\"\",\"error\":\"the line is not a JSON object\"}",
		scratch_text("{\"queue\":\"%s\",\"error\":\"body is missing\"}", names[0]),
		scratch_text("{\"queue\":\"%s\",\"body\":\"two\\nlines\"}", names[0]),
		scratch_text("{\"queue\":\"%s\",\"body\":\"last\"}", names[0])};
	for (size_t i = 0; i < sizeof expected / sizeof *expected; i++, out = end + 1) {
		end = strchr(out, '\n');
		ck_assert_msg(end && strncmp(out, expected[i], strlen(expected[i])) == 0,
			"%s instead of %s", out, expected[i]);
	}
	ck_assert_str_eq(out, "");
	ck_assert_str_eq(proc_stderr(proc), "");
	fixture_stop(serve);
}
END_TEST

/* As PID 1 of a container it would ignore a signal that it does not handle. It has had the answer
 * to a call, which is that there is no such queue here. */
START_TEST(publisher_of_the_samples_stops_at_sigterm)
{
	bool is_first = geteuid() == 0; /* only root may make a namespace of processes */
	const char *argv[ARGUMENTS] = {"/bin/sh", "-c", "PATH=${0%/*}:$PATH exec \"$@\"",
		fixture_built("wpool"), "unshare", "--pid", "--fork", "python3", "samples/feed.py"};
	const char *const environment[] = {
		scratch_text("AMQP_URL=%s", broker_url(fixture.broker)), NULL};
	if (!is_first)
		memcpy(argv + 4, argv + 7, 3 * sizeof *argv);
	struct proc *proc = proc_start(fixture.folder, argv, environment);
	command_expect_out(proc, "-> no reply: no queue takes it");
	kill(is_first ? proc_only_child(proc) : proc_pid(proc), SIGTERM);
	ck_assert_int_eq(proc_wait(proc), 0);
	proc_free(proc);
}
END_TEST

START_TEST(request_without_worker_times_out)
{
	const char *const arguments[] = {"request", "--broker", broker_url(fixture.broker),
		"--queue", fixture.queue, "--wait", "5s", "x", NULL};
	struct proc *proc = fixture_wpool(arguments);
	ck_assert_int_ne(proc_wait(proc), 0);
	command_expect_text(proc_stderr(proc), "no reply within 5 s: no worker serves the queue");
	command_expect_text(proc_stderr(proc), fixture.dead);
}
END_TEST

START_TEST(help_and_version_are_printed)
{
	static const char *const cases[][3] = {{"--help"}, {"--version"}, {"serve", "--help"},
		{"publish", "--help"}, {"request", "--help"}, {"dead-letters", "--help"},
		{"check-config", "--help"}, {"status", "--help"}, {"pools", "--help"},
		{"workers", "--help"}, {"pause", "--help"}, {"scale", "--help"},
		{"restart", "--help"}, {"resume", "--help"}, {"top", "--help"},
		{"declare", "--help"}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		command_expect_text(proc_stdout(run(cases[i], 0)), "wpool");
}
END_TEST

START_TEST(help_of_a_command_is_that_of_the_command)
{
	const char *const asked[] = {"help", "publish", NULL};
	const char *const usual[] = {"publish", "--help", NULL};
	const char *const unknown[] = {"help", "publsh", NULL};
	const char *const version[] = {"-V", NULL};
	ck_assert_str_eq(proc_stdout(run(asked, 0)), proc_stdout(run(usual, 0)));
	command_expect_text(proc_stdout(run(version, 0)), "wpool ");
	command_expect_text(proc_stderr(run(unknown, 64)), "did you mean 'publish'?");
}
END_TEST

static const struct {
	const char *arguments[ARGUMENTS];
	int code;
	const char *words;
} mistakes[] = {
	{{NULL}, 64, "--help"},
	{{"sevre"}, 64, "serve"},
	{{"serve", "--no-such-option"}, 64, "--help"},
	{{"publish"}, 64, "--queue"},
	{{"publish", "--queue", "q", "--header", "no-equals-sign", "x"}, 64, "no-equals-sign"},
	{{"publish", "--queue", "q", "--session", "", "x"}, 64, "is not UTF-8 of 1 to 255 bytes"},
	{{"publish", "--queue", "q", "--session", "a\xff", "x"}, 64, "is not UTF-8"},
	{{"publish", "--queue", "q", "--session", "a", "--header", "session=b", "x"}, 64,
		"is also set by a header"},
	{{"publish", "--queue", "q", "--session", "a", "--session-key", "property:reply_to",
		 "--reply-to", "r", "x"},
		64, "is also set by a header"},
	{{"session", "foo", "pool", "key"}, 64,
		"there is no verb 'foo'; there are show, drain, close, abort, pause, resume, retry"},
	{{"publish", "--queue", "q", "--session-key", "header:order", "x"}, 64,
		"--session-key is the place for the KEY of --session"},
	{{"publish", "--queue", "q", "--session-key", "order", "x"}, 64, "is not header:NAME"},
	{{"publish", "--queue", "q", "--session-key", "routing_key", "x"}, 64,
		"is not for publish"},
	{{"publish", "--queue", "q", "--exchange", "e", "x"}, 64, "without exchange"},
	{{"publish", "--queue", "q", "--routing-key", "k", "x"}, 64, "without exchange"},
	{{"publish", "--routing-key", "k", "x"}, 64, "--queue NAME or --exchange NAME is missing"},
	{{"publish", "--queue", "q", "--priority", "256", "x"}, 64, "no number from 0 to 255"},
	{{"publish", "--queue", "q", "--priority", "1", "--high", "x"}, 64, "cannot be high"},
	{{"publish", "--queue", "q", "--expiration", "50d", "x"}, 64, "over the broker's limit"},
	{{"publish", "--queue", "q", "--rate", "0", "x"}, 64, "no number of messages a second"},
	{{"publish", "--queue", "q", "--message-id", "i", "--lines", "x"}, 64, "for one message"},
	{{"publish", "--queue", "q", "--message-id", "i", "x", "y"}, 64, "for one message"},
	{{"request", "--queue", "q", "--wait", "soon", "x"}, 64, "soon"},
	{{"request", "--queue", "q"}, 64, "--help"},
	{{"request", "--queue", "q", "--broker", "amqp://127.0.0.1:1", "--wait", "2s", "x"}, 69,
		"no connection to the broker within 2 s: 127.0.0.1:1: Connection refused"},
	{{"publish", "--queue", "q", "--broker", "amqp://127.0.0.1:1", "--wait", "2s"}, 69,
		"no connection to the broker: 127.0.0.1:1: Connection refused"},
	{{"serve"}, 64, "wpool serve: queue is missing"},
	{{"serve"}, 64, "see wpool serve --help"},
	{{"serve", "--quue", "q", "--", "true"}, 64, "did you mean --queue?"},
	{{"publish", "--quue", "q"}, 64, "did you mean --queue?"},
	{{"request", "--quue", "q", "x"}, 64, "did you mean --queue?"},
	{{"dead-letters", "list", "--quue", "q"}, 64, "did you mean --queue?"},
	{{"dead-letters", "list", "orders"}, 64,
		"unexpected \"orders\"; did you mean --queue orders?"},
	{{"dead-letters", "show", "--queue", "q", "x"}, 64,
		"unexpected \"x\"; see wpool dead-letters --help"},
	{{"dead-letters", "--queue", "q"}, 64, "one of list, show, replay, drop is needed"},
	{{"check-config", "--refrence"}, 64, "did you mean --reference?"},
	{{"--hlep"}, 64, "--help"},
	{{"serve", "--queue", "--", "./shout"}, 64, "'--queue' needs a value"},
	{{"serve", "--queue", "q", "--declare", "maybe", "--", "true"}, 64, "off, passive or on"},
	{{"serve", "--config", "samples/wpool.yaml", "--queue", "q"}, 64, "--queue"},
	{{"publish", "--queue", "q", "amqp://u:secret@h"}, 66, "amqp://u:******@h"},
	{{"publish", "--queue", "q", "--header", "amqp://u:secret@h"}, 64, "u:******@h"},
	{{"publish", "--queue", "q", "--wait", "amqp://u:secret@h"}, 64, "u:******@h"},
	{{"amqp://u:secret@h"}, 64, "amqp://u:******@h"},
	{{"serve", "--workers"}, 64, "--help"},
	{{"serve", "--queue", "q"}, 64, "command"},
	{{"serve", "--queue", "q", "--workers", "none", "--", "true"}, 64, "none"},
	{{"serve", "--queue", "q", "--pipe", "paths", "--", "true"}, 64, "path"},
	{{"serve", "--queue", "q", "--broker", "http://x/", "--", "true"}, 64, "amqp"},
	{{"serve", "--config", "/no/such/file"}, 78, "/no/such/file"},
	{{"check-config", "/no/such/file"}, 78, "/no/such/file"},
};

enum { MISTAKES = sizeof mistakes / sizeof *mistakes };

START_TEST(usage_errors_are_named)
{
	struct proc *proc = run(mistakes[_i].arguments, mistakes[_i].code);
	command_expect_text(proc_stderr(proc), mistakes[_i].words);
}
END_TEST

/* Run wpool with these arguments and variables; return its stderr. */
static char *run_with(const char *const arguments[], const char *const environment[], int code)
{
	const char *argv[ARGUMENTS] = {fixture_built("wpool")};
	for (size_t i = 0; arguments[i]; i++)
		argv[i + 1] = arguments[i];
	struct proc *proc = proc_start(fixture.folder, argv, environment);
	int got = proc_wait(proc);
	char *said = proc_stderr(proc);
	ck_assert_msg(got == code, "%d, not %d: %s", got, code, said);
	proc_free(proc);
	return said;
}

START_TEST(error_in_variable_names_the_variable)
{
	const char *const serve[] = {"serve", "--queue", "q", "--", "true", NULL};
	const char *const environment[] = {"PREFETCH=many", NULL};
	command_expect_text(
		run_with(serve, environment, 78), "wpool serve: PREFETCH: prefetch is \"many\"");
}
END_TEST

/* Each warning is printed once, although the broker is tried several times. */
START_TEST(unknown_variable_is_warned_of)
{
	const char *const publish[] = {"publish", "--queue", "q", "--wait", "1500ms", NULL};
	const char *const check[] = {"check-config", "samples/wpool.yaml", NULL};
	const char *const environment[] = {"AMQP_URL=amqp://127.0.0.1:1",
		"RABBITMQ_HOSTNAME=elsewhere", "WPOOL_DRIAN=1s", NULL};
	char *said = run_with(publish, environment, 69);
	const char *refused = strstr(said, "Connection refused");
	ck_assert_msg(refused && !strstr(refused + 1, "Connection refused"), "%s", said);
	command_expect_text(said, "RABBITMQ_HOSTNAME has no effect, because AMQP_URL is set");
	said = run_with(check, environment, 0);
	ck_assert_ptr_nonnull(
		strstr(said, "RABBITMQ_HOSTNAME has no effect, because AMQP_URL is set"));
	command_expect_text(said, "the nearest is WPOOL_DRAIN");
}
END_TEST

/* What the first look at a container that is started again and again shows. */
START_TEST(wrong_value_ends_the_start_with_its_value)
{
	const char *const serve[] = {"serve", "--config", "samples/wpool.yaml", NULL};
	const char *const environment[] = {"WORKER_COUNT=abc", NULL};
	char *said = run_with(serve, environment, 78);
	char *last = strstr(said, "wpool serve: not started (exit status 78)");
	ck_assert_ptr_nonnull(last);
	ck_assert_str_eq(strchr(last, '\n'), "\n");
	command_expect_text(said, "defaults.workers is \"abc\" (from \"${WORKER_COUNT:-2}\")");
}
END_TEST

/* The shipped configuration has no address of its own. */
START_TEST(samples_use_either_family_of_variables)
{
	static const char *const environments[][5] = {
		{"AMQP_URL=amqp://u:p@broker:77/v", NULL},
		{"RABBITMQ_HOSTNAME=broker", "RABBITMQ_PORT=77", "RABBITMQ_USERNAME=u",
			"RABBITMQ_VHOST=v", NULL},
		{"RABBITMQ_HOSTNAME=broker", "RABBITMQ_PORT=tcp://10.0.0.1:77", "USERNAME=u",
			"RABBITMQ_VHOST=v", NULL},
	};
	const char *const check[] = {"check-config", "samples/wpool.yaml", NULL};
	for (size_t i = 0; i < sizeof environments / sizeof *environments; i++) {
		const char *argv[] = {fixture_built("wpool"), check[0], check[1], NULL};
		struct proc *proc = proc_start(fixture.folder, argv, environments[i]);
		ck_assert_int_eq(proc_wait(proc), 0);
		command_expect_text(proc_stdout(proc), "\"amqp://u:***@broker:77/v\"");
		ck_assert_ptr_null(strstr(proc_stderr(proc), "no effect"));
		proc_free(proc);
	}
}
END_TEST

START_TEST(reply_on_terminal_ends_with_newline)
{
	const char *const worker[] = {fixture_built("samples/fibonacci"), NULL};
	struct proc *serve = fixture_serve_ready(NULL, worker);
	char *command = scratch_text("%s request --broker '%s' --queue %s '{\"Value\": 10}'",
		fixture_built("wpool"), broker_url(fixture.broker), fixture.queue);
	const char *const arguments[] = {"script", "-qec", command, "/dev/null", NULL};
	struct proc *proc = proc_start(fixture.folder, arguments, NULL);
	ck_assert_int_eq(proc_wait(proc), 0);
	command_expect_text(proc_stdout(proc), "55\r\n");
	proc_free(proc);
	free(command);
	fixture_stop(serve);
}
END_TEST

/* The first descriptor that wpool opens must not become standard input. */
START_TEST(closed_standard_descriptors_do_no_harm)
{
	const char *const help[] = {
		"/bin/sh", "-c", "exec \"$0\" --help >&-", fixture_built("wpool"), NULL};
	char *command = scratch_text("exec %s publish --broker %s --queue %s <&-",
		fixture_built("wpool"), broker_url(fixture.broker), fixture.queue);
	const char *const arguments[] = {"/bin/sh", "-c", command, NULL};
	struct proc *proc = proc_start(fixture.folder, arguments, NULL);
	ck_assert_int_eq(proc_wait(proc), 74);
	command_expect_text(proc_stderr(proc), "standard input");
	proc_free(proc);
	proc = proc_start(fixture.folder, help, NULL);
	ck_assert_int_eq(proc_wait(proc), 74);
	command_expect_text(proc_stderr(proc), "standard output");
	proc_free(proc);
	free(command);
}
END_TEST

/* As in `wpool ... | head`. */
START_TEST(broken_pipe_ends_command_quietly)
{
	char *pipe = scratch_path(fixture.folder, "pipe");
	const char *const arguments[] = {"/bin/sh", "-c",
		"mkfifo \"$1\" && exec 3<>\"$1\" 4>\"$1\" 3<&- && exec \"$0\" --help >&4",
		fixture_built("wpool"), pipe, NULL};
	struct proc *proc = proc_start(fixture.folder, arguments, NULL);
	ck_assert_int_eq(proc_wait(proc), 128 + SIGPIPE);
	char *errors = proc_stderr(proc);
	ck_assert_str_eq(errors, "");
	free(errors);
	proc_free(proc);
}
END_TEST

/* Also in an option that a later one overrides. */
START_TEST(password_is_hidden_in_process_list)
{
	const char *const options[] = {"--broker", "amqp://u:secret@127.0.0.1:1",
		"--broker=amqp://u:secret@127.0.0.1:1,amqp://v:secret@127.0.0.1:1", NULL};
	const char *const worker[] = {fixture_built("workers/echo"), NULL};
	struct proc *serve = fixture_serve(options, worker);
	char line[4096], path[64];
	proc_expect(serve, "127.0.0.1");
	snprintf(path, sizeof path, "/proc/%d/cmdline", (int)proc_pid(serve));
	FILE *file = fopen(path, "r");
	ck_assert_ptr_nonnull(file);
	size_t len = fread(line, 1, sizeof line, file);
	fclose(file);
	ck_assert_ptr_nonnull(memmem(line, len, "amqp://u:******@127.0.0.1:1", 27));
	ck_assert_ptr_null(memmem(line, len, ":secret@", 8));
	fixture_stop(serve);
}
END_TEST

enum { FILES = 30 };

/* Every third message is too large for this node, which then closes the channel. Each of the others
 * is published at most twice. */
START_TEST(messages_that_close_the_channel_are_found)
{
	char *folder = scratch_path(fixture.folder, "node"), body[2000] = "";
	struct broker *broker = broker_start(folder);
	struct client *client = client_open(broker_url(broker));
	const char *arguments[FILES + 8] = {
		"publish", "--json", "--broker", broker_url(broker), "--queue", fixture.queue};
	/* The first is for 3.10, the second for 4.0. */
	free(broker_eval(broker, "application:set_env(rabbit, max_message_size, 1000), "
				 "persistent_term:put(max_message_size, 1000)"));
	client_declare(client, fixture.queue, CLIENT_QUORUM);
	memset(body, 'x', sizeof body - 1);
	for (int i = 0; i < FILES; i++) {
		char *name = scratch_text("%s/%d", fixture.folder, i);
		scratch_write(name, i % 3 ? "small" : body);
		arguments[6 + i] = name;
	}
	char *said = proc_stdout(run(arguments, 75));
	const char *again = strstr(said, "\"republished\":");
	ck_assert_msg(strstr(said, "\"confirmed\":20,\"returned\":0,\"refused\":10") && again, "%s",
		said);
	ck_assert_int_le(atoi(again + strlen("\"republished\":")), FILES);
	for (int i = 0; i < FILES; i++)
		free((char *)arguments[6 + i]);
	free(said);
	client_free(client);
	broker_free(broker);
	free(folder);
}
END_TEST

START_TEST(configuration_error_names_file_and_line)
{
	static const struct {
		const char *text, *words;
	} cases[] = {
		{"pools:\n- {name: a, queue: q, command: [true], workerz: 3}\n", ":2: "},
		{"pools:\n- {name: a, queue: q, command: [true], workerz: 3}\n", "workers"},
		{"broker: {heartbeat: 15}\npools:\n- {queue: q, command: [true]}\n", ":1: "},
		{"pools:\n- queue: q\n  command: [true]\n  workers: -4\n", ":4: "},
		{"pools: [\n", "wpool.yaml:"},
		{"broker: {}\n", "pools"},
	};
	char *path = scratch_path(fixture.folder, "wpool.yaml");
	scratch_write(path, cases[_i].text);
	const char *const arguments[] = {"check-config", path, NULL};
	command_expect_text(proc_stderr(run(arguments, 78)), cases[_i].words);
	free(path);
}
END_TEST

START_TEST(warnings_name_file_and_line)
{
	static const struct {
		const char *text, *words;
	} cases[] = {
		{"http: {listen: '127.0.0.1:0', token_file: /no/such/token}\n"
		 "pools:\n- {queue: q, command: [true]}\n",
			"wpool.yaml: warning: http.token_file /no/such/token: "},
		{"pools:\n- queue: q\n  command: [true]\n  limits:\n    hard: 40min\n",
			"wpool.yaml:5: warning: pools[0].limits.hard: a broker takes back "},
		{"pools:\n- {queue: q, command: [true]}\n"
		 "- {queue: r, command: [cat], cwd: /no/such}\n",
			"wpool.yaml:3: warning: pool r: no worker can be started (command \"cat\"): "
			"its folder (cwd) /no/such: No such file or directory; the start is retried"},
	};
	char *path = scratch_path(fixture.folder, "wpool.yaml");
	scratch_write(path, cases[_i].text);
	const char *const arguments[] = {"check-config", path, NULL};
	command_expect_text(proc_stderr(run(arguments, 0)), cases[_i].words);
	free(path);
}
END_TEST

START_TEST(check_config_hides_secrets)
{
	char *path = scratch_path(fixture.folder, "wpool.yaml");
	scratch_write(path, "broker: {url: \"amqp://me:s3cret@localhost/%2f\"}\n"
			    "pools:\n- {name: a, queue: q, command: [true]}\n");
	const char *const arguments[] = {"check-config", path, NULL};
	char *printed = proc_stdout(run(arguments, 0));
	ck_assert_ptr_null(strstr(printed, "s3cret"));
	command_expect_text(printed, "attempts");
	free(path);
}
END_TEST

START_TEST(sample_configuration_is_valid)
{
	const char *const arguments[] = {"check-config", "samples/wpool.yaml", NULL};
	command_expect_text(proc_stdout(run(arguments, 0)), "long_batch.python");
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("cli", {publish_sends_files, 1}, {publish_sets_the_session, 1},
		{publish_sends_lines, 1}, {publish_sets_every_property, 1},
		{exchange_that_takes_no_message_is_named, 2}, {rate_is_kept, 1},
		{unroutable_publish_is_an_error, 1}, {request_prints_its_reply, 1},
		{request_without_worker_times_out, 1}, {help_and_version_are_printed, 1},
		{help_of_a_command_is_that_of_the_command, 1}, {usage_errors_are_named, MISTAKES},
		{error_in_variable_names_the_variable, 1}, {request_answers_lines, 1},
		{publisher_of_the_samples_stops_at_sigterm, 1}, {unknown_variable_is_warned_of, 1},
		{wrong_value_ends_the_start_with_its_value, 1},
		{samples_use_either_family_of_variables, 1},
		{reply_on_terminal_ends_with_newline, 1},
		{closed_standard_descriptors_do_no_harm, 1}, {broken_pipe_ends_command_quietly, 1},
		{messages_that_close_the_channel_are_found, 1},
		{password_is_hidden_in_process_list, 1},
		{configuration_error_names_file_and_line, 6}, {warnings_name_file_and_line, 3},
		{check_config_hides_secrets, 1}, {sample_configuration_is_valid, 1});
}
