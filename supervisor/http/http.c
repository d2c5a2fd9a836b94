#include "http/http.h"

#include "base/list.h"
#include "http/clients.h"
#include "http/crowd.h"
#include "http/flood.h"
#include "os/clock.h"
#include "os/loop.h"

#include <assert.h>
#include <microhttpd.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

/* HTTP gets one part in this many of the time, so that a flood of requests costs messages little.
 */
#define TIME_SHARE 20
/* How often http_finish looks whether the last answers are sent. */
#define FINISH_LOOK_MS 5
#define LISTENERS_MAX  2
/* Connections that one turn accepts, and that it closes for lack of places. */
#define TURN_CLIENTS 32
/* How long one piece of an answer may be made. */
#define PIECE_TIME MTIME_MS
struct http_stream {
	const struct http_pieces *pieces;
	void *ctx;
	struct buf made; /* and not sent yet */
	bool is_over;
	struct http *http;
	struct http_client *client;
	struct MHD_Connection *connection;
	struct link asleep; /* in http.asleep, or alone */
};

struct http_exchange {
	struct http *http;
	struct http_client *client;
	struct MHD_Connection *connection;
	struct buf body;
	bool is_whole;    /* the handler has the body */
	bool is_deferred; /* and will answer later */
	bool is_suspended;
	unsigned status;               /* of the later answer; 0: there is none yet */
	struct MHD_Response *response; /* owned; NULL: no memory */
};

struct http {
	struct ev_loop *loop;
	http_handler *handler;
	void *ctx;
	http_admits *admits; /* or NULL */
	struct MHD_Daemon *daemon;
	struct ev_io work; /* the library's epoll descriptor */
	struct ev_io listeners[LISTENERS_MAX];
	size_t listener_count;
	struct ev_timer timer; /* the end of a rest, or of a client's time */
	bool rests;
	bool has_woken; /* a stream, since the library ran */
	bool has_busy;  /* a sleeping stream has a piece to make */
	bool is_ending;
	unsigned in_answer; /* requests */
	unsigned exchanges;
	struct http_exchange *begun; /* by the handler that runs */
	unsigned waiting;            /* answers */
	struct link asleep;          /* of streams */
	struct http_clients *clients;
	struct http_client *arriving; /* while the library is given its descriptor */
};

/* ---------- connections ---------- */

/* The client of a connection of the library. */
static struct http_client *client_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	return info ? info->socket_context : NULL;
}

/* Called by the library when a connection begins or is gone. */
static void on_connection(void *ctx, struct MHD_Connection *connection, void **context,
	enum MHD_ConnectionNotificationCode code)
{
	struct http *http = ctx;
	struct http_client *client = *context;

	(void)connection;
	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		*context = http->arriving;
		http_clients_enter(http->clients, http->arriving, HTTP_CLIENT_SILENT);
	} else if (client) {
		http_clients_enter(http->clients, client, HTTP_CLIENT_FREE);
	}
}

static void exchange_free(struct http_exchange *exchange)
{
	exchange->http->exchanges--;
	if (exchange->response)
		MHD_destroy_response(exchange->response);
	buf_release(&exchange->body);
	free(exchange);
}

/* Called by the library when an answer is sent, or will never be. */
static void on_answered(void *ctx, struct MHD_Connection *connection, void **request,
	enum MHD_RequestTerminationCode code)
{
	struct http *http = ctx;
	struct http_client *client = client_of(connection);

	(void)code;
	if (*request)
		http->in_answer--;
	if (*request && *request != http)
		exchange_free(*request);
	*request = NULL;
	if (client && client->state != HTTP_CLIENT_CLOSING)
		http_clients_enter(http->clients, client, HTTP_CLIENT_SILENT);
}

/* A Unix peer has no name; its address family distinguishes it. */
static void accept_clients(struct http *http, int listener)
{
	struct sockaddr_storage peer = {.ss_family = AF_UNIX};
	struct flood flood = {0};
	bool is_flooded = flood_is_on(listener);
	unsigned kept = 0, away = 0;
	struct http_client *client;

	while (kept < TURN_CLIENTS && away < FLOOD_AWAY &&
		(client = http_clients_first(http->clients, HTTP_CLIENT_FREE))) {
		socklen_t len = sizeof peer;
		int fd = accept4(
			listener, (struct sockaddr *)&peer, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd < 0)
			return;
		client->address = crowd_address(&peer);
		if (is_flooded && !flood_admits(&flood, client->address)) {
			flood_turn_away(fd);
			away++;
			continue;
		}
		kept++;
		client->fd = fd;
		client->is_refused =
			peer.ss_family == AF_UNIX && http->admits && !http->admits(http->ctx, fd);
		http->arriving = client;
		/* It closes the descriptor if it cannot keep it. */
		MHD_add_connection(http->daemon, fd, (const struct sockaddr *)&peer, len);
		http->arriving = NULL;
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

/* The time until a client has been silent for too long, or the library has something to do. */
static mtime time_until_next(const struct http *http)
{
	MHD_UNSIGNED_LONG_LONG ms;
	mtime span = http_clients_time_left(http->clients);

	if (!list_is_empty(&http->asleep))
		span = mtime_min(span, HTTP_LOOK);
	if (http->has_woken || http->has_busy)
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
	for (size_t i = 0;
		i < http->listener_count && http_clients_first(http->clients, HTTP_CLIENT_FREE);
		i++)
		ev_io_start(http->loop, &http->listeners[i]);
	if (span != MTIME_NEVER)
		loop_start_timer(http->loop, &http->timer, span);
}

/* Run it once. Then rest for TIME_SHARE - 1 times as long as that took. */
static void run_library(struct http *http)
{
	mtime begun = clock_now();

	for (size_t i = 0; i < http->listener_count; i++)
		accept_clients(http, http->listeners[i].fd);
	http_clients_close_overdue(http->clients, TURN_CLIENTS);
	http_wake(http);
	http->has_woken = http->has_busy = false;
	MHD_run(http->daemon);
	mtime took = clock_now() - begun;
	stop_watching(http);
	http->rests = true;
	loop_start_timer(http->loop, &http->timer, took * (TIME_SHARE - 1));
}

static void on_io(struct ev_loop *loop, struct ev_io *io, int events)
{
	loop_keep_watching(loop, io, events);
	run_library(io->data);
}

static void on_timer(struct ev_loop *loop, struct ev_timer *timer, int events)
{
	struct http *http = timer->data;

	(void)loop;
	(void)events;
	if (http->rests)
		watch(http);
	else
		run_library(http);
}

/* ---------- requests ---------- */

/* The library does not make its descriptor readable for connections that were resumed. */
static void run_soon(struct http *http)
{
	http->has_woken = true;
	if (!http->rests && !http->is_ending)
		loop_start_timer(http->loop, &http->timer, 0);
}

static bool is_local(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);

	return info && info->client_addr && info->client_addr->sa_family == AF_UNIX;
}

/* The headers of a request are there. It is answered at once, without a look at its body, unless
 * the handler asks for that. */
static void begin_request(struct http *http, const struct http_request *asked, void **request)
{
	struct http_client *client = client_of(asked->connection);

	*request = http;
	http->in_answer++;
	if (client && client->state == HTTP_CLIENT_SILENT)
		http_clients_enter(http->clients, client, HTTP_CLIENT_ANSWERED);
	http->begun = NULL;
	http->handler(http->ctx, asked);
	if (!http->begun)
		return;
	*request = http->begun;
	if (client && client->state == HTTP_CLIENT_ANSWERED) /* it has to send its body in time */
		http_clients_enter(http->clients, client, HTTP_CLIENT_SILENT);
}

/* MHD_NO closes the connection. */
static enum MHD_Result answer_exchange(struct http_exchange *exchange)
{
	if (!exchange->response)
		return MHD_NO;
	return MHD_queue_response(exchange->connection, exchange->status, exchange->response);
}

/* The body is there. */
static void end_body(struct http *http, struct http_request *asked)
{
	struct http_exchange *exchange = asked->exchange;
	struct http_client *client = exchange->client;

	exchange->is_whole = true;
	if (client && client->state == HTTP_CLIENT_SILENT)
		http_clients_enter(http->clients, client, HTTP_CLIENT_ANSWERED);
	if (exchange->body.failed) {
		http_answer(asked, 413, "application/json",
			TEXT("{\"error\":\"the body is too large\"}"), NULL);
		return;
	}
	asked->body = buf_text(&exchange->body);
	http->handler(http->ctx, asked);
	if (exchange->status != 0)
		answer_exchange(exchange);
	if (!exchange->is_deferred || exchange->status != 0)
		return;
	if (client && client->state == HTTP_CLIENT_ANSWERED) /* its time is the handler's matter */
		http_clients_enter(http->clients, client, HTTP_CLIENT_WAITING);
	exchange->is_suspended = true;
	MHD_suspend_connection(exchange->connection);
}

/* Called by the library when a request's headers are there; with an exchange again for each part of
 * its body, at the end of the body, and after http_answer_later. *request: not NULL while an answer
 * is due; http, or the exchange. */
static enum MHD_Result on_request(void *ctx, struct MHD_Connection *connection, const char *url,
	const char *method, const char *version, const char *body, size_t *body_len, void **request)
{
	struct http *http = ctx;
	struct http_client *client = client_of(connection);
	struct http_exchange *exchange = *request == http ? NULL : *request;
	struct http_request asked = {connection, http, method, url, version, is_local(connection),
		client && client->is_refused, exchange, TEXT_NONE, false};

	if (!exchange) {
		begin_request(http, &asked, request);
	} else if (*body_len > 0) {
		buf_append_text(&exchange->body, text_of(body, *body_len));
		*body_len = 0;
	} else if (!exchange->is_whole) {
		end_body(http, &asked);
	} else if (exchange->status != 0) {
		return answer_exchange(exchange);
	}
	return MHD_YES;
}

bool http_read_body(const struct http_request *request, size_t max)
{
	struct http *http = request->http;
	struct http_exchange *exchange =
		http->exchanges < HTTP_EXCHANGES_MAX ? malloc(sizeof *exchange) : NULL;

	if (!exchange)
		return false;
	*exchange = (struct http_exchange){.http = http,
		.client = client_of(request->connection),
		.connection = request->connection};
	buf_init(&exchange->body, max);
	http->exchanges++;
	http->begun = exchange;
	return true;
}

void http_defer(const struct http_request *request)
{
	request->exchange->is_deferred = true;
}

struct each {
	void (*call)(void *ctx, struct text name, struct text value);
	void *ctx;
};

static enum MHD_Result on_each_query(void *ctx, enum MHD_ValueKind kind, const char *name,
	size_t name_len, const char *value, size_t value_len)
{
	const struct each *each = ctx;

	(void)kind;
	each->call(
		each->ctx, text_of(name, name_len), value ? text_of(value, value_len) : TEXT_NONE);
	return MHD_YES;
}

void http_each_query(const struct http_request *request,
	void (*call)(void *ctx, struct text name, struct text value), void *ctx)
{
	struct each each = {call, ctx};

	MHD_get_connection_values_n(
		request->connection, MHD_GET_ARGUMENT_KIND, on_each_query, &each);
}

const char *http_query(const struct http_request *request, const char *name)
{
	return MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, name);
}

struct text http_query_text(const struct http_request *request, const char *name)
{
	struct text value = TEXT_NONE;

	if (MHD_lookup_connection_value_n(request->connection, MHD_GET_ARGUMENT_KIND, name,
		    strlen(name), &value.ptr, &value.len) != MHD_YES)
		return TEXT_NONE;
	return value;
}

const char *http_header(const struct http_request *request, const char *name)
{
	return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

struct count {
	const char *name;
	unsigned found;
};

static enum MHD_Result count_header(
	void *ctx, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct count *count = ctx;
	size_t len = strlen(count->name);

	(void)kind;
	(void)value;
	count->found += strncasecmp(name, count->name, len) == 0 &&
			name[len + strspn(name + len, " \t")] == '\0';
	return MHD_YES;
}

unsigned http_header_count(const struct http_request *request, const char *name)
{
	struct count count = {.name = name};

	MHD_get_connection_values(request->connection, MHD_HEADER_KIND, count_header, &count);
	return count.found;
}

/* ---------- whole answers ---------- */

static void add_usual_headers(
	struct MHD_Response *response, unsigned status, const char *type, const char *allow)
{
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	if (allow)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, allow);
	if (status == MHD_HTTP_UNAUTHORIZED) /* RFC 9110, 15.5.2 requires it */
		MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
}

/* response moves in; NULL: no memory, and the library closes the connection. */
static void queue_response(const struct http_request *request, unsigned status, const char *type,
	const char *allow, struct MHD_Response *response)
{
	if (!response)
		return;
	add_usual_headers(response, status, type, allow);
	MHD_queue_response(request->connection, status, response);
	MHD_destroy_response(response);
}

/* The library only reads the bytes; its signature lacks the const. */
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
	queue_response(request, status, type, allow, response_of(body, MHD_RESPMEM_MUST_COPY));
}

void http_answer_later(
	struct http_exchange *exchange, unsigned status, const char *type, struct text body)
{
	struct MHD_Response *response = response_of(body, MHD_RESPMEM_MUST_COPY);

	if (response)
		add_usual_headers(response, status, type, NULL);
	exchange->status = status;
	exchange->response = response;
	if (exchange->is_suspended) {
		if (exchange->client && exchange->client->state == HTTP_CLIENT_WAITING)
			http_clients_enter(
				exchange->http->clients, exchange->client, HTTP_CLIENT_ANSWERED);
		MHD_resume_connection(exchange->connection);
		run_soon(exchange->http);
	}
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
	queue_response(request, MHD_HTTP_OK, type, NULL, response);
}

/* ---------- answers in pieces ---------- */

/* The library does not look whether the peer of a suspended connection is still there. */
static bool is_peer_there(const struct http_stream *stream)
{
	struct pollfd peer = {.fd = stream->client->fd, .events = 0};

	return poll(&peer, 1, 0) <= 0;
}

/* Each stream then looks for itself whether there is more. The library does not make its descriptor
 * readable for those that go on. */
void http_wake(struct http *http)
{
	struct link *link;

	if (list_is_empty(&http->asleep))
		return;
	while ((link = list_first(&http->asleep))) {
		list_remove(link);
		MHD_resume_connection(CONTAINER_OF(link, struct http_stream, asleep)->connection);
	}
	run_soon(http);
}

static bool has_to_wait(const struct http_stream *stream)
{
	return stream->pieces->waits && stream->pieces->waits(stream->ctx);
}

/* Called by the library for up to size bytes more. */
static ssize_t on_more(void *ctx, uint64_t position, char *bytes, size_t size)
{
	struct http_stream *stream = ctx;
	mtime end = clock_now() + PIECE_TIME;
	size_t len;

	(void)position;
	while (!stream->is_over && buf_len(&stream->made) < size && clock_now() < end &&
		!has_to_wait(stream))
		stream->is_over = !stream->pieces->next(stream->ctx, &stream->made);
	if (stream->made.failed)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	len = buf_len(&stream->made) < size ? buf_len(&stream->made) : size;
	if (len > 0) {
		memcpy(bytes, buf_text(&stream->made).ptr, len);
		buf_consume(&stream->made, len);
		return (ssize_t)len;
	}
	if (stream->is_over || stream->http->is_ending)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (!is_peer_there(stream))
		return MHD_CONTENT_READER_END_WITH_ERROR;
	stream->http->has_busy |= !has_to_wait(stream);
	list_append(&stream->http->asleep, &stream->asleep);
	MHD_suspend_connection(stream->connection);
	return 0;
}

static void on_stream_end(void *ctx)
{
	struct http_stream *stream = ctx;

	if (stream->pieces->waits)
		stream->http->waiting--;
	list_remove(&stream->asleep);
	stream->pieces->end(stream->ctx);
	buf_release(&stream->made);
	free(stream);
}

void http_answer_in_pieces(const struct http_request *request, const char *type,
	const struct http_pieces *pieces, void *ctx)
{
	struct http *http = request->http;
	struct http_stream *stream = malloc(sizeof *stream);
	struct MHD_Response *response = NULL;

	if (stream) {
		*stream = (struct http_stream){.pieces = pieces,
			.ctx = ctx,
			.http = http,
			.connection = request->connection,
			.client = client_of(request->connection)};
		buf_init(&stream->made, SIZE_MAX);
		list_init(&stream->asleep);
		response = MHD_create_response_from_callback(
			MHD_SIZE_UNKNOWN, HTTP_PIECE, on_more, stream, on_stream_end);
	}
	if (!response) {
		pieces->end(ctx);
		free(stream);
	} else if (pieces->waits) { /* its time has no limit */
		if (stream->client->state == HTTP_CLIENT_ANSWERED)
			http_clients_enter(http->clients, stream->client, HTTP_CLIENT_WAITING);
		http->waiting++;
	}
	queue_response(request, MHD_HTTP_OK, type, NULL, response);
}

unsigned http_waiting_answers(const struct http_request *request)
{
	return request->http->waiting;
}

/* ---------- life ---------- */

static struct MHD_Daemon *start_daemon(struct http *http, unsigned places)
{
	return MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME,
		0, NULL, NULL, on_request, http, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)HTTP_MEMORY, MHD_OPTION_CONNECTION_LIMIT, places,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, http, MHD_OPTION_NOTIFY_COMPLETED,
		on_answered, http, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_END);
}

struct http *http_new(struct ev_loop *loop, unsigned places, http_handler *handler, void *ctx)
{
	const union MHD_DaemonInfo *info;
	struct http *http = calloc(1, sizeof *http);

	assert(places > 0 && places <= HTTP_CLIENTS_MAX);
	if (!http)
		return NULL;
	http->loop = loop;
	http->handler = handler;
	http->ctx = ctx;
	list_init(&http->asleep);
	http->clients = http_clients_new(places);
	http->daemon = http->clients ? start_daemon(http, places) : NULL;
	info = http->daemon ? MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
	if (!info) {
		if (http->daemon)
			MHD_stop_daemon(http->daemon);
		http_clients_free(http->clients);
		free(http);
		return NULL;
	}
	ev_io_init(&http->work, on_io, info->epoll_fd, EV_READ);
	ev_timer_init(&http->timer, on_timer, 0, 0);
	http->work.data = http->timer.data = http;
	ev_io_start(loop, &http->work);
	return http;
}

void http_set_admission(struct http *http, http_admits *admits)
{
	http->admits = admits;
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

/* The library must not be stopped while a connection is suspended. */
void http_free(struct http *http)
{
	if (!http)
		return;
	stop_watching(http);
	http_wake(http);
	MHD_stop_daemon(http->daemon);
	http_clients_free(http->clients);
	free(http);
}
