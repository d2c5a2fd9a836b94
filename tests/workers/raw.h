/* The worker's end of the protocol without an SDK, for workers that must send what no SDK sends.
 * Failing calls end the process (exit 70): a test worker that cannot start is a failed start, which
 * the supervisor must survive anyway. */
#ifndef WORKERS_RAW_H
#define WORKERS_RAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct raw {
	int in;
	int out;
};

struct raw_frame {
	uint8_t *bytes; /* without the length; owned by the caller */
	size_t len;
};

/* The first control line, without its end. Reads no byte more than that. */
void raw_read_address(char *ret_line, size_t size);
void raw_connect(struct raw *, const char *address);
/* False: the pipe has ended. */
bool raw_read_frame(struct raw *, struct raw_frame *ret_frame);
bool raw_read_exactly(int fd, void *bytes, size_t len);
/* Exit without an error if the supervisor has closed its end. */
void raw_write(struct raw *, const void *bytes, size_t len);
/* Write length and frame. */
void raw_write_frame(struct raw *, const void *frame, size_t len);

/* Append a line to the file that the environment variable WITNESS names, and fsync it; nothing
 * without that variable. Several processes may share the file. */
void raw_append_witness(const char *text, size_t len);

#endif
