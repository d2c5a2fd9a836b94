/* Answers that are made while they are sent, and those that wait for more to be there. */
#include "io/http_inside.h"

#include <poll.h>
#include <stdlib.h>

static bool has_to_wait(const struct http_stream *stream)
{
	return stream->pieces->waits && stream->pieces->waits(stream->ctx);
}

static bool is_anybody_there(const struct http_stream *stream)
{
	struct pollfd peer = {.fd = stream->client->fd, .events = 0};

	return poll(&peer, 1, 0) <= 0;
}

/* The library forgets it until http_wake, and does not look whether its peer is still there. */
static void fall_asleep(struct http_stream *stream)
{
	list_append(&stream->http->asleep, &stream->asleep);
	MHD_suspend_connection(stream->connection);
}

/* Each then looks for itself whether there is more for it. */
void http_wake(struct http *http)
{
	struct link *link;

	if (list_is_empty(&http->asleep))
		return;
	while ((link = list_first(&http->asleep))) {
		list_remove(link);
		MHD_resume_connection(CONTAINER_OF(link, struct http_stream, asleep)->connection);
	}
	http_work_soon(http);
}

/* The library's: up to room bytes more. */
static ssize_t on_room(void *ctx, uint64_t position, char *bytes, size_t room)
{
	struct http_stream *stream = ctx;
	size_t len;

	(void)position;
	while (!stream->is_over && buf_len(&stream->made) < room && !has_to_wait(stream))
		stream->is_over = !stream->pieces->next(stream->ctx, &stream->made);
	if (stream->made.failed)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	len = buf_len(&stream->made) < room ? buf_len(&stream->made) : room;
	if (len > 0) {
		memcpy(bytes, buf_text(&stream->made).ptr, len);
		buf_consume(&stream->made, len);
		return (ssize_t)len;
	}
	if (stream->is_over || stream->http->is_ending)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (!is_anybody_there(stream))
		return MHD_CONTENT_READER_END_WITH_ERROR;
	fall_asleep(stream);
	return 0;
}

static void on_stream_end(void *ctx)
{
	struct http_stream *stream = ctx;

	if (stream->pieces->waits)
		stream->http->following--;
	list_remove(&stream->asleep);
	stream->pieces->end(stream->ctx);
	buf_release(&stream->made);
	free(stream);
}

/* Its time has no end. */
static void begin_following(struct http_stream *stream, const struct http_request *request)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	stream->connection = request->connection;
	stream->client = info->socket_context;
	list_remove(&stream->client->place);
	stream->http->following++;
}

static struct http_stream *stream_new(
	const struct http_request *request, const struct http_pieces *pieces, void *ctx)
{
	struct http_stream *stream = malloc(sizeof *stream);

	if (!stream)
		return NULL;
	*stream = (struct http_stream){.pieces = pieces, .ctx = ctx, .http = request->http};
	buf_init(&stream->made, SIZE_MAX);
	list_init(&stream->asleep);
	return stream;
}

void http_answer_in_pieces(const struct http_request *request, const char *type,
	const struct http_pieces *pieces, void *ctx)
{
	struct http_stream *stream = stream_new(request, pieces, ctx);
	struct MHD_Response *response = NULL;

	if (stream)
		response = MHD_create_response_from_callback(
			MHD_SIZE_UNKNOWN, HTTP_PIECE, on_room, stream, on_stream_end);
	if (!response) {
		pieces->end(ctx);
		free(stream);
	} else if (pieces->waits) {
		begin_following(stream, request);
	}
	http_queue(request, MHD_HTTP_OK, type, NULL, response);
}

unsigned http_following(const struct http_request *request)
{
	return request->http->following;
}
