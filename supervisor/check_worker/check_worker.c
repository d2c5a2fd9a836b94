/* `wpool check-worker`: play the supervisor for one worker at a time, without a broker, and judge
 * it by every point of worker-sdk/PROTOCOL.md. */
#include "check_worker/report.h"
#include "check_worker/tasks.h"
#include "commands.h"
#include "config/url/secrets.h"
#include "config/value/nearest.h"
#include "config/value/quantity.h"
#include "config/value/words.h"
#include "message/names.h"
#include "os/loop.h"
#include "tty/cli_options.h"
#include "tty/console.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>
#include <unistd.h>

#define COMMAND      "check-worker"
#define WAIT_DEFAULT (10 * MTIME_SECOND)
#define FILES_MAX    16
#define ATTEMPTS     3                      /* retry.attempts, by default */
#define HEADER_BYTES ((uint32_t)128 * 1024) /* of a reply: a frame of RabbitMQ's default size */

static const char help[] =
	"usage: wpool check-worker [OPTION]... -- COMMAND [ARG]...\n"
	"\n"
	"Start the worker COMMAND as serve does, play the supervisor without a broker, and check\n"
	"every point of the pipe protocol (worker-sdk/PROTOCOL.md). Each check has a worker of its\n"
	"own. For each: what was sent, what was expected, what came, and the likely cause of a\n"
	"fault.\n"
	"\n"
	"  --pipe FORM      path, fifo or corefx, as in the pool's configuration; default path\n"
	"  --body TYPE      auto, bin or str, likewise; default auto\n"
	"  --concurrency N  open tasks, likewise; 1 to 10000, default 1\n"
	"  --task FILE      a body that the worker can work on; may be repeated\n"
	"  --only NAME      this check alone, after start and task\n"
	"  --wait DURATION  how long each step may take: a connection, an answer, an exit; default\n"
	"                   10s\n"
	"  --json           print the results as a JSON object\n"
	"  --help           this text\n"
	"\n"
	"Not shown: what only some workers do, such as a report of progress, and this one did not.\n"
	"Exit status: 0 nothing is wrong, 64 usage, 66 no such file, 70 check-worker itself\n"
	"cannot run, 74 cannot write, 76 something is wrong.\n";

enum flag { PIPE = 256, BODY, CONCURRENCY, TASK, ONLY, WAIT, JSON, HELP };

static const struct option options[] = {
	{"pipe", required_argument, NULL, PIPE},
	{"body", required_argument, NULL, BODY},
	{"concurrency", required_argument, NULL, CONCURRENCY},
	{"task", required_argument, NULL, TASK},
	{"only", required_argument, NULL, ONLY},
	{"wait", required_argument, NULL, WAIT},
	{"json", no_argument, NULL, JSON},
	{"help", no_argument, NULL, HELP},
	{NULL, 0, NULL, 0},
};

struct check_worker {
	struct check_setup setup;
	struct config config; /* without pools: for what all workers of a run share */
	const struct check *only;
	const char *body; /* as it was given; or NULL */
	bool json;
	struct buf bodies[FILES_MAX];
	struct text files[FILES_MAX];
	size_t file_count;
	struct run run;
	const struct check
		*broken; /* a base that is wrong, so that no other check is run; or NULL */
	struct result *results;
	size_t result_count;
};

/* ---------- options ---------- */

static int read_word(const char *option, const char *const *words, const char *what, int *ret)
{
	size_t index = text_index(text_from(optarg), words);
	if (!words[index])
		return cli_bad_value(COMMAND, option, optarg, what);
	*ret = (int)index;
	return -1;
}

static int read_pipe_form(struct check_worker *c)
{
	static const char *const words[] = {
#define X(form, word) [form] = word,
		CONFIG_PIPES(X)
#undef X
			NULL};
	int form;
	int exit_code = read_word("--pipe", words, "is not path, fifo or corefx", &form);
	if (exit_code < 0)
		c->setup.config.pipe = (enum pipe_form)form;
	return exit_code;
}

static int read_body(struct check_worker *c)
{
	int body;
	int exit_code = read_word("--body", task_body_words, "is not auto, bin or str", &body);
	if (exit_code < 0)
		c->setup.config.task.body = (enum task_body)body;
	c->body = optarg;
	return exit_code;
}

static int read_concurrency(struct check_worker *c)
{
	int64_t number;
	if (!quantity_read_integer(text_from(optarg), &number) || number < 1 ||
		number > POOL_CONCURRENCY_MAX)
		return cli_bad_value(
			COMMAND, "--concurrency", optarg, "is no number from 1 to 10000");
	c->setup.config.concurrency = (uint16_t)number;
	return -1;
}

static int fail_to_read(const char *path, const char *why)
{
	console_problem(COMMAND, "cannot read %s: %s", path, why);
	return EX_NOINPUT;
}

static int read_task(struct check_worker *c)
{
	if (c->file_count == FILES_MAX)
		return cli_problem(COMMAND, "more than %d times --task", FILES_MAX);
	struct buf *body = &c->bodies[c->file_count];
	FILE *file = fopen(optarg, "re");
	size_t n = 0;
	if (!file)
		return fail_to_read(optarg, strerror(errno));
	buf_init(body, TASK_BODY_MAX + 1);
	do {
		uint8_t *place = buf_reserve(body, BUFSIZ);
		if (!place)
			break;
		buf_commit(body, n = fread(place, 1, BUFSIZ, file));
	} while (n > 0);
	int error = ferror(file) ? errno : 0;
	fclose(file);
	c->files[c->file_count++] = buf_text(body);
	if (error)
		return fail_to_read(optarg, strerror(error));
	if (body->failed || buf_len(body) > TASK_BODY_MAX)
		return fail_to_read(optarg, "it is larger than 16 MiB");
	return -1;
}

static int read_only(struct check_worker *c)
{
	c->only = check_find(optarg);
	if (c->only)
		return -1;
	const char **names = calloc(check_count + 1, sizeof *names);
	for (size_t i = 0; names && i < check_count; i++)
		names[i] = checks[i].name;
	const char *nearest = names ? nearest_name(text_from(optarg), names) : NULL;
	free(names);
	if (nearest)
		return cli_problem(COMMAND, "no check '%s' (did you mean %s?)", optarg, nearest);
	return cli_problem(COMMAND, "no check '%s'; they are in docs/workers.md", optarg);
}

/* -1: continue; else the exit code. */
static int take_option(struct check_worker *c, int option)
{
	switch (option) {
	case PIPE:
		return read_pipe_form(c);
	case BODY:
		return read_body(c);
	case CONCURRENCY:
		return read_concurrency(c);
	case TASK:
		return read_task(c);
	case ONLY:
		return read_only(c);
	case WAIT:
		return cli_read_duration(COMMAND, "--wait", &c->setup.wait);
	case JSON:
		c->json = true;
		return -1;
	case HELP:
		fputs(help, stdout);
		return EX_OK;
	default:
		return EX_USAGE;
	}
}

static bool is_for_concurrency(const struct check_worker *c, const struct check *check)
{
	return check->concurrency == CHECK_FOR_ANY ||
	       (check->concurrency == CHECK_FOR_MORE) == (c->setup.config.concurrency > 1);
}

/* What one option alone does not show. */
static int check_options(const struct check_worker *c)
{
	bool is_corefx = c->setup.config.pipe == PIPE_COREFX;
	if (is_corefx && c->body && c->setup.config.task.body != TASK_BODY_STR)
		return cli_problem(COMMAND,
			"--pipe corefx has bodies of type str, so --body %s cannot be", c->body);
	if (is_corefx && c->setup.config.concurrency > 1)
		return cli_problem(COMMAND, "--pipe corefx has no ids, so --concurrency is 1");
	if (c->only && c->only->needs_files && c->file_count == 0)
		return cli_problem(COMMAND, "the check %s needs --task", c->only->name);
	if (c->only && !is_for_concurrency(c, c->only))
		return cli_problem(COMMAND, "the check %s is for %s", c->only->name,
			c->setup.config.concurrency == 1 ? "--concurrency above 1"
							 : "--concurrency 1");
	return -1;
}

static int read_options(struct check_worker *c, int argc, char **argv)
{
	int option, exit_code = -1;
	while (exit_code < 0 &&
		(option = cli_next_option(COMMAND, "+:", argc, argv, options)) != -1)
		exit_code = take_option(c, option);
	if (exit_code >= 0)
		return exit_code;
	if (!argv[optind])
		return cli_problem(COMMAND, "no command of a worker; it follows --");
	c->setup.config.command = argv + optind;
	return check_options(c);
}

/* ---------- the run ---------- */

static const char *why_not_asked(const struct check_worker *c, const struct check *check)
{
	if (check->not_corefx && c->setup.config.pipe == PIPE_COREFX)
		return "not asked of workers of pipe: corefx";
	if (check->needs_files && c->file_count == 0)
		return "no body was given with --task";
	return NULL;
}

/* Run one check, unless a base of it is wrong. */
static void run_check(struct check_worker *c, const struct check *check, struct result *ret)
{
	const char *why = why_not_asked(c, check);
	char reason[80];
	if (c->broken) {
		snprintf(reason, sizeof reason, "because %s is wrong", c->broken->name);
		trial_skip(check, VERDICT_NOT_RUN, reason, ret);
	} else if (why) {
		trial_skip(check, VERDICT_NOT_SHOWN, why, ret);
	} else {
		trial_run(check, &c->run, ret);
		if (ret->verdict == VERDICT_WRONG && check->is_base)
			c->broken = check;
	}
}

static size_t count_wanted(const struct check_worker *c)
{
	size_t count = 0;
	for (size_t i = 0; i < check_count; i++)
		count += is_for_concurrency(c, &checks[i]);
	return c->only ? 1 : count;
}

/* With --only a base is run too, and reported if it is wrong. */
static void run_checks(struct check_worker *c)
{
	bool is_drawing = isatty(STDERR_FILENO);
	for (size_t i = 0; i < check_count; i++) {
		const struct check *check = &checks[i];
		struct result *result = &c->results[c->result_count];
		bool is_wanted = !c->only || c->only == check;
		if (!is_for_concurrency(c, check) || (!is_wanted && !check->is_base))
			continue;
		if (is_drawing)
			report_progress(check, c->result_count, count_wanted(c));
		run_check(c, check, result);
		if (is_wanted || result->verdict == VERDICT_WRONG)
			c->result_count++;
		if (c->only == check)
			break;
	}
	if (is_drawing)
		report_progress(NULL, 0, 0);
}

static int verdict_of(const struct check_worker *c)
{
	for (size_t i = 0; i < c->result_count; i++)
		if (c->results[i].fault.kind == FAULT_MEMORY)
			return EX_SOFTWARE;
	for (size_t i = 0; i < c->result_count; i++)
		if (c->results[i].verdict == VERDICT_WRONG)
			return EX_PROTOCOL;
	return EX_OK;
}

static int report(const struct check_worker *c)
{
	if (c->json)
		return report_print_json(c->results, c->result_count) ? verdict_of(c) : EX_IOERR;
	int exit_code = report_print(c->results, c->result_count);
	return exit_code == EX_OK ? verdict_of(c) : exit_code;
}

/* As a pool of default settings has it. */
static void configure(struct check_worker *c)
{
	static char *passed[] = {(char *)"auto", NULL};
	struct workers_config *config = &c->setup.config;
	bool is_corefx = config->pipe == PIPE_COREFX;
	config->pool = COMMAND;
	config->workers = 1;
	config->passed = passed;
	config->secrets = &c->config.secrets;
	config->descriptors = &c->setup.tools.descriptors;
	config->task.frame_limit = TASK_FRAME_MAX;
	config->task.queue = TEXT("check");
	config->task.has_id = !is_corefx;
	config->task.attempts = ATTEMPTS;
	config->answer = (struct answer_limits){.header_bytes = HEADER_BYTES,
		.body_bytes = TASK_BODY_MAX,
		.bare_str_is_failure = is_corefx};
	if (is_corefx)
		config->task.body = TASK_BODY_STR;
}

static int check_worker_run(struct check_worker *c)
{
	struct runtime_shared *tools = &c->setup.tools;
	int exit_code = EX_SOFTWARE;
	log_setup(STDERR_FILENO, LOG_ERROR, LOG_TEXT, console_has_colour(STDERR_FILENO));
	configure(c);
	c->run = (struct run){
		.setup = &c->setup, .files = c->files, .file_count = c->file_count, .next_id = 1};
	c->results = calloc(check_count, sizeof *c->results);
	if (!c->results || secrets_add_named(&c->config.secrets, environ) != RC_OK) {
		fputs("wpool " COMMAND ": out of memory\n", stderr);
		return EX_SOFTWARE;
	}
	if (runtime_shared_open(tools, &c->config)) {
		loop_unblock_signals();
		run_checks(c);
		exit_code = report(c);
	}
	runtime_shared_close(tools);
	return exit_code;
}

int check_worker_main(int argc, char **argv)
{
	struct check_worker c = {.setup.wait = WAIT_DEFAULT, .setup.config.concurrency = 1};
	int exit_code = read_options(&c, argc, argv);
	if (exit_code < 0)
		exit_code = check_worker_run(&c);
	for (size_t i = 0; i < c.file_count; i++)
		buf_release(&c.bodies[i]);
	words_free(c.config.secrets);
	free(c.results);
	return exit_code;
}
