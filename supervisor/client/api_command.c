#include "client/api_command.h"

#include "base/json.h"
#include "tty/cli_options.h"
#include "tty/console.h"

#include <stdio.h>
#include <sysexits.h>

static const struct option common_options[] = {API_COMMAND_OPTION_TABLE};

/* ---------- the command line ---------- */

static void print_help(const struct api_command *q)
{
	printf("usage: wpool %s%s%s [OPTION]...%s%s\n\n%s\n%s", q->command, q->verbs ? " " : "",
		q->verbs ? q->verbs : "", *q->usage ? " " : "", q->usage, q->help,
		q->own ? q->own : "");
	fputs("  --socket PATH  the supervisor's control socket; without it WPOOL_CONTROL_SOCKET,\n"
	      "                 else the default paths\n",
		stdout);
	if (!q->is_interactive)
		fputs(q->json ? q->json
			      : "  --json         the answer as it came (docs/control.md)\n",
			stdout);
	printf("  --help         this text\n"
	       "\n"
	       "Exit status: %s, 64 usage, 69 no supervisor listens,\n"
	       "70 out of memory or no libcurl, 74 output failed, 76 the answer makes no sense,\n"
	       "77 the socket belongs to another user.\n",
		q->exits);
}

static int take_option(struct api_command *q, int option)
{
	switch (option) {
	case API_COMMAND_SOCKET:
		q->socket = optarg;
		return *optarg ? -1 : cli_problem(q->command, "--socket is empty");
	case API_COMMAND_JSON:
		q->wants_json = true;
		return q->is_interactive ? cli_problem(q->command, "--json is for wpool status")
					 : -1;
	case API_COMMAND_HELP:
		print_help(q);
		return EX_OK;
	case CLI_BAD_OPTION:
		return EX_USAGE;
	default:
		return q->on_option(q, option);
	}
}

int api_command_read(struct api_command *q, int argc, char **argv)
{
	const struct option *options = q->options ? q->options : common_options;
	const char *letters = q->letters ? q->letters : ":";
	int option, exit_code = -1;

	while (exit_code < 0 &&
		(option = cli_next_option(q->command, letters, argc, argv, options)) != -1)
		exit_code = take_option(q, option);
	if (exit_code >= 0)
		return exit_code;
	for (size_t i = 0; i < 3 && q->arguments[i] && optind < argc; i++)
		*q->arguments[i] = argv[optind++];
	q->more = argv + optind;
	return optind < argc && !q->takes_more
		       ? cli_problem(q->command, "unexpected '%s'", argv[optind])
		       : -1;
}

/* ---------- the request ---------- */

/* With EX_OK the client has the answer, and is to be released; only then. Mistakes in a
 * configuration are printed before the problem, as check-config prints them. */
static int ask_supervisor(const struct api_command *q, const char *path,
	bool (*on_line)(void *ctx, struct text line), void *ctx, struct api_client *client)
{
	struct api_request request = {.is_post = q->is_post,
		.path = path,
		.pool = q->pool,
		.is_long = q->is_long,
		.until_exit = q->until_exit,
		.on_line = on_line,
		.ctx = ctx};
	json_t *answer, *problem;
	const char *why;
	size_t i;
	int exit_code;

	if (api_client_init(client, q->socket, &why) != RC_OK) {
		fprintf(stderr, "wpool %s: %s\n", q->command, why);
		return EX_SOFTWARE;
	}
	exit_code = api_client_ask(client, &request);
	if (client->is_outlived)
		console_problem(q->command,
			"the supervisor's process has not ended %d s after its last answer",
			API_CLIENT_EXIT_LIMIT_S);
	if (exit_code == EX_OK)
		return EX_OK;
	answer = client->status ? api_client_json(client) : NULL;
	json_array_foreach(json_object_get(answer, "problems"), i, problem)
	{
		console_print(
			stderr, "%s", json_is_string(problem) ? json_string_value(problem) : "-");
		fputc('\n', stderr);
	}
	json_decref(answer);
	console_problem(q->command, "%.*s%s", TEXT_ARGS(buf_text(&client->problem)),
		client->is_absent
			? "; is wpool serve running, and its control.socket this one (--socket)?"
			: "");
	api_client_release(client);
	return exit_code;
}

int api_command_ask(const struct api_command *q, const char *path, json_t **ret)
{
	struct api_client client;
	int exit_code = ask_supervisor(q, path, NULL, NULL, &client);

	if (exit_code != EX_OK)
		return exit_code;
	*ret = api_client_json(&client);
	api_client_release(&client);
	if (*ret)
		return EX_OK;
	fprintf(stderr, "wpool %s: the answer is not JSON: is it wpool that listens?\n",
		q->command);
	return EX_PROTOCOL;
}

static int no_memory(const struct api_command *q)
{
	fprintf(stderr, "wpool %s: out of memory\n", q->command);
	return EX_SOFTWARE;
}

int api_command_print(const struct api_command *q, const char *path, int (*inspect)(const json_t *))
{
	struct api_client client;
	int exit_code = ask_supervisor(q, path, NULL, NULL, &client);
	struct buf shown;
	json_t *answer;

	if (exit_code != EX_OK)
		return exit_code;
	buf_init(&shown, SIZE_MAX);
	json_append_written(&shown, buf_text(&client.answer));
	if (buf_len(&shown) > 0)
		fwrite(buf_text(&shown).ptr, 1, buf_len(&shown), stdout);
	exit_code = api_command_flush(q);
	if (shown.failed)
		exit_code = no_memory(q);
	buf_release(&shown);
	if (exit_code == EX_OK && inspect) {
		answer = api_client_json(&client);
		exit_code = inspect(answer);
		json_decref(answer);
	}
	api_client_release(&client);
	return exit_code;
}

int api_command_show(const struct api_command *q, const char *path,
	int (*print)(const struct api_command *, const json_t *answer))
{
	json_t *answer;
	int exit_code;

	if (q->wants_json)
		return api_command_print(q, path, NULL);
	exit_code = api_command_ask(q, path, &answer);
	if (exit_code != EX_OK)
		return exit_code;
	exit_code = print(q, answer);
	json_decref(answer);
	return api_command_flush(q) == EX_OK ? exit_code : EX_IOERR;
}

int api_command_follow(const struct api_command *q, const char *path,
	bool (*on_line)(void *ctx, struct text line), void *ctx)
{
	struct api_client client;
	int exit_code = ask_supervisor(q, path, on_line, ctx, &client);

	if (exit_code == EX_OK)
		api_client_release(&client);
	return exit_code;
}

void api_command_print_json(struct text line)
{
	struct buf shown;

	buf_init(&shown, SIZE_MAX);
	json_append_written(&shown, line);
	printf("%.*s\n", TEXT_ARGS(buf_text(&shown)));
	buf_release(&shown);
}

int api_command_flush(const struct api_command *q)
{
	return console_flush(q->command) ? EX_OK : EX_IOERR;
}
