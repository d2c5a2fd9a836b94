#include "dead_letters/reader.h"

#include "amqp/channel.h"
#include "amqp/table.h"
#include "base/log.h"
#include "base/utf8.h"
#include "config/dead_letter.h"
#include "os/clock.h"
#include "tty/cli_options.h"
#include "tty/console.h"

#include <inttypes.h>
#include <stdio.h>
#include <sysexits.h>

/* ---------- the window ---------- */

#define FREE_MIN   16 /* places in the window, whatever the messages' size */
#define FREE_MAX   1024
#define FREE_BYTES (64u * 1024 * 1024)

static uint64_t min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The window has enough free places to keep the connection busy. Each step is limited in bytes,
 * because the broker loads a whole step into memory at once. A step is about as wide as the window,
 * up to READER_STEP_MAX, because the number of consumers is limited too. */
uint32_t reader_window(uint32_t now, uint64_t held, uint64_t wanted, uint64_t mean)
{
	uint64_t places = min(max(FREE_BYTES / (mean + 1), FREE_MIN), FREE_MAX);
	uint64_t step = FREE_MIN;
	if (now > 0) {
		if (now - held >= places / 2)
			return now;
		uint64_t twice = min(now, DEAD_LETTERS_BYTES_MAX / (mean + 1));
		step = min(max(places, twice), 4 * (uint64_t)now);
	}
	uint64_t wide = min(min(now + min(step, READER_STEP_MAX), wanted), READER_WINDOW_MAX);
	return (uint32_t)max(wide, now);
}

static uint64_t held_of(const struct reader *r)
{
	return r->looked - r->acked - r->waiting;
}

/* The window should hold all messages that may still come or be settled, and no more. */
static void widen(struct reader *r)
{
	uint32_t now = subscriptions_window(&r->subscriptions);
	uint64_t unsettled = r->looked - r->acked, rest = r->count - r->looked;
	if (!r->is_sated && !matches_are_any(&r->what->matches))
		rest = min(rest, r->what->limit - r->matched);
	uint32_t window = reader_window(
		now, held_of(r), unsettled + rest, r->looked > 0 ? r->bytes / r->looked : 0);
	if (window > now && r->subscriptions.count < READER_CONSUMERS_MAX)
		subscriptions_widen(&r->subscriptions, r->client.connection, READER_CHANNEL,
			r->what->queue, window);
}

/* Wait for the answers to the requests that widened the window before the barrier begins. */
static void synchronize(struct reader *r)
{
	if (r->consumers < r->subscriptions.generation)
		return;
	if (r->acked > 0 && subscriptions_synchronize(&r->subscriptions, r->client.connection,
				    READER_CHANNEL, r->what->queue))
		return;
	r->is_synced = true;
	r->state = READER_CLOSING;
	channel_close(r->client.connection, READER_CHANNEL);
}

/* ---------- the reader's life ---------- */

#define TICK        0.25 /* seconds */
#define CHECK_PAUSE 0.02 /* seconds between two looks at a queue that gets its messages back */
#define CHECK_LIMIT (3 * MTIME_SECOND)
/* How long to wait if no message comes and the queue reports none: it also reports none while it
 * reads large messages for us. */
#define IDLE_EMPTY    (3 * MTIME_SECOND)
#define PRINT(...)    console_problem(DEAD_LETTERS_COMMAND, __VA_ARGS__)
#define QUEUE_ARGS(r) TEXT_ARGS((r)->what->queue)

static void reader_over(struct reader *r)
{
	if (r->state == READER_OVER)
		return;
	r->state = READER_OVER;
	broker_client_close(&r->client);
}

static void reader_fail(struct reader *r, int exit_code)
{
	r->exit_code = exit_code;
	reader_over(r);
}

static void declare(struct reader *r)
{
	channel_declare_queue(r->client.connection, READER_CHANNEL,
		&(struct amqp_queue){.name = r->what->queue, .passive = true});
}

static void advance(struct reader *r)
{
	if (r->matched >= r->what->limit)
		r->is_sated = true;
	bool has_read_all = r->looked == r->count || (r->is_sated && r->is_past_returned);
	if (r->state == READER_READING && has_read_all)
		r->state = READER_SETTLING;
	if (r->state == READER_READING) {
		widen(r);
		if (held_of(r) == subscriptions_window(&r->subscriptions)) {
			if (!r->is_sated)
				r->short_of = "no more can be held unacknowledged at once; replay "
					      "or drop some, then look again";
			r->state = READER_SETTLING;
		}
	}
	if (r->state == READER_SETTLING && r->waiting == 0) {
		r->state = READER_SYNCING;
		synchronize(r);
	}
}

void reader_stop(struct reader *r, int exit_code, const char *reason)
{
	if (r->state >= READER_SETTLING || r->is_sated)
		return;
	if (exit_code != EX_OK)
		r->exit_code = exit_code;
	r->short_of = reason;
	r->is_sated = true;
	if (r->state != READER_READING)
		reader_over(r);
}

/* Stop now, without reading on. */
static void reader_end_now(struct reader *r, const char *reason)
{
	reader_stop(r, EX_TEMPFAIL, reason);
	if (r->state == READER_READING)
		r->state = READER_SETTLING;
}

void reader_settle(struct reader *r, uint64_t tag, bool goes)
{
	r->waiting--;
	if (!goes)
		return;
	r->acked++;
	channel_ack(r->client.connection, READER_CHANNEL, tag, false);
}

static void begin_reading(struct reader *r)
{
	r->state = READER_READING;
	r->idle_since = clock_now();
	r->tick.repeat = TICK;
	ev_timer_again(r->client.loop, &r->tick);
	advance(r);
}

/* A quorum queue counts how often a message was handed back; other queues keep their order. */
static void count_returns(struct reader *r, const struct dead_letter *letter)
{
	struct table_field field;
	int64_t returns;
	r->is_past_returned = true;
	for (size_t i = 0; i < DEAD_LETTER_COUNTERS; i++) {
		if (!table_find(letter->headers, dead_letter_counters[i], &field) ||
			!table_field_integer(&field, &returns) || returns < 1)
			continue;
		if ((uint64_t)returns > r->returns)
			r->returns = (uint64_t)returns;
		r->is_past_returned = false;
	}
}

static void handle_letter(struct reader *r, const struct amqp_event *event)
{
	struct dead_letter letter;
	if (r->state != READER_READING || r->looked == r->count)
		return;
	dead_letter_read(&letter, event, ++r->looked);
	r->bytes += letter.body.len;
	count_returns(r, &letter);
	matches_mark_seen(&r->what->matches, &letter, &r->seen);
	if (r->is_sated)
		return;
	switch (matches_meet(&r->what->matches, &letter)) {
	case MATCH_NO:
		return;
	case MATCH_MEMORY:
		reader_stop(r, EX_OSERR, "out of memory");
		return;
	case MATCH_YES:
		break;
	}
	r->matched++;
	r->waiting++;
	enum reader_fate fate = r->handler->on_letter(r->ctx, &letter);
	if (fate != READER_WAITS)
		reader_settle(r, letter.tag, fate == READER_GOES);
}

/* Another consumer may have taken some messages, or may have the queue for itself. */
static void check_idle(struct reader *r, uint32_t ready)
{
	mtime idle = clock_now() - r->idle_since;
	if (r->looked != r->looked_before || r->waiting > 0)
		return;
	if (ready == 0 && idle >= IDLE_EMPTY)
		reader_end_now(r, "another consumer has taken the others");
	else if (idle >= r->what->wait)
		reader_end_now(r, "the broker sends no more; another consumer may have the queue "
				  "for itself");
}

static void on_declared(struct reader *r, uint32_t ready)
{
	switch (r->state) {
	case READER_COUNTING:
		r->count = ready;
		if (ready == 0 || r->what->limit == 0) {
			reader_over(r);
		} else if (r->handler->on_answer) {
			r->state = READER_SELECTING;
			confirm_channel_select(&r->channel, r->client.connection, READER_CHANNEL);
		} else {
			begin_reading(r);
		}
		break;
	case READER_READING:
		check_idle(r, ready);
		break;
	case READER_CHECKING:
		if (ready + r->acked >= r->count || clock_now() - r->idle_since >= CHECK_LIMIT)
			reader_over(r);
		else
			ev_timer_again(r->client.loop, &r->tick);
		break;
	default: /* the answer to an earlier request */
		break;
	}
}

/* The next reader must find all messages: the broker closes the channel before the queue has them
 * back, so check the queue until it does. */
static void on_handed_back(struct reader *r)
{
	if (r->acked == r->count) {
		reader_over(r);
		return;
	}
	r->state = READER_REOPENING;
	r->idle_since = clock_now();
	r->tick.repeat = CHECK_PAUSE;
	ev_timer_stop(r->client.loop, &r->tick);
	channel_open(r->client.connection, READER_CHANNEL);
}

/* wpool serve makes the queue at its start, before a task was given up. */
static const char *why_missing(const struct dead_letters *what)
{
	if (text_ends(what->queue, TEXT(DEAD_LETTER_SUFFIX DEAD_LETTER_SUFFIX)))
		return "--queue is the pool's queue, without " DEAD_LETTER_SUFFIX;
	return what->is_foreign
		       ? "no wpool serve has made it yet, or it was deleted, or the pool's "
			 "retry.dead_letter is another one"
		       : "no wpool serve has made it yet, or it was deleted, or the pool's "
			 "retry.dead_letter is another one (--dead-letters)";
}

static void on_channel_closed(struct reader *r, const struct amqp_event *event)
{
	bool is_missing = event->code == CODE_NOT_FOUND && r->state == READER_COUNTING;
	if (r->state > READER_SYNCING) { /* all is done */
		reader_over(r);
		return;
	}
	if (is_missing)
		PRINT("there is no queue %.*s: %s", QUEUE_ARGS(r), why_missing(r->what));
	else
		PRINT("the broker closed the channel: %u %s", (unsigned)event->code,
			utf8_shown(event->text).text);
	reader_fail(r, event->code == CODE_ACCESS_REFUSED ? EX_NOPERM
		       : r->state == READER_COUNTING      ? EX_UNAVAILABLE
							  : EX_TEMPFAIL);
}

static void on_event(void *ctx, const struct amqp_event *event)
{
	struct reader *r = ctx;
	if (r->state == READER_OVER)
		return;
	struct publish_answer answer = confirm_channel_on_event(&r->channel, event);
	if (answer.kind == PUBLISH_READY)
		begin_reading(r);
	else if (answer.kind != PUBLISH_NOT_ANSWERED && r->handler->on_answer)
		r->handler->on_answer(r->ctx, &answer, event);
	switch (event->kind) {
	case AMQP_CHANNEL_OPENED:
		r->state = r->state == READER_REOPENING ? READER_CHECKING : READER_COUNTING;
		declare(r);
		break;
	case AMQP_QUEUE_DECLARED:
		on_declared(r, event->messages);
		break;
	case AMQP_CONSUME_OK:
		r->consumers++;
		if (r->state == READER_SYNCING)
			synchronize(r);
		break;
	case AMQP_DELIVERY:
		handle_letter(r, event);
		break;
	case AMQP_CANCELLED:
		reader_end_now(r, "the queue was deleted");
		break;
	case AMQP_CHANNEL_CLOSED:
		on_channel_closed(r, event);
		break;
	case AMQP_CHANNEL_CLOSE_OK:
		on_handed_back(r);
		break;
	case AMQP_BLOCKED:
		log_warn("the broker accepts no messages now (%s); waiting",
			utf8_shown(event->text).text);
		break;
	case AMQP_CONFIRM_SELECTED: /* these three are in the answer above */
	case AMQP_CONFIRM:
	case AMQP_RETURN:
	case AMQP_OPENED:
	case AMQP_CLOSED:
	case AMQP_CLOSE_OK:
	case AMQP_UNBLOCKED:
	case AMQP_QOS_OK:
	case AMQP_CANCEL_OK:
	case AMQP_EXCHANGE_DECLARED:
	case AMQP_QUEUE_BOUND:
		break;
	}
	if (r->state == READER_READING || r->state == READER_SETTLING)
		advance(r);
}

static void on_up(void *ctx, struct connection *connection)
{
	struct reader *r = ctx;
	if (r->state == READER_OVER)
		return;
	r->state = READER_OPENING;
	channel_open(connection, READER_CHANNEL);
}

static void on_down(void *ctx, bool by_error)
{
	(void)by_error;
	struct reader *r = ctx;
	if (r->state == READER_OVER)
		return;
	if (r->state > READER_SYNCING) { /* all was done */
		reader_over(r);
		return;
	}
	PRINT("the connection was lost; what was not removed is still in %.*s", QUEUE_ARGS(r));
	reader_fail(r, EX_TEMPFAIL);
}

static void on_interrupt(void *ctx)
{
	struct reader *r = ctx;
	if (r->state <= READER_SETTLING && r->waiting > 0 && !r->client.is_blocked)
		PRINT("interrupted; waiting for the confirms of what was sent (interrupt again to "
		      "stop waiting)");
	reader_end_now(r, "interrupted");
	if (r->state == READER_SETTLING)
		advance(r);
}

static const struct broker_client_handler client_handler = {
	.on_up = on_up,
	.on_down = on_down,
	.on_event = on_event,
	.on_interrupt = on_interrupt,
};

static void on_tick(struct ev_loop *loop, ev_timer *tick, int events)
{
	(void)events;
	struct reader *r = tick->data;
	if (r->state == READER_CHECKING) {
		ev_timer_stop(loop, tick);
		declare(r);
	}
	if (r->state != READER_READING)
		return;
	if (r->looked != r->looked_before || r->waiting > 0)
		r->idle_since = clock_now();
	else
		declare(r);
	r->looked_before = r->looked;
}

/* ---------- its end ---------- */

#define RETURNS_MANY 10

static void print_warnings(const struct reader *r)
{
	matches_print_unseen(&r->what->matches, r->looked > 0 ? r->seen : UINT32_MAX);
	if (r->short_of)
		PRINT("read %" PRIu64 " of the %" PRIu64 " messages in %.*s: %s", r->looked,
			r->count, TEXT_ARGS(r->what->queue), r->short_of);
	if (r->returns >= RETURNS_MANY && r->what->is_foreign)
		PRINT("a message was handed back %" PRIu64 " times so far; if %.*s has a delivery "
		      "limit (those that wpool declared have none), the broker drops it there",
			r->returns, TEXT_ARGS(r->what->queue));
}

uint64_t reader_left(const struct reader *r)
{
	return r->count - r->acked;
}

bool reader_is_certain(const struct reader *r)
{
	return r->is_synced || r->acked == 0;
}

void reader_print_left(const struct reader *r)
{
	char left[32];
	console_print(stdout, "; %s%s left in %.*s%s", reader_is_certain(r) ? "" : "at least ",
		cli_number(reader_left(r), left), TEXT_ARGS(r->what->queue),
		reader_is_certain(r) ? ""
				     : ", because the broker did not confirm what was removed");
	putchar('\n');
}

int reader_run(struct reader *r, const struct dead_letters *what,
	const struct reader_handler *handler, void *ctx)
{
	*r = (struct reader){.what = what, .handler = handler, .ctx = ctx};
	int exit_code = broker_client_init(
		&r->client, DEAD_LETTERS_COMMAND, what->broker, what->wait, &client_handler, r);
	if (exit_code == EX_OK) {
		ev_timer_init(&r->tick, on_tick, TICK, TICK);
		r->tick.data = r;
		broker_client_run(&r->client);
		exit_code = broker_client_verdict(&r->client, DEAD_LETTERS_COMMAND);
		if (exit_code == EX_OK)
			exit_code = r->exit_code;
		if (exit_code == EX_OK && r->state != READER_OVER)
			exit_code = EX_TEMPFAIL;
		print_warnings(r);
	}
	broker_client_release(&r->client);
	r->client = (struct broker_client){0};
	return exit_code;
}
