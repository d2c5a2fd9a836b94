#include "net/stream.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct stream {
	int fd;
	SSL *session;    /* owned; NULL: plain */
	struct tls *tls; /* shared, as the session needs it */
	int read_waits_for, write_waits_for;
	bool has_failed;
	char problem[200];
};

struct stream *stream_new(int fd, struct tls *tls, const char *host)
{
	struct stream *s = calloc(1, sizeof *s);
	if (!s) {
		close(fd);
		return NULL;
	}
	s->fd = fd;
	if (!tls)
		return s;
	s->tls = tls_share(tls);
	s->session = tls_session(tls, fd, host);
	if (s->session)
		return s;
	stream_free(s);
	return NULL;
}

void stream_free(struct stream *s)
{
	if (!s)
		return;
	if (s->session) {
		if (!s->has_failed && SSL_is_init_finished(s->session))
			SSL_shutdown(s->session);
		ERR_clear_error();
		SSL_free(s->session);
	}
	tls_free(s->tls);
	close(s->fd);
	free(s);
}

int stream_fd(const struct stream *s)
{
	return s->fd;
}

static enum stream_result fail_by_errno(struct stream *s, int error)
{
	s->has_failed = true;
	snprintf(s->problem, sizeof s->problem, "%s", strerror(error));
	return STREAM_FAILED;
}

static enum stream_result again(int *waits_for, int direction)
{
	*waits_for = direction;
	return STREAM_AGAIN;
}

/* The meaning of a failed call on the TLS session. error: errno right after the call. */
static enum stream_result judge_tls(struct stream *s, int result, int *waits_for, int error)
{
	switch (SSL_get_error(s->session, result)) {
	case SSL_ERROR_WANT_READ:
		return again(waits_for, STREAM_READABLE);
	case SSL_ERROR_WANT_WRITE:
		return again(waits_for, STREAM_WRITABLE);
	case SSL_ERROR_ZERO_RETURN:
		return STREAM_CLOSED;
	case SSL_ERROR_SYSCALL:
		if (ERR_peek_error() == 0)
			return fail_by_errno(s, error ? error : ECONNRESET);
		break;
	default:
		break;
	}
	s->has_failed = true;
	tls_problem(s->session, s->problem, sizeof s->problem);
	return STREAM_FAILED;
}

enum stream_result stream_handshake(struct stream *s)
{
	if (!s->session)
		return STREAM_OK;
	ERR_clear_error();
	errno = 0;
	int result = SSL_do_handshake(s->session);
	if (result == 1)
		return STREAM_OK;
	enum stream_result judged = judge_tls(s, result, &s->read_waits_for, errno);
	if (judged != STREAM_CLOSED)
		return judged;
	snprintf(s->problem, sizeof s->problem, "closed by the peer in the TLS handshake");
	return STREAM_FAILED;
}

enum stream_result stream_read(struct stream *s, void *buffer, size_t len, size_t *ret_len)
{
	s->read_waits_for = STREAM_READABLE;
	if (s->session) {
		ERR_clear_error();
		errno = 0;
		int result = SSL_read_ex(s->session, buffer, len, ret_len);
		return result == 1 ? STREAM_OK : judge_tls(s, result, &s->read_waits_for, errno);
	}
	ssize_t got = recv(s->fd, buffer, len, 0);
	if (got > 0) {
		*ret_len = (size_t)got;
		return STREAM_OK;
	}
	if (got == 0)
		return STREAM_CLOSED;
	if (errno == EAGAIN || errno == EINTR)
		return STREAM_AGAIN;
	return fail_by_errno(s, errno);
}

enum stream_result stream_write(struct stream *s, const void *bytes, size_t len, size_t *ret_len)
{
	s->write_waits_for = STREAM_WRITABLE;
	if (s->session) {
		ERR_clear_error();
		errno = 0;
		int result = SSL_write_ex(s->session, bytes, len, ret_len);
		return result == 1 ? STREAM_OK : judge_tls(s, result, &s->write_waits_for, errno);
	}
	ssize_t sent = send(s->fd, bytes, len, MSG_NOSIGNAL);
	if (sent >= 0) {
		*ret_len = (size_t)sent;
		return STREAM_OK;
	}
	if (errno == EAGAIN || errno == EINTR)
		return STREAM_AGAIN;
	return fail_by_errno(s, errno);
}

int stream_read_waits_for(const struct stream *s)
{
	return s->read_waits_for;
}

int stream_write_waits_for(const struct stream *s)
{
	return s->write_waits_for;
}

bool stream_short_read_is_all(const struct stream *s)
{
	return !s->session;
}

bool stream_has_pending(const struct stream *s)
{
	return s->session && SSL_has_pending(s->session);
}

const char *stream_problem(const struct stream *s)
{
	return s->problem;
}
