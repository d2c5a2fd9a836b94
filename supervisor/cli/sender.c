#include "cli/sender.h"

#include "amqp/channel.h"
#include "base/log.h"
#include "io/clock.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sysexits.h>

#define NONCE_LEN (sizeof(((struct sender *)NULL)->nonce) - 1)

static void sender_close(struct sender *s)
{
	if (!s->is_closing)
		client_close(&s->client);
	s->is_closing = true;
	input_stop(&s->input);
}

static void sender_fail(struct sender *s, int exit_code, const char *what)
{
	fprintf(stderr, "wpool publish: %s\n", what);
	s->trouble = exit_code;
	sender_close(s);
}

/* The first refusal stands for all: they mostly have one cause. */
static void sender_note_refusal(struct sender *s, unsigned code, struct text words)
{
	if (!*s->refusal)
		snprintf(s->refusal, sizeof s->refusal, "%u %.*s", code, TEXT_ARGS(words));
}

static bool sender_one(struct sender *s, struct message *m)
{
	char id[48];
	int len = snprintf(id, sizeof id, "%s-%" PRIu64, s->nonce, m->number);
	if (!envelope_publish(&s->envelope, s->client.connection, text_of(id, (size_t)len),
		    text_of(m->body, m->len)))
		return false;
	if (m->tag == 0)
		s->tally.published++;
	else
		s->tally.republished++;
	window_published(&s->window, m, ++s->last_tag);
	return true;
}

/* What is to go next: what waits for another try, or something new. NULL: nothing now. */
static struct message *sender_pick(struct sender *s)
{
	struct text body;
	struct message *m = window_waiting(&s->window);
	if (m || !window_has_room(&s->window))
		return m;
	switch (input_next(&s->input, &body)) {
	case INPUT_MESSAGE:
		m = window_add(&s->window, body);
		if (!m)
			sender_fail(s, EX_OSERR, "out of memory");
		return m;
	case INPUT_FAILED:
		if (!s->trouble)
			fprintf(stderr, "wpool publish: cannot read %s\n", s->input.problem);
		s->trouble = EX_IOERR;
		return NULL;
	case INPUT_WAIT:
	case INPUT_END:
		break;
	}
	return NULL;
}

static bool sender_may_send(const struct sender *s)
{
	return s->is_confirming && !s->is_blocked && !s->is_closing &&
	       (s->careful == 0 || s->window.unconfirmed_count == 0);
}

static bool on_turn(void *ctx)
{
	struct sender *s = ctx;
	struct message *m = NULL;
	while (sender_may_send(s)) {
		if (buf_len(connection_output(s->client.connection)) >= CLIENT_OUTPUT_HIGH)
			return true;
		m = sender_pick(s);
		if (!m)
			break;
		if (!sender_one(s, m))
			sender_fail(s, EX_OSERR, "out of memory");
	}
	if (s->input.stopped != INPUT_WAIT && s->window.count == 0)
		sender_close(s);
	return false;
}

static void sender_settle(struct sender *s, const struct amqp_event *confirm)
{
	struct message *m;
	while ((m = window_take(&s->window, confirm->tag, confirm->multiple))) {
		if (m->was_returned)
			s->tally.returned++;
		else if (confirm->positive)
			s->tally.confirmed++;
		else
			s->tally.refused++;
		if (s->careful > 0)
			s->careful--;
		free(m);
	}
	if (!confirm->positive)
		sender_note_refusal(s, 0, TEXT("negative confirm"));
}

/* A return carries no tag; the number at the end of its message id says which one it is. */
static void sender_mark_returned(struct sender *s, const struct amqp_event *event)
{
	struct properties properties;
	char id[48];
	if (properties_parse(event->content.properties, &properties) != RC_OK)
		return;
	struct text sent = properties.value[PROPERTY_MESSAGE_ID];
	if (sent.len >= sizeof id || sent.len <= NONCE_LEN)
		return;
	memcpy(id, sent.ptr, sent.len);
	id[sent.len] = '\0';
	struct message *m = window_find(&s->window, strtoull(id + NONCE_LEN + 1, NULL, 10));
	if (m)
		m->was_returned = true;
	sender_note_refusal(s, event->code, event->text);
}

/* One of the unconfirmed cost us the channel or the connection. Alone it is the culprit; among
 * others they are all sent again, one at a time. */
static void sender_blame(struct sender *s)
{
	size_t again = window_rewind(&s->window);
	if (again > 1)
		s->careful = again;
	if (again != 1)
		return;
	struct message *culprit = window_waiting(&s->window);
	window_published(&s->window, culprit, culprit->tag);
	free(window_take(&s->window, culprit->tag, false));
	s->tally.refused++;
	if (s->careful > 0) /* the others that were with it may be as bad */
		s->careful--;
}

static void sender_channel_closed(struct sender *s, const struct amqp_event *event)
{
	bool is_ours = s->is_confirming;
	s->is_confirming = false;
	s->last_tag = 0;
	sender_note_refusal(s, event->code, event->text);
	if (!is_ours) { /* not even the empty channel is granted: trying again would not end */
		sender_fail(s, EX_UNAVAILABLE, s->refusal);
		return;
	}
	sender_blame(s);
	channel_open(s->client.connection, ENVELOPE_CHANNEL);
}

static void on_event(void *ctx, const struct amqp_event *event)
{
	struct sender *s = ctx;
	switch (event->kind) {
	case AMQP_CHANNEL_OPENED:
		channel_confirm_select(s->client.connection, ENVELOPE_CHANNEL);
		break;
	case AMQP_CONFIRM_SELECTED:
		s->is_confirming = true;
		break;
	case AMQP_CONFIRM:
		sender_settle(s, event);
		break;
	case AMQP_RETURN:
		sender_mark_returned(s, event);
		break;
	case AMQP_CHANNEL_CLOSED:
		sender_channel_closed(s, event);
		break;
	case AMQP_BLOCKED:
		s->is_blocked = true;
		log_warn(
			"the broker takes no messages now (%.*s); waiting", TEXT_ARGS(event->text));
		break;
	case AMQP_UNBLOCKED:
		s->is_blocked = false;
		break;
	default:
		break;
	}
}

static void on_up(void *ctx, struct connection *connection)
{
	struct sender *s = ctx;
	switch (envelope_check(&s->envelope, connection)) {
	case RC_OK:
		channel_open(connection, ENVELOPE_CHANNEL);
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
	s->is_confirming = s->is_blocked = false;
	s->last_tag = 0;
	if (by_error) {
		sender_note_refusal(s, 0, TEXT("the broker closed the connection"));
		sender_blame(s);
	} else if (!s->is_closing) {
		window_rewind(&s->window);
	}
}

static void on_interrupt(void *ctx)
{
	struct sender *s = ctx;
	s->trouble = EX_TEMPFAIL;
	input_stop(&s->input);
	fputs("wpool publish: interrupted; waiting for the confirms of what was sent\n", stderr);
	if (!s->client.connection)
		sender_close(s);
}

static const struct client_handler handler = {
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
	window_init(&s->window);
}

void sender_release(struct sender *s)
{
	input_release(&s->input);
	client_release(&s->client);
	envelope_release(&s->envelope);
	window_release(&s->window);
}

static void sender_set_nonce(struct sender *s)
{
	uint64_t number = (uint64_t)clock_now();
	ssize_t got = getrandom(&number, sizeof number, GRND_NONBLOCK);
	(void)got; /* the clock is unique enough */
	snprintf(s->nonce, sizeof s->nonce, "%016" PRIx64, number);
}

int sender_open(struct sender *s, const char *command, const char *broker, mtime wait,
	char *const *files, bool lines)
{
	int exit_code = client_init(&s->client, command, broker, wait, &handler, s);
	if (exit_code != EX_OK)
		return exit_code;
	sender_set_nonce(s);
	input_init(&s->input, s->client.loop, files, lines);
	s->tally.queue = s->envelope.queue;
	s->tally.started = clock_now();
	return EX_OK;
}

void sender_run(struct sender *s)
{
	client_run(&s->client);
}
