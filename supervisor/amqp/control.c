#include "amqp/control.h"
#include "amqp/login.h"

static void take_start(struct connection *c, struct channel *none, const void *fields)
{
	(void)none;
	if (login_answer_start(c, fields))
		c->state = CONNECTION_LOGIN;
}

static void take_secure(struct connection *c, struct channel *none, const void *fields)
{
	(void)none, (void)fields;
	connection_fail(c, RC_MALFORMED, AMQP_NOT_IMPLEMENTED,
		"the peer asks for another round of login, which PLAIN and EXTERNAL do not have");
}

static void take_tune(struct connection *c, struct channel *none, const void *fields)
{
	(void)none;
	if (login_answer_tune(c, fields))
		c->state = CONNECTION_OPENING;
}

static void take_open_ok(struct connection *c, struct channel *none, const void *fields)
{
	(void)none, (void)fields;
	c->state = CONNECTION_OPEN;
	connection_tell(c, &(struct amqp_event){.kind = AMQP_OPENED});
}

static void send_close_ok(struct connection *c)
{
	method_send(c, 0, AMQP_CONNECTION_CLOSE_OK_METHOD, &(amqp_connection_close_ok_t){0});
}

static void take_close(struct connection *c, struct channel *none, const void *fields)
{
	const amqp_connection_close_t *close = fields;
	struct amqp_event event = {
		.kind = AMQP_CLOSED,
		.code = close->reply_code,
		.text = method_text(close->reply_text),
	};

	(void)none;
	send_close_ok(c);
	connection_end(c, RC_CLOSED);
	connection_tell(c, &event);
}

/* Both sides closed at once: each answers the other's, and waits for the answer to its own. */
static void take_crossing_close(struct connection *c)
{
	send_close_ok(c);
}

static void take_close_ok(struct connection *c, struct channel *none, const void *fields)
{
	(void)none, (void)fields;
	connection_end(c, RC_CLOSED);
	connection_tell(c, &(struct amqp_event){.kind = AMQP_CLOSE_OK});
}

static void take_blocked(struct connection *c, struct channel *none, const void *fields)
{
	const amqp_connection_blocked_t *blocked = fields;
	struct amqp_event event = {.kind = AMQP_BLOCKED, .text = method_text(blocked->reason)};

	(void)none;
	connection_tell(c, &event);
}

static void take_unblocked(struct connection *c, struct channel *none, const void *fields)
{
	(void)none, (void)fields;
	connection_tell(c, &(struct amqp_event){.kind = AMQP_UNBLOCKED});
}

#define BEFORE_CLOSE                                                                               \
	(IN(CONNECTION_GREETED) | IN(CONNECTION_LOGIN) | IN(CONNECTION_OPENING) |                  \
		IN(CONNECTION_OPEN))

static const struct method_row rows[] = {
	{AMQP_CONNECTION_START_METHOD, IN(CONNECTION_GREETED), "ooFSS", take_start, NULL},
	{AMQP_CONNECTION_SECURE_METHOD, IN(CONNECTION_LOGIN), "S", take_secure, NULL},
	{AMQP_CONNECTION_TUNE_METHOD, IN(CONNECTION_LOGIN), "hih", take_tune, NULL},
	{AMQP_CONNECTION_OPEN_OK_METHOD, IN(CONNECTION_OPENING), "s", take_open_ok, NULL},
	{AMQP_CONNECTION_CLOSE_METHOD, BEFORE_CLOSE, "hshh", take_close, NULL},
	{AMQP_CONNECTION_CLOSE_OK_METHOD, IN(CONNECTION_CLOSING), "", take_close_ok, NULL},
	{AMQP_CONNECTION_BLOCKED_METHOD, IN(CONNECTION_OPEN), "s", take_blocked, NULL},
	{AMQP_CONNECTION_UNBLOCKED_METHOD, IN(CONNECTION_OPEN), "", take_unblocked, NULL},
};

static const struct method_table table = {rows, sizeof rows / sizeof *rows};

void control_take_method(struct connection *c, struct text payload)
{
	uint32_t id = method_id(payload);

	if (c->state == CONNECTION_CLOSING && id == AMQP_CONNECTION_CLOSE_METHOD)
		take_crossing_close(c);
	else if (c->state != CONNECTION_CLOSING || id == AMQP_CONNECTION_CLOSE_OK_METHOD)
		method_take(c, NULL, &table, c->state, payload);
}
