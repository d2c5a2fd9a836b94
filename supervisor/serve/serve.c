/* `wpool serve`: its options, its configuration, then the supervisor. */
#include "commands.h"
#include "config/exposure.h"
#include "runtime/command_check.h"
#include "serve/signals.h"
#include "serve/supervisor.h"
#include "tty/cli_options.h"
#include "tty/console.h"

#include <stddef.h>
#include <stdio.h>
#include <sysexits.h>
#include <unistd.h>

#define COMMAND    "serve"
#define HELP_LIMIT (64 * 1024)
/* For `wpool logs`: about ten thousand lines. */
#define LOG_KEPT ((size_t)2 * 1024 * 1024)
/* Options --watch. */
#define WATCHED_MAX 32

static const char help_head[] =
	"usage: wpool serve [OPTION]... -- COMMAND [ARG]...\n"
	"       wpool serve --config FILE\n"
	"\n"
	"Keeps worker processes busy with the messages of a RabbitMQ queue, until SIGTERM or\n"
	"SIGINT: then it finishes what is in hand, hands back the rest, and leaves. At SIGHUP it\n"
	"reads its configuration again, as wpool reload does.\n"
	"\n"
	"  --config FILE           Pools and settings from a YAML file (docs/configuration.md).\n"
	"  --watch PATH            For development, not for production: restart the workers one by\n"
	"                          one when a source file at or below PATH changes. Repeatable.\n";

static const char help_tail[] =
	"  --help                  This text.\n"
	"\n"
	"URL may be several addresses, separated by commas.\n"
	"Without an option the environment counts: AMQP_URL or RABBITMQ_HOSTNAME, QUEUENAME,\n"
	"WORKER_COUNT, PREFETCH, WORKER_COMMAND, and others (docs/configuration.md).\n"
	"Exit status: 0 drained, 64 usage, 70 cannot start, 75 stopped before drained, 78\n"
	"configuration.\n";

enum { HELP = 1, WATCH, FLAGS = 256 };

/* getopt's result is the place of the value in struct config_flags. */
#define FLAG(name, member)                                                                         \
	{                                                                                          \
		name, required_argument, NULL, FLAGS + (int)offsetof(struct config_flags, member)  \
	}

static const struct option options[] = {
	FLAG("config", file),
	FLAG("broker", broker),
	FLAG("queue", queue),
	FLAG("workers", workers),
	FLAG("prefetch", prefetch),
	FLAG("pipeline", pipeline),
	FLAG("concurrency", concurrency),
	FLAG("pipe", pipe),
	FLAG("declare", declare),
	FLAG("log-level", log_level),
	FLAG("log-format", log_format),
	{"watch", required_argument, NULL, WATCH},
	{"help", no_argument, NULL, HELP},
	{NULL, 0, NULL, 0},
};

static int print_help(void)
{
	struct buf text;
	int exit_code = EX_SOFTWARE;

	buf_init(&text, HELP_LIMIT);
	buf_append_text(&text, text_from(help_head));
	config_print_flags(&text);
	buf_append_text(&text, text_from(help_tail));
	if (text.failed)
		fputs("wpool " COMMAND ": out of memory\n", stderr);
	else if (printf("%.*s", TEXT_ARGS(buf_text(&text))) < 0 || fflush(stdout) != 0)
		perror("wpool " COMMAND ": standard output");
	else
		exit_code = EX_OK;
	buf_release(&text);
	return exit_code;
}

/* -1: continue; else the exit code. */
static int add_watched(const char **watched, size_t *count)
{
	if (access(optarg, F_OK) != 0)
		return cli_bad_value(COMMAND, "--watch", optarg, "is no file or folder here");
	if (*count == WATCHED_MAX)
		return cli_problem(COMMAND, "--watch is given more than %d times", WATCHED_MAX);
	watched[(*count)++] = optarg;
	return -1;
}

/* -1: continue; else the exit code. watched: all NULL. */
static int read_options(int argc, char **argv, struct config_flags *flags, const char **watched)
{
	size_t watched_count = 0;
	int option;

	while ((option = cli_next_option(COMMAND, "+:", argc, argv, options)) != -1) {
		if (option == HELP)
			return print_help();
		if (option == CLI_BAD_OPTION)
			return EX_USAGE;
		if (option == WATCH) {
			int exit_code = add_watched(watched, &watched_count);
			if (exit_code >= 0)
				return exit_code;
		} else {
			*(const char **)(void *)((char *)flags + (option - FLAGS)) = optarg;
		}
	}
	if (optind < argc)
		flags->command = argv + optind;
	return -1;
}

int serve_main(int argc, char **argv)
{
	struct config_flags flags = {0};
	const char *watched[WATCHED_MAX + 1] = {NULL};
	struct config *config;
	struct problems problems = {0};
	signals_hold_as_init();
	int exit_code = read_options(argc, argv, &flags, watched);

	if (exit_code >= 0)
		return exit_code;
	enum rc rc = config_load(&flags, environ, &config, &problems);
	if (rc != RC_OK) {
		exit_code = console_problems(COMMAND, rc, &problems);
		/* For who reads the end of a log of many starts. */
		if (exit_code == EX_CONFIG)
			fprintf(stderr,
				"wpool " COMMAND ": not started (exit status %d); only a "
				"change of the configuration helps, not another start\n",
				exit_code);
	} else {
		console_set_up_log(config);
		if (!log_keep_lines(LOG_KEPT))
			log_warn("no memory to keep log lines: wpool logs has none");
		command_check_add_warnings(config, &problems);
		exposure_add_warnings(config, flags.file, &problems);
		console_warn(&problems);
		exit_code = supervisor_run(config, &flags, watched);
		config_free(config);
	}
	problems_release(&problems);
	return exit_code;
}
