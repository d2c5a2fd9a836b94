#include "io/uplink_state.h"

#include "io/clock.h"
#include "io/loop.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define FRAME_MAX       (128 * 1024)
#define CONNECT_SPAN    (10 * MTIME_SECOND) /* where the address does not say */
#define RECONNECT_HURRY MTIME_SECOND        /* longest wait under a reconnect_limit */

void uplink_enter(struct uplink *u, enum uplink_state state, mtime span)
{
	u->state = state;
	if (span == MTIME_NEVER)
		ev_timer_stop(u->loop, &u->timer);
	else
		loop_start_timer(u->loop, &u->timer, span);
}

void uplink_arm_limit(struct uplink *u)
{
	if (u->config.reconnect_limit == 0)
		ev_timer_stop(u->loop, &u->limit);
	else
		loop_start_timer(u->loop, &u->limit, u->config.reconnect_limit);
}

void uplink_stop_watchers(struct uplink *u)
{
	ev_io_stop(u->loop, &u->readable);
	ev_io_stop(u->loop, &u->writable);
	ev_timer_stop(u->loop, &u->timer);
	ev_timer_stop(u->loop, &u->pulse);
	ev_timer_stop(u->loop, &u->more);
}

void uplink_drop(struct uplink *u)
{
	dialer_free(u->dialer);
	connection_free(u->connection);
	stream_free(u->stream);
	u->dialer = NULL;
	u->connection = NULL;
	u->stream = NULL;
}

mtime uplink_connect_span(const struct uplink *u)
{
	mtime span = u->config.hosts[u->reconnect.host].connection_timeout;
	return span ? span : CONNECT_SPAN;
}

/* What the connection tells. */

static void uplink_opened(struct uplink *u)
{
	char host[UPLINK_HOST_ROOM];
	uplink_enter(u, UPLINK_UP, MTIME_NEVER);
	ev_timer_stop(u->loop, &u->limit);
	u->opened = clock_now();
	uplink_be_silent(u);
	reconnect_opened(&u->reconnect);
	log_line(LOG_INFO, uplink_origin(u), "broker %s (%s): connected, %.*s %.*s, heartbeat %u s",
		uplink_shown(u, host), u->config.name,
		TEXT_ARGS(connection_peer_product(u->connection)),
		TEXT_ARGS(connection_peer_version(u->connection)),
		(unsigned)connection_heartbeat(u->connection));
	uplink_arm_pulse(u);
	u->handler.on_up(u->ctx, u->connection);
}

static void on_connection_event(void *ctx, const struct amqp_event *event)
{
	struct uplink *u = ctx;
	switch (event->kind) {
	case AMQP_OPENED:
		uplink_opened(u);
		return;
	case AMQP_CLOSED: /* connection_input will say the rest */
		u->close_code = event->code;
		snprintf(u->close_text, sizeof u->close_text, "%.*s", TEXT_ARGS(event->text));
		return;
	case AMQP_CLOSE_OK:
		u->is_close_answered = true;
		break;
	default:
		break;
	}
	u->handler.on_event(u->ctx, event);
}

static uint8_t *on_content_memory(
	void *ctx, uint16_t channel, bool is_return, size_t len, void **ret_owner)
{
	struct uplink *u = ctx;
	return u->handler.content_memory(u->ctx, channel, is_return, len, ret_owner);
}

static void on_content_dropped(void *ctx, void *owner)
{
	struct uplink *u = ctx;
	u->handler.content_dropped(u->ctx, owner);
}

static const struct connection_handler connection_handler = {
	.on_event = on_connection_event,
	.content_memory = on_content_memory,
	.content_dropped = on_content_dropped,
};

/* From a wait to an open connection. */

static void uplink_set_params(struct uplink *u, const struct broker_url *url)
{
	mtime heartbeat_s =
		url->heartbeat_s >= 0 ? url->heartbeat_s : u->config.heartbeat / MTIME_SECOND;
	u->params = (struct connection_params){
		.sasl = url->external ? SASL_EXTERNAL : SASL_PLAIN,
		.user = url->user,
		.password = url->password,
		.vhost = url->vhost,
		.name = u->connection_name,
		.heartbeat_s = (uint16_t)mtime_min(heartbeat_s, UINT16_MAX),
		.frame_max = FRAME_MAX,
		.output_limit = u->config.output_limit,
		.body_limit = u->config.body_limit,
	};
}

/* The state's timer goes on: its span is for all of it, the AMQP handshake included. */
static void on_dialed(void *ctx, struct stream *stream, const char *problem)
{
	struct uplink *u = ctx;
	if (!stream) {
		uplink_fail(u, "%s", problem);
		return;
	}
	dialer_free(u->dialer);
	u->dialer = NULL;
	u->stream = stream;
	u->state = UPLINK_OPENING;
	uplink_set_params(u, &u->config.hosts[u->reconnect.host]);
	u->connection = connection_new(&u->params, &connection_handler, u);
	if (!u->connection) {
		uplink_fail(u, "out of memory");
		return;
	}
	u->received = u->sent = clock_now();
	uplink_watch_stream(u);
	uplink_send(u);
}

static void uplink_dial(struct uplink *u)
{
	size_t host = u->reconnect.host;
	u->close_code = 0;
	u->close_text[0] = '\0';
	u->is_close_answered = u->is_refused = u->is_broken = false;
	uplink_enter(u, UPLINK_DIALING, uplink_connect_span(u));
	u->dialer = dialer_start(u->loop, &u->config.hosts[host], &u->config.tls[host],
		uplink_connect_span(u), on_dialed, u);
	if (!u->dialer)
		uplink_fail(u, "%s", strerror(errno));
}

static void uplink_time_out(struct uplink *u)
{
	uplink_say_late(u);
	uplink_lose(u);
}

static void uplink_close_late(struct uplink *u)
{
	uplink_fail(u, "connection.close was not answered");
}

static void uplink_never(struct uplink *u)
{
	(void)u;
}

/* on_end comes last: it may free the uplink. */
static void uplink_end(struct uplink *u)
{
	const char *why = u->state == UPLINK_GIVING_UP ? u->failure : NULL;
	uplink_stop_watchers(u);
	ev_timer_stop(u->loop, &u->limit);
	uplink_drop(u);
	u->state = UPLINK_ENDED;
	u->handler.on_end(u->ctx, why);
}

static void on_timer(struct ev_loop *loop, ev_timer *watcher, int events)
{
	static void (*const actions[])(struct uplink *) = {
#define X(state, action) [state] = action,
		UPLINK_STATES(X)
#undef X
	};
	(void)loop, (void)events;
	struct uplink *u = watcher->data;
	actions[u->state](u);
}

static void on_limit(struct ev_loop *loop, ev_timer *watcher, int events)
{
	(void)loop, (void)events;
	struct uplink *u = watcher->data;
	/* What failed before is the better reason. */
	if (*u->failure == '\0')
		snprintf(u->failure, sizeof u->failure, "no answer within %.3g s",
			(double)u->config.reconnect_limit / MTIME_SECOND);
	u->state = UPLINK_GIVING_UP;
	uplink_end(u);
}

/* Life. */

static void uplink_init_watchers(struct uplink *u)
{
	ev_init(&u->readable, uplink_on_readable);
	ev_init(&u->writable, uplink_on_writable);
	ev_init(&u->timer, on_timer);
	ev_init(&u->pulse, uplink_on_pulse);
	ev_init(&u->more, uplink_on_more);
	ev_init(&u->limit, on_limit);
	u->readable.data = u->writable.data = u;
	u->timer.data = u->pulse.data = u->more.data = u->limit.data = u;
	/* After a suspension what the socket has counts before what the timers say. */
	ev_set_priority(&u->readable, 1);
}

struct uplink *uplink_new(struct ev_loop *loop, const struct uplink_config *config,
	const struct uplink_handler *handler, void *ctx)
{
	uint64_t seed = (uint64_t)clock_now();
	struct uplink *u = calloc(1, sizeof *u);
	if (!u)
		return NULL;
	u->loop = loop;
	u->config = *config;
	if (!u->config.voice)
		u->config.voice = &u->own_voice;
	u->handler = *handler;
	u->ctx = ctx;
	uplink_init_watchers(u);
	if (!u->config.tls) {
		u->config.tls = u->own_tls = calloc(config->host_count, sizeof *u->own_tls);
		if (!u->own_tls) {
			uplink_free(u);
			return NULL;
		}
	}
	/* Without entropy the clock will do: it is only a jitter. */
	ssize_t got = getrandom(&seed, sizeof seed, GRND_NONBLOCK);
	(void)got;
	reconnect_init(&u->reconnect, config->host_count,
		config->reconnect_limit ? RECONNECT_HURRY : RECONNECT_MOST, seed);
	snprintf(u->connection_name, sizeof u->connection_name, "wpool %s%s%s, pid %d",
		config->name, config->pool ? " " : "", config->pool ? config->pool : "",
		(int)getpid());
	uplink_enter(u, UPLINK_WAITING, 0);
	uplink_arm_limit(u);
	return u;
}

void uplink_close(struct uplink *u)
{
	ev_timer_stop(u->loop, &u->limit);
	switch (u->state) {
	case UPLINK_UP:
		connection_close(u->connection, 200, "goodbye");
		ev_timer_stop(u->loop, &u->pulse);
		uplink_enter(u, UPLINK_CLOSING, MTIME_SECOND);
		uplink_flush(u);
		return;
	case UPLINK_WAITING: /* in on_down, too: what is dropped is not ours to drop here */
	case UPLINK_DIALING:
	case UPLINK_OPENING:
		dialer_free(u->dialer);
		u->dialer = NULL;
		uplink_stop_watchers(u);
		uplink_enter(u, UPLINK_ENDING, 0);
		return;
	case UPLINK_CLOSING:
	case UPLINK_ENDING:
	case UPLINK_GIVING_UP:
	case UPLINK_ENDED:
		return;
	}
}

bool uplink_is_refused(const struct uplink *u)
{
	return u->is_refused;
}

void uplink_free(struct uplink *u)
{
	if (!u)
		return;
	uplink_be_silent(u);
	uplink_stop_watchers(u);
	ev_timer_stop(u->loop, &u->limit);
	uplink_drop(u);
	for (size_t i = 0; u->own_tls && i < u->config.host_count; i++)
		tls_free(u->own_tls[i]);
	free(u->own_tls);
	free(u);
}

const char *uplink_failure(const struct uplink *u)
{
	return u->failure;
}
