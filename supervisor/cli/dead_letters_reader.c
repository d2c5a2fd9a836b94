#include "cli/dead_letters_reader.h"
#include "cli/dead_letters_end.h"
#include "cli/dead_letters_window.h"

#include "amqp/channel.h"
#include "amqp/table.h"
#include "base/log.h"
#include "io/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <sysexits.h>

#define TICK        0.25 /* seconds */
#define CHECK_PAUSE 0.02 /* seconds between two looks at a queue that gets its messages back */
#define CHECK_LIMIT (3 * MTIME_SECOND)
/* Nothing came for so long, and the queue says that it has nothing: it says so, too, when it is
 * busy reading large messages for us. */
#define IDLE_EMPTY    (3 * MTIME_SECOND)
#define NOT_FOUND     404
#define NOT_ALLOWED   403
#define SAY(...)      fprintf(stderr, "wpool " DEAD_LETTERS_COMMAND ": " __VA_ARGS__)
#define QUEUE_ARGS(r) TEXT_ARGS((r)->what->queue)

static void reader_over(struct reader *r)
{
	if (r->state == READER_OVER)
		return;
	r->state = READER_OVER;
	client_close(&r->client);
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

static bool has_read_all(const struct reader *r)
{
	return r->looked == r->count || (r->is_sated && r->is_past_returned);
}

static void advance(struct reader *r)
{
	if (r->matched >= r->what->limit)
		r->is_sated = true;
	if (r->state == READER_READING && has_read_all(r))
		r->state = READER_SETTLING;
	if (r->state == READER_READING) {
		reader_widen(r);
		if (reader_held(r) == subscriptions_window(&r->subscriptions)) {
			if (!r->is_sated)
				r->short_of = "no more can be held unacknowledged at once";
			r->state = READER_SETTLING;
		}
	}
	if (r->state == READER_SETTLING && r->waiting == 0) {
		r->state = READER_SYNCING;
		reader_synchronize(r);
	}
}

void reader_stop(struct reader *r, int exit_code, const char *words)
{
	if (r->state >= READER_SETTLING || r->is_sated)
		return;
	if (exit_code != EX_OK)
		r->exit_code = exit_code;
	r->short_of = words;
	r->is_sated = true;
	if (r->state != READER_READING)
		reader_over(r);
}

/* Without reading on. */
static void reader_end_now(struct reader *r, const char *words)
{
	reader_stop(r, EX_TEMPFAIL, words);
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

/* A queue that counts says how often it got this one back; others keep their order by themselves.
 */
static void note_returns(struct reader *r, const struct dead_letter *letter)
{
	static const struct text counters[] = {{"x-delivery-count", 16}, {"x-acquired-count", 16}};
	struct table_field field;
	int64_t returns;
	r->is_past_returned = true;
	for (size_t i = 0; i < sizeof counters / sizeof *counters; i++) {
		if (!table_find(letter->headers, counters[i], &field) ||
			!table_field_integer(&field, &returns) || returns < 1)
			continue;
		if ((uint64_t)returns > r->returns)
			r->returns = (uint64_t)returns;
		r->is_past_returned = false;
	}
}

static void take_letter(struct reader *r, const struct amqp_event *event)
{
	struct dead_letter letter;
	if (r->state != READER_READING || r->looked == r->count)
		return;
	dead_letter_read(&letter, event, ++r->looked);
	r->bytes += letter.body.len;
	note_returns(r, &letter);
	matches_note(&r->what->matches, &letter, &r->seen);
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

/* Somebody else may have taken some; or hold the queue for himself. */
static void look_again(struct reader *r, uint32_t ready)
{
	mtime idle = clock_now() - r->idle_since;
	if (r->looked != r->looked_before || r->waiting > 0)
		return;
	if (ready == 0 && idle >= IDLE_EMPTY)
		reader_end_now(r, "the others have gone elsewhere");
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
		} else if (r->handler->on_event) {
			r->state = READER_SELECTING;
			channel_confirm_select(r->client.connection, READER_CHANNEL);
		} else {
			begin_reading(r);
		}
		break;
	case READER_READING:
		look_again(r, ready);
		break;
	case READER_CHECKING:
		if (ready + r->acked >= r->count || clock_now() - r->idle_since >= CHECK_LIMIT)
			reader_over(r);
		else
			ev_timer_again(r->client.loop, &r->tick);
		break;
	default: /* an answer to a question of before */
		break;
	}
}

/* Whoever comes next is to find all of them: the broker has closed the channel before the queue has
 * its messages back. */
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

static void on_channel_closed(struct reader *r, const struct amqp_event *event)
{
	bool is_missing = event->code == NOT_FOUND && r->state == READER_COUNTING;
	if (r->state > READER_SYNCING) { /* all is done */
		reader_over(r);
		return;
	}
	if (is_missing)
		SAY("there is no queue %.*s: %s\n", QUEUE_ARGS(r),
			text_ends(r->what->queue, TEXT(".dead.dead"))
				? "--queue takes the pool's queue, without .dead"
				: "nothing was ever given up there, or it has another name "
				  "(--dead-letters)");
	else
		SAY("the broker closed the channel: %u %.*s\n", (unsigned)event->code,
			TEXT_ARGS(event->text));
	reader_fail(r, event->code == NOT_ALLOWED    ? EX_NOPERM
		       : r->state == READER_COUNTING ? EX_UNAVAILABLE
						     : EX_TEMPFAIL);
}

static void on_channel_opened(struct reader *r)
{
	r->state = r->state == READER_REOPENING ? READER_CHECKING : READER_COUNTING;
	declare(r);
}

static void on_event(void *ctx, const struct amqp_event *event)
{
	struct reader *r = ctx;
	if (r->state == READER_OVER)
		return;
	switch (event->kind) {
	case AMQP_CHANNEL_OPENED:
		on_channel_opened(r);
		break;
	case AMQP_QUEUE_DECLARED:
		on_declared(r, event->messages);
		break;
	case AMQP_CONFIRM_SELECTED:
		begin_reading(r);
		break;
	case AMQP_CONSUME_OK:
		r->consumers++;
		if (r->state == READER_SYNCING)
			reader_synchronize(r);
		break;
	case AMQP_DELIVERY:
		take_letter(r, event);
		break;
	case AMQP_CONFIRM:
	case AMQP_RETURN:
		if (r->handler->on_event)
			r->handler->on_event(r->ctx, event);
		break;
	case AMQP_CANCELLED:
		reader_end_now(r, "the queue was deleted meanwhile");
		break;
	case AMQP_CHANNEL_CLOSED:
		on_channel_closed(r, event);
		break;
	case AMQP_CHANNEL_CLOSE_OK:
		on_handed_back(r);
		break;
	case AMQP_BLOCKED:
		log_warn(
			"the broker takes no messages now (%.*s); waiting", TEXT_ARGS(event->text));
		break;
	default:
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
	SAY("the connection was lost; what was not taken off is still in %.*s\n", QUEUE_ARGS(r));
	reader_fail(r, EX_TEMPFAIL);
}

static bool on_turn(void *ctx)
{
	(void)ctx;
	return false;
}

static void on_interrupt(void *ctx)
{
	struct reader *r = ctx;
	if (r->state <= READER_SETTLING && r->waiting > 0)
		SAY("interrupted; waiting for the answers to what was sent (once more: not "
		    "waiting)\n");
	reader_end_now(r, "interrupted");
	if (r->state == READER_SETTLING)
		advance(r);
}

static const struct client_handler client_handler = {
	.on_up = on_up,
	.on_down = on_down,
	.on_event = on_event,
	.on_turn = on_turn,
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

int reader_run(struct reader *r, const struct dead_letters *what,
	const struct reader_handler *handler, void *ctx)
{
	*r = (struct reader){.what = what, .handler = handler, .ctx = ctx};
	int exit_code = client_init(
		&r->client, DEAD_LETTERS_COMMAND, what->broker, what->wait, &client_handler, r);
	if (exit_code == EX_OK) {
		ev_timer_init(&r->tick, on_tick, TICK, TICK);
		r->tick.data = r;
		client_run(&r->client);
		exit_code = client_verdict(&r->client, DEAD_LETTERS_COMMAND);
		if (exit_code == EX_OK)
			exit_code = r->exit_code;
		if (exit_code == EX_OK && r->state != READER_OVER)
			exit_code = EX_TEMPFAIL;
		reader_say_end(r);
	}
	client_release(&r->client);
	r->client = (struct client){0};
	return exit_code;
}
