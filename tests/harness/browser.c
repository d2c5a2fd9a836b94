#include "harness/browser.h"

#include "harness/child.h"
#include "harness/deadline.h"
#include "harness/scratch.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define START_MS 60000 /* a slow machine reads it from disk first */
/* Chromium's ends: it reads commands from the one and answers on the other. */
#define COMMANDS_FD 3
#define ANSWERS_FD  4

struct browser {
	pid_t pid;
	int commands, answers;
	json_int_t id; /* of the latest command */
	char *session; /* of the page; NULL: not yet */
	char *read;    /* not taken yet */
	size_t len, capacity;
	bool is_loaded;
	json_t *requests, *complaints;
};

/* ---------- the program ---------- */

/* No sandbox, because root has none. No name is looked up: one is this
 * machine's, as after a rebinding. No proxy is asked. */
static void become(const char *folder, int commands, int answers)
{
	char *profile = scratch_text("--user-data-dir=%s/chromium", folder);
	const char *const argv[] = {"chromium", "--headless", "--no-sandbox", "--disable-gpu",
		"--disable-dev-shm-usage", "--remote-debugging-pipe", "--no-first-run",
		"--disable-breakpad", "--disable-sync", "--disable-extensions",
		"--disable-component-update", "--disable-background-networking",
		"--disable-default-apps", "--hide-scrollbars", "--force-color-profile=srgb",
		"--no-proxy-server",
		"--host-resolver-rules=MAP " BROWSER_REBOUND
		" 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
		profile, NULL};
	char *log = scratch_text("%s/chromium.log", folder);
	int said = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);

	/* Move both away from descriptors 3 and 4 first, then onto them. */
	commands = fcntl(commands, F_DUPFD, 10);
	answers = fcntl(answers, F_DUPFD, 10);
	if (said < 0 || dup2(said, 1) < 0 || dup2(said, 2) < 0 || dup2(commands, COMMANDS_FD) < 0 ||
		dup2(answers, ANSWERS_FD) < 0)
		_exit(126);
	close_range(ANSWERS_FD + 1, ~0U, 0);
	setenv("HOME", folder, 1);
	execvp(argv[0], (char *const *)argv);
	_exit(127);
}

struct browser *browser_start(const char *folder)
{
	struct browser *b = calloc(1, sizeof *b);
	int to[2], from[2];
	json_t *made, *attached;

	ck_assert_ptr_nonnull(b);
	ck_assert(pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0);
	b->pid = child_fork();
	if (b->pid == 0) {
		if (setsid() < 0)
			_exit(126);
		become(folder, to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	b->commands = to[1];
	b->answers = from[0];
	b->requests = json_array();
	b->complaints = json_array();
	made = browser_command(b, "Target.createTarget", json_pack("{s:s}", "url", "about:blank"));
	attached = browser_command(b, "Target.attachToTarget",
		json_pack(
			"{s:O, s:b}", "targetId", json_object_get(made, "targetId"), "flatten", 1));
	b->session = strdup(json_string_value(json_object_get(attached, "sessionId")));
	json_decref(made);
	json_decref(attached);
	for (const char *const *domain = (const char *const[]){"Page.enable", "Runtime.enable",
		     "Network.enable", "Log.enable", "Accessibility.enable", NULL};
		*domain; domain++)
		json_decref(browser_command(b, *domain, NULL));
	return b;
}

/* Its children end with it. */
void browser_free(struct browser *b)
{
	if (!b)
		return;
	kill(-b->pid, SIGKILL);
	waitpid(b->pid, NULL, 0);
	close(b->commands);
	close(b->answers);
	json_decref(b->requests);
	json_decref(b->complaints);
	free(b->session);
	free(b->read);
	free(b);
}

/* ---------- messages: JSON, each with a NUL behind it ---------- */

static void send_message(struct browser *b, json_t *message)
{
	char *text = json_dumps(message, JSON_COMPACT);
	size_t len = strlen(text) + 1;

	for (size_t sent = 0; sent < len;) {
		ssize_t n = write(b->commands, text + sent, len - sent);
		ck_assert_msg(n > 0, "chromium takes no command: %s", strerror(errno));
		sent += (size_t)n;
	}
	free(text);
	json_decref(message);
}

static void read_some(struct browser *b, int64_t deadline, const char *what)
{
	struct pollfd wait = {.fd = b->answers, .events = POLLIN};
	ssize_t n;

	ck_assert_msg(
		poll(&wait, 1, deadline_left(deadline)) == 1, "chromium does not answer: %s", what);
	if (b->len + 65536 > b->capacity) {
		b->capacity = 2 * b->capacity + 65536;
		b->read = realloc(b->read, b->capacity);
		ck_assert_ptr_nonnull(b->read);
	}
	n = read(b->answers, b->read + b->len, b->capacity - b->len);
	ck_assert_msg(n > 0, "chromium has ended (is it installed?): %s", what);
	b->len += (size_t)n;
}

/* The next message; owned. */
static json_t *receive(struct browser *b, int64_t deadline, const char *what)
{
	json_error_t error;
	json_t *message;
	char *end;

	while (!(end = memchr(b->read ? b->read : "", 0, b->len)))
		read_some(b, deadline, what);
	message = json_loads(b->read, 0, &error);
	ck_assert_msg(message != NULL, "chromium: %s", error.text);
	b->len -= (size_t)(end + 1 - b->read);
	memmove(b->read, end + 1, b->len);
	return message;
}

static const json_t *at(const json_t *json, const char *first, const char *second)
{
	return json_object_get(json_object_get(json, first), second);
}

static void note(json_t *list, const json_t *said)
{
	json_array_append_new(list, json_is_string(said) ? json_copy((json_t *)said)
							 : json_string(json_dumps(said, 0)));
}

static void take_event(struct browser *b, const json_t *message)
{
	const char *method = json_string_value(json_object_get(message, "method"));
	const json_t *params = json_object_get(message, "params");
	const char *kind = json_string_value(json_object_get(params, "type"));
	const char *level = json_string_value(at(params, "entry", "level"));

	if (strcmp(method, "Page.loadEventFired") == 0)
		b->is_loaded = true;
	else if (strcmp(method, "Network.requestWillBeSent") == 0)
		note(b->requests, at(params, "request", "url"));
	else if (strcmp(method, "Runtime.exceptionThrown") == 0)
		note(b->complaints, json_object_get(params, "exceptionDetails"));
	else if (strcmp(method, "Runtime.consoleAPICalled") == 0 && strcmp(kind, "log") != 0)
		note(b->complaints, json_object_get(params, "args"));
	else if (strcmp(method, "Log.entryAdded") == 0 && strcmp(level, "info") != 0 &&
		 strcmp(level, "verbose") != 0)
		note(b->complaints, json_object_get(params, "entry"));
}

json_t *browser_command(struct browser *b, const char *method, json_t *params)
{
	int64_t deadline = deadline_in(START_MS);
	json_t *message = json_pack("{s:I, s:s, s:o}", "id", ++b->id, "method", method, "params",
		params ? params : json_object());
	json_t *result;

	if (b->session)
		json_object_set_new(message, "sessionId", json_string(b->session));
	send_message(b, message);
	for (;;) {
		message = receive(b, deadline, method);
		if (json_integer_value(json_object_get(message, "id")) == b->id)
			break;
		if (json_object_get(message, "method"))
			take_event(b, message);
		json_decref(message);
	}
	result = json_incref(json_object_get(message, "result"));
	ck_assert_msg(result != NULL, "%s: %s", method, json_dumps(message, 0));
	json_decref(message);
	return result;
}

/* ---------- the page ---------- */

void browser_open(struct browser *b, const char *url)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);

	json_array_clear(b->requests);
	json_array_clear(b->complaints);
	b->is_loaded = false;
	json_decref(browser_command(b, "Page.navigate", json_pack("{s:s}", "url", url)));
	while (!b->is_loaded) {
		json_t *message = receive(b, deadline, url);
		if (json_object_get(message, "method"))
			take_event(b, message);
		json_decref(message);
	}
}

void browser_resize(struct browser *b, int width, int height, bool is_phone)
{
	json_decref(browser_command(b, "Emulation.setDeviceMetricsOverride",
		json_pack("{s:i, s:i, s:i, s:b}", "width", width, "height", height,
			"deviceScaleFactor", 1, "mobile", is_phone)));
}

void browser_emulate(struct browser *b, const char *feature, const char *value)
{
	json_decref(browser_command(b, "Emulation.setEmulatedMedia",
		json_pack("{s:[{s:s, s:s}]}", "features", "name", feature, "value", value)));
}

void browser_press(struct browser *b, const char *key)
{
	bool is_enter = strcmp(key, "Enter") == 0;

	json_decref(browser_command(b, "Input.dispatchKeyEvent",
		json_pack("{s:s, s:s, s:s, s:i, s:s*}", "type", "keyDown", "key", key, "code", key,
			"windowsVirtualKeyCode", is_enter ? 13 : 9, "text",
			is_enter ? "\r" : NULL)));
	json_decref(browser_command(b, "Input.dispatchKeyEvent",
		json_pack("{s:s, s:s, s:s}", "type", "keyUp", "key", key, "code", key)));
}

json_t *browser_value(struct browser *b, const char *expression)
{
	json_t *result = browser_command(b, "Runtime.evaluate",
		json_pack("{s:s, s:b, s:b}", "expression", expression, "returnByValue", 1,
			"awaitPromise", 1));
	json_t *value = json_incref((json_t *)at(result, "result", "value"));

	ck_assert_msg(!json_object_get(result, "exceptionDetails"), "%s: %s", expression,
		json_dumps(result, 0));
	json_decref(result);
	return value;
}

char *browser_text(struct browser *b, const char *expression)
{
	json_t *value = browser_value(b, expression);
	char *text;

	ck_assert_msg(json_is_string(value), "no text: %s", expression);
	text = strdup(json_string_value(value));
	json_decref(value);
	return text;
}

void browser_await(struct browser *b, const char *expression)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);

	for (;;) {
		json_t *value = browser_value(b, expression);
		bool is_true = json_is_true(value);
		json_decref(value);
		if (is_true)
			return;
		ck_assert_msg(deadline_left(deadline) > 0, "does not come true: %s\n%s", expression,
			browser_text(b, "document.body.innerText.slice(0, 2000)"));
		poll(NULL, 0, 50);
	}
}

const json_t *browser_requests(const struct browser *b)
{
	return b->requests;
}

const json_t *browser_warnings(const struct browser *b)
{
	return b->complaints;
}

/* ---------- pictures ---------- */

/* Decode base64 (RFC 4648, section 4) without white space. Return the length. */
static size_t decode(const char *text, uint8_t *bytes)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint32_t bits = 0;
	size_t len = 0, held = 0;

	for (; *text && *text != '='; text++) {
		bits = bits << 6 | (uint32_t)(strchr(digits, *text) - digits);
		held += 6;
		if (held >= 8) {
			held -= 8;
			bytes[len++] = (uint8_t)(bits >> held);
		}
	}
	return len;
}

void browser_picture(struct browser *b, const char *path)
{
	json_t *result = browser_command(b, "Page.captureScreenshot",
		json_pack("{s:s, s:b}", "format", "png", "captureBeyondViewport", 0));
	const char *text = json_string_value(json_object_get(result, "data"));
	uint8_t *bytes = malloc(strlen(text) + 1);
	FILE *file = fopen(path, "w");
	size_t len = decode(text, bytes);

	ck_assert_msg(file != NULL, "%s: %s", path, strerror(errno));
	ck_assert_uint_eq(fwrite(bytes, 1, len, file), len);
	ck_assert_int_eq(fclose(file), 0);
	free(bytes);
	json_decref(result);
}
