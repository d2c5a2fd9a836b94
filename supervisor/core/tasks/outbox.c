#include "core/tasks/outbox.h"

#include "core/effects.h"
#include "core/tasks/retry.h"

#include <assert.h>
#include <stdlib.h>

/* A connection may be closed with an error for another reason than a publish. */
#define LOSSES_ENOUGH 3

enum rc outbox_init(struct outbox *outbox, const struct effects *effects, void *io)
{
	*outbox = (struct outbox){.effects = effects, .io = io, .epoch = UINT32_MAX};
	list_init(&outbox->sent);
	list_init(&outbox->probes);
	list_init(&outbox->waiting);
	for (unsigned step = 0; step < FAILURE_WAIT_STEPS; step++)
		list_init(&outbox->later[step]);
	return number_table_init(&outbox->by_seq);
}

void outbox_release(struct outbox *outbox)
{
	number_table_release(&outbox->by_seq);
	*outbox = (struct outbox){0};
}

bool outbox_is_current(const struct outbox *outbox, uint32_t epoch)
{
	return outbox->state != OUTBOX_IS_DOWN && outbox->epoch == epoch;
}

static struct parcel *first_of(const struct link *list)
{
	struct link *first = list_first(list);
	return first ? CONTAINER_OF(first, struct parcel, order) : NULL;
}

static size_t parcel_size(const struct parcel *parcel)
{
	return delivery_size(parcel->delivery) + (parcel->output ? output_size(parcel->output) : 0);
}

/* The channel may have been away since its delay was decided, or no queue took it. When its time
 * has come, it needs none but the pool's. */
static void choose_step(struct outbox *outbox, struct parcel *parcel)
{
	int64_t now_ms = outbox->effects->wall_ms(outbox->io);
	int64_t left_ms = parcel->delivery->not_before_ms - now_ms;
	parcel->delay = left_ms > 0 ? wait_step(left_ms) : 0;
}

static void publish(struct outbox *outbox, struct parcel *parcel)
{
	if (parcel->kind == PARCEL_LATER)
		choose_step(outbox, parcel);
	list_remove(&parcel->order);
	number_table_add(&outbox->by_seq, &parcel->seq, ++outbox->last_seq);
	parcel->returned = RETURNED_NOT;
	list_append(&outbox->sent, &parcel->order);
	outbox->sent_bytes += parcel_size(parcel);
	outbox->effects->publish(outbox->io, parcel);
}

/* Take it out of the table and the sums; it stays in its list. */
static void unsend(struct outbox *outbox, struct parcel *parcel)
{
	number_table_remove(&outbox->by_seq, &parcel->seq);
	outbox->sent_bytes -= parcel_size(parcel);
}

static bool fits(const struct outbox *outbox, const struct parcel *parcel)
{
	return outbox_sent_count(outbox) == 0 ||
	       outbox->sent_bytes + parcel_size(parcel) <= OUTBOX_SENT_MAX;
}

/* A probe is alone on the channel: it is sent when nothing else is open, and nothing follows it
 * before its confirm. So it alone can be blamed for what happens to the channel. */
static void pump(struct outbox *outbox)
{
	struct parcel *parcel;
	if (outbox->state == OUTBOX_IS_DOWN)
		return;
	if (outbox->state == OUTBOX_IS_PROBING || !list_is_empty(&outbox->probes)) {
		if (outbox_sent_count(outbox))
			return;
		parcel = first_of(&outbox->probes);
		outbox->state = parcel ? OUTBOX_IS_PROBING : OUTBOX_IS_UP;
		if (parcel)
			publish(outbox, parcel);
	}
	while (outbox->state == OUTBOX_IS_UP && (parcel = first_of(&outbox->waiting)) &&
		fits(outbox, parcel))
		publish(outbox, parcel);
}

bool outbox_is_newer(const struct outbox *outbox, uint32_t epoch)
{
	return (int32_t)(epoch - outbox->epoch) > 0;
}

void outbox_up(struct outbox *outbox, uint32_t epoch)
{
	assert(outbox->state == OUTBOX_IS_DOWN && outbox_sent_count(outbox) == 0 &&
		outbox_is_newer(outbox, epoch));
	outbox->epoch = epoch;
	outbox->last_seq = 0;
	outbox->state = OUTBOX_IS_UP;
	pump(outbox);
}

/* Return the parcel that closed the channel, or NULL: it is known only if it was alone. */
static struct parcel *find_culprit(struct outbox *outbox, enum outbox_loss loss)
{
	struct parcel *alone = first_of(&outbox->sent);
	bool is_channel_loss = loss == LOSS_CHANNEL || loss == LOSS_CLOSED;
	if (outbox_sent_count(outbox) != 1 || !delivery_is_live(alone->delivery) ||
		!is_channel_loss)
		return NULL;
	if (loss == LOSS_CHANNEL)
		alone->losses = LOSSES_ENOUGH;
	else if (alone->losses < LOSSES_ENOUGH)
		alone->losses++;
	return alone->losses == LOSSES_ENOUGH ? alone : NULL;
}

struct parcel *outbox_down(struct outbox *outbox, enum outbox_loss loss, struct link *ret_orphans)
{
	struct parcel *culprit = find_culprit(outbox, loss);
	bool is_blamed = loss != LOSS_CONNECTION || outbox->state == OUTBOX_IS_PROBING;
	struct link *home = is_blamed ? &outbox->probes : &outbox->waiting;
	while (!list_is_empty(&outbox->sent)) {
		struct parcel *last = CONTAINER_OF(outbox->sent.prev, struct parcel, order);
		if (delivery_is_live(last->delivery)) {
			unsend(outbox, last);
			list_remove(&last->order);
			list_prepend(home, &last->order);
		} else {
			outbox_take(outbox, last);
			list_prepend(ret_orphans, &last->order);
		}
	}
	outbox->state = OUTBOX_IS_DOWN;
	if (culprit)
		outbox_take(outbox, culprit);
	return culprit;
}

static void count_in(struct outbox *outbox, struct parcel *parcel)
{
	outbox->count++;
	outbox->bytes += parcel_size(parcel);
}

void outbox_put(struct outbox *outbox, struct parcel *parcel)
{
	count_in(outbox, parcel);
	list_append(&outbox->waiting, &parcel->order);
	pump(outbox);
}

void outbox_put_later(struct outbox *outbox, struct parcel *parcel, unsigned step, mtime now)
{
	count_in(outbox, parcel);
	parcel->due = mtime_after(now, failure_wait(step));
	list_append(&outbox->later[step], &parcel->order);
}

struct parcel *outbox_oldest(const struct outbox *outbox)
{
	return first_of(&outbox->sent);
}

struct parcel *outbox_find(const struct outbox *outbox, uint64_t seq)
{
	struct numbered *found = number_table_find(&outbox->by_seq, seq);
	return found ? CONTAINER_OF(found, struct parcel, seq) : NULL;
}

static void each_of(struct link *list, void (*on_parcel)(void *ctx, struct parcel *), void *ctx)
{
	for (struct link *link = list->next; link != list; link = link->next)
		on_parcel(ctx, CONTAINER_OF(link, struct parcel, order));
}

void outbox_each(struct outbox *outbox, void (*on_parcel)(void *ctx, struct parcel *), void *ctx)
{
	each_of(&outbox->sent, on_parcel, ctx);
	each_of(&outbox->probes, on_parcel, ctx);
	each_of(&outbox->waiting, on_parcel, ctx);
	for (unsigned step = 0; step < FAILURE_WAIT_STEPS; step++)
		each_of(&outbox->later[step], on_parcel, ctx);
}

void outbox_take(struct outbox *outbox, struct parcel *parcel)
{
	if (parcel->seq.number)
		unsend(outbox, parcel);
	list_remove(&parcel->order);
	outbox->count--;
	outbox->bytes -= parcel_size(parcel);
}

static void end_wait(struct outbox *outbox, struct parcel *parcel)
{
	bool is_probe = parcel->losses == LOSSES_ENOUGH;
	list_remove(&parcel->order);
	list_append(is_probe ? &outbox->probes : &outbox->waiting, &parcel->order);
}

void outbox_resend_returned(struct outbox *outbox)
{
	struct link *link, *next;
	for (link = outbox->sent.next; link != &outbox->sent; link = link->next) {
		struct parcel *parcel = CONTAINER_OF(link, struct parcel, order);
		parcel->returned = parcel->returned ? RETURNED_RESEND : RETURNED_NOT;
	}
	for (unsigned step = 0; step < FAILURE_WAIT_STEPS; step++) {
		struct link *later = &outbox->later[step];
		for (link = later->next; link != later; link = next) {
			struct parcel *parcel = CONTAINER_OF(link, struct parcel, order);
			next = link->next;
			if (parcel->returned)
				end_wait(outbox, parcel);
		}
	}
	pump(outbox);
}

void outbox_tick(struct outbox *outbox, mtime now)
{
	for (unsigned step = 0;
		outbox->count > outbox_sent_count(outbox) && step < FAILURE_WAIT_STEPS; step++) {
		struct parcel *parcel;
		while ((parcel = first_of(&outbox->later[step])) && parcel->due <= now)
			end_wait(outbox, parcel);
	}
	pump(outbox);
}

mtime outbox_deadline(const struct outbox *outbox)
{
	mtime deadline = MTIME_NEVER;
	for (unsigned step = 0;
		outbox->count > outbox_sent_count(outbox) && step < FAILURE_WAIT_STEPS; step++) {
		const struct parcel *first = first_of(&outbox->later[step]);
		if (first)
			deadline = mtime_min(deadline, first->due);
	}
	return deadline;
}
