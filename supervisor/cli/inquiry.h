/* A question to a supervisor's control socket, and what all commands that ask share: options, the
 * answer as JSON, mistakes in words. Layer: cli. */
#ifndef CLI_INQUIRY_H
#define CLI_INQUIRY_H

#include "base/buf.h"
#include "cli/grid.h"

#include <getopt.h>
#include <jansson.h>
#include <stdbool.h>

/* For their help. */
#define INQUIRY_SOCKET                                                                               \
	"  --socket PATH  the supervisor's control socket; without it WPOOL_CONTROL_SOCKET tells,\n" \
	"                 else it is looked for where it is by default\n"
#define INQUIRY_HELP "  --help         this text\n"
#define INQUIRY_OPTIONS                                                                            \
	INQUIRY_SOCKET                                                                             \
	"  --json         the answer as it came (docs/control.md)\n" INQUIRY_HELP
/* The rest of the list, on lines of their own. */
#define INQUIRY_EXITS                                                                              \
	"\n69 no supervisor listens, 70 out of memory or no libcurl, 74 output failed, 76 no\n"    \
	"answer that makes sense, 77 the socket is another user's."
/* Of those that take a POOL. */
#define INQUIRY_EXITS_POOL "65 no such pool," INQUIRY_EXITS

struct inquiry {
	const char *command; /* "status" */
	const char *help;
	const char *method; /* NULL: GET */
	bool takes_pool;    /* a POOL may be given */
	bool takes_number;  /* and behind it a number must be */
	bool is_live;       /* for eyes alone: no --json */
	/* what the command line says */
	const char *socket; /* NULL: wherever it is by default */
	const char *pool;   /* NULL: all */
	const char *number; /* not looked at yet */
	bool json;
};

/* For commands with options of their own: in their table, and what is done with them. */
enum inquiry_option { INQUIRY_IS_SOCKET = 256, INQUIRY_IS_JSON, INQUIRY_IS_HELP };
#define INQUIRY_OPTION_TABLE                                                                       \
	{"socket", required_argument, NULL, INQUIRY_IS_SOCKET},                                    \
		{"json", no_argument, NULL, INQUIRY_IS_JSON},                                      \
		{"help", no_argument, NULL, INQUIRY_IS_HELP},                                      \
	{                                                                                          \
		NULL, 0, NULL, 0                                                                   \
	}
/* -1: go on; else the exit code. */
int inquiry_take_option(struct inquiry *, int option);
/* -1: go on; else the exit code, and what was wrong is said. */
int inquiry_read_options(struct inquiry *, int argc, char **argv);
/* GET path (or by .method); a * in it is the pool: EX_OK, and out has the answer; or says what is
 * wrong and returns another exit code: 69 nobody listens, 77 not ours to ask, 76 no answer that
 * makes sense, 70. */
int inquiry_ask(const struct inquiry *, const char *path, struct buf *out);
/* The same, parsed: *ret is owned by the caller. */
int inquiry_ask_json(const struct inquiry *, const char *path, json_t **ret);
/* An answer that comes line by line: on_line is called for each; false: no more is wanted, and the
 * exit code is EX_OK. */
int inquiry_follow(const struct inquiry *, const char *path,
	bool (*on_line)(void *ctx, struct text line), void *ctx);
/* The answer to GET path, of one pool or all, to stdout as it came. */
int inquiry_print(const struct inquiry *, const char *path);
/* The members of a list, each as a row of a table. */
int inquiry_print_rows(const struct inquiry *, const json_t *list, const struct grid_column *,
	size_t count, void (*add_row)(struct grid *, const json_t *));
/* stdout is through: EX_OK or EX_IOERR. */
int inquiry_flush(const struct inquiry *);

#endif
