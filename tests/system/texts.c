/* Texts that others wrote, in every place where wpool shows them: a broker's words, ids and headers
 * of messages, workers' lines, names and commands. A terminal obeys none of them, they end no line
 * of ours, and the API has an answer whatever they are. */
#include "harness/command.h"
#include "harness/control.h"
#include "harness/deadline.h"
#include "harness/http.h"
#include "harness/rude_broker.h"
#include "harness/supervisor_log.h"
#include "harness/terminal.h"
#include "harness/tmux.h"
#include "system/system.h"

#include <string.h>

/* A title; red; the other screen; no cursor; CSI as one character; a bidirectional control, a line
 * separator, DEL. */
#define LINE                                                                                       \
	"\x1b]0;PWNED\x07\x1b[31m\x1b[?1049h\x1b[?25l \xc2\x9b"                                    \
	"31m \xe2\x80\xae \xe2\x80\xa8 \x7f"
#define LINE_SHOWN                                                                                 \
	"\\x1b]0;PWNED\\x07\\x1b[31m\\x1b[?1049h\\x1b[?25l \\x9b31m \\u202e \\u2028 \\x7f"
/* With lines of its own; what is not UTF-8; behind the end of a string of C. */
#define OBEYED LINE "\r\nready\nforged"
#define SHOWN  LINE_SHOWN "\\r\\nready\\nforged"
#define BAD    "bad \xff\xfe " OBEYED
#define SAID   "begin \0" BAD

static struct rude_broker *rude_broker(enum rude how)
{
	return rude_broker_start(how, SAID, sizeof SAID - 1);
}

/* Nothing but lines of what can be seen. */
static void expect_harmless(const char *text)
{
	static const char *const obeyed[] = {"\xc2\x9b", "\xe2\x80\xae", "\xe2\x80\xa8", "\xff"};
	for (const char *at = text; *at; at++)
		ck_assert_msg((unsigned char)*at >= ' ' || *at == '\n' || *at == '\t',
			"the byte 0x%02x is in: %s", *at, at);
	ck_assert_msg(!strchr(text, 0x7f), "DEL is in: %s", text);
	for (size_t i = 0; i < sizeof obeyed / sizeof *obeyed; i++)
		ck_assert_msg(!strstr(text, obeyed[i]), "case %zu is in: %s", i, text);
	ck_assert_msg(strncmp(text, "ready\n", 6) != 0 && !strstr(text, "\nready\n") &&
			      !strstr(text, "\nforged"),
		"a line is forged: %s", text);
}

static void expect_unchanged(struct tmux_screen screen, const char *needle)
{
	ck_assert_msg(
		!screen.is_changed, "the terminal obeyed (%s): %s", screen.changes, screen.text);
	expect_harmless(screen.text);
	ck_assert_msg(
		strstr(screen.text, needle) != NULL, "'%s' is not in: %s", needle, screen.text);
}

#define EXPECT_UNCHANGED(needle, ...) expect_unchanged(TMUX_RUN(__VA_ARGS__), needle)

/* A terminal in which a program writes what it reads does obey; so the other tests can fail. */
START_TEST(terminal_obeys_raw_bytes)
{
	char *path = scratch_path(fixture.folder, "raw");
	scratch_write(path, OBEYED);
	struct tmux_screen screen = TMUX_RUN("cat", path);
	ck_assert(screen.is_changed);
	ck_assert_msg(strncmp(screen.changes, "PWNED|", 6) == 0, "%s", screen.changes);
	scratch_write(path, "plain\n");
	expect_unchanged(TMUX_RUN("cat", path), "plain");
}
END_TEST

/* ---------- what a broker says ---------- */

static struct proc *serve_with(const char *broker)
{
	const char *const options[] = {"--broker", broker, "--workers", "1", NULL};
	struct proc *serve =
		fixture_serve(options, (const char *const[]){fixture_built("workers/echo"), NULL});
	proc_expect(serve, "control socket: ");
	return serve;
}

/* Wait until a failure is known, which /v1/status must be able to tell. */
static void await_failure(const char *text)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	bool is_there = false;
	while (!is_there) {
		char *status = control_get("/v1/status", 200);
		is_there = strstr(status, text) != NULL;
		free(status);
		if (!is_there)
			fixture_poll(deadline, 20, text);
	}
}

static void expect_harmless_file(const char *needle, char *text)
{
	char *path = scratch_path(fixture.folder, "shown");
	scratch_write(path, text);
	EXPECT_UNCHANGED(needle, "cat", path);
	free(text);
	free(path);
}

/* `wpool top` draws; its own terminal fails at every sequence and byte but those of top. */
static void expect_top_harmless(const char *wpool)
{
	struct terminal *terminal = terminal_start(
		250, 40, (const char *const[]){wpool, "top", "--socket", control_socket(), NULL});
	terminal_expect(terminal, "\\x1b]0;PWNED\\x07\\x1b[31m");
	terminal_type(terminal, "q");
	ck_assert_int_eq(terminal_wait(terminal), 0);
	ck_assert(terminal_is_restored(terminal));
	terminal_free(terminal);
}

START_TEST(broker_that_refuses_with_escapes)
{
	const char *wpool = fixture_built("wpool");
	struct rude_broker *rude = rude_broker(RUDE_REFUSES_LOGIN);
	struct proc *serve = serve_with(rude_broker_url(rude));
	await_failure("PWNED");
	EXPECT_UNCHANGED(SHOWN, wpool, "status");
	EXPECT_UNCHANGED("PWNED", wpool, "status", "--json");
	EXPECT_UNCHANGED(SHOWN, wpool, "pools");
	EXPECT_UNCHANGED("PWNED", wpool, "pools", "--json");
	EXPECT_UNCHANGED(SHOWN, wpool, "logs");
	EXPECT_UNCHANGED("PWNED", wpool, "logs", "--json");
	EXPECT_UNCHANGED("no such pool", wpool, "pools", "no such pool");
	EXPECT_UNCHANGED("PWNED", wpool, "pools", OBEYED);
	expect_top_harmless(wpool);
	char *reasons = control_get("/readyz", 503);
	expect_harmless(reasons);
	expect_harmless_file(SHOWN, reasons);
	expect_harmless_file("PWNED", control_get("/v1/pools", 200));
	expect_harmless_file("PWNED", control_get("/v1/status", 200));
	fixture_stop(serve);
	expect_harmless_file(SHOWN, proc_stderr(serve));
	rude_broker_free(rude);
}
END_TEST

/* Genuine RabbitMQ cuts its text in the middle of a character. The next address works; the failure
 * is still shown. */
START_TEST(broker_that_cuts_a_character)
{
	char name[110 * 6 + 1];
	for (int i = 0; i < 110; i++)
		memcpy(name + 6 * i, "%C3%A4", 6);
	name[sizeof name - 1] = '\0';
	char *good = scratch_text("%s", broker_url(fixture.broker));
	char *hosts =
		scratch_text("%.*s%s,%s", (int)(strrchr(good, '/') + 1 - good), good, name, good);
	struct proc *serve = serve_with(hosts);
	client_expect_consumers(fixture.client, fixture.queue, 1);
	await_failure("\xc3\xa4\xc3\xa4");
	control_await("/readyz", 200);
	free(control_get("/v1/pools", 200));
	EXPECT_UNCHANGED("ready: ", fixture_built("wpool"), "status");
	fixture_stop(serve);
	free(hosts);
	free(good);
}
END_TEST

/* An alarm is only in the log. */
START_TEST(broker_that_blocks_with_escapes)
{
	struct rude_broker *rude = rude_broker(RUDE_BLOCKS);
	struct proc *serve = serve_with(rude_broker_url(rude));
	expect_harmless_file("PWNED", supervisor_log_await("PWNED"));
	EXPECT_UNCHANGED(SHOWN, fixture_built("wpool"), "logs");
	fixture_stop(serve);
	rude_broker_free(rude);
}
END_TEST

START_TEST(commands_to_a_broker_with_escapes)
{
	static const enum rude ways[] = {RUDE_REFUSES_LOGIN, RUDE_CLOSES_CHANNELS, RUDE_RETURNS};
	const char *wpool = fixture_built("wpool");
	struct rude_broker *rude = rude_broker(ways[_i]);
	const char *url = rude_broker_url(rude);
	char *path = scratch_path(fixture.folder, "body");
	scratch_write(path, "body");
	EXPECT_UNCHANGED(SHOWN, wpool, "publish", "--broker", url, "--queue", "q", path);
	EXPECT_UNCHANGED(SHOWN, wpool, "request", "--broker", url, "--queue", "q", "body");
	if (ways[_i] != RUDE_RETURNS)
		EXPECT_UNCHANGED(
			SHOWN, wpool, "dead-letters", "list", "--broker", url, "--queue", "q");
	free(path);
	rude_broker_free(rude);
}
END_TEST

/* ---------- what messages and workers say ---------- */

START_TEST(dead_letters_with_escapes)
{
	const char *wpool = fixture_built("wpool"), *url = broker_url(fixture.broker);
	client_declare(fixture.client, fixture.dead, CLIENT_QUORUM);
	client_post(fixture.client, fixture.dead,
		&(struct letter){.body = OBEYED,
			.message_id = OBEYED,
			.correlation_id = BAD,
			.headers = {{"x-wpool-queue", OBEYED}, {"x-wpool-reason", BAD},
				{"x-wpool-exit", OBEYED}, {OBEYED, BAD}}});
#define LETTERS(verb, ...)                                                                         \
	wpool, "dead-letters", verb, "--broker", url, "--queue", fixture.queue, __VA_ARGS__
	EXPECT_UNCHANGED("1 of 1 message", LETTERS("list", "--limit", "1"));
	EXPECT_UNCHANGED("PWNED", LETTERS("list", "--json"));
	EXPECT_UNCHANGED(SHOWN, LETTERS("show", "--limit", "1"));
	EXPECT_UNCHANGED("PWNED", LETTERS("show", "--json"));
	EXPECT_UNCHANGED(
		"none of the messages has a header", LETTERS("list", "--match", OBEYED "2=1"));
	EXPECT_UNCHANGED("1 returned", LETTERS("replay", "--yes", "--to", "no\x1b[31m such"));
	/* What is matched is as it came. */
	command_expect_text(RUN(0, "dead-letters", "list", "--broker", url, "--queue",
				    fixture.queue, "--match", "message_id=" OBEYED),
		"1 of 1 message");
#undef LETTERS
}
END_TEST

/* A reply is bytes for a program, and harmless on a terminal unless that is what was asked for. */
START_TEST(reply_with_escapes)
{
	const char *wpool = fixture_built("wpool"), *url = broker_url(fixture.broker);
	const char *const one[] = {"--workers", "1", NULL};
	struct proc *serve = fixture_serve_echo(one);
#define REQUEST(...)                                                                               \
	"request", "--broker", url, "--queue", fixture.queue, "--header", "X-Status=201",          \
		__VA_ARGS__
	EXPECT_UNCHANGED(LINE_SHOWN, wpool, REQUEST("bad \xff " LINE));
	EXPECT_UNCHANGED("first line\nsecond line", wpool, REQUEST("first line\nsecond line"));
	char *out = RUN(0, REQUEST(BAD));
	ck_assert_str_eq(out, BAD);
	free(out);
	ck_assert(TMUX_RUN(wpool, REQUEST("--raw", OBEYED)).is_changed);
#undef REQUEST
	fixture_stop(serve);
}
END_TEST

/* A worker's last words, a task's id, and a queue's name with a line of its own. */
START_TEST(workers_and_names_with_escapes)
{
	const char *wpool = fixture_built("wpool");
	char *script = scratch_path(fixture.folder, "worker"), *words;
	words = scratch_path(fixture.folder, "words");
	scratch_write(words, "bad \xff " LINE "\n");
	scratch_write(script, "cat \"$1\" >&2; exit 1\n");
	char *pools = scratch_text(
		"- {name: dies, queue: %s, workers: 1, command: [sh, \"%s\", \"%s\"]}\n"
		"- {name: named, queue: \"no\\nready\\n\\e[31m\\u202e such\", workers: 1,\n"
		"   command: [\"%s\"]}\n",
		fixture.queue, script, words, fixture_built("workers/echo"));
	struct proc *serve = fixture_serve_pools(pools);
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	proc_expect(serve, "control socket: ");
	for (bool is_there = false; !is_there;) {
		char *reasons = control_get("/readyz", 503), *list = control_get("/v1/pools", 200);
		is_there = strstr(reasons, "not consuming its queue") && strstr(list, "PWNED");
		free(reasons);
		free(list);
		if (!is_there)
			fixture_poll(deadline, 20, "the pools fail as they shall");
	}
	expect_harmless_file("\\nready\\n\\x1b[31m\\u202e such", control_get("/readyz", 503));
	EXPECT_UNCHANGED(LINE_SHOWN, wpool, "status");
	EXPECT_UNCHANGED("\\u202e such", wpool, "status");
	EXPECT_UNCHANGED("\\u202e such", wpool, "pools");
	EXPECT_UNCHANGED(LINE_SHOWN, wpool, "logs");
	EXPECT_UNCHANGED("PWNED", wpool, "logs", "--json");
	fixture_stop(serve);
	expect_harmless_file(LINE_SHOWN, proc_stderr(serve));
	free(pools);
	free(script);
	free(words);
}
END_TEST

/* What an operator is told of a configuration that somebody else wrote. */
START_TEST(configurations_with_escapes)
{
	static const char *const yaml =
		"- {name: p, queue: q, workers: 1, command: [\"%s\", \"%s\"]%s}\n";
	const char *wpool = fixture_built("wpool"), *echo = fixture_built("workers/echo");
	char *path = scratch_path(fixture.folder, "wpool.yaml");
	struct proc *serve = fixture_serve_pools(scratch_text(yaml, echo, "old", ""));
	proc_expect(serve, "control socket: ");
	fixture_write_pools(scratch_text(
		yaml, echo, "\\e]0;PWNED\\a\\n\\u009b\\u202e\\u2028\\x7f", ", cwd: \"/\\e[31m\""));
	EXPECT_UNCHANGED("PWNED", wpool, "check-config", path);
	EXPECT_UNCHANGED("command", wpool, "reload", "--dry-run");
	EXPECT_UNCHANGED("command", wpool, "reload", "--dry-run", "--json");
	fixture_write_pools(scratch_text(yaml, echo, "x", ", \"\\e]0;PWNED\\a\\n\\u202e\": 1"));
	EXPECT_UNCHANGED(":3: ", wpool, "check-config", path);
	EXPECT_UNCHANGED(":3: ", wpool, "reload");
	EXPECT_UNCHANGED("unknown command", wpool, OBEYED);
	EXPECT_UNCHANGED("unknown option", wpool, "status", "--" OBEYED);
	fixture_stop(serve);
	free(path);
}
END_TEST

/* A command line may have any bytes. */
START_TEST(command_that_is_not_utf8)
{
	const char *const options[] = {"--workers", "1", NULL};
	struct proc *serve = fixture_serve(options, (const char *const[]){"/no/" BAD, NULL});
	proc_expect(serve, "control socket: ");
	char *pools = control_get("/v1/pools", 200);
	expect_harmless(pools);
	json_decref(control_parse(pools));
	EXPECT_UNCHANGED("crash loop", "sh", "-c",
		"until \"$0\" pools | grep crash; do :; done; \"$0\" pools",
		fixture_built("wpool"));
	fixture_stop(serve);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("texts", {terminal_obeys_raw_bytes, 1},
		{broker_that_refuses_with_escapes, 1}, {broker_that_cuts_a_character, 1},
		{broker_that_blocks_with_escapes, 1}, {commands_to_a_broker_with_escapes, 3},
		{dead_letters_with_escapes, 1}, {reply_with_escapes, 1},
		{workers_and_names_with_escapes, 1}, {configurations_with_escapes, 1},
		{command_that_is_not_utf8, 1});
}
