#include "io/uplink_state.h"

#include "io/clock.h"
#include "io/loop.h"
#include <stdio.h>

/* Most that one turn moves each way, so that a fast peer cannot keep the loop. */
#define INPUT_PER_TURN  (256 * 1024)
#define OUTPUT_PER_TURN (1024 * 1024)

/* Of all connections, as there is one thread: what was read is taken before anything else is. */
static uint8_t input[65536];

static bool uplink_has_stream(const struct uplink *u)
{
	return u->state == UPLINK_OPENING || u->state == UPLINK_UP || u->state == UPLINK_CLOSING;
}

void uplink_watch_stream(struct uplink *u)
{
	ev_io_set(&u->readable, stream_fd(u->stream), EV_READ);
	ev_io_set(&u->writable, stream_fd(u->stream), EV_WRITE);
	ev_io_start(u->loop, &u->readable);
}

static void uplink_soon(struct uplink *u)
{
	ev_timer_stop(u->loop, &u->more);
	ev_timer_set(&u->more, 0, 0);
	ev_timer_start(u->loop, &u->more);
}

/* Acted on in the next turn: what the broker said before it closed may still be there to read, and
 * callbacks must not come from uplink_flush. */
static void uplink_break(struct uplink *u, const char *why)
{
	if (u->is_broken)
		return;
	u->is_broken = true;
	snprintf(u->why, sizeof u->why, "%s", why);
	uplink_soon(u);
}

/* False: the connection is gone, or closed in order. */
static bool uplink_take(struct uplink *u, size_t len)
{
	u->received = clock_now();
	enum rc rc = connection_input(u->connection, text_of(input, len));
	if (rc != RC_OK)
		uplink_lose_by(u, rc);
	else if (u->is_close_answered)
		uplink_fail(u, "closed in order");
	return rc == RC_OK && !u->is_close_answered;
}

void uplink_read(struct uplink *u)
{
	size_t len = 0;
	for (size_t taken = 0; taken < INPUT_PER_TURN; taken += len) {
		switch (stream_read(u->stream, input, sizeof input, &len)) {
		case STREAM_OK:
			if (!uplink_take(u, len))
				return;
			if (len < sizeof input && stream_short_read_is_all(u->stream))
				goto read;
			break;
		case STREAM_AGAIN:
			if (stream_read_waits_for(u->stream) == STREAM_WRITABLE)
				ev_io_start(u->loop, &u->writable);
			goto read;
		case STREAM_CLOSED:
			uplink_hung_up(u);
			return;
		case STREAM_FAILED:
			uplink_fail(u, "%s", stream_problem(u->stream));
			return;
		}
	}
	if (stream_has_pending(u->stream))
		uplink_soon(u);
read:
	/* The owner knows nothing of the handshake, so nobody else would send its frames. */
	if (u->state == UPLINK_OPENING)
		uplink_send(u);
}

static void uplink_progress(struct uplink *u, size_t sent)
{
	buf_consume(connection_output(u->connection), sent);
	if (u->state == UPLINK_CLOSING)
		uplink_enter(u, UPLINK_CLOSING, MTIME_SECOND);
}

/* False: it has to wait, or it failed. */
static bool uplink_write(struct uplink *u, size_t len, size_t *ret_sent)
{
	const struct buf *output = connection_output(u->connection);
	switch (stream_write(u->stream, buf_text(output).ptr, len, ret_sent)) {
	case STREAM_OK:
		return true;
	case STREAM_AGAIN:
		if (stream_write_waits_for(u->stream) == STREAM_WRITABLE)
			ev_io_start(u->loop, &u->writable);
		return false;
	case STREAM_CLOSED:
		uplink_break(u, "the broker hung up");
		return false;
	case STREAM_FAILED:
		uplink_break(u, stream_problem(u->stream));
		return false;
	}
	return false;
}

void uplink_send(struct uplink *u)
{
	size_t budget = OUTPUT_PER_TURN, sent = 0;
	struct buf *output = connection_output(u->connection);

	if (connection_has_failed(u->connection))
		uplink_break(u, "the broker takes too little: the output is over its limit, or "
				"memory is out");
	if (u->is_broken || buf_len(output) == 0)
		return;
	while (buf_len(output) > 0 && budget > 0) {
		size_t len = buf_len(output) < budget ? buf_len(output) : budget;
		if (!uplink_write(u, len, &sent))
			return;
		uplink_progress(u, sent);
		budget -= sent;
		u->sent = clock_now();
	}
	if (buf_len(output) > 0)
		ev_io_start(u->loop, &u->writable);
}

void uplink_flush(struct uplink *u)
{
	/* While the watcher waits for room there is none. */
	if (uplink_has_stream(u) && !ev_is_active(&u->writable))
		uplink_send(u);
}

void uplink_on_readable(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct uplink *u = watcher->data;
	loop_keep_watching(loop, watcher, events);
	uplink_read(u);
	if (uplink_has_stream(u) && stream_write_waits_for(u->stream) == STREAM_READABLE)
		uplink_send(u);
}

void uplink_on_writable(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct uplink *u = watcher->data;
	loop_keep_watching(loop, watcher, events);
	ev_io_stop(loop, watcher);
	if (stream_read_waits_for(u->stream) == STREAM_WRITABLE)
		uplink_read(u);
	if (uplink_has_stream(u))
		uplink_send(u);
}

void uplink_on_more(struct ev_loop *loop, ev_timer *watcher, int events)
{
	(void)loop, (void)events;
	struct uplink *u = watcher->data;
	bool was_broken = u->is_broken;
	uplink_read(u);
	if (was_broken && uplink_has_stream(u))
		uplink_lose(u);
}

void uplink_arm_pulse(struct uplink *u)
{
	mtime beat = connection_heartbeat(u->connection) * MTIME_SECOND;
	if (beat == 0)
		return;
	mtime wait = mtime_min(u->sent + beat / 2, u->received + 2 * beat) - clock_now();
	loop_start_timer(u->loop, &u->pulse, wait);
}

/* Bytes that wait to be sent are as good as a heartbeat, once they go. */
static void uplink_beat(struct uplink *u)
{
	u->sent = clock_now();
	if (buf_len(connection_output(u->connection)) > 0)
		return;
	connection_heartbeat_send(u->connection);
	uplink_send(u);
}

/* Reads before it judges: after a suspension the peer's sign of life lies in the socket. */
void uplink_on_pulse(struct ev_loop *loop, ev_timer *watcher, int events)
{
	(void)loop, (void)events;
	struct uplink *u = watcher->data;
	uplink_read(u);
	if (u->state != UPLINK_UP)
		return;
	mtime beat = connection_heartbeat(u->connection) * MTIME_SECOND;
	mtime now = clock_now();
	if (now - u->received >= 2 * beat) {
		uplink_fail(u, "nothing was heard for %.3g s, two heartbeats",
			(double)(2 * beat) / MTIME_SECOND);
		return;
	}
	if (now - u->sent >= beat / 2)
		uplink_beat(u);
	uplink_arm_pulse(u);
}
