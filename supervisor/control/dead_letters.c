/* GET /v1/pools/NAME/dead-letters, and POST .../replay and .../drop: wpool's own command does the
 * work in a child process, so that no dead letter is in our memory and none delays the loop. What
 * docs/retries.md promises of the command holds here. */
#include "api/fingerprint.h"
#include "config/dead_letter.h"
#include "config/url/secrets.h"
#include "config/value/quantity.h"
#include "control/answer.h"
#include "control/routes.h"
#include "process/own_commands.h"
#include "runtime/pool_runtime_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOT_STARTED "wpool cannot start its own command"

#define LIST_DEFAULT  "100"
#define LIST_MAX      1000
#define LIST_LIMIT    (30 * MTIME_SECOND)
#define CHANGE_LIMIT  (10 * MTIME_MINUTE)
#define OPTIONS_MAX   40
#define PASSWORD_FILE "WPOOL_PASSWORD_FILE"

enum letters_verb { LETTERS_LIST, LETTERS_REPLAY, LETTERS_DROP };

static const struct {
	const char *path_end, *verb; /* of the command */
} verbs[] = {
	[LETTERS_LIST] = {"/dead-letters", "list"},
	[LETTERS_REPLAY] = {"/replay", "replay"},
	[LETTERS_DROP] = {"/drop", "drop"},
};

/* What a request asks for, until the command is started. */
struct letters_command {
	enum letters_verb verb;
	char *options[OPTIONS_MAX]; /* owned: the command line; NULL-terminated */
	size_t count;
	bool has_limit, has_selection, has_fingerprint;
	struct control_bool all;
	const char *mistake; /* static, the first one; or NULL */
	bool has_no_memory;
};

static void add_option(struct letters_command *command, const char *name, struct text value)
{
	char *option;

	if (command->count + 1 == OPTIONS_MAX) {
		command->mistake = "there are too many parameters";
		return;
	}
	if (asprintf(&option, "%s%.*s", name, TEXT_ARGS(value)) < 0) {
		command->has_no_memory = true;
		return;
	}
	command->options[command->count++] = option;
}

static void release_options(struct letters_command *command)
{
	for (size_t i = 0; i < command->count; i++)
		free(command->options[i]);
}

/* ---------- the query ---------- */

/* The router has matched one of them. */
static enum letters_verb verb_of(const char *path)
{
	enum letters_verb verb = LETTERS_LIST;

	while (!text_ends(text_from(path), text_from(verbs[verb].path_end)))
		verb++;
	return verb;
}

static bool is_list(const struct letters_command *command)
{
	return command->verb == LETTERS_LIST;
}

static const char *read_limit(struct letters_command *command, struct text value)
{
	uint64_t limit;

	if (!text_read_decimal(value, is_list(command) ? LIST_MAX : UINT64_MAX, &limit) ||
		limit == 0)
		return is_list(command) ? "limit is not a number from 1 to 1000"
					: "limit is not a number from 1";
	command->has_limit = true;
	add_option(command, "--limit=", value);
	return NULL;
}

static const char *read_fingerprint(struct letters_command *command, struct text value)
{
	command->has_selection = command->has_fingerprint = true;
	add_option(command, "--fingerprint=", value);
	return fingerprint_is_valid(value) ? NULL : "fingerprint " FINGERPRINT_RULE;
}

/* NULL, or what is wrong. */
static const char *read_parameter(
	struct letters_command *command, struct text name, struct text value)
{
	uint64_t skip;

	if (text_is(name, TEXT("all")) && !is_list(command))
		return control_bool_take(&command->all, value) ? NULL : "all is true or false";
	if (!value.ptr || memchr(value.ptr, '\0', value.len))
		return "a parameter has no value, or a NUL in it";
	if (text_is(name, TEXT("limit")))
		return read_limit(command, value);
	if (text_is(name, TEXT("fingerprint")))
		return read_fingerprint(command, value);
	if (text_is(name, TEXT("match"))) {
		command->has_selection = true;
		add_option(command, "--match=", value);
		return memchr(value.ptr, '=', value.len) ? NULL : "match is not HEADER=VALUE";
	}
	if (text_is(name, TEXT("skip")) && is_list(command)) {
		add_option(command, "--skip=", value);
		return text_read_decimal(value, UINT64_MAX / 2, &skip)
			       ? NULL
			       : "skip is not a number from 0";
	}
	return "there is an unknown parameter (docs/control.md)";
}

static void on_parameter(void *ctx, struct text name, struct text value)
{
	struct letters_command *command = ctx;
	const char *mistake = read_parameter(command, name, value);

	if (!command->mistake)
		command->mistake = mistake;
}

/* Nothing is replayed or dropped by a request that does not name what. */
static void read_query(struct letters_command *command, const struct http_request *request)
{
	http_each_query(request, on_parameter, command);
	if (is_list(command) && !command->has_limit)
		add_option(command, "--limit=", TEXT(LIST_DEFAULT));
	else if (command->has_fingerprint && !command->has_limit)
		add_option(command, "--limit=", TEXT("1"));
	if (!command->mistake && !is_list(command) && command->has_selection == command->all.value)
		command->mistake =
			"one of fingerprint=HEX, match=HEADER=VALUE and all=true is needed";
}

/* ---------- the command ---------- */

static void add_queues(struct letters_command *command, const struct config_pool *config)
{
	const char *dead_letter = config->retry.dead_letter;

	add_option(command, "--queue=", text_from(config->queue));
	if (!dead_letter_is_default(config->queue, dead_letter))
		add_option(command, "--dead-letters=", text_from(dead_letter));
}

static void add_command(struct letters_command *command, const struct config_pool *config)
{
	add_option(command, "dead-letters", TEXT_NONE);
	add_option(command, verbs[command->verb].verb, TEXT_NONE);
	add_option(command, "--json", TEXT_NONE);
	add_option(command, "--broker=-", TEXT_NONE);
	if (!is_list(command))
		add_option(command, "--yes", TEXT_NONE);
	add_queues(command, config);
}

/* Ours without passwords; the file of the password is named. file: NULL: there is none, else for a
 * text that lives as long. Owned by the caller, but not its entries. NULL: out of memory. */
static char **environment_of(const struct config *config, char *file)
{
	size_t size = 0, count = 0;
	char **entries;

	while (environ[size])
		size++;
	entries = calloc(size + 2, sizeof *entries);
	for (size_t i = 0; entries && i < size; i++)
		if (!secrets_has(config->secrets, environ[i]) &&
			strncmp(environ[i], PASSWORD_FILE "=", sizeof PASSWORD_FILE) != 0)
			entries[count++] = environ[i];
	if (entries && file)
		entries[count] = file;
	return entries;
}

/* A line with the broker's addresses. */
static void write_addresses(const struct config *config, struct buf *out)
{
	for (size_t i = 0; i < config->host_count; i++) {
		if (i > 0)
			buf_append_byte(out, ',');
		broker_url_write(&config->hosts[i], out);
	}
	buf_append_byte(out, '\n');
}

/* ---------- the answer ---------- */

/* A line of stderr for each; without "wpool dead-letters: ". */
static json_t *json_of_problems(struct text errors)
{
	static const struct text prefix = TEXT("wpool dead-letters: ");
	json_t *list = json_array();

	while (errors.len > 0) {
		struct text line = errors;
		const char *end = memchr(errors.ptr, '\n', errors.len);
		line.len = end ? (size_t)(end - errors.ptr) : errors.len;
		errors = text_of(errors.ptr + line.len, errors.len - line.len);
		if (errors.len > 0)
			errors = text_of(errors.ptr + 1, errors.len - 1);
		if (text_starts(line, prefix))
			line = text_of(line.ptr + prefix.len, line.len - prefix.len);
		json_array_append_new(list, json_text(line));
	}
	return list;
}

/* Why there is no result. */
static const char *missing_reason(const struct own_command_result *result)
{
	if (result->is_cut)
		return "wpool stops";
	if (result->is_too_long)
		return "the answer is too long; a smaller limit makes it shorter";
	if (result->is_late)
		return "it took too long and was interrupted";
	if (result->exit.kind == EXIT_NOT_STARTED)
		return NOT_STARTED;
	return "it failed; see problems";
}

/* Of a command that was interrupted, the summary is complete. */
static void answer_result(void *ctx, const struct own_command_result *result)
{
	struct http_exchange *exchange = ctx;
	bool has_result =
		result->output.len > 0 && result->exit.kind == EXIT_STATUS && !result->is_too_long;
	struct buf text;

	buf_init(&text, SIZE_MAX);
	buf_append_text(&text, TEXT("{\"result\":"));
	buf_append_text(&text, has_result ? result->output : TEXT("null"));
	buf_printf(&text, ",\"exit\":%d,\"problems\":",
		result->exit.kind == EXIT_STATUS ? result->exit.number : -1);
	json_append(&text, json_of_problems(result->errors));
	if (!has_result)
		buf_printf(&text, ",\"error\":\"%s\"", missing_reason(result));
	buf_append_text(&text, TEXT("}\n"));
	if (text.failed)
		control_refuse_memory_later(exchange, 503);
	else
		http_answer_later(
			exchange, has_result ? 200 : 503, CONTROL_JSON_TYPE, buf_text(&text));
	buf_release(&text);
}

/* RC_OK: answer_result follows. RC_REFUSED: another one runs, or wpool stops. */
static enum rc start_command(const struct supervisor_view *view, struct letters_command *command,
	struct http_exchange *exchange)
{
	const char *path = view->config->host_count ? view->config->hosts[0].password_file : NULL;
	struct exit_info failure;
	char *file = NULL, **environment;
	struct buf input;
	enum rc rc = RC_MEMORY;

	if (path && asprintf(&file, PASSWORD_FILE "=%s", path) < 0)
		return RC_MEMORY;
	environment = environment_of(view->config, file);
	buf_init(&input, SIZE_MAX);
	write_addresses(view->config, &input);
	if (environment && !input.failed)
		rc = own_commands_start(view->own_commands,
			&(struct own_command){.arguments = command->options,
				.environment = environment,
				.input = buf_text(&input),
				.limit = is_list(command) ? LIST_LIMIT : CHANGE_LIMIT,
				.on_end = answer_result,
				.ctx = exchange},
			&failure);
	buf_release(&input);
	free(environment);
	free(file);
	return rc;
}

static void refuse_start(const struct http_request *request, enum rc rc)
{
	if (rc == RC_REFUSED)
		control_refuse(request, 409,
			"another request looks at dead letters, or wpool stops; try again later",
			NULL);
	else if (rc == RC_MEMORY)
		control_refuse_memory(request);
	else
		control_refuse(request, 503, NOT_STARTED, NULL);
}

/* ---------- the request ---------- */

/* The headers are there: refuse the request, or wait for the end of its body. */
static void check_request(const struct supervisor_view *view, const struct http_request *request,
	const struct pool_runtime *runtime, const struct letters_command *command)
{
	if (command->has_no_memory)
		control_refuse_memory(request);
	else if (command->mistake)
		control_refuse(request, 400, command->mistake, NULL);
	else if (pool_runtime_dead_letter(&runtime->config).len == 0)
		control_refuse(request, 409,
			"the queue's own policy moves its dead letters, so where they are is not "
			"known (retry.dead_letter)",
			NULL);
	else if (own_commands_is_busy(view->own_commands))
		control_refuse(request, 409,
			"another request looks at dead letters; try again later", NULL);
	else if (!http_read_body(request, 1))
		control_refuse(request, 503, CONTROL_CROWDED, NULL);
}

void control_answer_dead_letters(
	const struct supervisor_view *view, const struct http_request *request)
{
	enum rc rc;
	struct letters_command command = {.verb = verb_of(request->path)};
	struct pool_runtime *runtime;

	if (!control_find_pool(view, request, &runtime))
		return;
	add_command(&command, &runtime->config);
	read_query(&command, request);
	if (!request->exchange) {
		check_request(view, request, runtime, &command);
	} else {
		rc = start_command(view, &command, request->exchange);
		if (rc == RC_OK)
			http_defer(request);
		else
			refuse_start(request, rc);
	}
	release_options(&command);
}
