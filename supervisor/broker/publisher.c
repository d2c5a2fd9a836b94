#include "broker/publisher_state.h"

#include "base/crash_point.h"
#include "broker/detour.h"
#include "message/copy.h"

#include <stdio.h>
#include <stdlib.h>

#define CODE_ACCESS_REFUSED 403

#define WAIT_FIRST    (100 * MTIME_MS)
#define WAIT_LAST     (10 * MTIME_SECOND)
#define WAIT_MAKING   MTIME_MINUTE
#define WAIT_REMAKING MTIME_SECOND       /* so that one that vanishes each time is no busy loop */
#define WAIT_APART    (2 * MTIME_SECOND) /* far longer than a publish takes to be confirmed */
#define SCRATCH_LIMIT (1024 * 1024)      /* properties only: far above any frame_max */

struct publisher *publisher_new(const struct publisher_config *config, const struct notes *notes)
{
	struct publisher *publisher = calloc(1, sizeof *publisher);

	if (!publisher)
		return NULL;
	publisher->config = config;
	publisher->notes = notes;
	publisher->retry_at = MTIME_NEVER;
	waits_init(&publisher->waits, &config->retry);
	buf_init(&publisher->scratch, SCRATCH_LIMIT);
	patience_init(&publisher->patience, WAIT_FIRST, WAIT_LAST, config->seed);
	refusals_init(&publisher->refusals, config->seed);
	return publisher;
}

void publisher_attach(struct publisher *publisher, struct pool *pool)
{
	publisher->pool = pool;
}

void publisher_free(struct publisher *publisher)
{
	if (publisher)
		buf_release(&publisher->scratch);
	free(publisher);
}

static void tell(struct publisher *publisher, mtime now, struct event event)
{
	event.outbox.epoch = publisher->epoch;
	pool_step(publisher->pool, now, &event);
}

static bool is_told_up(const struct publisher *publisher)
{
	return publisher->state == UP || publisher->state == GIVEN_UP;
}

/* The pool hears of the loss only if it heard of the channel. */
static void lose(
	struct publisher *publisher, enum publisher_state state, enum outbox_loss loss, mtime now)
{
	bool told_up = is_told_up(publisher);

	publisher->state = state;
	publisher->is_making = false;
	publisher->retry_at = MTIME_NEVER;
	if (state == WAITING)
		publisher->retry_at = mtime_after(now, patience_next(&publisher->patience));
	if (told_up)
		tell(publisher, now, (struct event){.kind = OUTBOX_DOWN, .outbox.loss = loss});
}

static void open_channel(struct publisher *publisher)
{
	publisher->state = OPENING;
	publisher->retry_at = MTIME_NEVER;
	channel_open(publisher->connection, publisher->config->channel);
}

void publisher_up(struct publisher *publisher, struct connection *connection, mtime now)
{
	publisher->connection = connection;
	if (publisher->state == ENDED)
		return;
	waits_forget(&publisher->waits);
	if (!publisher->keeps_apart) {
		open_channel(publisher);
		return;
	}
	publisher->state = WAITING;
	publisher->retry_at = mtime_after(now, patience_any(&publisher->patience, WAIT_APART));
}

void publisher_down(struct publisher *publisher, enum outbox_loss loss, mtime now)
{
	publisher->connection = NULL;
	if (publisher->state == ENDED)
		return;
	publisher->keeps_apart = loss != LOSS_CONNECTION;
	lose(publisher, OFFLINE, loss, now);
}

static void on_selected(struct publisher *publisher, mtime now)
{
	publisher->state = UP;
	publisher->epoch++;
	refusals_forget(&publisher->refusals);
	tell(publisher, now, (struct event){.kind = OUTBOX_UP});
	tell(publisher, now, (struct event){.kind = QUEUE_FOUND});
}

/* Once: a worker may ask for many waits, and the next connection finds the same. */
static void tell_of_no_right(struct publisher *publisher, const struct amqp_event *event)
{
	notes_tell(publisher->notes, publisher->told_no_right ? LOG_DEBUG : LOG_WARN,
		"queue \"%s\" for tasks that wait does not exist, and the broker does not let us "
		"make it (%u %.*s): they wait in the nearest of the pool's queues that there is "
		"(declare it as docs/retries.md says, or give the user the right to configure it; "
		"said once)",
		publisher->made, event->code, TEXT_ARGS(event->text));
	publisher->told_no_right = true;
}

/* No publish need have done it, but one may have, behind the declare: they go on one by one, or the
 * two would meet again and again, and it would never be found. */
static void on_making_refused(
	struct publisher *publisher, const struct amqp_event *event, mtime now)
{
	mtime delay;

	if (event->code == CODE_ACCESS_REFUSED &&
		retry_queue_delay(publisher->config->queue, text_from(publisher->made), &delay)) {
		tell_of_no_right(publisher, event);
		waits_refuse(&publisher->waits, delay, now);
	} else {
		publisher->make_after = mtime_after(now, WAIT_MAKING);
		notes_tell(publisher->notes, LOG_WARN,
			"the broker closed the channel on which queue \"%s\" was to be made (%u "
			"%.*s); what belongs there waits, its tasks unacked, until it is there "
			"(declare it as docs/retries.md says, or give the user the right to "
			"configure it; trying again in a minute)",
			publisher->made, event->code, TEXT_ARGS(event->text));
	}
	lose(publisher, WAITING, LOSS_SHARED, now);
}

static void on_closed(struct publisher *publisher, const struct amqp_event *event, mtime now)
{
	if (publisher->is_making) {
		on_making_refused(publisher, event, now);
		return;
	}
	notes_tell(publisher->notes, LOG_WARN,
		"the broker closed the publishing channel (%u %.*s); opening it again and "
		"publishing "
		"what was not confirmed once more, one by one",
		event->code, TEXT_ARGS(event->text));
	/* What was given up was counted as published and is not: it must not be blamed. */
	lose(publisher, WAITING, publisher->state == UP ? LOSS_CHANNEL : LOSS_CONNECTION, now);
}

static void on_confirm(struct publisher *publisher, const struct amqp_event *amqp, mtime now)
{
	struct event event = {.kind = amqp->positive ? CONFIRMED : REFUSED};

	if (!is_told_up(publisher))
		return;
	CRASH_POINT("confirm-received");
	patience_reset(&publisher->patience);
	refusals_note(&publisher->refusals, !amqp->positive, now);
	event.outbox.seq = amqp->tag;
	event.outbox.multiple = amqp->multiple;
	tell(publisher, now, event);
	CRASH_POINT("confirm-counted");
}

/* One at a time: what came back for another is published again, and comes back again. */
static bool may_make(struct publisher *publisher, struct text name, mtime now)
{
	bool is_same = text_is(name, text_from(publisher->made));

	if (publisher->is_making || now < publisher->make_after ||
		(is_same && now < publisher->made_again))
		return false;
	publisher->is_making = true;
	snprintf(publisher->made, sizeof publisher->made, "%.*s", TEXT_ARGS(name));
	return true;
}

static void make_dead_letter_queue(struct publisher *publisher, mtime now)
{
	const struct publisher_config *config = publisher->config;

	if (!may_make(publisher, config->dead_letter, now))
		return;
	notes_tell(publisher->notes, LOG_WARN,
		"queue \"%s\" for dead letters is gone; making it again", publisher->made);
	topology_make(publisher->connection, config->channel, config->dead_letter);
}

static void make_retry_queue(struct publisher *publisher, struct text name, mtime delay, mtime now)
{
	const struct publisher_config *config = publisher->config;

	if (!may_make(publisher, name, now))
		return;
	notes_tell(publisher->notes, LOG_INFO,
		"queue \"%s\" for tasks that wait does not exist; making it", publisher->made);
	topology_make_retry(publisher->connection, config->channel, name, config->queue, delay,
		config->retry.jitter);
}

/* True: another queue takes what came back. A worker may name any queue for its reply: only those
 * that a copy of ours goes to are made. */
static bool miss_retry_queue(struct publisher *publisher, struct text name, mtime delay, mtime now)
{
	if (!waits_has(&publisher->waits, delay))
		return false;
	if (waits_may_make(&publisher->waits)) {
		make_retry_queue(publisher, name, delay, now);
		return false;
	}
	waits_miss(&publisher->waits, delay, now);
	return waits_choose(&publisher->waits, delay) != delay;
}

static void on_return(struct publisher *publisher, const struct amqp_event *amqp, mtime now)
{
	struct event event = {.kind = RETURNED};
	struct text name = amqp->routing_key, dead_letter = publisher->config->dead_letter;
	mtime delay;

	if (dead_letter.len && text_is(name, dead_letter))
		make_dead_letter_queue(publisher, now);
	else if (retry_queue_delay(publisher->config->queue, name, &delay))
		event.outbox.again = miss_retry_queue(publisher, name, delay, now);

	event.outbox.seq = copy_returned_seq(amqp->content.properties);
	free(amqp->content.owner);
	if (event.outbox.seq && is_told_up(publisher))
		tell(publisher, now, event);
}

static void on_made(struct publisher *publisher, mtime now)
{
	publisher->is_making = false;
	publisher->made_again = mtime_after(now, WAIT_REMAKING);
	if (is_told_up(publisher))
		tell(publisher, now, (struct event){.kind = QUEUE_FOUND});
}

void publisher_on_event(struct publisher *publisher, const struct amqp_event *event, mtime now)
{
	if (publisher->state == ENDED)
		return; /* of a channel that closes nothing is told but that */
	switch (event->kind) {
	case AMQP_CONFIRM:
		on_confirm(publisher, event, now);
		break;
	case AMQP_RETURN:
		on_return(publisher, event, now);
		break;
	case AMQP_CHANNEL_OPENED:
		publisher->state = SELECTING;
		channel_confirm_select(publisher->connection, publisher->config->channel);
		break;
	case AMQP_CONFIRM_SELECTED:
		on_selected(publisher, now);
		break;
	case AMQP_QUEUE_DECLARED:
		on_made(publisher, now);
		break;
	case AMQP_CHANNEL_CLOSED:
		on_closed(publisher, event, now);
		break;
	case AMQP_CHANNEL_CLOSE_OK: /* of our own, after GIVEN_UP; until now it could not open */
		if (publisher->state == OPENING)
			open_channel(publisher);
		break;
	default: /* what belongs to a connection or to a consuming channel */
		break;
	}
}

uint8_t *publisher_content_memory(size_t len, void **ret_owner)
{
	uint8_t *memory = malloc(len ? len : 1);

	if (memory)
		*ret_owner = memory;
	return memory;
}

void publisher_publish(struct publisher *publisher, const struct parcel *parcel)
{
	struct copy_options options = {.queue = publisher->config->queue,
		.dead_letter = publisher->config->dead_letter,
		.now_s = publisher->wall_s};
	struct amqp_publish publish;
	struct detour detour;
	mtime delay = 0;

	if (publisher->state != UP)
		return; /* given up in this turn: the pool sends it again after the next UP */
	options.frame_max = connection_frame_max(publisher->connection);
	if (parcel->kind == PARCEL_RETRY)
		delay = waits_choose(&publisher->waits, parcel->delay);
	if (delay > 0)
		detour_plan(&detour, publisher->config, &publisher->patience, delay, &options);
	if (copy_build(parcel, &options, &publisher->scratch, &publish) == RC_OK) {
		channel_publish(publisher->connection, publisher->config->channel, &publish);
		CRASH_POINT("copy-published");
		return;
	}
	publisher->state = GIVEN_UP;
	publisher->retry_at = 0;
}

void publisher_set_wall(struct publisher *publisher, uint64_t wall_s)
{
	publisher->wall_s = wall_s;
}

/* While nothing is unconfirmed: then nothing is published twice over it. What the channel refuses
 * holds its tasks, so that such a moment comes. */
static mtime renewal(const struct publisher *publisher)
{
	bool is_stuck = publisher->state == UP && pool_is_refused(publisher->pool);
	return is_stuck ? publisher->refusals.renew_at : MTIME_NEVER;
}

mtime publisher_deadline(const struct publisher *publisher)
{
	return mtime_min(publisher->retry_at, renewal(publisher));
}

static void give_up(struct publisher *publisher, mtime now)
{
	if (publisher->state == GIVEN_UP)
		notes_tell(publisher->notes, LOG_ERROR,
			"out of memory for a publish; opening the channel again in a moment and "
			"publishing what was not confirmed once more");
	else
		notes_tell(publisher->notes, LOG_INFO,
			"the broker has refused publishes on this channel for a while; trying "
			"another one");
	channel_close(publisher->connection, publisher->config->channel);
	lose(publisher, WAITING, LOSS_CONNECTION, now);
}

void publisher_tick(struct publisher *publisher, mtime now)
{
	waits_tick(&publisher->waits, now);
	if (now < publisher_deadline(publisher))
		return;
	if (is_told_up(publisher))
		give_up(publisher, now);
	else
		open_channel(publisher);
}
