#include "config/check_session.h"

#include "config/value/session_key.h"

#include <stdio.h>

enum { QUEUE_NAME_MAX = 255 };

static const char section[] = "session.";

/* The place of the section or of any setting in it that the pool was given itself, or NULL.
 * Defaults for all pools may have them for those that have sessions. */
static const struct place *given_place(const struct draft *draft)
{
	size_t count;
	const struct setting *setting = settings_of(SETTING_POOL, &count);

	for (; count > 0; count--, setting++) {
		const struct place *place = draft_given(draft, setting->key);
		if (text_starts(text_from(setting->key), text_from(section)) && place &&
			!place->is_of_defaults)
			return place;
	}
	return draft->session_place.name ? &draft->session_place : NULL;
}

static void check_key(struct draft *draft, const char *key)
{
	const char *why = session_key_problem(text_from(key));
	char shown[PROBLEMS_QUOTED_SIZE];

	if (why)
		problems_add(draft->problems, draft_place(draft, "session.key"),
			"%ssession.key is %s%s", draft_prefix(draft, "session.key"),
			problems_quote(text_from(key), shown), why);
}

/* The names of retry queues and of dead letters have their own checks. */
static void check_names(struct draft *draft, const struct config_pool *pool)
{
	size_t len = pool->queue ? strlen(pool->queue) : 0;
	char token[QUEUE_NAME_MAX + sizeof TOKEN_QUEUE_SUFFIX];

	snprintf(token, sizeof token, "%s" TOKEN_QUEUE_SUFFIX, pool->queue ? pool->queue : "");
	if (len + sizeof TOKEN_QUEUE_SUFFIX - 1 > QUEUE_NAME_MAX)
		problems_add(draft->problems, draft_place(draft, "queue"),
			"%squeue is too long for sessions: with \"" TOKEN_QUEUE_SUFFIX
			"\" the name is over 255 bytes",
			draft->prefix);
	else if (pool->retry.dead_letter && strcmp(pool->retry.dead_letter, token) == 0)
		problems_add(draft->problems, draft_place(draft, "retry.dead_letter"),
			"%sretry.dead_letter is the queue of the sessions' token; another one or "
			"broker is needed",
			draft->prefix);
}

static void check_failure(struct draft *draft, const struct config_session *session)
{
	if (session->on_failure == CONFIG_SESSION_BLOCK &&
		session->delivery_limit != CONFIG_DELIVERY_LIMIT_NONE)
		problems_add(draft->problems, draft_place(draft, "session.on_failure"),
			"%ssession.on_failure is block, which needs session.delivery_limit: none: "
			"the messages of a blocked session are returned with every channel, and "
			"the broker drops them at its limit; `wpool declare` makes a queue without "
			"one, and `rabbitmqctl list_policies` shows policies that set one",
			draft->prefix);
}

static void imply(struct draft *draft, struct config_pool *pool)
{
	static const char by[] = "session";

	if (pool->prefetch == 0)
		draft_contradiction(draft, "prefetch", by, "a number");
	if (pool->prefetch == 0)
		pool->prefetch = CONFIG_SESSION_PREFETCH;
	/* The next task of the session has begun when the return arrives. */
	if (pool->unroutable == CONFIG_UNROUTABLE_RETRY)
		draft_contradiction(draft, "unroutable", by, "reject or drop");
	/* Their tasks cannot carry a key. */
	if (pool->pipe == PIPE_COREFX)
		draft_contradiction(draft, "pipe", by, "path or fifo");
	/* It depends on the kind of queue how a channel can be left. */
	if (pool->declare == CONFIG_DECLARE_OFF)
		draft_contradiction(draft, "declare", by, "passive or on");
}

void check_session(struct draft *draft)
{
	struct config_pool *pool = draft->base;
	const struct place *given = given_place(draft);

	if (!pool->session.key) {
		if (given && !draft_given(draft, "session.key"))
			problems_add(draft->problems, *given,
				"%ssession.key is missing; header:NAME, property:NAME or "
				"routing_key is needed",
				draft->prefix);
		return;
	}
	check_key(draft, pool->session.key);
	check_names(draft, pool);
	check_failure(draft, &pool->session);
	imply(draft, pool);
}

void check_session_is_alone(struct draft *draft, const struct config_pool *pools, size_t count)
{
	const struct config_pool *pool = draft->base;

	for (size_t i = 0; pool->queue && i + 1 < count; i++) {
		if (!pools[i].queue || strcmp(pools[i].queue, pool->queue) != 0 ||
			(!pools[i].session.key && !pool->session.key))
			continue;
		problems_add(draft->problems, draft_place(draft, "queue"),
			"%squeue is also the queue of pools[%zu]; with sessions a queue has one "
			"pool",
			draft->prefix, i);
		return;
	}
}
