#include "runtime/pool_token.h"

#include "base/utf8.h"
#include "os/clock.h"
#include "process/guard.h"
#include "runtime/consume_link.h"
#include "runtime/pool_set.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

_Static_assert(CONFIG_TAKEOVER_DELAY_MAX == TOKEN_DELAY_MAX, "takeover_delay");
_Static_assert(POOL_SET_MAX <= GUARD_LEASES, "each pool has a lease");

/* A handover that cannot be read is lost: attempts count from 0 again. */
static struct session_handover *read_handover(
	struct pool_token *token, struct text bytes, size_t *ret_count)
{
	struct session_handover *all = NULL;
	enum rc rc = bytes.len > 0 ? handover_read(bytes, &all, ret_count) : RC_OK;

	if (rc != RC_OK)
		channel_log_line(token->log, LOG_WARN,
			"what the former supervisor handed over about its sessions cannot be read "
			"(%s): attempts count from 0 again, and nothing is paused or blocked",
			rc == RC_MEMORY ? "out of memory" : "malformed");
	return all;
}

static void on_held(void *io, const struct token_grant *grant)
{
	struct pool_token *token = io;
	struct event event = {.kind = TOKEN_HELD,
		.token = {.is_orderly = grant->delay == 0,
			.deaths = grant->deaths,
			.window = grant->window,
			.delay = grant->delay}};
	struct session_handover *handed =
		read_handover(token, grant->handover, &event.token.handed_count);

	event.token.handed = handed;
	pool_step(token->pool, clock_now(), &event);
	free(handed);
}

static void on_lost(void *io)
{
	struct pool_token *token = io;

	pool_step(token->pool, clock_now(), &(struct event){.kind = TOKEN_LOST});
}

static void on_handed_over(void *io)
{
	struct pool_token *token = io;

	if (token->has_named)
		pool_step(token->pool, clock_now(), &(struct event){.kind = TOKEN_NAMED});
}

static void on_window_named(void *io, uint32_t window)
{
	struct pool_token *token = io;

	pool_step(token->pool, clock_now(),
		&(struct event){.kind = TOKEN_WINDOW, .token = {.window = window}});
}

static void on_lease(void *io, mtime until)
{
	struct pool_token *token = io;

	guard_set_lease(token->guard, token->lease, until);
}

/* "web-1/4711/2/0123abcd...": readable, and unique even if host and pid come again. */
static void name_holder(struct pool_token *token, const struct pool_token_origin *origin)
{
	bool is_valid = *origin->host && token_holder_is_valid(text_from(origin->host));

	snprintf(token->holder, sizeof token->holder, "%s/%d/%u/%s",
		is_valid ? origin->host : "host", origin->pid, origin->serial, origin->run);
}

static bool has_token(const struct pool_config *config)
{
	return config->session.is_on && config->session.takeover_delay != MTIME_NEVER;
}

unsigned pool_token_lease(const struct pool_config *config, uint16_t place)
{
	return has_token(config) ? place + 1u : 0;
}

bool pool_token_init(struct pool_token *token, const struct pool_config *config, const char *queue,
	const struct pool_token_origin *origin, const struct channel_log *log, struct guard *guard)
{
	*token = (struct pool_token){.log = log, .guard = guard};
	handover_init(&token->handover, TOKEN_HANDOVER_MAX);
	buf_init(&token->name, HANDOVER_NAME_MAX);
	if (!has_token(config))
		return true;
	if (!buf_reserve(&token->name, HANDOVER_NAME_MAX))
		return false;
	token->lease = pool_token_lease(config, origin->place);
	name_holder(token, origin);
	snprintf(token->queue, sizeof token->queue, "%s" TOKEN_QUEUE_SUFFIX, queue);
	token->handler =
		(struct token_handler){on_held, on_lost, on_handed_over, on_window_named, on_lease};
	token->config = (struct token_channel_config){.channel = TOKEN_CHANNEL,
		.queue = text_from(token->queue),
		.token = {text_from(token->holder), config->prefetch,
			config->session.takeover_delay},
		.seed = origin->seed};
	token->channel = token_channel_new(&token->config, log, &token->handler, token);
	return token->channel;
}

void pool_token_attach(struct pool_token *token, struct pool *pool)
{
	token->pool = pool;
}

void pool_token_release(struct pool_token *token)
{
	if (token->lease > 0)
		guard_set_lease(token->guard, token->lease, 0);
	token_channel_free(token->channel);
	handover_release(&token->handover);
	buf_release(&token->name);
	*token = (struct pool_token){0};
}

void pool_token_configure(struct pool_token *token, const struct pool_config *config)
{
	assert(has_token(config) == (token->channel != NULL));
	if (token->channel)
		token_configure(token_channel_token(token->channel), config->prefetch,
			config->session.takeover_delay, clock_boot());
}

void pool_token_hand_over(struct pool_token *token, const struct session_handover *handover)
{
	handover_add(&token->handover, handover);
}

/* They stay in the token until the next holder has it. */
static void publish_handover(struct pool_token *token, struct text bytes)
{
	bool is_taken = token_hand_over(token_channel_token(token->channel), bytes, clock_boot());

	assert(is_taken);
}

void pool_token_name(struct pool_token *token, const struct session_handover *handover)
{
	bool is_written;

	if (!token->channel)
		return;
	buf_clear(&token->name);
	is_written = !handover || handover_write_name(handover, &token->name);
	assert(is_written);
	publish_handover(token, buf_text(&token->name));
	token->has_named = handover != NULL;
}

void pool_token_name_window(struct pool_token *token, uint32_t window)
{
	if (token->channel)
		token_name_window(token_channel_token(token->channel), window, clock_boot());
}

void pool_token_prove(struct pool_token *token, struct consumer *consumer, mtime now)
{
	bool was_proving = token->is_proving;

	token->is_proving = token->channel && consumer_wants_token(consumer);
	if (!token->is_proving)
		return;
	if (!was_proving)
		token_prove(token_channel_token(token->channel), clock_boot());
	if (token_is_proven(token_channel_token(token->channel)))
		consumer_token_proven(consumer, now);
}

static void log_loss(
	const struct pool_token *token, const struct handover_loss *loss, const char *what)
{
	if (loss->count > 0)
		channel_log_line(token->log, LOG_WARN,
			"what is handed over about sessions is larger than %zu bytes: %u %s, the "
			"first one of \"%s\"",
			TOKEN_HANDOVER_MAX, loss->count, what,
			utf8_shown(text_of(loss->key, loss->len)).text);
}

/* False: out of memory now. */
static bool hand_over_sessions(struct pool_token *token)
{
	struct buf bytes;
	bool is_written;

	buf_init(&bytes, TOKEN_HANDOVER_MAX);
	is_written = token->handover.count == 0 || handover_write(&token->handover, &bytes);
	if (is_written) {
		log_loss(token, &token->handover.without_rest,
			"without the rest of their work, which begins again");
		log_loss(token, &token->handover.left_out,
			"left out, whose attempts count from 0 again");
		publish_handover(token, buf_text(&bytes));
		handover_clear(&token->handover);
		token->has_named = false;
	}
	buf_release(&bytes);
	return is_written;
}

bool pool_token_has_passed(struct pool_token *token)
{
	bool hands_over =
		token->has_named || token->handover.count + token->handover.left_out.count > 0;

	if (!token->channel)
		return true;
	if (hands_over && !hand_over_sessions(token))
		return false;
	token_channel_leave(token->channel, clock_boot());
	return token_channel_has_left(token->channel);
}

bool pool_token_waits(const struct pool_token *token)
{
	return token->channel && token_channel_waits(token->channel);
}

mtime pool_token_deadline(const struct pool_token *token, mtime now)
{
	mtime deadline = token->channel ? token_channel_deadline(token->channel) : MTIME_NEVER;

	return deadline == MTIME_NEVER ? MTIME_NEVER
				       : mtime_after(now, mtime_max(deadline - clock_boot(), 0));
}

void pool_token_tick(struct pool_token *token)
{
	if (token->channel)
		token_channel_tick(token->channel, clock_boot());
}

struct token_facts pool_token_facts(const struct pool_token *token)
{
	return token->channel ? token_facts(token_channel_token(token->channel))
			      : (struct token_facts){.holder = TEXT_NONE};
}
