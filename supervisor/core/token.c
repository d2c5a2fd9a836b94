#include "core/token.h"

#include <stdlib.h>

/* The token to be published next, or that is published. */
enum next_state {
	NEXT_NONE,
	NEXT_WANTED, /* the publish channel is down */
	NEXT_SENT,
};

struct next {
	enum next_state state;
	bool is_confirmed;
	uint64_t tag; /* it was delivered to us; 0: not yet */
	uint64_t epoch, counter;
	uint32_t deaths, window;
	mtime delay; /* that it names */
	mtime sent_at;
};

struct token {
	struct token_config config;
	const struct token_effects *effects;
	void *io;
	enum token_state state;
	bool is_up;     /* the consuming channel */
	bool publishes; /* the publish channel is up */
	mtime zero_at;  /* STANDBY: then a token of epoch 0 is published again */

	/* The highest token seen, while one counts. */
	bool has_top;
	uint64_t top_tag; /* 0: it is not unacked here */
	bool is_widened;  /* top.window is that of another token; it may be larger than its own */
	/* One that names it: acked when our next one, which names it too, is confirmed. 0: none. */
	uint64_t wider_tag;
	struct token_content top;
	char top_holder[TOKEN_HOLDER_MAX];
	char top_handover[TOKEN_HANDOVER_MAX];

	struct next next;
	uint64_t epoch, counter; /* of our latest publish */
	uint64_t held_epoch;     /* the latest in which we were the holder; 0: none */
	uint32_t deaths;
	mtime since, renewed_at, renew_at;
	/* Of the holder: half of it is the lease, and none of our tokens names a shorter one. */
	mtime proven_delay;
	mtime wait_until;  /* of the holder: until then a former one may run tasks */
	mtime requeued_at; /* MTIME_NEVER: the token that we hold is not requeued */
	mtime leave_by;
	bool is_passing_on; /* LEAVING in the middle of a takeover: what was found is passed on */
	uint32_t window;    /* of the holder's tokens */
	bool is_window_new; /* token_name_window is to be answered */
	mtime unproven_at;  /* of token_prove, until it is proven; then MTIME_NEVER */

	char handover[TOKEN_HANDOVER_MAX];
	size_t handover_len;
	bool is_handover_new, is_handover_sent; /* sent: with the latest publish */
};

struct token *token_new(
	const struct token_config *config, const struct token_effects *effects, void *io)
{
	struct token *token = calloc(1, sizeof *token);

	if (!token)
		return NULL;
	token->config = *config;
	token->effects = effects;
	token->io = io;
	token->requeued_at = token->unproven_at = MTIME_NEVER;
	return token;
}

void token_free(struct token *token)
{
	free(token);
}

/* ---------- which token counts ---------- */

/* Between equal numbers, prefer the one that is not orderly: it makes the next holder wait. */
static bool is_higher(const struct token_content *a, const struct token_content *b)
{
	if (a->epoch != b->epoch)
		return a->epoch > b->epoch;
	if (a->counter != b->counter)
		return a->counter > b->counter;
	return !a->is_orderly && b->is_orderly;
}

static bool is_ours(const struct token *token, const struct token_content *content)
{
	return content->epoch > 0 && text_is(content->holder, token->config.holder);
}

/* A token that we published but never held proves nothing about the holder before. */
static bool was_held_by_us(const struct token *token, const struct token_content *content)
{
	return is_ours(token, content) && content->epoch == token->held_epoch;
}

static struct text copy_text(char *to, size_t size, struct text from)
{
	size_t len = from.len < size ? from.len : size;

	if (len > 0)
		memcpy(to, from.ptr, len);
	return text_of(to, len);
}

static void ack_tag(const struct token *token, uint64_t tag)
{
	if (tag > 0)
		token->effects->ack(token->io, tag);
}

/* What counted before is acked. A takeover that was published long ago may not know the window of
 * the holder that it would have replaced, so the larger one stays, until our next token names it.
 */
static void set_top(struct token *token, const struct token_content *content, uint64_t tag)
{
	bool is_holder = token->state == TOKEN_HOLDING;
	uint32_t before = token->has_top && token->top.epoch > 0 ? token->top.window : 0;
	bool is_wider = !is_holder && before > content->window;
	bool is_named = token->next.is_confirmed && token->next.window >= before;

	if (is_wider && !is_named && token->wider_tag == 0)
		token->wider_tag = token->top_tag;
	else
		ack_tag(token, token->top_tag);
	token->has_top = true;
	token->top_tag = tag;
	token->requeued_at = MTIME_NEVER;
	token->top = *content;
	token->is_widened = is_wider;
	if (is_wider)
		token->top.window = before;
	token->top.holder = copy_text(token->top_holder, sizeof token->top_holder, content->holder);
	token->top.handover =
		copy_text(token->top_handover, sizeof token->top_handover, content->handover);
}

/* Our own token is in the queue, and the broker delivered it to us. */
static void become_top(struct token *token)
{
	const struct next *next = &token->next;
	const struct token_content content = {.holder = token->config.holder,
		.epoch = next->epoch,
		.counter = next->counter,
		.window = next->window,
		.delay = next->delay,
		.deaths = next->deaths};

	set_top(token, &content, next->tag);
	token->next = (struct next){0};
}

/* Ack a token that does not count, unless only it names the window. */
static void ack_lower(struct token *token, uint64_t tag, uint32_t window)
{
	if (token->is_widened && token->wider_tag == 0 && window >= token->top.window)
		token->wider_tag = tag;
	else
		ack_tag(token, tag);
}

/* It is acked, unless it is the only token that we have. */
static void drop_next(struct token *token)
{
	if (token->next.tag && !token->top_tag)
		become_top(token);
	else
		ack_lower(token, token->next.tag, token->next.window);
	token->next = (struct next){0};
}

static mtime lease_span(const struct token *token)
{
	return token->proven_delay / 2;
}

/* The holder's own pace follows the lease. */
static mtime renewal_span(const struct token *token)
{
	bool is_holder = token->state == TOKEN_HOLDING;
	mtime delay = is_holder ? token->proven_delay : token->config.delay;

	return mtime_min(delay / TOKEN_RENEWALS, TOKEN_RENEWAL_MAX);
}

/* ---------- publishing ---------- */

static mtime wait_at(const struct token *token, mtime now)
{
	return mtime_max(token->wait_until - now, 0);
}

/* A crash of the holder is a death; a lost lease of our own is none, and an orderly leave ends the
 * row. What is left of a wait does not end with the one that waited: the holder before it may still
 * run tasks. */
static struct token_grant grant_of(const struct token *token, mtime now)
{
	const struct token_content *top = &token->top;
	bool was_ours = was_held_by_us(token, top);
	struct token_grant grant = {
		.delay = mtime_max(top->delay, token->config.delay), .window = token->next.window};

	if (top->epoch == 0)
		return grant;
	if (was_ours || top->is_orderly)
		grant.delay = was_ours ? wait_at(token, now) : top->delay;
	grant.is_orderly = top->is_orderly || was_ours;
	if (!top->is_orderly)
		grant.deaths = top->deaths + (was_ours || top->deaths == UINT32_MAX ? 0 : 1);
	if (!was_ours)
		grant.handover = top->handover;
	return grant;
}

static uint32_t deaths_at(const struct token *token, mtime now)
{
	return now - token->since >= TOKEN_DEATHS_KEPT ? 0 : token->deaths;
}

static void send_next(struct token *token, bool is_orderly, mtime now)
{
	const struct next *next = &token->next;
	const struct token_content content = {
		.holder = token->config.holder,
		.epoch = next->epoch,
		.counter = next->counter,
		.window = next->window,
		.delay = next->delay,
		.is_orderly = is_orderly,
		.deaths = next->deaths,
		.handover = text_of(token->handover, token->handover_len),
	};

	token->next.sent_at = now;
	token->is_handover_sent = token->is_handover_new;
	token->effects->publish(token->io, &content);
}

/* Higher than the one that counts and than ours before. Numbers that no honest token has begin
 * again: others would refuse a higher one, and so would this token. */
static uint64_t takeover_epoch(const struct token *token)
{
	if (token->top.epoch < token->epoch)
		return token->epoch;
	return token->top.epoch + 1 < TOKEN_NUMBER_MAX ? token->top.epoch + 1 : 1;
}

/* A token of epoch 0 names what its publisher would use, and no holder has used that. Behind it may
 * come one of ours that was requeued. */
static uint32_t window_to_name(const struct token *token)
{
	const struct token_content *top = &token->top;
	uint32_t window = token->config.window;

	if (token->state != TOKEN_TAKING && !token->is_passing_on)
		return token->window;
	if (top->epoch > 0 && top->window > window)
		window = top->window;
	if (top->epoch < token->held_epoch && token->window > window)
		window = token->window;
	return window;
}

/* Not shorter than the lease allows, nor than what is left of our own wait. */
static mtime delay_to_name(const struct token *token, mtime now)
{
	mtime delay = token->config.delay;

	if (token->is_passing_on)
		return grant_of(token, now).delay;
	if (token->state == TOKEN_LEAVING)
		return wait_at(token, now);
	if (token->state == TOKEN_TAKING)
		return mtime_max(delay, grant_of(token, now).delay);
	return mtime_max(mtime_max(delay, token->proven_delay), wait_at(token, now));
}

/* Of a new queue nothing is known but the wait. */
static bool passes_on_orderly(const struct token *token, mtime now)
{
	return token->top.epoch == 0 || grant_of(token, now).is_orderly;
}

static uint32_t deaths_to_name(const struct token *token, mtime now)
{
	if (token->is_passing_on)
		return token->top.deaths;
	return token->state == TOKEN_TAKING ? grant_of(token, now).deaths : deaths_at(token, now);
}

/* No two publishes are equal, so that a delivery shows which one it is. A publish that is not
 * answered is replaced. */
static void publish_next(struct token *token, mtime now)
{
	bool is_taking = token->state == TOKEN_TAKING || token->is_passing_on;
	bool is_orderly = token->state == TOKEN_LEAVING;
	struct next *next = &token->next;
	uint64_t epoch = token->held_epoch;

	drop_next(token);
	next->state = NEXT_WANTED;
	if (!token->publishes)
		return;
	if (is_taking)
		epoch = takeover_epoch(token);
	if (token->is_passing_on)
		is_orderly = passes_on_orderly(token, now);
	token->counter = epoch == token->epoch ? token->counter + 1 : 0;
	token->epoch = epoch;
	*next = (struct next){.state = NEXT_SENT,
		.epoch = epoch,
		.counter = token->counter,
		.deaths = deaths_to_name(token, now),
		.window = window_to_name(token),
		.delay = delay_to_name(token, now)};
	send_next(token, is_orderly, now);
}

/* Again and again, because what was in the queue may have been purged, or dropped by a policy: then
 * no other token comes. */
static void publish_zero(struct token *token, mtime now)
{
	const struct token_content zero = {
		.window = token->config.window, .delay = token->config.delay};

	if (!token->publishes || !token->is_up || token->state != TOKEN_STANDBY)
		return;
	token->zero_at = mtime_after(now, token->config.delay);
	token->effects->publish(token->io, &zero);
}

/* ---------- changes of state ---------- */

static void set_lease(const struct token *token, mtime until)
{
	token->effects->lease(token->io, until);
}

static void forget_tokens(struct token *token)
{
	token->has_top = token->is_widened = false;
	token->top_tag = token->wider_tag = 0;
	token->next = (struct next){0};
	token->requeued_at = MTIME_NEVER;
}

static void stand_by(struct token *token)
{
	token->state = TOKEN_STANDBY;
	forget_tokens(token);
}

static void take_over(struct token *token, mtime now)
{
	token->state = TOKEN_TAKING;
	publish_next(token, now);
}

/* The pool kills what it runs, so the next takeover of a token that is still ours needs no delay.
 */
static void lose_lease(struct token *token)
{
	set_lease(token, 0);
	token->effects->lost(token->io);
	token->state = TOKEN_STANDBY;
	token->handover_len = 0;
	token->is_handover_new = token->is_window_new = false;
}

static void leave_for_good(struct token *token)
{
	token->state = TOKEN_LEFT;
	forget_tokens(token);
}

static void renewed(struct token *token, mtime sent_at)
{
	token->renewed_at = mtime_max(token->renewed_at, sent_at);
	if (token->renewed_at >= token->unproven_at)
		token->unproven_at = MTIME_NEVER;
	set_lease(token, mtime_after(token->renewed_at, lease_span(token)));
}

/* A longer delay is used when a token names it, a shorter one before, and only if the broker has
 * answered in the time that it gives for a renewal: else the lease might be over at once. */
static mtime delay_proven(const struct token *token, mtime now)
{
	mtime delay = token->config.delay;
	bool is_prompt = now - token->next.sent_at < delay / TOKEN_RENEWALS;

	if (token->state == TOKEN_HOLDING && !is_prompt)
		delay = mtime_max(delay, token->proven_delay);
	return mtime_min(delay, token->next.delay);
}

static void become_holder(struct token *token, mtime sent_at, mtime now)
{
	/* The content changes hands before the effect: it is borrowed by the grant. */
	struct token_grant grant = grant_of(token, now);

	token->state = TOKEN_HOLDING;
	token->held_epoch = token->next.epoch;
	token->deaths = grant.deaths;
	token->window = grant.window;
	token->since = now;
	token->wait_until = mtime_after(now, grant.delay);
	token->renewed_at = sent_at;
	token->renew_at = mtime_after(sent_at, renewal_span(token));
	renewed(token, sent_at);
	token->effects->held(token->io, &grant);
	become_top(token);
}

/* A confirm alone is not enough: another holder may have come first, and does not see this token.
 */
static void finish_naming(struct token *token, mtime now)
{
	if (!token->is_window_new || now - token->renewed_at >= lease_span(token))
		return;
	token->is_window_new = false;
	token->effects->window_named(token->io, token->window);
}

/* Taking over, or holding. Confirmed and delivered: it counts from the moment at which it was sent.
 */
static void finish_next(struct token *token, mtime now)
{
	mtime sent_at = token->next.sent_at;

	if (!token->next.is_confirmed || !token->next.tag)
		return;
	token->proven_delay = delay_proven(token, now);
	if (token->state == TOKEN_TAKING && now - sent_at >= lease_span(token)) {
		publish_next(token, now); /* that was too long ago to prove anything */
	} else if (token->state == TOKEN_TAKING) {
		become_holder(token, sent_at, now);
	} else {
		become_top(token);
		renewed(token, sent_at);
		token->renew_at =
			mtime_min(token->renew_at, mtime_after(sent_at, renewal_span(token)));
		finish_naming(token, now);
	}
}

/* ---------- the consuming channel ---------- */

void token_up(struct token *token, mtime now)
{
	token->is_up = true;
	publish_zero(token, now);
	if (token->state == TOKEN_HOLDING)
		publish_next(token, now);
}

void token_down(struct token *token)
{
	token->is_up = false;
	token->top_tag = token->wider_tag = token->next.tag = 0;
	token->requeued_at = MTIME_NEVER;
	if (token->state == TOKEN_TAKING)
		stand_by(token);
	else if (token->state == TOKEN_STANDBY)
		forget_tokens(token);
}

/* The one that counts so far was redelivered: after a loss of the channel, or because it was
 * requeued, which proves as much as a renewal. */
static bool offer_again(struct token *token, uint64_t tag, const struct token_content *content)
{
	mtime requeued_at = token->requeued_at;

	if (!token->has_top || token->top_tag || !was_held_by_us(token, content) ||
		content->counter != token->top.counter)
		return false;
	token->top_tag = tag;
	token->requeued_at = MTIME_NEVER;
	if (requeued_at != MTIME_NEVER)
		renewed(token, requeued_at);
	return true;
}

static bool offer_next(
	struct token *token, uint64_t tag, const struct token_content *content, mtime now)
{
	struct next *next = &token->next;

	if (next->state != NEXT_SENT || !is_ours(token, content) || content->epoch != next->epoch ||
		content->counter != next->counter)
		return false;
	if (next->tag) { /* a copy of it */
		ack_tag(token, tag);
		return true;
	}
	next->tag = tag;
	finish_next(token, now);
	return true;
}

/* It counts more than the one that did. */
static void offer_higher(
	struct token *token, uint64_t tag, const struct token_content *content, mtime now)
{
	if (token->state == TOKEN_HOLDING && was_held_by_us(token, content)) {
		set_top(token, content, tag);
		return;
	}
	if (token->state == TOKEN_HOLDING)
		lose_lease(token);
	set_top(token, content, tag);
	if (token->state == TOKEN_TAKING && token->next.state == NEXT_SENT &&
		token->next.epoch > content->epoch && token->next.window >= content->window)
		return;
	take_over(token, now);
}

/* The one that counts may have been published without knowing its window: see set_top. */
static void offer_lower(
	struct token *token, uint64_t tag, const struct token_content *content, mtime now)
{
	bool is_wider = token->state == TOKEN_TAKING && content->epoch > 0 &&
			content->window > token->top.window;

	if (is_wider) {
		ack_tag(token, token->wider_tag);
		token->wider_tag = tag;
		token->top.window = content->window;
		token->is_widened = true;
		publish_next(token, now);
	} else if (token->next.is_confirmed) {
		ack_tag(token, tag);
	} else {
		ack_lower(token, tag, content->window);
	}
}

void token_offer(struct token *token, uint64_t tag, const struct token_content *content, mtime now)
{
	if (token->state == TOKEN_LEAVING || token->state == TOKEN_LEFT)
		return; /* it goes back with the channel */
	if (offer_next(token, tag, content, now) || offer_again(token, tag, content))
		return;
	/* An earlier publish of a takeover whose confirm was lost: it is followed by another one.
	 */
	bool is_stale = token->state == TOKEN_TAKING && is_ours(token, content) &&
			!was_held_by_us(token, content);
	if (is_stale || (token->has_top && !is_higher(content, &token->top)))
		offer_lower(token, tag, content, now);
	else
		offer_higher(token, tag, content, now);
}

/* ---------- the publish channel ---------- */

void token_publisher_up(struct token *token, mtime now)
{
	token->publishes = true;
	if (token->next.state == NEXT_WANTED)
		publish_next(token, now);
	else
		publish_zero(token, now);
}

void token_publisher_down(struct token *token)
{
	token->publishes = false;
	if (token->next.state == NEXT_SENT && !token->next.is_confirmed) {
		drop_next(token);
		token->next.state = NEXT_WANTED;
	}
}

void token_confirmed(struct token *token, mtime now)
{
	if (token->next.state != NEXT_SENT)
		return;
	token->next.is_confirmed = true;
	ack_tag(token, token->wider_tag);
	token->wider_tag = 0;
	if (token->is_handover_new && token->is_handover_sent) {
		token->is_handover_new = false;
		token->effects->handed_over(token->io);
	}
	if (token->state == TOKEN_LEAVING) {
		ack_tag(token, token->top_tag);
		leave_for_good(token);
	} else {
		finish_next(token, now);
	}
}

/* ---------- commands ---------- */

/* A token that we published and never held may be in the queue. It would count as a death, and hide
 * what the one before it says. */
static bool must_pass_on(const struct token *token)
{
	return token->state == TOKEN_TAKING && token->epoch > token->top.epoch;
}

static void pass_on(struct token *token, mtime now)
{
	struct text handover = grant_of(token, now).handover;

	token->is_passing_on = true;
	token->handover_len = copy_text(token->handover, sizeof token->handover, handover).len;
}

void token_leave(struct token *token, mtime now)
{
	if (token->state == TOKEN_LEAVING || token->state == TOKEN_LEFT)
		return;
	if (must_pass_on(token)) {
		pass_on(token, now);
	} else if (token->state != TOKEN_HOLDING) {
		leave_for_good(token);
		return;
	}
	set_lease(token, 0);
	token->state = TOKEN_LEAVING;
	token->leave_by = mtime_after(now, token->config.delay / 2);
	publish_next(token, now);
}

void token_configure(struct token *token, uint32_t window, mtime delay, mtime now)
{
	bool is_new = delay != token->config.delay;

	token->config.window = window;
	token->config.delay = delay;
	if (is_new && token->state == TOKEN_HOLDING)
		publish_next(token, now);
}

bool token_hand_over(struct token *token, struct text handover, mtime now)
{
	if (handover.len > sizeof token->handover)
		return false;
	token->handover_len = copy_text(token->handover, sizeof token->handover, handover).len;
	token->is_handover_new = true;
	if (token->state == TOKEN_HOLDING)
		publish_next(token, now);
	return true;
}

void token_name_window(struct token *token, uint32_t window, mtime now)
{
	if (token->state != TOKEN_HOLDING || window == token->window)
		return;
	token->window = window;
	token->is_window_new = true;
	publish_next(token, now);
}

static void requeue_top(struct token *token, mtime now)
{
	token->effects->requeue(token->io, token->top_tag);
	token->top_tag = 0;
	token->requeued_at = now;
}

void token_prove(struct token *token, mtime now)
{
	token->unproven_at = now;
	if (token->state != TOKEN_HOLDING)
		return;
	publish_next(token, now);
	if (!token->publishes && token->top_tag)
		requeue_top(token, now);
}

bool token_is_proven(const struct token *token)
{
	return token->state == TOKEN_HOLDING && token->unproven_at == MTIME_NEVER;
}

/* ---------- time ---------- */

mtime token_deadline(const struct token *token)
{
	const struct next *next = &token->next;

	if (token->state == TOKEN_LEAVING)
		return token->leave_by;
	if (token->state == TOKEN_TAKING && next->is_confirmed)
		return mtime_after(next->sent_at, renewal_span(token));
	if (token->state == TOKEN_STANDBY && token->is_up && token->publishes)
		return token->zero_at;
	if (token->state != TOKEN_HOLDING)
		return MTIME_NEVER;
	return mtime_min(token->renew_at, mtime_after(token->renewed_at, lease_span(token)));
}

/* If the latest publish had no answer for so long, or there can be none, requeue the token. One
 * that was confirmed and not delivered was purged: publish another, as in a takeover. */
static void renew_token(struct token *token, mtime now)
{
	bool is_unanswered = token->next.state != NEXT_NONE && !token->next.is_confirmed;

	token->renew_at = mtime_after(now, renewal_span(token));
	if (!token->is_up)
		return;
	if (!is_unanswered)
		publish_next(token, now);
	if ((is_unanswered || !token->publishes) && token->top_tag)
		requeue_top(token, now);
}

void token_tick(struct token *token, mtime now)
{
	if (now < token_deadline(token))
		return;
	if (token->state == TOKEN_LEAVING) {
		leave_for_good(token);
	} else if (token->state == TOKEN_STANDBY) {
		publish_zero(token, now);
	} else if (token->state == TOKEN_TAKING) {
		publish_next(token, now);
	} else if (now - token->renewed_at >= lease_span(token)) {
		lose_lease(token);
		drop_next(token);
		if (token->is_up && token->top_tag)
			take_over(token, now);
		else
			stand_by(token);
		publish_zero(token, now);
	} else {
		renew_token(token, now);
	}
}

/* ---------- facts ---------- */

struct token_facts token_facts(const struct token *token)
{
	struct token_facts facts = {
		.state = token->state, .is_held = token->state == TOKEN_HOLDING};

	if (token->has_top) {
		facts.holder = token->top.holder;
		facts.epoch = token->top.epoch;
		facts.counter = token->top.counter;
		facts.deaths = token->top.deaths;
	}
	if (facts.is_held) {
		facts.since = token->since;
		facts.renewed_at = token->renewed_at;
	}
	return facts;
}

const char *token_state_name(enum token_state state)
{
	static const char *const names[] = {
#define X(state, text) [state] = text,
		TOKEN_STATES(X)
#undef X
	};

	return names[state];
}
