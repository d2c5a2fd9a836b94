#include "commands.h"
#include "config/url/url.h"
#include "config/value/nearest.h"
#include "os/memory.h"
#include "tty/cli_options.h"
#include "tty/console.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

static const struct command {
	const char *name;
	int (*main)(int argc, char **argv);
	const char *summary;
} commands[] = {
	{"serve", serve_main, "keep worker processes busy with the messages of a queue"},
	{"status", status_main, "whether it works, and if not, why not"},
	{"pools", pools_main, "the state and the figures of each pool"},
	{"workers", workers_main, "each worker: its process and its task"},
	{"sessions", sessions_main, "the sessions of a pool, by their keys"},
	{"session", session_main, "show, drain, close, pause or skip sessions"},
	{"throttles", throttles_main, "how much of each limit of task starts is used"},
	{"throttle", throttle_main, "another limit of task starts, from now on"},
	{"top", top_main, "pools and workers, live, with keys to control them"},
	{"logs", logs_main, "the last lines of the log, and new ones"},
	{"log-level", log_level_main, "how much is logged, now"},
#define POOL_VERB(id, summary, ...) {#id, verb_main, summary},
#include "api/verbs.def"
	{"stop", stop_main, "finish what workers have, and leave"},
	{"reload", reload_main, "read the configuration again, while work goes on"},
	{"publish", publish_main, "send messages to a queue and wait for their confirms"},
	{"request", request_main, "send one message and print the reply"},
	{"dead-letters", dead_letters_main, "list, show, replay or drop what was given up"},
	{"declare", declare_main, "declare the queues of a configuration, and show how they are"},
	{"check-config", check_config_main, "check a configuration file, or print its settings"},
	{"check-worker", check_worker_main, "check a worker against the pipe protocol"},
};

#define COMMAND_COUNT (sizeof commands / sizeof *commands)

static const char *const flags[] = {"--help", "--version", NULL};

static void print_help(void)
{
	puts("usage: wpool COMMAND [OPTION]...\n"
	     "\n"
	     "Keeps a pool of worker processes busy with messages from RabbitMQ.\n");
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		printf("  %-14s %s\n", commands[i].name, commands[i].summary);
	puts("\n"
	     "  -h, --help     this text; wpool help COMMAND has that of a command\n"
	     "  -V, --version  the version");
}

static int print_unknown(char *word)
{
	const char *names[COMMAND_COUNT + 1] = {0};
	bool is_option = *word == '-';
	const char *nearest;

	for (size_t i = 0; i < COMMAND_COUNT; i++)
		names[i] = commands[i].name;
	nearest = nearest_name(text_from(word), is_option ? flags : names);
	broker_url_hide_password(word);
	console_print(stderr, "wpool: unknown %s '%s'; ", is_option ? "option" : "command", word);
	if (nearest)
		fprintf(stderr, "did you mean '%s'?\n", nearest);
	else
		fprintf(stderr, "see wpool --help\n");
	return EX_USAGE;
}

/* Open standard descriptors that are closed; otherwise a connection might get number 1 and be used
 * as standard output. They are opened in the wrong direction, so that using them still fails. */
static bool keep_standard_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
			open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			return false;
	return true;
}

/* End quietly when the reader of our output is gone, as in `wpool logs | head`. Any other SIGPIPE
 * is ignored: it is of a socket, and the write that raised it fails with EPIPE. */
static void on_sigpipe(int number)
{
	int saved = errno;
	struct pollfd outputs[] = {{.fd = STDOUT_FILENO}, {.fd = STDERR_FILENO}};
	if (poll(outputs, 2, 0) > 0 &&
		(outputs[0].revents | outputs[1].revents) & (POLLERR | POLLHUP)) {
		signal(number, SIG_DFL);
		raise(number);
	}
	errno = saved;
}

static bool is_one_of(const char *word, const char *a, const char *b)
{
	return strcmp(word, a) == 0 || strcmp(word, b) == 0;
}

static int run_command(int argc, char **argv)
{
	static char help_option[] = "--help";

	if (argc < 2) {
		fputs("wpool: no command given; see wpool --help\n", stderr);
		return EX_USAGE;
	}
	if (strcmp(argv[1], "help") == 0)
		argv[1] = help_option;
	if (is_one_of(argv[1], "--help", "-h") && argc > 2) {
		argv[1] = argv[2];
		argv[2] = help_option;
		argv[argc = 3] = NULL;
	}
	char *word = argv[1];
	if (is_one_of(word, "--version", "-V")) {
		puts("wpool " WPOOL_VERSION);
		return EX_OK;
	}
	if (is_one_of(word, "--help", "-h")) {
		print_help();
		return EX_OK;
	}
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (strcmp(word, commands[i].name) == 0)
			return commands[i].main(argc - 1, argv + 1);
	return print_unknown(word);
}

int main(int argc, char **argv)
{
	/* First of all, and for every command: the environment may have the broker's password. */
	if (!memory_hide()) {
		perror("wpool: PR_SET_DUMPABLE");
		return EX_OSERR;
	}
	if (!keep_standard_descriptors()) {
		perror("wpool: /dev/null");
		return EX_OSERR;
	}
	if (signal(SIGPIPE, on_sigpipe) == SIG_IGN)
		signal(SIGPIPE, SIG_IGN); /* as the parent set it */
	char **arguments = cli_take_arguments(argc, argv);
	if (!arguments) {
		fputs("wpool: out of memory\n", stderr);
		return EX_OSERR;
	}
	int exit_code = run_command(argc, arguments);
	free(arguments);
	if (exit_code == EX_OK && (fflush(stdout) != 0 || ferror(stdout))) {
		perror("wpool: standard output");
		return EX_IOERR;
	}
	return exit_code;
}
