#include "cli/argv.h"
#include "cli/commands.h"
#include "config/nearest.h"
#include "config/url.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#define COMMANDS(X)                                                                                \
	X("serve", serve_main, "keep worker processes busy with the messages of a queue")          \
	X("status", status_main, "is it working, and if not, why not")                             \
	X("pools", pools_main, "what each pool is at, and what it did")                            \
	X("workers", workers_main, "each worker: its process, and the task in its hand")           \
	X("top", top_main, "pools and workers, live, with keys to steer them")                     \
	X("logs", logs_main, "the last lines of the log, and those that come")                     \
	X("log-level", log_level_main, "how much is logged, now")                                  \
	X("pause", steer_main, "let a pool take no messages for a while")                          \
	X("resume", steer_main, "the end of a pause")                                              \
	X("restart", steer_main, "replace workers by new ones, one by one")                        \
	X("scale", steer_main, "more workers, or fewer")                                           \
	X("stop", stop_main, "finish what is in hand, and leave")                                  \
	X("reload", reload_main, "read the configuration again, while work goes on")               \
	X("publish", publish_main, "send messages to a queue and wait for their confirms")         \
	X("request", request_main, "send one message and print the reply")                         \
	X("dead-letters", dead_letters_main, "list, show, replay or drop what was given up")       \
	X("check-config", check_config_main, "say what a configuration file comes to")

static const struct command {
	const char *name;
	int (*main)(int argc, char **argv);
	const char *summary;
} commands[] = {
#define X(name, function, summary) {name, function, summary},
	COMMANDS(X)
#undef X
};

static const char *const names[] = {
#define X(name, function, summary) name,
	COMMANDS(X)
#undef X
		NULL,
};

static const char *const flags[] = {"--help", "--version", NULL};

static void print_help(void)
{
	puts("usage: wpool COMMAND [OPTION]...\n"
	     "\n"
	     "Keeps a pool of worker processes busy with messages from RabbitMQ.\n");
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
		printf("  %-14s %s\n", commands[i].name, commands[i].summary);
	puts("\n"
	     "  --help         this text; wpool COMMAND --help tells more\n"
	     "  --version      the version");
}

static int unknown(char *word)
{
	bool is_option = *word == '-';
	const char *nearest = nearest_name(text_from(word), is_option ? flags : names);
	broker_url_hide_password(word);
	fprintf(stderr, "wpool: unknown %s '%s'; ", is_option ? "option" : "command", word);
	if (nearest)
		fprintf(stderr, "did you mean '%s'?\n", nearest);
	else
		fprintf(stderr, "wpool --help tells more\n");
	return EX_USAGE;
}

/* A descriptor that is closed now would be given to the first thing we open, and a connection be
 * taken for standard output. Opened the wrong way round, it still fails whoever uses it. */
static bool keep_standard_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
			open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			return false;
	return true;
}

static int run(int argc, char **argv)
{
	if (argc < 2) {
		fputs("wpool: no command given; wpool --help tells more\n", stderr);
		return EX_USAGE;
	}
	char *word = argv[1];
	if (strcmp(word, "--version") == 0) {
		puts("wpool " WPOOL_VERSION);
		return EX_OK;
	}
	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
		print_help();
		return EX_OK;
	}
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
		if (strcmp(word, commands[i].name) == 0)
			return commands[i].main(argc - 1, argv + 1);
	return unknown(word);
}

int main(int argc, char **argv)
{
	if (!keep_standard_descriptors()) {
		perror("wpool: /dev/null");
		return EX_OSERR;
	}
	char **arguments = argv_take(argc, argv);
	if (!arguments) {
		fputs("wpool: out of memory\n", stderr);
		return EX_OSERR;
	}
	int exit_code = run(argc, arguments);
	free(arguments);
	if (exit_code == EX_OK && (fflush(stdout) != 0 || ferror(stdout))) {
		perror("wpool: standard output");
		return EX_IOERR;
	}
	return exit_code;
}
