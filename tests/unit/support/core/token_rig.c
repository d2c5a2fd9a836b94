#include "unit/support/core/token_rig.h"

#include <stdio.h>

struct token *token;
char effects_log[512];
mtime lease_until;
mtime waits_for;   /* of the latest takeover */
mtime passed_wait; /* in the latest publish */
uint32_t passed_window, granted_window;
mtime min_delay;

static void record(const char *word)
{
	size_t len = strlen(effects_log);

	ck_assert_int_lt(snprintf(effects_log + len, sizeof effects_log - len, "%s%s",
				 len > 0 ? " " : "", word),
		(int)(sizeof effects_log - len));
}

static void on_publish(void *io, const struct token_content *content)
{
	char word[128], deaths[32] = "";

	(void)io;
	passed_window = content->window;
	ck_assert(content->is_orderly || content->delay >= min_delay);
	passed_wait = content->delay;
	if (content->deaths > 0)
		snprintf(deaths, sizeof deaths, " deaths %u", content->deaths);
	snprintf(word, sizeof word, "publish(%u.%u%s%s%s%.*s)", (unsigned)content->epoch,
		(unsigned)content->counter, content->is_orderly ? " orderly" : "", deaths,
		content->handover.len ? " " : "", TEXT_ARGS(content->handover));
	record(word);
}

static void on_tag(const char *what, uint64_t tag)
{
	char word[32];

	snprintf(word, sizeof word, "%s(%u)", what, (unsigned)tag);
	record(word);
}

static void on_ack(void *io, uint64_t tag)
{
	(void)io;
	on_tag("ack", tag);
}

static void on_requeue(void *io, uint64_t tag)
{
	(void)io;
	on_tag("requeue", tag);
}

static void on_held(void *io, const struct token_grant *grant)
{
	char word[128];

	(void)io;
	snprintf(word, sizeof word, "HELD(%s deaths %u%s%.*s)",
		grant->is_orderly ? "orderly" : "delayed", grant->deaths,
		grant->handover.len ? " " : "", TEXT_ARGS(grant->handover));
	record(word);
	waits_for = grant->delay;
	granted_window = grant->window;
	ck_assert(grant->is_orderly || waits_for >= min_delay);
}

static void on_lost(void *io)
{
	(void)io;
	record("LOST");
}

static void on_handed_over(void *io)
{
	(void)io;
	record("HANDED-OVER");
}

static void on_window_named(void *io, uint32_t window)
{
	(void)io;
	on_tag("NAMED", window);
}

static void on_lease(void *io, mtime until)
{
	(void)io;
	lease_until = until;
}

const struct token_effects token_test_effects = {on_publish, on_ack, on_requeue, on_held, on_lost,
	on_handed_over, on_window_named, on_lease};

const struct token_config token_test_config = {{"us", 2}, WINDOW, DELAY};

void forget_effects(void)
{
	effects_log[0] = '\0';
}

void token_set_up(void)
{
	effects_log[0] = '\0';
	lease_until = 0;
	min_delay = DELAY;
	token = token_new(&token_test_config, &token_test_effects, NULL);
	ck_assert_ptr_nonnull(token);
}

void token_tear_down(void)
{
	token_free(token);
}

/* What was done since the last look. */
void expect_effects(const char *log)
{
	ck_assert_str_eq(effects_log, log);
	effects_log[0] = '\0';
}

struct token_content token_content_of(const char *holder, uint64_t epoch, uint64_t counter)
{
	return (struct token_content){.holder = text_from(holder),
		.epoch = epoch,
		.counter = counter,
		.window = WINDOW,
		.delay = DELAY};
}

void offer_token(uint64_t tag, const char *holder, uint64_t epoch, uint64_t counter, mtime now)
{
	struct token_content content = token_content_of(holder, epoch, counter);

	token_offer(token, tag, &content, now);
}

void offer_orderly_token(uint64_t tag, uint64_t epoch, uint64_t counter)
{
	struct token_content content = token_content_of("other", epoch, counter);

	content.is_orderly = true;
	content.delay = 7;
	content.deaths = 2;
	content.handover = TEXT("keys");
	token_offer(token, tag, &content, 0);
}

/* The first supervisor of a queue: it holds the token 1.0 as delivery 2 from 0 on. */
void become_holder(void)
{
	token_publisher_up(token, 0);
	token_up(token, 0);
	token_confirmed(token, 0);
	offer_token(1, "", 0, 0, 0);
	token_confirmed(token, 0);
	offer_token(2, "us", 1, 0, 0);
	ck_assert(token_facts(token).is_held);
	ck_assert(lease_until == LEASE);
	effects_log[0] = '\0';
}

/* Renewals, each sent at its deadline, with both answers at once. The tags count on. */
void renew_token_until(mtime end, uint64_t *tag)
{
	mtime now;

	while ((now = token_deadline(token)) <= end) {
		token_tick(token, now);
		token_confirmed(token, now);
		offer_token(++*tag, "us", 1, token_facts(token).counter + 1, now);
		ck_assert(token_facts(token).renewed_at == now);
		effects_log[0] = '\0';
	}
}
