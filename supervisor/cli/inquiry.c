#include "cli/inquiry.h"

#include "cli/console.h"
#include "cli/question.h"
#include "cli/usage.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#define ANSWER_LIMIT (256u * 1024 * 1024)
#define TIMEOUT_MS   10000L
#define HTTP_OK      200L

static const struct option options[] = {INQUIRY_OPTION_TABLE};

/* ---------- options ---------- */

int inquiry_take_option(struct inquiry *q, int option)
{
	switch (option) {
	case INQUIRY_IS_SOCKET:
		q->socket = optarg;
		return *optarg ? -1 : usage_problem(q->command, "--socket is empty");
	case INQUIRY_IS_JSON:
		q->json = true;
		return q->is_live ? usage_problem(q->command, "--json is for wpool status") : -1;
	case INQUIRY_IS_HELP:
		fputs(q->help, stdout);
		return EX_OK;
	default:
		return EX_USAGE;
	}
}

int inquiry_read_options(struct inquiry *q, int argc, char **argv)
{
	int option, exit_code = -1;

	while (exit_code < 0 &&
		(option = usage_next_option(q->command, ":", argc, argv, options)) != -1)
		exit_code = inquiry_take_option(q, option);
	if (exit_code >= 0)
		return exit_code;
	if (q->takes_pool && optind < argc)
		q->pool = argv[optind++];
	if (q->takes_number && optind < argc)
		q->number = argv[optind++];
	if (optind < argc)
		return usage_problem(q->command, "unexpected '%s'", argv[optind]);
	return -1;
}

/* ---------- one request ---------- */

struct exchange {
	const struct inquiry *q;
	struct curl curl;
	CURL *handle;
	struct buf *out;
	long os_error;
	/* of an answer that comes line by line; else NULL */
	bool (*on_line)(void *ctx, struct text line);
	void *ctx;
	bool has_enough;
};

static long status_of(const struct exchange *x)
{
	long status = 0;

	x->curl.easy_getinfo(x->handle, CURLINFO_RESPONSE_CODE, &status);
	return status;
}

/* libcurl's: an error's words are kept whole. */
static bool on_more(void *ctx)
{
	struct exchange *x = ctx;
	struct text rest = buf_text(x->out), line;

	if (status_of(x) != HTTP_OK)
		return true;
	while (!x->has_enough && text_take_line(&rest, &line))
		x->has_enough = !x->on_line(x->ctx, line);
	buf_consume(x->out, buf_len(x->out) - rest.len);
	return !x->has_enough;
}

static CURLcode perform(struct exchange *x, const char *socket, const char *path)
{
	struct question question = {
		.socket = socket,
		.method = x->q->method,
		.path = path,
		.pool = x->q->pool,
		.timeout_ms = x->on_line ? 0 : TIMEOUT_MS,
		.out = x->out,
		.on_more = x->on_line ? on_more : NULL,
		.ctx = x,
	};
	CURLcode code = question_put(&question, &x->curl, x->handle);

	if (code == CURLE_OK)
		code = x->curl.easy_perform(x->handle);
	if (x->has_enough)
		return CURLE_OK;
	if (code != CURLE_OK)
		x->curl.easy_getinfo(x->handle, CURLINFO_OS_ERRNO, &x->os_error);
	return code;
}

static int say_nobody(const struct inquiry *q, const struct control_paths *paths, long error)
{
	struct buf places;

	buf_init(&places, SIZE_MAX);
	question_append_places(q->socket, paths, &places);
	fprintf(stderr,
		"wpool %s: no supervisor listens at %.*s%s%s; is wpool serve running, and its "
		"control.socket this one (--socket)?\n",
		q->command, TEXT_ARGS(buf_text(&places)), error ? ": " : "",
		error ? strerror((int)error) : "");
	buf_release(&places);
	return error == EACCES || error == EPERM ? EX_NOPERM : EX_UNAVAILABLE;
}

static int say_failure(const struct exchange *x, CURLcode code)
{
	fprintf(stderr, "wpool %s: no answer from the supervisor: %s\n", x->q->command,
		x->curl.easy_strerror(code));
	return EX_UNAVAILABLE;
}

/* Of a configuration, as check-config has them. */
static void say_problems(const json_t *problems)
{
	const json_t *problem;
	size_t i;

	json_array_foreach(problems, i, problem)
		fprintf(stderr, "%s\n", json_string_value(problem));
}

static int exit_code_of(long status)
{
	switch (status) {
	case 404:
		return EX_DATAERR;
	case 409:
		return EX_TEMPFAIL;
	case 422:
		return EX_CONFIG;
	default:
		return EX_UNAVAILABLE;
	}
}

/* {"error": "..."}, in one line; above it those of "problems", where there are any. */
static int say_refusal(const struct exchange *x, long status)
{
	json_t *answer = json_loadb(
		buf_text(x->out).ptr ? buf_text(x->out).ptr : "", buf_len(x->out), 0, NULL);
	const char *what = json_string_value(json_object_get(answer, "error"));

	say_problems(json_object_get(answer, "problems"));
	if (what)
		fprintf(stderr, "wpool %s: %s\n", x->q->command, what);
	else
		fprintf(stderr, "wpool %s: the supervisor answers with status %ld\n", x->q->command,
			status);
	json_decref(answer);
	return exit_code_of(status);
}

/* The first socket where somebody listens is asked. */
static int ask_each(struct exchange *x, const char *path)
{
	struct control_paths paths = question_paths(x->q->socket);
	CURLcode code = CURLE_COULDNT_CONNECT;

	for (size_t i = 0; i < paths.count && code == CURLE_COULDNT_CONNECT; i++)
		code = perform(x, paths.list[i], path);
	if (code == CURLE_COULDNT_CONNECT)
		return say_nobody(x->q, &paths, x->os_error);
	if (code != CURLE_OK)
		return say_failure(x, code);
	return status_of(x) == HTTP_OK ? EX_OK : say_refusal(x, status_of(x));
}

static int ask(struct exchange *x, const char *path)
{
	const char *why = "out of memory";
	int exit_code = EX_SOFTWARE;

	if (curl_load(&x->curl, &why) == RC_OK)
		x->handle = x->curl.easy_init();
	if (!x->handle) {
		fprintf(stderr, "wpool %s: %s\n", x->q->command, why);
		return exit_code;
	}
	exit_code = ask_each(x, path);
	x->curl.easy_cleanup(x->handle);
	return exit_code;
}

int inquiry_ask(const struct inquiry *q, const char *path, struct buf *out)
{
	struct exchange x = {.q = q, .out = out};

	return ask(&x, path);
}

int inquiry_follow(const struct inquiry *q, const char *path,
	bool (*on_line)(void *ctx, struct text line), void *ctx)
{
	struct buf out;
	struct exchange x = {.q = q, .out = &out, .on_line = on_line, .ctx = ctx};
	int exit_code;

	buf_init(&out, ANSWER_LIMIT);
	exit_code = ask(&x, path);
	buf_release(&out);
	return exit_code;
}

/* ---------- the answer ---------- */

int inquiry_ask_json(const struct inquiry *q, const char *path, json_t **ret)
{
	struct buf out;
	int exit_code;

	buf_init(&out, ANSWER_LIMIT);
	exit_code = inquiry_ask(q, path, &out);
	if (exit_code == EX_OK) {
		*ret = json_loadb(
			buf_text(&out).ptr ? buf_text(&out).ptr : "", buf_len(&out), 0, NULL);
		if (!*ret) {
			fprintf(stderr,
				"wpool %s: the answer is no JSON: is it wpool that listens?\n",
				q->command);
			exit_code = EX_PROTOCOL;
		}
	}
	buf_release(&out);
	return exit_code;
}

int inquiry_flush(const struct inquiry *q)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return EX_OK;
	fprintf(stderr, "wpool %s: standard output: %s\n", q->command, strerror(errno));
	return EX_IOERR;
}

static int print_grid(const struct inquiry *q, const struct grid *grid)
{
	struct buf out;
	int exit_code = EX_SOFTWARE;

	buf_init(&out, SIZE_MAX);
	grid_write(grid, console_width(), &out);
	if (out.failed) {
		fprintf(stderr, "wpool %s: out of memory\n", q->command);
	} else {
		fwrite(buf_text(&out).ptr ? buf_text(&out).ptr : "", 1, buf_len(&out), stdout);
		exit_code = inquiry_flush(q);
	}
	buf_release(&out);
	return exit_code;
}

int inquiry_print_rows(const struct inquiry *q, const json_t *list,
	const struct grid_column *columns, size_t count,
	void (*add_row)(struct grid *, const json_t *))
{
	struct grid grid;
	json_t *member;
	size_t i;
	int exit_code;

	grid_init(&grid, columns, count);
	json_array_foreach(list, i, member) add_row(&grid, member);
	exit_code = print_grid(q, &grid);
	grid_release(&grid);
	return exit_code;
}

int inquiry_print(const struct inquiry *q, const char *path)
{
	struct buf out;
	int exit_code;

	buf_init(&out, ANSWER_LIMIT);
	exit_code = inquiry_ask(q, path, &out);
	if (exit_code == EX_OK) {
		fwrite(buf_text(&out).ptr, 1, buf_len(&out), stdout);
		exit_code = inquiry_flush(q);
	}
	buf_release(&out);
	return exit_code;
}
