/* A connected, non-blocking byte stream: TCP, or TLS over it. Layer: io.
 * Owns the socket and the TLS session. Never blocks, never raises SIGPIPE; holds no watcher: the
 * owner waits for what an AGAIN asked for. */
#ifndef IO_STREAM_H
#define IO_STREAM_H

#include "io/tls.h"
#include <stdbool.h>
#include <stddef.h>

enum stream_result {
	STREAM_OK,
	STREAM_AGAIN,  /* wait, then the same call again: see stream_waits_for */
	STREAM_CLOSED, /* by the peer, in order */
	STREAM_FAILED  /* stream_problem says why; nothing more will work */
};

struct stream;

/* fd moves in, even on failure. tls: NULL for plain TCP; else borrowed until stream_free, and host
 * is who the peer must be. NULL: out of memory. */
struct stream *stream_new(int fd, struct tls *tls, const char *host);
/* Says goodbye if TLS has something to say, closes. */
void stream_free(struct stream *);
int stream_fd(const struct stream *);

/* Of TLS; plain streams are STREAM_OK at once. */
enum stream_result stream_handshake(struct stream *) MUST_CHECK;
/* STREAM_OK: *ret_len is at least 1. */
enum stream_result stream_read(struct stream *, void *room, size_t len, size_t *ret_len) MUST_CHECK;
enum stream_result stream_write(
	struct stream *, const void *bytes, size_t len, size_t *ret_len) MUST_CHECK;

/* The directions that a read (or handshake) and a write which said AGAIN wait for: a bit set of
 * STREAM_READABLE and STREAM_WRITABLE. TLS may have to write in order to read, and the reverse. */
#define STREAM_READABLE 1
#define STREAM_WRITABLE 2
int stream_read_waits_for(const struct stream *);
int stream_write_waits_for(const struct stream *);
/* A read that left room has taken all there was; TLS gives a record at a time. */
bool stream_short_read_is_all(const struct stream *);
/* Bytes are here that no readable socket will tell of. */
bool stream_has_pending(const struct stream *);
const char *stream_problem(const struct stream *);

#endif
