#include "net/resolver.h"

#include "os/loop.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define THREAD_STACK (512 * 1024)

/* Shared by the loop and the thread; the last user frees it, so that neither uses a closed or
 * reused descriptor. */
struct lookup {
	atomic_int users;
	atomic_bool done; /* the fields after error are written */
	int fd;           /* eventfd; readable when done */
	char *host;
	char port[6];
	int error; /* of getaddrinfo */
	int system_error;
	struct addrinfo *list;
};

struct resolver {
	struct ev_loop *loop;
	ev_io ready;
	struct lookup *lookup;
	resolver_on_done *on_done;
	void *ctx;
};

static void lookup_leave(struct lookup *l)
{
	if (!l || atomic_fetch_sub(&l->users, 1) > 1)
		return;
	if (l->list)
		freeaddrinfo(l->list);
	if (l->fd >= 0)
		close(l->fd);
	free(l->host);
	free(l);
}

static struct lookup *lookup_new(const char *host, uint16_t port)
{
	struct lookup *l = calloc(1, sizeof *l);
	if (!l)
		return NULL;
	atomic_init(&l->users, 1);
	snprintf(l->port, sizeof l->port, "%u", (unsigned)port);
	l->host = strdup(host);
	l->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!l->host || l->fd < 0) {
		lookup_leave(l);
		return NULL;
	}
	return l;
}

static void lookup_run(struct lookup *l, int flags)
{
	struct addrinfo hints = {
		.ai_flags = flags | AI_NUMERICSERV,
		.ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
	};
	l->error = getaddrinfo(l->host, l->port, &hints, &l->list);
	l->system_error = errno;
}

static void lookup_finish(struct lookup *l)
{
	uint64_t one = 1;
	atomic_store(&l->done, true);
	ssize_t written = write(l->fd, &one, sizeof one);
	(void)written; /* an eventfd at 0 accepts a 1 */
}

static void *lookup_thread(void *arg)
{
	struct lookup *l = arg;
	lookup_run(l, 0);
	lookup_finish(l);
	lookup_leave(l);
	return NULL;
}

/* The main thread handles signals; this one starts with all blocked. */
static int lookup_spawn(struct lookup *l)
{
	pthread_t thread;
	pthread_attr_t attributes;
	sigset_t all, before;

	int error = pthread_attr_init(&attributes);
	if (error)
		return error;
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, THREAD_STACK);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	atomic_fetch_add(&l->users, 1);
	error = pthread_create(&thread, &attributes, lookup_thread, l);
	if (error)
		atomic_fetch_sub(&l->users, 1);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return error;
}

static void on_ready(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct resolver *r = watcher->data;
	struct lookup *l = r->lookup;
	const char *problem = NULL;
	loop_keep_watching(loop, watcher, events);
	if (!atomic_load(&l->done))
		return;
	ev_io_stop(loop, watcher);
	if (l->error)
		problem =
			l->error == EAI_SYSTEM ? strerror(l->system_error) : gai_strerror(l->error);
	r->on_done(r->ctx, l->list, problem);
}

struct resolver *resolver_start(
	struct ev_loop *loop, const char *host, uint16_t port, resolver_on_done *on_done, void *ctx)
{
	struct resolver *r = calloc(1, sizeof *r);
	int error = 0;
	if (!r)
		return NULL;
	*r = (struct resolver){.loop = loop, .on_done = on_done, .ctx = ctx};
	ev_init(&r->ready, on_ready);
	r->lookup = lookup_new(host, port);
	if (!r->lookup)
		goto fail;
	/* Only a name needs the thread. */
	lookup_run(r->lookup, AI_NUMERICHOST);
	if (r->lookup->error == EAI_NONAME)
		error = lookup_spawn(r->lookup);
	else
		lookup_finish(r->lookup);
	if (error) {
		errno = error;
		goto fail;
	}
	ev_io_set(&r->ready, r->lookup->fd, EV_READ);
	r->ready.data = r;
	ev_io_start(loop, &r->ready);
	return r;
fail:
	resolver_free(r);
	return NULL;
}

void resolver_free(struct resolver *r)
{
	if (!r)
		return;
	ev_io_stop(r->loop, &r->ready);
	int saved = errno;
	lookup_leave(r->lookup);
	free(r);
	errno = saved;
}
