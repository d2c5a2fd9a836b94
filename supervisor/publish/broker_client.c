#include "publish/broker_client.h"

#include "amqp/channel.h"
#include "base/log.h"
#include "base/utf8.h"
#include "config/config.h"
#include "os/loop.h"
#include "tty/console.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>
#include <unistd.h>

#define BODY_LIMIT   (512ull * 1024 * 1024) /* the maximum that a broker can be configured for */
#define OUTPUT_LIMIT (2 * BODY_LIMIT)
#define HEARTBEAT    (15 * MTIME_SECOND)

static void on_up(void *ctx, struct connection *connection)
{
	struct broker_client *c = ctx;
	c->connection = connection;
	c->handler->on_up(c->ctx, connection);
}

/* A broker under an alarm blocks a connection at its first publish. */
static void broker_client_blocked(struct broker_client *c, struct text why)
{
	c->is_blocked = true;
	utf8_copy_escaped(c->blocked, sizeof c->blocked, why);
	if (c->wait > 0)
		loop_start_timer(c->loop, &c->blocked_limit, c->wait);
}

static void broker_client_unblocked(struct broker_client *c)
{
	c->is_blocked = false;
	ev_timer_stop(c->loop, &c->blocked_limit);
}

static void on_blocked_limit(struct ev_loop *loop, ev_timer *watcher, int events)
{
	(void)events;
	struct broker_client *c = watcher->data;
	snprintf(c->failure, sizeof c->failure, "it has blocked this connection for %.3g s (%s)",
		(double)c->wait / MTIME_SECOND, c->blocked);
	ev_break(loop, EVBREAK_ALL);
}

static void on_down(void *ctx, bool by_error)
{
	struct broker_client *c = ctx;
	c->connection = NULL;
	broker_client_unblocked(c);
	c->handler->on_down(c->ctx, by_error);
}

static void on_event(void *ctx, const struct amqp_event *event)
{
	struct broker_client *c = ctx;
	if (event->kind == AMQP_BLOCKED)
		broker_client_blocked(c, event->text);
	else if (event->kind == AMQP_UNBLOCKED)
		broker_client_unblocked(c);
	c->handler->on_event(c->ctx, event);
	free(event->content.owner);
}

static void on_end(void *ctx, const char *why)
{
	struct broker_client *c = ctx;
	if (why)
		snprintf(c->failure, sizeof c->failure, "%s", why);
	c->was_refused = why && broker_link_is_refused(c->broker_link);
	ev_break(c->loop, EVBREAK_ALL);
}

static const struct broker_link_handler broker_link_handler = {
	.on_up = on_up,
	.on_down = on_down,
	.on_event = on_event,
	.on_end = on_end,
};

/* If the flush has sent everything, no event follows, and the loop must not sleep. */
static void on_turn(struct ev_loop *loop, ev_prepare *watcher, int events)
{
	(void)events;
	struct broker_client *c = watcher->data;
	bool wants_more = c->handler->on_turn && c->handler->on_turn(c->ctx);
	broker_link_flush(c->broker_link);
	ev_idle_stop(loop, &c->again);
	if (wants_more && c->connection &&
		buf_len(connection_output(c->connection)) < BROKER_CLIENT_OUTPUT_HIGH)
		ev_idle_start(loop, &c->again);
}

static void on_idle(struct ev_loop *loop, ev_idle *watcher, int events)
{
	(void)loop, (void)watcher, (void)events;
}

static void on_signal(struct ev_loop *loop, ev_signal *watcher, int events)
{
	(void)events;
	struct broker_client *c = watcher->data;
	if (++c->interrupts > 1) {
		ev_break(loop, EVBREAK_ALL);
		return;
	}
	c->handler->on_interrupt(c->ctx);
	if (c->is_blocked) /* no confirm comes */
		broker_client_close(c);
}

static int broker_client_find_broker(
	struct broker_client *c, const char *command, const char *broker)
{
	struct problems problems = {0};
	enum rc rc = config_load_broker(broker, environ, &c->hosts, &c->host_count, &problems);
	int exit_code = EX_OK;
	if (rc == RC_OK)
		console_warn(&problems);
	else
		exit_code = console_problems(command, rc, &problems);
	problems_release(&problems);
	return exit_code;
}

/* With the addresses in c. */
static int broker_client_start(struct broker_client *c, const char *command, mtime wait)
{
	const struct broker_link_config config = {
		.hosts = c->hosts,
		.host_count = c->host_count,
		.heartbeat = HEARTBEAT,
		.name = command,
		.output_limit = OUTPUT_LIMIT,
		.body_limit = BODY_LIMIT,
		.reconnect_limit = wait,
		.refusal_is_final = true,
	};
	c->wait = wait;
	c->loop = loop_default();
	loop_unblock_signals();
	if (c->loop)
		c->broker_link = broker_link_new(c->loop, &config, &broker_link_handler, c);
	if (!c->broker_link) {
		fprintf(stderr, "wpool %s: out of memory or descriptors\n", command);
		return EX_OSERR;
	}
	ev_prepare_init(&c->turn, on_turn);
	ev_idle_init(&c->again, on_idle);
	ev_init(&c->blocked_limit, on_blocked_limit);
	ev_signal_init(&c->interrupt, on_signal, SIGINT);
	ev_signal_init(&c->terminate, on_signal, SIGTERM);
	c->turn.data = c->again.data = c->interrupt.data = c->terminate.data = c;
	c->blocked_limit.data = c;
	ev_prepare_start(c->loop, &c->turn);
	ev_signal_start(c->loop, &c->interrupt);
	ev_signal_start(c->loop, &c->terminate);
	return EX_OK;
}

int broker_client_init(struct broker_client *c, const char *command, const char *broker, mtime wait,
	const struct broker_client_handler *handler, void *ctx)
{
	*c = (struct broker_client){.handler = handler, .ctx = ctx};
	log_setup(STDERR_FILENO, LOG_WARN, LOG_TEXT, console_has_colour(STDERR_FILENO));
	int exit_code = broker_client_find_broker(c, command, broker);
	return exit_code == EX_OK ? broker_client_start(c, command, wait) : exit_code;
}

int broker_client_init_hosts(struct broker_client *c, const char *command, struct broker_url *hosts,
	size_t count, mtime wait, const struct broker_client_handler *handler, void *ctx)
{
	*c = (struct broker_client){
		.handler = handler, .ctx = ctx, .hosts = hosts, .host_count = count};
	log_setup(STDERR_FILENO, LOG_WARN, LOG_TEXT, console_has_colour(STDERR_FILENO));
	return broker_client_start(c, command, wait);
}

void broker_client_run(struct broker_client *c)
{
	ev_run(c->loop, 0);
}

void broker_client_close(struct broker_client *c)
{
	broker_link_close(c->broker_link);
}

void broker_client_release(struct broker_client *c)
{
	/* A watcher outlives its loop in libev's list of signals, beside those of the next client;
	 * and a question to the user between two clients must be interruptible. */
	if (c->loop) {
		ev_signal_stop(c->loop, &c->interrupt);
		ev_signal_stop(c->loop, &c->terminate);
	}
	broker_link_free(c->broker_link);
	if (c->loop)
		ev_loop_destroy(c->loop);
	broker_urls_free(c->hosts, c->host_count);
}

int broker_client_verdict(const struct broker_client *c, const char *command)
{
	if (!*c->failure)
		return EX_OK;
	console_problem(command,
		c->is_blocked ? "cannot publish: the broker accepts no messages; %s"
			      : "no connection to the broker: %s",
		c->failure);
	return c->was_refused ? EX_NOPERM : EX_UNAVAILABLE;
}
