#include "core/tasks/source.h"

#include <assert.h>

/* Acks are sent together: on our side alone, a write to the broker costs as much as three tasks,
 * and one ack with `multiple` serves all that are in order. So acks wait for each other, but not if
 * the window is too full for the broker to go on, nor if nothing else is open. In a wide
 * window, acks out of order wait longer: single acks cost a broker twice as much, and a classic
 * queue searches for each of them from its oldest delivery on. */
#define ACKS_TOGETHER   64
#define SHARE_OF_WINDOW 8
#define SINGLES_SHARE   2
#define WIDE_WINDOW     256
#define ACK_WAIT        (10 * MTIME_MS)

/* Tasks of sessions end in another order than they came: those of one key run in a row, and one key
 * may have many. But when one of these ends, one ack covers all that others did meanwhile. So acks
 * out of order wait longer; and while acks in order come at this rate, they wait for them for as
 * long as it takes, in a full window, too: then tasks of one key, which run one at a time, limit
 * the rate, and other messages could not raise it for long. */
#define ACK_WAIT_IN_SESSIONS (5 * ACK_WAIT)
#define ORDERED_IN_ACK_WAIT  16
#define ORDERED_ACK_GAP      MTIME_MS
#define SHARE_FOR_SPACE      4

/* Acks of accepted tasks wait for each other only where tasks are short, and not for long: until
 * the broker has the ack, the death of this supervisor has the task begin again. */
#define ACCEPTED_WAIT (2 * MTIME_MS)

void source_init(struct source *source, bool has_sessions, const struct effects *effects, void *io)
{
	/* Older than 0: io may number epochs from 0 or from 1. */
	*source = (struct source){.effects = effects,
		.io = io,
		.has_sessions = has_sessions,
		.epoch = UINT32_MAX,
		.request = SOURCE_UNDECIDED,
		.released_since = MTIME_NEVER,
		.accepted_since = MTIME_NEVER};
	list_init(&source->unacked);
	list_init(&source->released);
	list_init(&source->accepted);
	list_init(&source->acked);
}

static void set_request(struct source *source, enum source_request request)
{
	assert(source->request != SOURCE_CLOSE);
	source->request = request;
	source->effects->source(source->io, source->request, source->window);
}

void source_consume(struct source *source, uint32_t window)
{
	source->window = window;
	set_request(source, SOURCE_CONSUME);
	if (source->state == SOURCE_IS_RESTED)
		source->state = SOURCE_IS_CONSUMING;
}

void source_exclude_unacked(struct source *source)
{
	source->excluded_tag = source->last_tag;
	source->excluded = source->open;
}

void source_rest(struct source *source)
{
	set_request(source, SOURCE_REST);
}

static void end_channel(struct source *source, enum source_request request)
{
	set_request(source, request);
	if (source->state != SOURCE_IS_ABSENT)
		source->state = SOURCE_IS_CLOSING;
}

void source_leave(struct source *source)
{
	source_flush(source);
	end_channel(source, SOURCE_LEAVE);
}

void source_close(struct source *source)
{
	end_channel(source, SOURCE_CLOSE);
}

bool source_is_current(const struct source *source, uint32_t epoch)
{
	return source->state != SOURCE_IS_ABSENT && source->epoch == epoch;
}

bool source_is_newer(const struct source *source, uint32_t epoch)
{
	return (int32_t)(epoch - source->epoch) > 0;
}

void source_up(struct source *source, uint32_t epoch)
{
	assert(source->state == SOURCE_IS_ABSENT && source_is_newer(source, epoch));
	source->epoch = epoch;
	source->last_tag = 0;
	source->excluded_tag = 0;
	source->has_gap = false;
	bool is_closing = source->request == SOURCE_CLOSE || source->request == SOURCE_LEAVE;
	source->state = is_closing ? SOURCE_IS_CLOSING : SOURCE_IS_CONSUMING;
	/* The request changed while the channel was being opened. */
	if (is_closing || source->request == SOURCE_REST)
		source->effects->source(source->io, source->request, source->window);
}

void source_rested(struct source *source)
{
	/* An answer to an older request is ignored. */
	if (source->request == SOURCE_REST && source->state == SOURCE_IS_CONSUMING)
		source->state = SOURCE_IS_RESTED;
}

void source_down(struct source *source)
{
	assert(list_is_empty(&source->unacked) && list_is_empty(&source->released));
	assert(list_is_empty(&source->accepted));
	assert(source->open == 0 && source->bytes == 0);
	assert(source->excluded == 0 && source->released_count == 0);
	source->released_since = MTIME_NEVER;
	source->accepted_since = MTIME_NEVER;
	source->state = SOURCE_IS_ABSENT;
}

void source_open(struct source *source, struct delivery *delivery)
{
	assert(delivery->tag > source->last_tag);
	if (delivery->tag != source->last_tag + 1)
		source->has_gap = true;
	source->last_tag = delivery->tag;
	delivery->source = source;
	list_append(&source->unacked, &delivery->unacked);
	source->open++;
	delivery->content = delivery->properties.len + delivery->body.len;
	source->bytes += delivery->content;
}

void source_release(struct delivery *delivery)
{
	assert(delivery->source && delivery->state != DELIVERY_RELEASED);
	delivery->state = DELIVERY_RELEASED;
	list_remove(&delivery->released);
	list_append(&delivery->source->released, &delivery->released);
	delivery->source->released_count++;
}

void source_accept(struct delivery *delivery, mtime now)
{
	struct source *source = delivery->source;
	assert(source && delivery->state == DELIVERY_SENT && !delivery->is_accepted);
	delivery->is_accepted = true;
	list_append(&source->accepted, &delivery->released);
	source->accepted_since = mtime_min(source->accepted_since, now);
}

void source_forget(struct delivery *delivery)
{
	list_remove(&delivery->released);
	list_remove(&delivery->unacked);
	delivery->source->open--;
	delivery->source->bytes -= delivery->content;
	delivery->source->released_count -= delivery->state == DELIVERY_RELEASED;
	if (delivery->tag <= delivery->source->excluded_tag)
		delivery->source->excluded--;
	delivery->source = NULL;
}

void source_reject(struct delivery *delivery, enum reject how)
{
	struct source *source = delivery->source;
	assert(source->state == SOURCE_IS_CONSUMING || source->state == SOURCE_IS_RESTED);
	assert(delivery->state != DELIVERY_RELEASED);
	source->effects->reject(source->io, delivery->tag, how);
	source_forget(delivery);
	delivery_free(delivery);
}

/* It was acked or rejected. */
static void drop(struct source *source, struct delivery *delivery)
{
	source_forget(delivery);
	if (delivery->is_accepted)
		return;
	if (delivery->session)
		list_append(&source->acked, &delivery->released);
	else
		delivery_free(delivery);
}

static void settle(struct source *source, struct delivery *delivery)
{
	if (delivery->is_rejected)
		source->effects->reject(source->io, delivery->tag, REJECT_DEAD_LETTER);
	else
		source->effects->ack(source->io, delivery->tag, false);
	drop(source, delivery);
}

/* Not with a gap in the tags: a `multiple` settles every lower tag that is still open at the
 * broker, and one of these may be a delivery that we never received. */
static void flush_prefix(struct source *source)
{
	struct link *link;
	uint64_t highest = 0;
	uint32_t count = 0;
	while ((link = list_first(&source->unacked))) {
		struct delivery *delivery = CONTAINER_OF(link, struct delivery, unacked);
		bool is_settled = delivery->state == DELIVERY_RELEASED || delivery->is_accepted;
		if (!is_settled || delivery->is_rejected)
			break;
		highest = delivery->tag;
		count++;
		drop(source, delivery);
	}
	if (count)
		source->effects->ack(source->io, highest, count > 1);
	source->ordered += count;
}

static bool may_ack(const struct source *source)
{
	return source->state == SOURCE_IS_CONSUMING || source->state == SOURCE_IS_RESTED;
}

static void flush_singly(struct source *source, struct link *list)
{
	struct link *first;
	while ((first = list_first(list)))
		settle(source, CONTAINER_OF(first, struct delivery, released));
}

/* One ack for those in order includes what is released before them. */
static void flush_accepted(struct source *source)
{
	assert(may_ack(source));
	if (!source->has_gap)
		flush_prefix(source);
	flush_singly(source, &source->accepted);
	source->accepted_since = MTIME_NEVER;
	if (!source->released_count)
		source->released_since = MTIME_NEVER;
}

void source_flush(struct source *source)
{
	if (!may_ack(source))
		return;
	flush_accepted(source);
	flush_singly(source, &source->released);
	source->released_since = MTIME_NEVER;
}

static bool waits_for_order(const struct source *source)
{
	return source->has_sessions && source->window >= WIDE_WINDOW;
}

static bool may_wait(const struct source *source, bool is_hungry)
{
	bool has_space = source->open < source->window;
	uint32_t share = source->window >= WIDE_WINDOW ? SINGLES_SHARE : SHARE_OF_WINDOW;
	if (source->request != SOURCE_CONSUME || source->has_gap ||
		source->released_count >= source->open)
		return false;
	return waits_for_order(source) ||
	       ((has_space || !is_hungry) && source->released_count * share < source->window);
}

static void measure_order(struct source *source, mtime now)
{
	mtime span = now - source->measured_at;
	if (span < ACK_WAIT)
		return;
	bool is_fast = (mtime)source->ordered * ACK_WAIT >= ORDERED_IN_ACK_WAIT * span;
	source->is_ordered = is_fast && waits_for_order(source);
	source->ordered = 0;
	source->measured_at = now;
}

static bool is_prefix_due(const struct source *source, mtime now)
{
	bool is_enough = source->released_count >= ACKS_TOGETHER ||
			 source->released_count * SHARE_OF_WINDOW >= source->window;
	return is_enough &&
	       (!waits_for_order(source) || now - source->ordered_at >= ORDERED_ACK_GAP);
}

/* Ack those that have waited for a whole round; the others wait for one more. */
static void flush_aged(struct source *source, mtime now)
{
	struct link *next;
	mtime wait = waits_for_order(source) ? ACK_WAIT_IN_SESSIONS : ACK_WAIT;
	if (source->is_ordered)
		source->aged_at = now;
	if (now - source->aged_at < wait)
		return;
	source->aged_at = now;
	for (struct link *link = source->released.next; link != &source->released; link = next) {
		struct delivery *delivery = CONTAINER_OF(link, struct delivery, released);
		next = link->next;
		if (delivery->is_aged)
			settle(source, delivery);
		else
			delivery->is_aged = true;
	}
}

/* Acks in order do not come, and the broker can send nothing: ack singly so many that it can, the
 * earliest ones: the broker searches for each from its oldest delivery on. */
static void make_space(struct source *source)
{
	flush_prefix(source);
	for (uint32_t left = source->window / SHARE_FOR_SPACE; left > 0 && source->released_count;
		left--)
		settle(source, CONTAINER_OF(source->released.next, struct delivery, released));
}

void source_flush_due(struct source *source, bool is_hungry, bool is_short, mtime now)
{
	if (source->has_sessions)
		measure_order(source, now);
	if (!is_short && !list_is_empty(&source->accepted))
		flush_accepted(source);
	bool is_accepted_due = now - source->accepted_since >= ACCEPTED_WAIT;
	if (is_accepted_due || !may_wait(source, is_hungry)) {
		source_flush(source);
		return;
	}
	if (!source->released_count)
		return;
	if (source->released_since == MTIME_NEVER)
		source->released_since = source->aged_at = now;
	bool is_due = now - source->released_since >= ACK_WAIT;
	if (is_due || is_prefix_due(source, now)) {
		flush_prefix(source);
		source->ordered_at = now;
	}
	if (is_due) {
		flush_aged(source, now);
		source->released_since = now;
	}
	if (source->open >= source->window && is_hungry && !source->is_ordered)
		make_space(source);
	if (!source->released_count)
		source->released_since = MTIME_NEVER;
}

mtime source_deadline(const struct source *source)
{
	mtime released = mtime_after(source->released_since, ACK_WAIT);
	mtime accepted = mtime_after(source->accepted_since, ACCEPTED_WAIT);
	return may_ack(source) ? mtime_min(released, accepted) : MTIME_NEVER;
}
