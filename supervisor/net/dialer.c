#include "net/dialer.h"

#include "net/resolver.h"
#include "os/clock.h"
#include "os/loop.h"
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define DIALER_STAGES(X)                                                                           \
	X(DIAL_RESOLVING, "name lookup")                                                           \
	X(DIAL_CONNECTING, "connect")                                                              \
	X(DIAL_SECURING, "TLS handshake")

enum dialer_stage {
#define X(stage, text) stage,
	DIALER_STAGES(X)
#undef X
};

struct dialer {
	struct ev_loop *loop;
	const struct broker_url *url;
	struct tls **tls;
	mtime deadline;
	dialer_on_done *on_done;
	void *ctx;
	enum dialer_stage stage;
	struct resolver *resolver;   /* owned; holds the addresses */
	const struct addrinfo *next; /* the address to try next */
	int fd;                      /* while connecting; then the stream's */
	struct stream *stream;       /* while securing */
	ev_io io;
	ev_timer limit; /* of this address */
	char problem[256];
};

const char *dialer_stage(const struct dialer *d)
{
	static const char *const names[] = {
#define X(stage, text) text,
		DIALER_STAGES(X)
#undef X
	};
	return names[d->stage];
}

static void dialer_note(struct dialer *d, const char *problem)
{
	snprintf(d->problem, sizeof d->problem, "%s", problem);
}

/* Give up the present address. */
static void dialer_close(struct dialer *d)
{
	ev_io_stop(d->loop, &d->io);
	ev_timer_stop(d->loop, &d->limit);
	stream_free(d->stream);
	d->stream = NULL;
	if (d->fd >= 0)
		close(d->fd);
	d->fd = -1;
}

static void dialer_watch(struct dialer *d, int fd, int events)
{
	ev_io_stop(d->loop, &d->io);
	ev_io_set(&d->io, fd, events);
	ev_io_start(d->loop, &d->io);
}

static bool dialer_connect(struct dialer *d, const struct addrinfo *address)
{
	int on = 1;
	d->fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (d->fd < 0)
		return false;
	setsockopt(d->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	setsockopt(d->fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
	return connect(d->fd, address->ai_addr, address->ai_addrlen) == 0 || errno == EINPROGRESS;
}

/* Each address that is left gets an equal share of the time that is left. */
static void dialer_start_limit(struct dialer *d)
{
	int left = 1;
	for (const struct addrinfo *a = d->next; a; a = a->ai_next)
		left++;
	mtime share = (d->deadline - clock_now()) / left;
	loop_start_timer(d->loop, &d->limit, share);
}

/* Connect to the next address; if there is none, report the problem. */
static void dialer_try_next(struct dialer *d)
{
	dialer_close(d);
	while (d->next) {
		const struct addrinfo *address = d->next;
		d->next = address->ai_next;
		if (dialer_connect(d, address)) {
			d->stage = DIAL_CONNECTING;
			dialer_watch(d, d->fd, EV_WRITE);
			if (d->next)
				dialer_start_limit(d);
			return;
		}
		dialer_note(d, strerror(errno));
		dialer_close(d);
	}
	d->on_done(d->ctx, NULL, d->problem);
}

/* On loopback a port in the ephemeral range without a listener may be given to our own end, which
 * then connects to itself. */
static bool is_own_peer(int fd)
{
	struct sockaddr_storage own = {0}, peer = {0};
	socklen_t own_len = sizeof own, peer_len = sizeof peer;
	return getsockname(fd, (struct sockaddr *)&own, &own_len) == 0 &&
	       getpeername(fd, (struct sockaddr *)&peer, &peer_len) == 0 && own_len == peer_len &&
	       memcmp(&own, &peer, own_len) == 0;
}

static int connect_error(int fd)
{
	int error = 0;
	socklen_t len = sizeof error;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		return errno;
	return error ? error : is_own_peer(fd) ? ECONNREFUSED : 0;
}

static bool dialer_open_stream(struct dialer *d)
{
	struct tls *tls = NULL;
	if (d->url->tls) {
		if (*d->tls && !tls_is_current(*d->tls, d->url)) {
			tls_free(*d->tls);
			*d->tls = NULL;
		}
		if (!*d->tls)
			*d->tls = tls_new(d->url, d->problem, sizeof d->problem);
		if (!*d->tls)
			return false;
		tls = *d->tls;
	}
	d->stream =
		stream_new(d->fd, tls, d->url->server_name ? d->url->server_name : d->url->host);
	d->fd = -1;
	if (!d->stream)
		dialer_note(d, "out of memory");
	return d->stream != NULL;
}

static void dialer_secure(struct dialer *d)
{
	struct stream *stream = d->stream;
	switch (stream_handshake(stream)) {
	case STREAM_OK:
		d->stream = NULL;
		dialer_close(d);
		d->on_done(d->ctx, stream, NULL);
		return;
	case STREAM_AGAIN:
		dialer_watch(d, stream_fd(stream),
			stream_read_waits_for(stream) == STREAM_WRITABLE ? EV_WRITE : EV_READ);
		return;
	case STREAM_CLOSED:
	case STREAM_FAILED:
		break;
	}
	dialer_note(d, stream_problem(stream));
	dialer_close(d); /* the session goes before its context */
	tls_free(*d->tls);
	*d->tls = NULL;
	dialer_try_next(d);
}

static void dialer_connected(struct dialer *d)
{
	int error = connect_error(d->fd);
	if (error)
		dialer_note(d, strerror(error));
	if (error || !dialer_open_stream(d)) {
		dialer_try_next(d);
		return;
	}
	d->stage = DIAL_SECURING;
	dialer_secure(d);
}

static void on_io(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct dialer *d = watcher->data;
	loop_keep_watching(loop, watcher, events);
	if (d->stage == DIAL_CONNECTING)
		dialer_connected(d);
	else
		dialer_secure(d);
}

static void on_limit(struct ev_loop *loop, ev_timer *watcher, int events)
{
	(void)loop, (void)events;
	struct dialer *d = watcher->data;
	snprintf(d->problem, sizeof d->problem, "no answer (%s)", dialer_stage(d));
	dialer_try_next(d);
}

static void on_resolved(void *ctx, const struct addrinfo *list, const char *problem)
{
	struct dialer *d = ctx;
	d->next = list;
	if (problem)
		dialer_note(d, problem);
	dialer_try_next(d);
}

struct dialer *dialer_start(struct ev_loop *loop, const struct broker_url *url, struct tls **tls,
	mtime span, dialer_on_done *on_done, void *ctx)
{
	struct dialer *d = calloc(1, sizeof *d);
	if (!d)
		return NULL;
	*d = (struct dialer){.loop = loop,
		.url = url,
		.tls = tls,
		.deadline = mtime_after(clock_now(), span),
		.on_done = on_done,
		.ctx = ctx,
		.fd = -1};
	ev_init(&d->io, on_io);
	ev_init(&d->limit, on_limit);
	d->io.data = d->limit.data = d;
	/* After a suspension, handle an answer that has arrived before a timer that has expired. */
	ev_set_priority(&d->io, 1);
	d->resolver = resolver_start(loop, url->host, url->port, on_resolved, d);
	if (d->resolver)
		return d;
	dialer_free(d);
	return NULL;
}

void dialer_free(struct dialer *d)
{
	if (!d)
		return;
	int saved = errno;
	dialer_close(d);
	resolver_free(d->resolver);
	free(d);
	errno = saved;
}
