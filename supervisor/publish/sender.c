#include "publish/sender.h"

#include "base/log.h"
#include "base/utf8.h"
#include "os/clock.h"
#include "os/loop.h"
#include "tty/console.h"

#include <inttypes.h>
#include <stdio.h>
#include <sysexits.h>

static void sender_close(struct sender *s)
{
	if (!s->is_closing)
		broker_client_close(&s->client);
	s->is_closing = true;
	input_stop(&s->input);
}

static void sender_fail(struct sender *s, int exit_code, const char *what)
{
	console_problem("publish", "%s", what);
	s->exit_code = exit_code;
	sender_close(s);
}

/* Keep the first refusal: the others usually have the same cause. */
static void record_refusal(struct sender *s, unsigned code, struct text reason)
{
	if (!*s->refusal) {
		int len = snprintf(s->refusal, sizeof s->refusal, "%u ", code);
		utf8_copy_escaped(s->refusal + len, sizeof s->refusal - (size_t)len, reason);
	}
}

static bool publish_message(struct sender *s, const struct message *m)
{
	char id[48];
	int len = snprintf(id, sizeof id, "%s-%" PRIu64, s->nonce, m->number);
	if (m->session.len > 0)
		s->envelope.session = m->session;
	s->envelope.now_ms = clock_wall_ms();
	if (!envelope_publish(&s->envelope, s->client.connection, BROKER_CLIENT_CHANNEL,
		    text_of(id, (size_t)len), s->messages.unconfirmed.next,
		    text_of(m->body, m->len)))
		return false;
	if (m->was_published)
		s->summary.republished++;
	else
		s->summary.published++;
	messages_published(&s->messages);
	return true;
}

/* Add a message of the latest body, to the next session if there are several. */
static struct message *add_message(struct sender *s)
{
	struct message *m = messages_add(&s->messages, s->body);
	if (!m)
		sender_fail(s, EX_OSERR, "out of memory");
	else if (s->session_count > 0)
		m->session = s->sessions[s->next_session++];
	return m;
}

/* The message to send next, one that waits or a new one; NULL: none now. */
static struct message *next_message(struct sender *s)
{
	struct message *m = messages_waiting(&s->messages);
	if (m || !messages_has_space(&s->messages))
		return m;
	if (s->next_session < s->session_count)
		return add_message(s);
	switch (input_next(&s->input, &s->body)) {
	case INPUT_MESSAGE:
		s->next_session = 0;
		return add_message(s);
	case INPUT_FAILED:
		if (!s->exit_code)
			console_problem("publish", "cannot read %s", s->input.problem);
		s->exit_code = EX_IOERR;
		return NULL;
	case INPUT_WAIT:
	case INPUT_END:
		break;
	}
	return NULL;
}

static bool may_send(const struct sender *s)
{
	return confirm_channel_is_up(&s->channel) && !s->client.is_blocked && !s->is_closing &&
	       (s->alone == 0 || s->messages.unconfirmed.count == 0);
}

/* False: no token of the rate is left; the loop turns when there is one. */
static bool may_send_now(struct sender *s)
{
	if (s->rate.per_second == 0 || rate_take(&s->rate, clock_now()))
		return true;
	loop_start_timer(s->client.loop, &s->token, rate_wait(&s->rate));
	return false;
}

static void on_token(struct ev_loop *loop, ev_timer *watcher, int events)
{
	(void)loop, (void)watcher, (void)events;
}

static bool on_turn(void *ctx)
{
	struct sender *s = ctx;
	while (may_send(s)) {
		if (buf_len(connection_output(s->client.connection)) >= BROKER_CLIENT_OUTPUT_HIGH)
			return true;
		struct message *m = next_message(s);
		if (!m || !may_send_now(s))
			break;
		if (!publish_message(s, m))
			sender_fail(s, EX_OSERR, "out of memory");
	}
	if (s->input.stopped != INPUT_WAIT && s->messages.count == 0 &&
		s->next_session == s->session_count)
		sender_close(s);
	return false;
}

static void on_confirm(struct sender *s, const struct publish_answer *answer)
{
	enum publish_answer_kind kind;
	while ((kind = messages_take(&s->messages, answer)) != PUBLISH_NOT_ANSWERED) {
		if (kind == PUBLISH_RETURNED)
			s->summary.returned++;
		else if (kind == PUBLISH_CONFIRMED)
			s->summary.confirmed++;
		else
			s->summary.refused++;
		if (s->alone > 0)
			s->alone--;
	}
	if (answer->kind == PUBLISH_REFUSED)
		record_refusal(s, 0, TEXT("negative confirm"));
}

/* One of the unconfirmed messages closed the channel or the connection. If there was only one, drop
 * it; otherwise publish all again, one at a time. */
static void find_culprit(struct sender *s)
{
	size_t count = messages_rewind(&s->messages);
	if (count > 1)
		s->alone = count;
	if (count != 1)
		return;
	messages_drop(&s->messages);
	s->summary.refused++;
	if (s->alone > 0) /* the next ones are still published one at a time */
		s->alone--;
}

static void on_channel_closed(struct sender *s, const struct amqp_event *event)
{
	bool was_up = confirm_channel_is_up(&s->channel);
	confirm_channel_down(&s->channel);
	record_refusal(s, event->code, event->text);
	if (!was_up) { /* the broker refuses even a new channel: no message can follow */
		sender_fail(s, EX_UNAVAILABLE, s->refusal);
		*s->refusal = '\0'; /* it was printed */
		return;
	}
	/* There is no such exchange. The first message was refused, and the broker skipped what
	 * came behind it; the verdict prints why. */
	if (event->code == CODE_NOT_FOUND) {
		s->summary.refused++;
		s->exit_code = EX_UNAVAILABLE;
		sender_close(s);
		return;
	}
	find_culprit(s);
	confirm_channel_open(&s->channel, s->client.connection, BROKER_CLIENT_CHANNEL);
}

static void on_event(void *ctx, const struct amqp_event *event)
{
	struct sender *s = ctx;
	struct publish_answer answer = confirm_channel_on_event(&s->channel, event);
	switch (answer.kind) {
	case PUBLISH_CONFIRMED:
	case PUBLISH_REFUSED:
		on_confirm(s, &answer);
		break;
	case PUBLISH_RETURNED:
		unconfirmed_return(&s->messages.unconfirmed, answer.number);
		record_refusal(s, event->code, event->text);
		break;
	case PUBLISH_READY:
	case PUBLISH_NOT_ANSWERED:
		break;
	}
	if (event->kind == AMQP_CHANNEL_CLOSED) {
		on_channel_closed(s, event);
	} else if (event->kind == AMQP_BLOCKED) {
		log_warn("the broker accepts no messages now (%s); waiting",
			utf8_shown(event->text).text);
	}
}

static void on_up(void *ctx, struct connection *connection)
{
	struct sender *s = ctx;
	switch (envelope_check(&s->envelope, connection)) {
	case RC_OK:
		confirm_channel_open(&s->channel, connection, BROKER_CLIENT_CHANNEL);
		return;
	case RC_MEMORY:
		sender_fail(s, EX_OSERR, "out of memory");
		return;
	default:
		sender_fail(s, EX_DATAERR, "the headers do not fit into one frame of this broker");
	}
}

static void on_down(void *ctx, bool by_error)
{
	struct sender *s = ctx;
	confirm_channel_down(&s->channel);
	if (by_error) {
		record_refusal(s, 0, TEXT("the broker closed the connection"));
		find_culprit(s);
	} else if (!s->is_closing) {
		messages_rewind(&s->messages);
	}
}

static void on_interrupt(void *ctx)
{
	struct sender *s = ctx;
	s->exit_code = EX_TEMPFAIL;
	input_stop(&s->input);
	s->next_session = s->session_count;
	bool can_confirm = s->client.connection && !s->client.is_blocked;
	fprintf(stderr, "wpool publish: interrupted%s\n",
		can_confirm ? "; waiting for the confirms of what was sent" : "");
	if (!can_confirm)
		sender_close(s);
}

static const struct broker_client_handler handler = {
	.on_up = on_up,
	.on_down = on_down,
	.on_event = on_event,
	.on_turn = on_turn,
	.on_interrupt = on_interrupt,
};

void sender_init(struct sender *s)
{
	*s = (struct sender){0};
	envelope_init(&s->envelope);
	ev_init(&s->token, on_token);
}

/* One message at once, then evenly. */
void sender_limit_rate(struct sender *s, int64_t per_second)
{
	s->rate = rate_of(per_second, clock_now());
	s->rate.left = MTIME_SECOND;
}

void sender_release(struct sender *s)
{
	input_release(&s->input);
	broker_client_release(&s->client);
	envelope_release(&s->envelope);
	messages_release(&s->messages);
}

int sender_open(struct sender *s, const char *command, const char *broker, mtime wait,
	char *const *files, bool lines)
{
	int exit_code = broker_client_init(&s->client, command, broker, wait, &handler, s);
	if (exit_code != EX_OK)
		return exit_code;
	if (messages_init(&s->messages) != RC_OK) {
		fprintf(stderr, "wpool %s: out of memory\n", command);
		return EX_OSERR;
	}
	random_id_make(s->nonce);
	input_init(&s->input, s->client.loop, files, lines);
	s->next_session = s->session_count;
	s->summary.queue = s->envelope.field[ENVELOPE_QUEUE];
	s->summary.exchange = s->envelope.field[ENVELOPE_EXCHANGE];
	s->summary.routing_key = s->envelope.field[ENVELOPE_ROUTING_KEY];
	s->summary.started = clock_now();
	return EX_OK;
}
