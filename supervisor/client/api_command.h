/* A command that uses a supervisor's control socket: options, --help, one request, its answer or
 * the problem. Layer: client. */
#ifndef CLIENT_API_COMMAND_H
#define CLIENT_API_COMMAND_H

#include "client/api_client.h"

#include <getopt.h>

/* The options that all these commands have: the end of the table of a command with own options. */
enum { API_COMMAND_SOCKET = 256, API_COMMAND_JSON, API_COMMAND_HELP };
#define API_COMMAND_OPTION_TABLE                                                                   \
	{"socket", required_argument, NULL, API_COMMAND_SOCKET},                                   \
		{"json", no_argument, NULL, API_COMMAND_JSON},                                     \
		{"help", no_argument, NULL, API_COMMAND_HELP},                                     \
	{                                                                                          \
		NULL, 0, NULL, 0                                                                   \
	}

struct api_command {
	const char *command;
	/* --help */
	const char *verbs;   /* before "[OPTION]...": "show|drop"; NULL: it has none */
	const char *usage;   /* behind "[OPTION]..."; "" */
	const char *help;    /* whole lines, like the next two */
	const char *own;     /* about its own options; NULL: it has none */
	const char *json;    /* about --json; NULL: what is usual */
	const char *exits;   /* "0 done": exit statuses with a special meaning */
	bool is_interactive; /* no --json */
	bool is_long;        /* the answer may last any time */
	bool until_exit;     /* the supervisor ends: wait until its process has gone */
	/* its own options; NULL: none. on_option returns -1 to continue, else an exit code */
	const struct option *options;
	const char *letters; /* short ones, as getopt has them; NULL */
	int (*on_option)(struct api_command *, int option);
	/* where arguments are stored, in order; NULL: it takes none */
	const char **arguments[3];
	bool takes_more; /* any number of arguments after these: more */
	bool is_post;
	/* what the command line has */
	const char *socket; /* NULL: the default */
	const char *pool;   /* NULL: all */
	char **more;        /* NULL-terminated */
	bool wants_json;
};

/* Read options and arguments. Return -1 to continue; or an exit code, after --help or a printed
 * problem. */
int api_command_read(struct api_command *, int argc, char **argv);
/* Send a request for q->pool. Returns EX_OK and the answer as JSON, owned; or another exit code,
 * and the problem was printed. */
int api_command_ask(const struct api_command *, const char *path, json_t **ret);
/* Send it, and print the answer as it came. inspect: NULL, or given the answer; returns the exit
 * code then. */
int api_command_print(const struct api_command *, const char *path, int (*inspect)(const json_t *));
/* Send it, and print the answer: with --json as it came, else by print, which returns an exit code.
 * Flush stdout. */
int api_command_show(const struct api_command *, const char *path,
	int (*print)(const struct api_command *, const json_t *answer));
/* Send it, and call on_line for each line of the answer; false: no more is wanted. */
int api_command_follow(const struct api_command *, const char *path,
	bool (*on_line)(void *ctx, struct text line), void *ctx);
/* Print a line of JSON that a supervisor has sent. */
void api_command_print_json(struct text line);
/* Flush stdout. Returns EX_OK or EX_IOERR, and the problem was printed. */
int api_command_flush(const struct api_command *);

#endif
