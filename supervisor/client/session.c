/* `wpool session VERB`: show sessions with their tasks, or control them (api/session_verbs.def). */
#include "api/session_verbs.h"

#include "base/utf8.h"
#include "client/api_command.h"
#include "client/json_cells.h"
#include "client/json_table.h"
#include "commands.h"
#include "tty/cli_options.h"
#include "tty/console.h"

#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#define COMMAND   "session"
#define SHOW      "show"
#define HELP_SIZE 2048

#define SESSION_VERB(id, verb, ...) "|" #verb
static const char verbs[] = SHOW
#include "api/session_verbs.def"
	;

static const char own[] =
	"  --where EXPR   all sessions that match, in place of keys; as wpool sessions has it\n"
	"  --queued dead-letter|discard|keep\n"
	"                 close, abort: where the queued tasks in hand go; keep: they open the\n"
	"                 session's next life\n"
	"  --wait         drain, close, abort: return when the session has ended; pause: when no\n"
	"                 task of it runs\n";

enum { WHERE = 1, QUEUED, WAIT };

static const struct option options[] = {
	{"where", required_argument, NULL, WHERE},
	{"queued", required_argument, NULL, QUEUED},
	{"wait", no_argument, NULL, WAIT},
	API_COMMAND_OPTION_TABLE,
};

struct session {
	struct api_command q;
	const char *name, *where, *queued;
	bool waits;
	const struct api_session_verb *verb; /* NULL: show */
	/* the request that is open */
	const char *key; /* NULL: it is for all that match */
	int exit_code;
	bool is_answered;
};

/* ---------- the command line ---------- */

static const char *make_help(char text[HELP_SIZE])
{
	int len = snprintf(text, HELP_SIZE,
		"Shows or controls sessions of a pool, by their keys (docs/ordering.md).\n"
		"  %-7s its tasks in hand, in their order\n",
		SHOW);

	for (size_t i = 0; i < API_SESSION_VERB_COUNT && len < HELP_SIZE; i++)
		len += snprintf(text + len, HELP_SIZE - (size_t)len, "  %-7s %s\n",
			api_session_verbs[i].name, api_session_verbs[i].summary);
	if (len < HELP_SIZE)
		snprintf(text + len, HELP_SIZE - (size_t)len,
			"Queued tasks are those in hand; the broker may hold more of a session, which "
			"open\nits next life.\n");
	return text;
}

static int on_option(struct api_command *q, int option)
{
	struct session *session = (struct session *)q;

	if (option == WHERE) {
		session->where = optarg;
	} else if (option == WAIT) {
		session->waits = true;
	} else {
		session->queued = optarg;
		if (!api_session_queued[text_index(text_from(optarg), api_session_queued)])
			return cli_problem(COMMAND,
				"--queued '%s' is none of dead-letter, discard, keep", optarg);
	}
	return -1;
}

static int unknown_verb(const char *name)
{
	char names[160] = SHOW;
	size_t len = strlen(names);

	for (size_t i = 0; i < API_SESSION_VERB_COUNT && len < sizeof names; i++)
		len += (size_t)snprintf(names + len, sizeof names - len, "%s%s",
			i + 1 < API_SESSION_VERB_COUNT ? ", " : " and ", api_session_verbs[i].name);
	return cli_problem(COMMAND, "there is no verb '%s'; there are %s", name, names);
}

/* -1: continue; else an exit code. */
static int check(struct session *session)
{
	const struct api_session_verb *verb = NULL;
	bool is_show = session->name && strcmp(session->name, SHOW) == 0;

	if (!session->name)
		return cli_problem(COMMAND, "a verb is needed");
	verb = session->verb = api_session_verb_find(text_from(session->name));
	if (!verb && !is_show)
		return unknown_verb(session->name);
	if (!session->q.pool || !*session->q.more == !session->where)
		return cli_problem(COMMAND, "POOL is needed, and either a KEY or --where");
	if (verb && verb->takes_queued && !session->queued)
		return cli_problem(COMMAND,
			"%s needs --queued, the place for the queued tasks: dead-letter, discard "
			"or keep",
			verb->name);
	if (session->queued && !(verb && verb->takes_queued))
		return cli_problem(COMMAND, "--queued is for close and abort");
	if (session->waits && !(verb && verb->wait))
		return cli_problem(COMMAND, "--wait is for drain, close, abort and pause");
	return -1;
}

/* ---------- show ---------- */

static const struct json_column columns[] = {
	{{.title = "KEY"}, JSON_TEXT, "key", NULL},
	{{.title = "STATE", .is_whole = true}, JSON_TEXT, "state", NULL},
	{{.title = "REASON", .is_whole = true}, JSON_TEXT, "reason", NULL},
	{TEXT_TABLE_FIGURES("BACKLOG"), JSON_NUMBER, "backlog", NULL},
	{{.title = "LANE", .is_whole = true}, JSON_TEXT, "task.lane", NULL},
	{TEXT_TABLE_FIGURES("ATTEMPTS"), JSON_NUMBER, "task.attempts", NULL},
	{TEXT_TABLE_FIGURES("ID"), JSON_PLAIN, "task.id", NULL},
	{{.title = "TASK"}, JSON_TEXT, "task.name", NULL},
};

/* Append a row for each task, or one for a session without tasks; the first row has the figures of
 * the session. */
static void append_rows(json_t *rows, json_t *session)
{
	json_t *tasks = json_object_get(session, "tasks"), *row = json_copy(session);
	size_t i = 0;

	do {
		if (json_array_size(tasks) > 0)
			json_object_set(row, "task", json_array_get(tasks, i));
		json_array_append_new(rows, row);
		row = json_pack("{s:O*}", "key", json_object_get(session, "key"));
	} while (++i < json_array_size(tasks));
	json_decref(row);
}

static int print_tasks(const struct api_command *q, const json_t *answer)
{
	json_t *rows = json_array(), *session;
	size_t i;
	int exit_code;

	json_array_foreach(json_object_get(answer, "sessions"), i, session)
		append_rows(rows, session);
	exit_code = json_table_print(q->command, rows, columns, sizeof columns / sizeof *columns);
	json_decref(rows);
	return exit_code;
}

/* ---------- the other verbs ---------- */

static void append_count(struct buf *out, const json_t *answer, const char *path, const char *unit)
{
	char cell[JSON_CELL_SIZE];

	buf_printf(out, "%.*s %s%s", TEXT_ARGS(json_cell_number(answer, path, cell)), unit,
		json_cell_value(answer, path) == 1 ? "" : "s");
}

/* "acme-1: draining; 12 queued tasks in hand, the broker may hold more" */
static void print_done(const struct session *session, const json_t *answer)
{
	struct buf out;

	buf_init(&out, SIZE_MAX);
	if (session->key)
		utf8_append_escaped(&out, text_from(session->key));
	else
		append_count(&out, answer, "sessions", "session");
	buf_printf(&out, ": %s%s", session->verb->done,
		!session->waits         ? ""
		: session->verb->begins ? ", and nothing of it runs"
					: ", and ended");
	if (session->verb->is_about_queued) {
		buf_append_text(&out, TEXT("; "));
		append_count(&out, answer, "queued", "queued task");
		buf_append_text(&out, TEXT(" in hand, the broker may hold more"));
	}
	buf_append_byte(&out, '\n');
	console_print_lines(stdout, buf_text(&out));
	buf_release(&out);
}

static bool on_line(void *ctx, struct text line)
{
	struct session *session = ctx;
	json_t *answer = json_loadb(line.len ? line.ptr : "", line.len, JSON_ALLOW_NUL, NULL);

	session->is_answered = answer != NULL;
	if (session->q.wants_json)
		api_command_print_json(line);
	else
		print_done(session, answer);
	if (json_cell_value(answer, "refused") > 0) {
		console_problem(COMMAND, "%.0f refused, the first one: %.*s",
			json_cell_value(answer, "refused"),
			TEXT_ARGS(json_cell_text(answer, "refusal")));
		session->exit_code = EX_TEMPFAIL;
	}
	json_decref(answer);
	return true;
}

/* ---------- requests ---------- */

static void append_path(const struct session *session, struct buf *path)
{
	if (session->verb)
		buf_printf(path, "/v1/pools/*/sessions/%s?wait=%s", session->verb->name,
			session->waits ? "true" : "false");
	else
		buf_append_text(path, TEXT("/v1/pools/*/sessions?tasks=true"));
	if (session->queued)
		buf_printf(path, "&queued=%s", session->queued);
	buf_append_text(path, session->key ? TEXT("&key=") : TEXT("&where="));
	api_append_query_value(path, text_from(session->key ? session->key : session->where));
	buf_append_byte(path, '\0');
}

/* An answer may last any time: it waits, or there are many sessions. */
static int control(struct session *session, const char *path)
{
	int exit_code;

	session->exit_code = EX_OK;
	session->is_answered = false;
	exit_code = api_command_follow(&session->q, path, on_line, session);
	if (exit_code != EX_OK)
		return exit_code;
	if (!session->is_answered) {
		fprintf(stderr,
			"wpool session: the answer broke off: was the supervisor killed?\n");
		return EX_PROTOCOL;
	}
	return api_command_flush(&session->q) == EX_OK ? session->exit_code : EX_IOERR;
}

/* key: NULL: all that match. */
static int ask_session(struct session *session, const char *key)
{
	struct buf path;
	int exit_code;

	session->key = key;
	buf_init(&path, SIZE_MAX);
	append_path(session, &path);
	exit_code = path.failed ? EX_SOFTWARE
		    : session->verb
			    ? control(session, buf_text(&path).ptr)
			    : api_command_show(&session->q, buf_text(&path).ptr, print_tasks);
	buf_release(&path);
	return exit_code;
}

/* Every key is tried; the exit code is that of the first problem. */
static int ask_keys(struct session *session)
{
	int exit_code = EX_OK;

	for (char **key = session->q.more; *key; key++) {
		int one = ask_session(session, *key);
		exit_code = exit_code == EX_OK ? one : exit_code;
	}
	return exit_code;
}

int session_main(int argc, char **argv)
{
	char help[HELP_SIZE];
	struct session session = {
		.q = {.command = COMMAND,
			.verbs = verbs,
			.usage = "POOL KEY...|--where EXPR",
			.help = make_help(help),
			.own = own,
			.exits = "0 done or begun, 65 no such pool or session, 75 refused",
			.is_long = true,
			.options = options,
			.on_option = on_option,
			.arguments = {&session.name, &session.q.pool},
			.takes_more = true}};
	int exit_code = api_command_read(&session.q, argc, argv);

	if (exit_code < 0)
		exit_code = check(&session);
	if (exit_code >= 0)
		return exit_code;
	session.q.is_post = session.verb != NULL;
	return session.where ? ask_session(&session, NULL) : ask_keys(&session);
}
