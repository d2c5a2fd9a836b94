/* A connected, non-blocking byte stream: TCP, or TLS over it. Layer: net. Owns the socket and
 * the TLS session. Never blocks and has no watcher: after STREAM_AGAIN the owner waits. TLS may
 * raise SIGPIPE, see tls.h. */
#ifndef NET_STREAM_H
#define NET_STREAM_H

#include "net/tls.h"
#include <stdbool.h>
#include <stddef.h>

enum stream_result {
	STREAM_OK,
	STREAM_AGAIN,  /* wait as stream_read_waits_for or stream_write_waits_for returns, then
			  repeat the call */
	STREAM_CLOSED, /* by the peer, in order */
	STREAM_FAILED  /* stream_problem is the reason; all later calls fail, too */
};

struct stream;

/* fd moves in, even on failure. tls: NULL for plain TCP; else borrowed until stream_free, and
 * host is the name that the peer must have. NULL: out of memory. */
struct stream *stream_new(int fd, struct tls *tls, const char *host);
/* Close it. */
void stream_free(struct stream *);
int stream_fd(const struct stream *);

/* Continue the TLS handshake; plain streams return STREAM_OK at once. */
enum stream_result stream_handshake(struct stream *) MUST_CHECK;
/* STREAM_OK: *ret_len is at least 1. */
enum stream_result stream_read(
	struct stream *, void *buffer, size_t len, size_t *ret_len) MUST_CHECK;
enum stream_result stream_write(
	struct stream *, const void *bytes, size_t len, size_t *ret_len) MUST_CHECK;

/* The directions that a read (or handshake) and a write wait for after STREAM_AGAIN: a bit set
 * of STREAM_READABLE and STREAM_WRITABLE. TLS may have to write in order to read, and the
 * reverse. */
#define STREAM_READABLE 1
#define STREAM_WRITABLE 2
int stream_read_waits_for(const struct stream *);
int stream_write_waits_for(const struct stream *);
/* True if a read that did not fill the buffer has read everything; TLS returns a record at a
 * time. */
bool stream_short_read_is_all(const struct stream *);
/* True if decrypted bytes are waiting, for which the socket will not become readable. */
bool stream_has_pending(const struct stream *);
const char *stream_problem(const struct stream *);

#endif
