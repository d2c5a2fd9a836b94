#include "io/http_inside.h"

#include "io/clock.h"
#include "io/loop.h"

#include <assert.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* One part of the time is HTTP's. */
#define SHARE 20 /* so that a flood of requests costs messages little */
/* At the end, whoever does not take his answer is looked at again. */
#define FINISH_LOOK_MS 5

/* ---------- connections and their time ---------- */

static struct client *first_of(const struct link *list)
{
	struct link *link = list_first(list);
	return link ? CONTAINER_OF(link, struct client, place) : NULL;
}

static void begin_wait(struct http *http, struct client *client)
{
	client->since = clock_now();
	list_remove(&client->place);
	list_append(&http->waiting, &client->place);
}

/* The library's: a connection is there, or is gone. */
static void on_connection(void *ctx, struct MHD_Connection *connection, void **context,
	enum MHD_ConnectionNotificationCode code)
{
	struct http *http = ctx;
	struct client *client = *context;

	(void)connection;
	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		*context = http->arriving;
		begin_wait(http, http->arriving);
	} else if (client) {
		list_remove(&client->place);
		list_append(&http->free, &client->place);
	}
}

/* The library's: an answer is sent, or will never be. */
static void on_answered(void *ctx, struct MHD_Connection *connection, void **request,
	enum MHD_RequestTerminationCode code)
{
	struct http *http = ctx;
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	(void)code;
	if (*request)
		http->in_answer--;
	*request = NULL;
	if (info && info->socket_context)
		begin_wait(http, info->socket_context);
}

/* For how long one may wait: where others wait for its place, not long. */
static mtime patience_of(const struct http *http)
{
	return list_is_empty(&http->free) ? HTTP_PATIENCE : HTTP_TIME;
}

/* The library finds its connection closed, and forgets it. One that was shut stands at the end, and
 * is shut once more if that takes so long. */
static void end_overdue(struct http *http)
{
	struct client *client;
	mtime now = clock_now(), patience = patience_of(http);

	while ((client = first_of(&http->waiting)) && now - client->since >= patience) {
		shutdown(client->fd, SHUT_RDWR);
		begin_wait(http, client);
	}
}

static void take(struct http *http, int fd, const struct sockaddr_storage *peer, socklen_t len)
{
	struct client *client = first_of(&http->free);

	client->fd = fd;
	http->arriving = client;
	/* It closes the descriptor where it can not take it. */
	MHD_add_connection(http->daemon, fd, (const struct sockaddr *)peer, len);
	http->arriving = NULL;
}

/* A Unix peer has no name: its address is what tells it from others. */
static void accept_from(struct http *http, size_t i)
{
	struct sockaddr_storage peer = {.ss_family = AF_UNIX};

	while (!list_is_empty(&http->free)) {
		socklen_t len = sizeof peer;
		int fd = accept4(http->listeners[i].fd, (struct sockaddr *)&peer, &len,
			SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd < 0)
			return;
		take(http, fd, &peer, len);
	}
}

/* ---------- the loop ---------- */

static void stop_watching(struct http *http)
{
	ev_io_stop(http->loop, &http->work);
	ev_timer_stop(http->loop, &http->timer);
	for (size_t i = 0; i < http->listener_count; i++)
		ev_io_stop(http->loop, &http->listeners[i]);
}

/* Until somebody's time is over, or the library has something to do at once. */
static mtime time_until_next(const struct http *http)
{
	const struct client *client = first_of(&http->waiting);
	MHD_UNSIGNED_LONG_LONG ms;
	mtime span = MTIME_NEVER;

	if (client)
		span = client->since + patience_of(http) - clock_now();
	if (!list_is_empty(&http->asleep))
		span = mtime_min(span, HTTP_LOOK);
	if (http->has_woken)
		span = 0;
	if (MHD_get_timeout(http->daemon, &ms) == MHD_YES && (mtime)ms * MTIME_MS < span)
		span = (mtime)ms * MTIME_MS;
	return span;
}

static void watch(struct http *http)
{
	mtime span = time_until_next(http);

	http->rests = false;
	ev_io_start(http->loop, &http->work);
	for (size_t i = 0; i < http->listener_count && !list_is_empty(&http->free); i++)
		ev_io_start(http->loop, &http->listeners[i]);
	if (span != MTIME_NEVER)
		loop_start_timer(http->loop, &http->timer, span);
}

/* The library itself does not make its descriptor readable for those that go on. */
void http_work_soon(struct http *http)
{
	http->has_woken = true;
	if (!http->rests)
		loop_start_timer(http->loop, &http->timer, 0);
}

/* What it was at for so long it leaves alone for so many times as long. */
static void rest(struct http *http, mtime took)
{
	stop_watching(http);
	http->rests = true;
	loop_start_timer(http->loop, &http->timer, took * (SHARE - 1));
}

static void work(struct http *http)
{
	mtime begun = clock_now();

	for (size_t i = 0; i < http->listener_count; i++)
		accept_from(http, i);
	end_overdue(http);
	http_wake(http);
	http->has_woken = false;
	MHD_run(http->daemon);
	rest(http, clock_now() - begun);
}

static void on_io(struct ev_loop *loop, struct ev_io *io, int events)
{
	loop_keep_watching(loop, io, events);
	work(io->data);
}

static void on_timer(struct ev_loop *loop, struct ev_timer *timer, int events)
{
	struct http *http = timer->data;

	(void)loop;
	(void)events;
	if (http->rests)
		watch(http);
	else
		work(http);
}

/* ---------- requests ---------- */

static bool is_local(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);

	return info && info->client_addr && info->client_addr->sa_family == AF_UNIX;
}

/* The library's: a request's headers are there. It is answered at once; a body is never read. Only
 * that it is set, *request tells. */
static enum MHD_Result on_request(void *ctx, struct MHD_Connection *connection, const char *url,
	const char *method, const char *version, const char *body, size_t *body_len, void **request)
{
	struct http *http = ctx;
	struct http_request asked = {connection, http, method, url, is_local(connection)};

	(void)version;
	(void)body;
	(void)body_len;
	*request = http;
	http->in_answer++;
	http->handler(http->ctx, &asked);
	return MHD_YES;
}

const char *http_query(const struct http_request *request, const char *name)
{
	return MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, name);
}

const char *http_header(const struct http_request *request, const char *name)
{
	return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

void http_queue(const struct http_request *request, unsigned status, const char *type,
	const char *allow, struct MHD_Response *response)
{
	if (!response)
		return;
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	if (allow)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, allow);
	MHD_queue_response(request->connection, status, response);
	MHD_destroy_response(response);
}

/* The library only reads the bytes; its signature is older than const. */
static struct MHD_Response *response_of(struct text body, enum MHD_ResponseMemoryMode mode)
{
	static char nothing[1];
	void *bytes = nothing;

	if (body.len > 0)
		memcpy(&bytes, &body.ptr, sizeof bytes);
	return MHD_create_response_from_buffer(body.len, bytes, mode);
}

void http_answer(const struct http_request *request, unsigned status, const char *type,
	struct text body, const char *allow)
{
	http_queue(request, status, type, allow, response_of(body, MHD_RESPMEM_MUST_COPY));
}

void http_answer_page(
	const struct http_request *request, const char *type, struct text body, const char *policy)
{
	struct MHD_Response *response = response_of(body, MHD_RESPMEM_PERSISTENT);

	if (response) {
		MHD_add_response_header(response, "Content-Security-Policy", policy);
		MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
		MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	}
	http_queue(request, MHD_HTTP_OK, type, NULL, response);
}

/* ---------- life ---------- */

static struct MHD_Daemon *start_library(struct http *http)
{
	return MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME,
		0, NULL, NULL, on_request, http, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)HTTP_MEMORY, MHD_OPTION_CONNECTION_LIMIT, (unsigned)HTTP_CLIENTS,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, http, MHD_OPTION_NOTIFY_COMPLETED,
		on_answered, http, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_END);
}

struct http *http_new(struct ev_loop *loop, http_handler *handler, void *ctx)
{
	const union MHD_DaemonInfo *info;
	struct http *http = calloc(1, sizeof *http);

	if (!http)
		return NULL;
	http->loop = loop;
	http->handler = handler;
	http->ctx = ctx;
	list_init(&http->free);
	list_init(&http->waiting);
	list_init(&http->asleep);
	for (size_t i = 0; i < HTTP_CLIENTS; i++)
		list_append(&http->free, &http->clients[i].place);
	http->daemon = start_library(http);
	info = http->daemon ? MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
	if (!info) {
		if (http->daemon)
			MHD_stop_daemon(http->daemon);
		free(http);
		return NULL;
	}
	ev_io_init(&http->work, on_io, info->epoll_fd, EV_READ);
	ev_timer_init(&http->timer, on_timer, 0, 0);
	http->work.data = http->timer.data = http;
	ev_io_start(loop, &http->work);
	return http;
}

void http_listen(struct http *http, int fd)
{
	struct ev_io *io = &http->listeners[http->listener_count];

	assert(http->listener_count < LISTENERS_MAX);
	ev_io_init(io, on_io, fd, EV_READ);
	io->data = http;
	http->listener_count++;
	if (!http->rests)
		ev_io_start(http->loop, io);
}

void http_finish(struct http *http, mtime span)
{
	struct pollfd work = {.fd = http->work.fd, .events = POLLIN};
	mtime end = clock_now() + span;

	stop_watching(http);
	http->is_ending = true;
	while (http->in_answer > 0 && clock_now() < end) {
		http_wake(http);
		MHD_run(http->daemon);
		if (http->in_answer > 0)
			poll(&work, 1, FINISH_LOOK_MS);
	}
}

/* The library wants nobody to be asleep at its end. */
void http_free(struct http *http)
{
	if (!http)
		return;
	stop_watching(http);
	http_wake(http);
	MHD_stop_daemon(http->daemon);
	free(http);
}
