#include "broker/token_channel.h"

#include "base/utf8.h"
#include "broker/confirm_channel.h"
#include "broker/election_queue.h"
#include "core/tasks/delivery.h"

#include <stdio.h>
#include <stdlib.h>

/* Before the publish channel is opened again. */
#define WAIT_FIRST (100 * MTIME_MS)
#define WAIT_LAST  (5 * MTIME_SECOND)

#define CONSUMER_TAG TEXT("wpool-token")
#define SCRATCH_MAX  (TOKEN_BODY_MAX + 1024)

/* Of the consuming side. */
enum token_channel_state {
	STARTING, /* see queue.step; after it basic.consume is sent */
	CONSUMING,
	ENDED, /* closed for good */
};

struct token_channel {
	const struct token_channel_config *config; /* borrowed */
	const struct channel_log *log;             /* borrowed */
	const struct token_handler *handler;       /* borrowed */
	void *io;
	struct token *token; /* owned */

	struct election_queue queue; /* on the consuming connection */
	enum token_channel_state state;
	bool has_logged_forged;

	struct connection *publishes_by; /* borrowed; NULL: offline */
	struct confirm_channel publish;
	uint16_t publish_channel;
	uint64_t number;     /* of the latest publish on this channel */
	bool has_failed;     /* the latest one was not sent: out of memory */
	bool is_unpublished; /* the latest publish failed, which is logged */
	struct backoff publish_backoff;
	mtime publish_retry_at; /* MTIME_NEVER: no wait */
	struct buf scratch;     /* the message that is published */
};

/* ---------- the token's effects ---------- */

static void do_publish(void *io, const struct token_content *content)
{
	struct token_channel *tokens = io;
	struct amqp_publish publish;

	if (token_message_write(content, tokens->number + 1, tokens->config->queue,
		    &tokens->scratch, &publish) != RC_OK) {
		tokens->has_failed = true;
		tokens->publish_retry_at = 0;
		return;
	}
	tokens->number++;
	channel_publish(tokens->publishes_by, tokens->publish_channel, &publish);
}

static void do_ack(void *io, uint64_t tag)
{
	struct token_channel *tokens = io;

	channel_ack(tokens->queue.connection, tokens->config->channel, tag, false);
}

static void do_requeue(void *io, uint64_t tag)
{
	struct token_channel *tokens = io;

	channel_nack(tokens->queue.connection, tokens->config->channel, tag);
}

static void do_held(void *io, const struct token_grant *grant)
{
	struct token_channel *tokens = io;
	struct token_facts before = token_facts(tokens->token);

	if (grant->delay == 0)
		channel_log_line(tokens->log, LOG_INFO, "active: has the token of queue \"%.*s\"",
			TEXT_ARGS(tokens->config->queue));
	else if (grant->is_orderly)
		channel_log_line(tokens->log, LOG_INFO,
			"active: has the token of queue \"%.*s\"; redelivered messages wait for "
			"%.0f s, as an earlier holder did not pass it on",
			TEXT_ARGS(tokens->config->queue), (double)grant->delay / MTIME_SECOND);
	else if (before.epoch == 0)
		channel_log_line(tokens->log, LOG_INFO,
			"active: has the token of queue \"%.*s\", which is new; who served the "
			"queue before is not known, so redelivered messages wait for %.0f s",
			TEXT_ARGS(tokens->config->queue), (double)grant->delay / MTIME_SECOND);
	else
		channel_log_line(tokens->log, LOG_WARN,
			"active: has the token of queue \"%.*s\"; %.*s did not pass it on, so "
			"redelivered messages wait for %.0f s",
			TEXT_ARGS(tokens->config->queue), TEXT_ARGS(before.holder),
			(double)grant->delay / MTIME_SECOND);
	tokens->handler->held(tokens->io, grant);
}

static void do_lost(void *io)
{
	struct token_channel *tokens = io;

	channel_log_line(tokens->log, LOG_WARN,
		"the token of queue \"%.*s\" was not renewed in time, or another supervisor has "
		"it: standing by, and killing the workers that run keyed tasks",
		TEXT_ARGS(tokens->config->queue));
	tokens->handler->lost(tokens->io);
}

static void do_handed_over(void *io)
{
	struct token_channel *tokens = io;

	tokens->handler->handed_over(tokens->io);
}

static void do_window_named(void *io, uint32_t window)
{
	struct token_channel *tokens = io;

	tokens->handler->window_named(tokens->io, window);
}

static void do_lease(void *io, mtime until)
{
	struct token_channel *tokens = io;

	tokens->handler->lease(tokens->io, until);
}

static const struct token_effects effects = {
	.publish = do_publish,
	.ack = do_ack,
	.requeue = do_requeue,
	.held = do_held,
	.lost = do_lost,
	.handed_over = do_handed_over,
	.window_named = do_window_named,
	.lease = do_lease,
};

/* ---------- life ---------- */

struct token_channel *token_channel_new(const struct token_channel_config *config,
	const struct channel_log *log, const struct token_handler *handler, void *io)
{
	struct token_channel *tokens = calloc(1, sizeof *tokens);

	if (!tokens)
		return NULL;
	tokens->config = config;
	tokens->log = log;
	tokens->handler = handler;
	tokens->io = io;
	tokens->queue = (struct election_queue){
		.log = log,
		.name = config->queue,
		.without = "standing by",
		.page = "docs/ordering.md",
		/* The largest that 3.10 and 4 both take: -1 drops at the first return on 3.10. */
		.own = {"x-delivery-limit", NULL, INT32_MAX},
		.channel = config->channel,
	};
	election_queue_init(&tokens->queue, config->seed);
	tokens->publish_retry_at = MTIME_NEVER;
	backoff_init(&tokens->publish_backoff, WAIT_FIRST, WAIT_LAST, ~config->seed);
	buf_init(&tokens->scratch, SCRATCH_MAX);
	tokens->token = token_new(&config->token, &effects, tokens);
	if (tokens->token)
		return tokens;
	free(tokens);
	return NULL;
}

void token_channel_free(struct token_channel *tokens)
{
	if (!tokens)
		return;
	token_free(tokens->token);
	buf_release(&tokens->scratch);
	free(tokens);
}

struct token *token_channel_token(const struct token_channel *tokens)
{
	return tokens->token;
}

/* ---------- the consuming side ---------- */

static bool has_token_left(const struct token_channel *tokens)
{
	return token_facts(tokens->token).state == TOKEN_LEFT;
}

/* Until the ack of the former token arrives it is in the queue, too: the next holder compares. */
static void end_if_left(struct token_channel *tokens)
{
	if (!has_token_left(tokens) || tokens->state == ENDED)
		return;
	tokens->state = ENDED;
	election_queue_rest(&tokens->queue);
	tokens->publish_retry_at = MTIME_NEVER;
	if (tokens->queue.connection)
		channel_close(tokens->queue.connection, tokens->config->channel);
	if (tokens->publishes_by)
		channel_close(tokens->publishes_by, tokens->publish_channel);
}

void token_channel_up(struct token_channel *tokens, struct connection *connection)
{
	tokens->queue.connection = connection;
	if (tokens->state == ENDED)
		return;
	if (tokens->config->channel > connection_channel_max(connection))
		channel_log_line(tokens->log, LOG_ERROR,
			"the broker allows %u channels a connection, which leaves none for the "
			"token: this pool stays a standby (raise its channel_max)",
			connection_channel_max(connection));
	else
		election_queue_open(&tokens->queue);
}

static void stop_consuming(struct token_channel *tokens)
{
	if (tokens->state != ENDED)
		tokens->state = STARTING;
	token_down(tokens->token);
}

void token_channel_down(struct token_channel *tokens)
{
	tokens->queue.connection = NULL;
	election_queue_rest(&tokens->queue);
	stop_consuming(tokens);
}

static void consume(struct token_channel *tokens)
{
	channel_qos(tokens->queue.connection, tokens->config->channel, TOKEN_PREFETCH);
	channel_consume(tokens->queue.connection, tokens->config->channel, tokens->config->queue,
		CONSUMER_TAG, false);
}

/* A supervisor takes the token over when its consumer was the next one. */
static void on_consuming(struct token_channel *tokens, mtime now)
{
	tokens->state = CONSUMING;
	tokens->has_logged_forged = false;
	election_queue_works(&tokens->queue);
	channel_log_line(tokens->log, LOG_INFO, "waiting for the token of queue \"%.*s\"",
		TEXT_ARGS(tokens->config->queue));
	token_up(tokens->token, now);
}

static void on_delivery(struct token_channel *tokens, const struct amqp_event *event, mtime now)
{
	struct token_content content;
	const char *why;

	if (tokens->state == CONSUMING) {
		why = token_message_read(event->content.body, &content);
		if (!why) {
			token_offer(tokens->token, event->tag, &content, now);
		} else {
			channel_log_line(tokens->log,
				tokens->has_logged_forged ? LOG_DEBUG : LOG_ERROR,
				"a message of %zu bytes in queue \"%.*s\" is no token (%s); "
				"dropping it (only supervisors of this pool may publish there; "
				"logged once)",
				event->content.body.len, TEXT_ARGS(tokens->config->queue), why);
			tokens->has_logged_forged = true;
			do_ack(tokens, event->tag);
		}
	}
	delivery_free(event->content.owner);
}

void token_channel_on_event(struct token_channel *tokens, const struct amqp_event *event, mtime now)
{
	enum election_result result = ELECTION_NOTHING;

	if (tokens->state != ENDED)
		result = election_queue_on_event(&tokens->queue, event, now);
	if (result == ELECTION_OPENED)
		election_queue_declare(&tokens->queue);
	else if (result == ELECTION_DECLARED)
		consume(tokens);
	else if (result == ELECTION_LOST)
		stop_consuming(tokens);
	else if (event->kind == AMQP_CONSUME_OK && tokens->state != ENDED)
		on_consuming(tokens, now);
	else if (event->kind == AMQP_DELIVERY)
		on_delivery(tokens, event, now);
	end_if_left(tokens);
}

/* ---------- the publishing side ---------- */

static void open_publish(struct token_channel *tokens)
{
	tokens->publish_retry_at = MTIME_NEVER;
	tokens->number = 0;
	confirm_channel_open(&tokens->publish, tokens->publishes_by, tokens->publish_channel);
}

void token_channel_publish_up(
	struct token_channel *tokens, struct connection *connection, uint16_t channel)
{
	tokens->publishes_by = connection;
	tokens->publish_channel = channel;
	if (tokens->state != ENDED)
		open_publish(tokens);
}

static void lose_publish(struct token_channel *tokens, mtime retry_at)
{
	tokens->has_failed = false;
	tokens->publish_retry_at = retry_at;
	confirm_channel_down(&tokens->publish);
	token_publisher_down(tokens->token);
}

void token_channel_publish_down(struct token_channel *tokens)
{
	tokens->publishes_by = NULL;
	lose_publish(tokens, MTIME_NEVER);
}

static void reopen_publish(struct token_channel *tokens, mtime now)
{
	lose_publish(tokens, mtime_after(now, backoff_next(&tokens->publish_backoff)));
}

/* Once, until a publish is confirmed. */
static void log_unpublished(struct token_channel *tokens, const char *why)
{
	channel_log_line(tokens->log, tokens->is_unpublished ? LOG_DEBUG : LOG_WARN,
		"the token of queue \"%.*s\" was not published: %s; publishing it again",
		TEXT_ARGS(tokens->config->queue), why);
	tokens->is_unpublished = true;
}

static void on_publish_closed(
	struct token_channel *tokens, const struct amqp_event *event, mtime now)
{
	char why[sizeof(struct utf8_shown) + 64];

	snprintf(why, sizeof why, "the broker closed its channel (%u %s)", event->code,
		utf8_shown(event->text).text);
	log_unpublished(tokens, why);
	reopen_publish(tokens, now);
}

/* After an election the broker refuses what an old channel publishes, so open another one. */
static void give_up_publish(struct token_channel *tokens, const char *why, mtime now)
{
	log_unpublished(tokens, why);
	channel_close(tokens->publishes_by, tokens->publish_channel);
	reopen_publish(tokens, now);
}

/* Only the latest publish counts. If that was not sent, no answer is its own. */
static bool is_of_latest(const struct token_channel *tokens, const struct publish_answer *answer)
{
	if (tokens->has_failed)
		return false;
	return answer->number == tokens->number ||
	       (answer->multiple && answer->number > tokens->number);
}

void token_channel_on_publish_event(
	struct token_channel *tokens, const struct amqp_event *event, mtime now)
{
	struct publish_answer answer = {.kind = PUBLISH_NOT_ANSWERED};

	if (tokens->state != ENDED)
		answer = confirm_channel_on_event(&tokens->publish, event);
	if (answer.kind == PUBLISH_READY) {
		token_publisher_up(tokens->token, now);
	} else if (event->kind == AMQP_CHANNEL_CLOSED && tokens->state != ENDED) {
		on_publish_closed(tokens, event, now);
	} else if (is_of_latest(tokens, &answer)) {
		if (answer.kind == PUBLISH_RETURNED)
			give_up_publish(tokens, "the queue does not exist", now);
		else if (answer.kind == PUBLISH_REFUSED)
			give_up_publish(tokens, "the broker refused it", now);
		else if (answer.kind == PUBLISH_CONFIRMED) {
			backoff_reset(&tokens->publish_backoff);
			tokens->is_unpublished = false;
			token_confirmed(tokens->token, now);
		}
	}
	if (event->kind == AMQP_RETURN)
		free(event->content.owner);
	end_if_left(tokens);
}

/* ---------- the end, and time ---------- */

bool token_channel_waits(const struct token_channel *tokens)
{
	return tokens->state == CONSUMING && confirm_channel_is_up(&tokens->publish) &&
	       !tokens->is_unpublished;
}

void token_channel_leave(struct token_channel *tokens, mtime now)
{
	token_leave(tokens->token, now);
	end_if_left(tokens);
}

bool token_channel_has_left(const struct token_channel *tokens)
{
	return tokens->state == ENDED &&
	       (!tokens->queue.connection ||
		       channel_is_closed(tokens->queue.connection, tokens->config->channel)) &&
	       (!tokens->publishes_by ||
		       channel_is_closed(tokens->publishes_by, tokens->publish_channel));
}

mtime token_channel_deadline(const struct token_channel *tokens)
{
	mtime deadline = mtime_min(tokens->queue.retry_at, tokens->publish_retry_at);

	return mtime_min(deadline, token_deadline(tokens->token));
}

void token_channel_tick(struct token_channel *tokens, mtime now)
{
	token_tick(tokens->token, now);
	election_queue_tick(&tokens->queue, now);
	if (now >= tokens->publish_retry_at) {
		if (tokens->has_failed)
			give_up_publish(tokens, "out of memory", now);
		else
			open_publish(tokens);
	}
	end_if_left(tokens);
}
