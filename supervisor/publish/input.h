/* Messages from files or standard input, each a whole file or a line. Layer: publish. Reads only
 * what is available, one piece in each turn, so that a slow pipe does not delay confirms. Owns what
 * it opened; never closes or changes standard input. */
#ifndef PUBLISH_INPUT_H
#define PUBLISH_INPUT_H

#include "base/buf.h"
#include <ev.h>

#define INPUT_MESSAGE_MAX (512u * 1024 * 1024)

enum input_result {
	INPUT_MESSAGE,
	INPUT_WAIT, /* no whole message yet; the loop turns when there is more */
	INPUT_END,
	INPUT_FAILED /* .problem is the reason; no more messages follow */
};

struct input {
	struct ev_loop *loop;
	const char *const *files; /* borrowed; NULL-terminated; those not yet opened */
	bool lines;
	int fd;           /* of the open file; -1: none */
	const char *name; /* of it */
	bool is_ready;    /* a read would not wait */
	bool is_over;     /* no file is left */
	ev_io readable;
	struct buf bytes;          /* read, not returned yet */
	size_t scanned;            /* of bytes: this many have no end of line */
	size_t given;              /* of bytes: the length of the latest message */
	uint64_t total;            /* of all files together; 0: unknown */
	uint64_t taken;            /* bytes returned so far */
	enum input_result stopped; /* INPUT_END or INPUT_FAILED after the last message */
	char problem[400];
};

/* files: none (the first is NULL) means standard input, "-" too. */
void input_init(struct input *, struct ev_loop *, char *const *files, bool lines);
void input_release(struct input *);
/* NULL, or the first file that cannot be read, with the reason in errno. */
char *input_unreadable(char *const *files);
/* *ret_body is valid until the next call. */
enum input_result input_next(struct input *, struct text *ret_body);
/* No more messages; the latest one stays valid. */
void input_stop(struct input *);

#endif
