#include "runtime/pool_token.h"

#include "os/clock.h"
#include "process/guard.h"
#include "runtime/consume_link.h"

#include <assert.h>
#include <stdio.h>
#include <unistd.h>

#define HOST_MAX 64

static void on_held(void *io, const struct token_grant *grant)
{
	struct pool_token *token = io;
	struct event event = {.kind = TOKEN_HELD,
		.token = {grant->is_orderly, grant->deaths, grant->delay, grant->handover}};

	pool_step(token->pool, clock_now(), &event);
}

static void on_lost(void *io)
{
	struct pool_token *token = io;

	pool_step(token->pool, clock_now(), &(struct event){.kind = TOKEN_LOST});
}

static void on_lease(void *io, mtime until)
{
	struct pool_token *token = io;

	guard_set_lease(token->guard, token->lease, until);
}

/* "web-1/4711/2/0123abcd...": readable, and unique even if host and pid come again. */
static void name_holder(struct pool_token *token, const struct pool_token_origin *origin)
{
	char host[HOST_MAX + 1] = "";

	if (gethostname(host, HOST_MAX) < 0 || !token_holder_is_valid(text_from(host)))
		snprintf(host, sizeof host, "host");
	snprintf(token->holder, sizeof token->holder, "%s/%d/%u/%s", host, (int)getpid(),
		origin->serial, origin->run);
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
	if (!has_token(config))
		return true;
	token->lease = pool_token_lease(config, origin->place);
	name_holder(token, origin);
	snprintf(token->queue, sizeof token->queue, "%s" TOKEN_QUEUE_SUFFIX, queue);
	token->handler = (struct token_handler){on_held, on_lost, on_lease};
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
	*token = (struct pool_token){0};
}

void pool_token_configure(struct pool_token *token, const struct pool_config *config)
{
	assert(has_token(config) == (token->channel != NULL));
	if (token->channel)
		token_configure(token_channel_token(token->channel), config->prefetch,
			config->session.takeover_delay);
}

bool pool_token_has_passed(struct pool_token *token)
{
	if (!token->channel)
		return true;
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
