#include "net/broker_link_internal.h"

#include "base/log.h"
#include "base/utf8.h"
#include "os/clock.h"
#include "os/loop.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define FRAME_MAX         (128 * 1024)
#define CONNECT_SPAN      (10 * MTIME_SECOND) /* unless the address has one */
#define CLOSE_SPAN        MTIME_SECOND
#define LIMITED_RECONNECT MTIME_SECOND /* the longest wait under a reconnect_limit */
#define RAW_REASON_SIZE   4096         /* as it came: a user's name may have 2046 bytes */

/* Limits of one turn, so that a fast peer cannot occupy the loop. */
#define INPUT_PER_TURN  (256 * 1024)
#define OUTPUT_PER_TURN (1024 * 1024)

/* Shared by all connections: what was read is handled before the next read. */
static uint8_t input[65536];

/* span: until the state's timer ends; MTIME_NEVER: it has none. */
static void enter_state(struct broker_link *link, enum broker_link_state state, mtime span)
{
	link->state = state;
	if (span == MTIME_NEVER)
		ev_timer_stop(link->loop, &link->timer);
	else
		loop_start_timer(link->loop, &link->timer, span);
}

static bool has_stream(const struct broker_link *link)
{
	return link->state == BROKER_LINK_OPENING || link->state == BROKER_LINK_UP ||
	       link->state == BROKER_LINK_CLOSING;
}

static const struct broker_url *host_of(const struct broker_link *link)
{
	return &link->config.hosts[link->reconnect.host];
}

static mtime connect_span(const struct broker_link *link)
{
	mtime span = host_of(link)->connection_timeout;
	return span ? span : CONNECT_SPAN;
}

static void start_limit(struct broker_link *link)
{
	if (link->config.reconnect_limit > 0)
		loop_start_timer(link->loop, &link->limit, link->config.reconnect_limit);
}

/* All but .limit, which spans all tries. */
static void stop_watchers(struct broker_link *link)
{
	ev_io_stop(link->loop, &link->readable);
	ev_io_stop(link->loop, &link->writable);
	ev_timer_stop(link->loop, &link->timer);
	ev_timer_stop(link->loop, &link->pulse);
	ev_timer_stop(link->loop, &link->more);
}

static void free_connection(struct broker_link *link)
{
	dialer_free(link->dialer);
	connection_free(link->connection);
	stream_free(link->stream);
	link->dialer = NULL;
	link->connection = NULL;
	link->stream = NULL;
	explicit_bzero(link->password, sizeof link->password);
}

/* ---------- a failure, its log line, and the next try ---------- */

static struct log_origin log_origin_of(const struct broker_link *link)
{
	return (struct log_origin){.pool = link->config.pool, .slot = -1};
}

/* "host:port" */
static const char *host_text(const struct broker_link *link, char buffer[BROKER_LINK_HOST_SIZE])
{
	const struct broker_url *url = host_of(link);
	bool is_ipv6 = strchr(url->host, ':') != NULL;
	snprintf(buffer, BROKER_LINK_HOST_SIZE, "%s%s%s:%u", is_ipv6 ? "[" : "", url->host,
		is_ipv6 ? "]" : "", (unsigned)url->port);
	return buffer;
}

static void forget_logged(struct broker_link *link)
{
	if (link->config.log_dedup->latest == link)
		link->config.log_dedup->latest = NULL;
}

/* A link with a time limit reports the reason when it gives up, so each try before is a detail. So
 * is a failure that another link has logged and not recovered from. The loss of an open connection
 * is always reported. */
static enum log_level failure_level(struct broker_link *link, mtime open_for)
{
	const struct broker_link *latest = link->config.log_dedup->latest;
	bool is_logged = latest && latest != link && strcmp(latest->failure, link->failure) == 0;
	if (open_for == 0 && (link->config.reconnect_limit > 0 || is_logged))
		return LOG_DEBUG;
	link->config.log_dedup->latest = link;
	return LOG_WARN;
}

static enum broker_failure kind_of(const struct broker_link *link, mtime open_for)
{
	if (link->is_refused)
		return BROKER_FAILURE_REFUSED;
	if (link->close_code != 0)
		return BROKER_FAILURE_CLOSED;
	return open_for > 0 ? BROKER_FAILURE_LOST : BROKER_FAILURE_UNREACHABLE;
}

/* open_for: how long the connection was open; 0: it never was. */
static void plan_next_try(struct broker_link *link, mtime open_for)
{
	char host[BROKER_LINK_HOST_SIZE], next[BROKER_LINK_HOST_SIZE];
	snprintf(
		link->failure, sizeof link->failure, "%s: %s", host_text(link, host), link->reason);
	link->kind = kind_of(link, open_for);
	if (link->is_refused && link->config.refusal_is_final) { /* on_end gets the reason */
		enter_state(link, BROKER_LINK_GIVING_UP, 0);
		return;
	}
	enum log_level level = failure_level(link, open_for);
	mtime wait = reconnect_failed(&link->reconnect, link->is_refused, open_for);
	if (wait == 0)
		log_line(level, log_origin_of(link), "broker %s (%s): %s; trying %s next", host,
			link->config.name, link->reason, host_text(link, next));
	else
		log_line(level, log_origin_of(link), "broker %s (%s): %s; retrying in %.1f s", host,
			link->config.name, link->reason, (double)wait / MTIME_SECOND);
	enter_state(link, BROKER_LINK_WAITING, wait);
}

/* Closes what is open, calls on_down, and plans the next try; .reason is set. The owner may call
 * broker_link_close in on_down: then nothing is planned. */
static void lose_connection(struct broker_link *link)
{
	bool was_closing = link->state == BROKER_LINK_CLOSING;
	bool was_open = link->state == BROKER_LINK_UP || was_closing;

	stop_watchers(link);
	enter_state(link, was_closing ? BROKER_LINK_ENDING : BROKER_LINK_WAITING,
		was_closing ? 0 : MTIME_NEVER);
	if (was_open) {
		if (!was_closing)
			start_limit(link);
		link->handler.on_down(
			link->ctx, link->close_code != 0 && link->close_code != CODE_SUCCESS &&
					   link->close_code != CODE_CONNECTION_FORCED);
	}
	free_connection(link);
	if (link->state == BROKER_LINK_WAITING)
		plan_next_try(link, was_open ? clock_now() - link->opened : 0);
}

/* A reason may quote the broker, so it is escaped where it is stored. */
static void PRINTF_LIKE(2, 3) record_failure(struct broker_link *link, const char *format, ...)
{
	char raw[RAW_REASON_SIZE];
	va_list args;
	va_start(args, format);
	vsnprintf(raw, sizeof raw, format, args);
	va_end(args);
	utf8_copy_escaped(link->reason, sizeof link->reason, text_from(raw));
	lose_connection(link);
}

static void fail_refused(struct broker_link *link, const char *what, const char *details)
{
	const struct broker_url *url = host_of(link);
	link->is_refused = true;
	if (url->external)
		record_failure(link, "%s by certificate%s", what, details);
	else
		record_failure(link, "%s of user %s%s", what, url->user, details);
}

/* A broker that does not know authentication_failure_close hangs up on a wrong password. */
static void fail_hung_up(struct broker_link *link)
{
	if (link->state != BROKER_LINK_OPENING)
		record_failure(link, "the broker hung up");
	else if (connection_peer_product(link->connection).len > 0)
		fail_refused(link, "refused the login", " (it hung up after the login)");
	else
		record_failure(link, "hung up in the handshake (does that port speak plain AMQP?)");
}

static void fail_closed_by_broker(struct broker_link *link)
{
	char details[sizeof link->close_text.text + 16];
	snprintf(details, sizeof details, ": %u %s", (unsigned)link->close_code,
		link->close_text.text);
	if (link->state == BROKER_LINK_OPENING && link->close_code == CODE_ACCESS_REFUSED)
		fail_refused(link, "refused the login", details);
	else if (link->state == BROKER_LINK_OPENING && link->close_code == CODE_NOT_ALLOWED)
		fail_refused(link, "refused the virtual host to the login", details);
	else
		record_failure(link, "the broker closed the connection%s", details);
}

/* ---------- output ---------- */

static void read_soon(struct broker_link *link)
{
	loop_start_timer(link->loop, &link->more, 0);
}

/* The next turn acts on it: what the broker sent before it closed may still have to be read, and
 * broker_link_flush must not call back. */
static void note_broken(struct broker_link *link, const char *reason)
{
	if (link->is_broken)
		return;
	link->is_broken = true;
	utf8_copy_escaped(link->reason, sizeof link->reason, text_from(reason));
	read_soon(link);
}

/* False: it has to wait, or it failed. */
static bool write_some(struct broker_link *link, size_t len, size_t *ret_sent)
{
	const struct buf *output = connection_output(link->connection);
	switch (stream_write(link->stream, buf_text(output).ptr, len, ret_sent)) {
	case STREAM_OK:
		return true;
	case STREAM_AGAIN:
		if (stream_write_waits_for(link->stream) == STREAM_WRITABLE)
			ev_io_start(link->loop, &link->writable);
		return false;
	case STREAM_CLOSED:
		note_broken(link, "the broker hung up");
		return false;
	case STREAM_FAILED:
		note_broken(link, stream_problem(link->stream));
		return false;
	}
	return false;
}

static void send_output(struct broker_link *link)
{
	size_t budget = OUTPUT_PER_TURN, sent = 0;
	struct buf *output = connection_output(link->connection);

	if (connection_has_failed(link->connection))
		note_broken(link,
			"the broker reads too slowly: unsent output is over its limit, or memory is short");
	if (link->is_broken || buf_len(output) == 0)
		return;
	while (buf_len(output) > 0 && budget > 0) {
		size_t len = buf_len(output) < budget ? buf_len(output) : budget;
		if (!write_some(link, len, &sent))
			return;
		buf_consume(output, sent);
		budget -= sent;
		link->sent = clock_now();
		if (link->state == BROKER_LINK_CLOSING)
			enter_state(link, BROKER_LINK_CLOSING, CLOSE_SPAN);
	}
	if (buf_len(output) > 0)
		ev_io_start(link->loop, &link->writable);
}

void broker_link_flush(struct broker_link *link)
{
	/* While the watcher is active the socket takes nothing. */
	if (has_stream(link) && !ev_is_active(&link->writable))
		send_output(link);
}

/* ---------- input ---------- */

/* rc: what connection_input returned. */
static void fail_by_input(struct broker_link *link, enum rc rc)
{
	send_output(link); /* connection.close or its answer, if the socket takes it */
	if (rc == RC_CLOSED) {
		fail_closed_by_broker(link);
		return;
	}
	unsigned code = link->close_code;
	link->close_code = 0; /* ours, not the broker's */
	if (rc == RC_MALFORMED)
		record_failure(
			link, "the peer broke the protocol: %u %s", code, link->close_text.text);
	else
		record_failure(link, "%s%s%s", rc_text(rc), *link->close_text.text ? ": " : "",
			link->close_text.text);
}

/* False: the connection is gone, or closed in order. */
static bool handle_input(struct broker_link *link, size_t len)
{
	link->received = clock_now();
	enum rc rc = connection_input(link->connection, text_of(input, len));
	if (rc != RC_OK)
		fail_by_input(link, rc);
	else if (link->is_close_answered)
		record_failure(link, "closed in order");
	return rc == RC_OK && !link->is_close_answered;
}

/* May lose the connection. */
static void read_input(struct broker_link *link)
{
	size_t len = 0;
	for (size_t taken = 0; taken < INPUT_PER_TURN; taken += len) {
		switch (stream_read(link->stream, input, sizeof input, &len)) {
		case STREAM_OK:
			if (!handle_input(link, len))
				return;
			if (len < sizeof input && stream_short_read_is_all(link->stream))
				goto read;
			break;
		case STREAM_AGAIN:
			if (stream_read_waits_for(link->stream) == STREAM_WRITABLE)
				ev_io_start(link->loop, &link->writable);
			goto read;
		case STREAM_CLOSED:
			fail_hung_up(link);
			return;
		case STREAM_FAILED:
			record_failure(link, "%s", stream_problem(link->stream));
			return;
		}
	}
	if (stream_has_pending(link->stream))
		read_soon(link);
read:
	/* The owner does not know of the handshake, so its frames are sent here. */
	if (link->state == BROKER_LINK_OPENING)
		send_output(link);
}

static void on_readable(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct broker_link *link = watcher->data;
	loop_keep_watching(loop, watcher, events);
	read_input(link);
	if (has_stream(link) && stream_write_waits_for(link->stream) == STREAM_READABLE)
		send_output(link);
}

static void on_writable(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct broker_link *link = watcher->data;
	loop_keep_watching(loop, watcher, events);
	ev_io_stop(loop, watcher);
	if (stream_read_waits_for(link->stream) == STREAM_WRITABLE)
		read_input(link);
	if (has_stream(link))
		send_output(link);
}

static void on_more(struct ev_loop *loop, ev_timer *watcher, int events)
{
	(void)loop, (void)events;
	struct broker_link *link = watcher->data;
	bool was_broken = link->is_broken;
	read_input(link);
	if (was_broken && has_stream(link))
		lose_connection(link);
}

/* ---------- heartbeats ---------- */

static void start_pulse(struct broker_link *link)
{
	mtime beat = connection_heartbeat(link->connection) * MTIME_SECOND;
	if (beat == 0)
		return;
	mtime wait = mtime_min(link->sent + beat / 2, link->received + 2 * beat) - clock_now();
	loop_start_timer(link->loop, &link->pulse, wait);
}

/* Read first: after a suspension the peer's heartbeat waits in the socket. */
static void on_pulse(struct ev_loop *loop, ev_timer *watcher, int events)
{
	(void)loop, (void)events;
	struct broker_link *link = watcher->data;
	read_input(link);
	if (link->state != BROKER_LINK_UP)
		return;
	mtime beat = connection_heartbeat(link->connection) * MTIME_SECOND;
	mtime now = clock_now();
	if (now - link->received >= 2 * beat) {
		record_failure(link, "nothing received for %.3g s (two heartbeats)",
			(double)(2 * beat) / MTIME_SECOND);
		return;
	}
	if (now - link->sent >= beat / 2) {
		link->sent = now;
		/* Bytes that wait to be sent replace a heartbeat. */
		if (buf_len(connection_output(link->connection)) == 0) {
			connection_heartbeat_send(link->connection);
			send_output(link);
		}
	}
	start_pulse(link);
}

/* ---------- from a wait to an open connection ---------- */

static void handle_opened(struct broker_link *link)
{
	char host[BROKER_LINK_HOST_SIZE];
	explicit_bzero(link->password, sizeof link->password); /* the login is over */
	enter_state(link, BROKER_LINK_UP, MTIME_NEVER);
	ev_timer_stop(link->loop, &link->limit);
	link->opened = clock_now();
	forget_logged(link);
	reconnect_opened(&link->reconnect);
	log_line(LOG_INFO, log_origin_of(link), "broker %s (%s): connected, %s %s, heartbeat %u s",
		host_text(link, host), link->config.name,
		utf8_shown(connection_peer_product(link->connection)).text,
		utf8_shown(connection_peer_version(link->connection)).text,
		(unsigned)connection_heartbeat(link->connection));
	start_pulse(link);
	link->handler.on_up(link->ctx, link->connection);
}

static void on_connection_event(void *ctx, const struct amqp_event *event)
{
	struct broker_link *link = ctx;
	switch (event->kind) {
	case AMQP_OPENED:
		handle_opened(link);
		return;
	case AMQP_CLOSED: /* connection_input returns the rest */
		link->close_code = event->code;
		link->close_text = utf8_shown(event->text);
		return;
	case AMQP_CLOSE_OK:
		link->is_close_answered = true;
		break;
	case AMQP_BLOCKED:
	case AMQP_UNBLOCKED:
	case AMQP_CHANNEL_OPENED:
	case AMQP_CHANNEL_CLOSED:
	case AMQP_CHANNEL_CLOSE_OK:
	case AMQP_QOS_OK:
	case AMQP_CONSUME_OK:
	case AMQP_CANCEL_OK:
	case AMQP_CANCELLED:
	case AMQP_QUEUE_DECLARED:
	case AMQP_EXCHANGE_DECLARED:
	case AMQP_QUEUE_BOUND:
	case AMQP_CONFIRM_SELECTED:
	case AMQP_CONFIRM:
	case AMQP_DELIVERY:
	case AMQP_RETURN:
		break;
	}
	link->handler.on_event(link->ctx, event);
}

static uint8_t *on_content_memory(
	void *ctx, uint16_t channel, bool is_return, size_t len, void **ret_owner)
{
	struct broker_link *link = ctx;
	if (!link->handler.content_memory)
		return connection_content_memory(len, ret_owner);
	return link->handler.content_memory(link->ctx, channel, is_return, len, ret_owner);
}

static void on_content_dropped(void *ctx, void *owner)
{
	struct broker_link *link = ctx;
	if (link->handler.content_dropped)
		link->handler.content_dropped(link->ctx, owner);
	else
		free(owner);
}

static const struct connection_handler connection_handler = {
	.on_event = on_connection_event,
	.content_memory = on_content_memory,
	.content_dropped = on_content_dropped,
};

static void set_params(struct broker_link *link, const struct broker_url *url)
{
	mtime heartbeat_s =
		url->heartbeat_s >= 0 ? url->heartbeat_s : link->config.heartbeat / MTIME_SECOND;
	link->params = (struct connection_params){
		.sasl = url->external ? SASL_EXTERNAL : SASL_PLAIN,
		.user = url->user,
		.password = url->password_file ? link->password : url->password,
		.vhost = url->vhost,
		.name = link->connection_name,
		.heartbeat_s = (uint16_t)mtime_min(heartbeat_s, UINT16_MAX),
		.frame_max = FRAME_MAX,
		.output_limit = link->config.output_limit,
		.body_limit = link->config.body_limit,
	};
}

/* The state's timer goes on: its span includes the AMQP handshake. */
static void on_dialed(void *ctx, struct stream *stream, const char *problem)
{
	struct broker_link *link = ctx;
	if (!stream) {
		record_failure(link, "%s", problem);
		return;
	}
	dialer_free(link->dialer);
	link->dialer = NULL;
	link->stream = stream;
	link->state = BROKER_LINK_OPENING;
	const char *file = host_of(link)->password_file, *problem_of_file;
	if (file && !password_file_read(file, link->password, &problem_of_file)) {
		record_failure(link, "cannot read the password from %s: %s", file, problem_of_file);
		return;
	}
	set_params(link, host_of(link));
	link->connection = connection_new(&link->params, &connection_handler, link);
	if (!link->connection) {
		record_failure(link, "out of memory");
		return;
	}
	link->received = link->sent = clock_now();
	ev_io_set(&link->readable, stream_fd(stream), EV_READ);
	ev_io_set(&link->writable, stream_fd(stream), EV_WRITE);
	ev_io_start(link->loop, &link->readable);
	send_output(link);
}

static void dial(struct broker_link *link)
{
	mtime span = connect_span(link);
	link->close_code = 0;
	link->close_text.text[0] = '\0';
	link->is_close_answered = link->is_refused = link->is_broken = false;
	enter_state(link, BROKER_LINK_DIALING, span);
	link->dialer = dialer_start(link->loop, host_of(link),
		&link->config.tls[link->reconnect.host], span, on_dialed, link);
	if (!link->dialer)
		record_failure(link, "%s", strerror(errno));
}

/* on_end comes last: it may free the link. */
static void end_link(struct broker_link *link)
{
	const char *reason = link->state == BROKER_LINK_GIVING_UP ? link->failure : NULL;
	stop_watchers(link);
	ev_timer_stop(link->loop, &link->limit);
	free_connection(link);
	link->state = BROKER_LINK_ENDED;
	link->handler.on_end(link->ctx, reason);
}

static void on_timer(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct broker_link *link = watcher->data;
	(void)loop, (void)events;
	switch (link->state) {
	case BROKER_LINK_WAITING:
		dial(link);
		return;
	case BROKER_LINK_DIALING:
	case BROKER_LINK_OPENING:
		record_failure(link, "no answer within %.3g s (%s)",
			(double)connect_span(link) / MTIME_SECOND,
			link->dialer ? dialer_stage(link->dialer) : "AMQP handshake");
		return;
	case BROKER_LINK_CLOSING:
		record_failure(link, "connection.close was not answered");
		return;
	case BROKER_LINK_ENDING:
	case BROKER_LINK_GIVING_UP:
		end_link(link);
		return;
	case BROKER_LINK_UP:
	case BROKER_LINK_ENDED:
		return;
	}
}

static void on_limit(struct ev_loop *loop, ev_timer *watcher, int events)
{
	(void)loop, (void)events;
	struct broker_link *link = watcher->data;
	/* An earlier failure is the better reason. */
	if (*link->failure == '\0')
		snprintf(link->failure, sizeof link->failure, "no answer within %.3g s",
			(double)link->config.reconnect_limit / MTIME_SECOND);
	link->state = BROKER_LINK_GIVING_UP;
	end_link(link);
}

/* ---------- life ---------- */

static void init_watchers(struct broker_link *link)
{
	ev_init(&link->readable, on_readable);
	ev_init(&link->writable, on_writable);
	ev_init(&link->timer, on_timer);
	ev_init(&link->pulse, on_pulse);
	ev_init(&link->more, on_more);
	ev_init(&link->limit, on_limit);
	link->readable.data = link->writable.data = link;
	link->timer.data = link->pulse.data = link->more.data = link->limit.data = link;
	/* After a suspension, handle what the socket has before the timers that have expired. */
	ev_set_priority(&link->readable, 1);
}

struct broker_link *broker_link_new(struct ev_loop *loop, const struct broker_link_config *config,
	const struct broker_link_handler *handler, void *ctx)
{
	struct broker_link *link = calloc(1, sizeof *link);
	if (!link)
		return NULL;
	link->loop = loop;
	link->config = *config;
	if (!link->config.log_dedup)
		link->config.log_dedup = &link->own_log_dedup;
	link->handler = *handler;
	link->ctx = ctx;
	init_watchers(link);
	if (!link->config.tls) {
		link->config.tls = link->own_tls =
			calloc(config->host_count, sizeof *link->own_tls);
		if (!link->own_tls) {
			broker_link_free(link);
			return NULL;
		}
	}
	/* Without entropy the clock is good enough: the seed only spreads the waits. */
	uint32_t seed = (uint32_t)clock_now();
	ssize_t got = getrandom(&seed, sizeof seed, GRND_NONBLOCK);
	(void)got;
	reconnect_init(&link->reconnect, config->host_count,
		config->reconnect_limit ? LIMITED_RECONNECT : RECONNECT_MAX, seed);
	snprintf(link->connection_name, sizeof link->connection_name, "wpool %s%s%s, pid %d",
		config->name, config->pool ? " " : "", config->pool ? config->pool : "",
		(int)getpid());
	enter_state(link, BROKER_LINK_WAITING, 0);
	start_limit(link);
	return link;
}

void broker_link_close(struct broker_link *link)
{
	ev_timer_stop(link->loop, &link->limit);
	switch (link->state) {
	case BROKER_LINK_UP:
		connection_close(link->connection, CODE_SUCCESS, "goodbye");
		ev_timer_stop(link->loop, &link->pulse);
		enter_state(link, BROKER_LINK_CLOSING, CLOSE_SPAN);
		broker_link_flush(link);
		return;
	case BROKER_LINK_WAITING: /* in on_down, too: lose_connection frees the connection then */
	case BROKER_LINK_DIALING:
	case BROKER_LINK_OPENING:
		dialer_free(link->dialer);
		link->dialer = NULL;
		stop_watchers(link);
		enter_state(link, BROKER_LINK_ENDING, 0);
		return;
	case BROKER_LINK_CLOSING:
	case BROKER_LINK_ENDING:
	case BROKER_LINK_GIVING_UP:
	case BROKER_LINK_ENDED:
		return;
	}
}

uint16_t broker_link_close_reason(const struct broker_link *link, struct text *ret_text)
{
	*ret_text = text_from(link->close_text.text);
	return link->close_code;
}

bool broker_link_is_refused(const struct broker_link *link)
{
	return link->is_refused;
}

const char *broker_link_failure(const struct broker_link *link)
{
	return link->failure;
}

void broker_link_free(struct broker_link *link)
{
	if (!link)
		return;
	forget_logged(link);
	stop_watchers(link);
	ev_timer_stop(link->loop, &link->limit);
	free_connection(link);
	for (size_t i = 0; link->own_tls && i < link->config.host_count; i++)
		tls_free(link->own_tls[i]);
	free(link->own_tls);
	free(link);
}

const char *broker_link_failure_kind_text(const struct broker_link *link)
{
	static const char *const texts[] = {
#define X(kind, text) [BROKER_FAILURE_##kind] = text,
		BROKER_FAILURES(X)
#undef X
	};

	return texts[link->kind];
}
