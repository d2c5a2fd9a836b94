/* Messages from files or standard input, a whole file or a line each. Layer: cli.
 * Reads only what can be read without waiting, one piece a turn; so that a slow pipe keeps nobody
 * from hearing confirms. Owns what it opened; never closes or changes standard input. */
#ifndef CLI_INPUT_H
#define CLI_INPUT_H

#include "base/buf.h"
#include <ev.h>

#define INPUT_MESSAGE_MAX (512u * 1024 * 1024)

enum input_result {
	INPUT_MESSAGE,
	INPUT_WAIT, /* nothing whole yet; the loop turns when there is more */
	INPUT_END,
	INPUT_FAILED /* input_problem says why; nothing more will come */
};

struct input {
	struct ev_loop *loop;
	const char *const *files; /* borrowed; NULL-terminated; those not yet opened */
	bool lines;
	int fd;           /* of the file in hand; -1: none */
	const char *name; /* of it */
	bool is_ready;    /* a read would not wait */
	bool is_over;     /* no file is left */
	ev_io readable;
	struct buf bytes;          /* read, not yet told */
	size_t scanned;            /* of bytes: no line ends there */
	size_t told;               /* of bytes: told with the latest message */
	uint64_t total;            /* of all files together; 0: unknown */
	uint64_t taken;            /* bytes told so far */
	enum input_result stopped; /* INPUT_END or INPUT_FAILED once it is so */
	char problem[400];
};

/* files: none (the first is NULL) means standard input, "-" too. */
void input_init(struct input *, struct ev_loop *, char *const *files, bool lines);
void input_release(struct input *);
/* NULL; or the first of the files that cannot be read, errno telling why. */
char *input_unreadable(char *const *files);
/* *ret_body is good until the next call. */
enum input_result input_next(struct input *, struct text *ret_body);
/* No more messages; what was told stays good. */
void input_stop(struct input *);

#endif
