#include "amqp/method_internal.h"

/* A start-ok must fit into the smallest frame, together with the properties. */
#define RESPONSE_MAX 2048

static amqp_table_entry_t entry_string(const char *key, const char *value)
{
	return (amqp_table_entry_t){
		.key = amqp_cstring_bytes(key),
		.value = {.kind = AMQP_FIELD_KIND_UTF8, .value.bytes = amqp_cstring_bytes(value)},
	};
}

static amqp_table_entry_t entry_true(const char *key)
{
	return (amqp_table_entry_t){
		.key = amqp_cstring_bytes(key),
		.value = {.kind = AMQP_FIELD_KIND_BOOLEAN, .value.boolean = 1},
	};
}

static void send_start_ok(struct connection *c, const char *mechanism, struct text response)
{
	amqp_table_entry_t entries[] = {
		entry_true("connection.blocked"),
		entry_true("consumer_cancel_notify"),
		entry_true("publisher_confirms"),
		entry_true("basic.nack"),
		entry_true("authentication_failure_close"),
	};
	amqp_table_t capabilities = {sizeof entries / sizeof *entries, entries};
	amqp_table_entry_t properties[] = {
		entry_string("product", "wpool"),
		entry_string("version", WPOOL_VERSION),
		entry_string("platform", "C"),
		entry_string("connection_name", c->params->name),
		{
			.key = amqp_cstring_bytes("capabilities"),
			.value = {.kind = AMQP_FIELD_KIND_TABLE, .value.table = capabilities},
		},
	};
	amqp_connection_start_ok_t start_ok = {
		.client_properties = {sizeof properties / sizeof *properties, properties},
		.mechanism = amqp_cstring_bytes(mechanism),
		.response = method_bytes(response),
		.locale = amqp_cstring_bytes("en_US"),
	};

	method_send(c, 0, AMQP_CONNECTION_START_OK_METHOD, &start_ok);
}

/* mechanisms: words between single spaces. */
static bool is_offered(struct text mechanisms, struct text wanted)
{
	while (mechanisms.len > 0) {
		const char *space = memchr(mechanisms.ptr, ' ', mechanisms.len);
		size_t len = space ? (size_t)(space - mechanisms.ptr) : mechanisms.len;
		size_t skip = space ? len + 1 : len;

		if (text_is(text_of(mechanisms.ptr, len), wanted))
			return true;
		mechanisms = text_of(mechanisms.ptr + skip, mechanisms.len - skip);
	}
	return false;
}

/* NUL user NUL password (RFC 4616). False: too long. */
static bool plain_response(
	const struct connection_params *params, uint8_t *response, size_t *ret_len)
{
	struct text user = text_from(params->user), password = text_from(params->password);
	uint8_t *at = response;

	if (user.len + password.len + 2 > RESPONSE_MAX)
		return false;
	at = octets_put_text(octets_put8(at, 0), user);
	at = octets_put_text(octets_put8(at, 0), password);
	*ret_len = (size_t)(at - response);
	return true;
}

/* Copy the peer's property of this name, cut to what fits. */
static void peer_property_set(
	struct peer_property *ret, const amqp_table_t *properties, struct text key)
{
	for (int i = 0; i < properties->num_entries; i++) {
		const amqp_table_entry_t *entry = &properties->entries[i];
		struct text value;

		if (entry->value.kind != AMQP_FIELD_KIND_UTF8 ||
			!text_is(method_text(entry->key), key))
			continue;
		value = method_text(entry->value.value.bytes);
		ret->len = value.len < sizeof ret->bytes ? value.len : sizeof ret->bytes;
		octets_put_text((uint8_t *)ret->bytes, text_of(value.ptr, ret->len));
	}
}

static void take_start(struct connection *c, struct channel *none, const void *fields)
{
	const amqp_connection_start_t *start = fields;
	bool is_external = c->params->sasl == SASL_EXTERNAL;
	const char *mechanism = is_external ? "EXTERNAL" : "PLAIN";
	struct text offered = method_text(start->mechanisms);
	uint8_t response[RESPONSE_MAX];
	size_t len = 0;

	(void)none;
	if (start->version_major != 0 || start->version_minor != 9) {
		connection_fail(c, RC_MALFORMED, AMQP_NOT_IMPLEMENTED,
			"the peer speaks AMQP %u-%u, not 0-9", start->version_major,
			start->version_minor);
		return;
	}
	if (!is_offered(offered, text_from(mechanism))) {
		connection_fail(c, RC_MALFORMED, AMQP_ACCESS_REFUSED,
			"the peer takes no %s login, only: %.*s", mechanism,
			(int)(offered.len < 128 ? offered.len : 128),
			offered.len ? offered.ptr : "");
		return;
	}
	if (!is_external && !plain_response(c->params, response, &len)) {
		connection_fail(c, RC_LIMIT, AMQP_ACCESS_REFUSED,
			"user and password are longer than %u bytes", RESPONSE_MAX - 2);
		return;
	}
	peer_property_set(&c->product, &start->server_properties, TEXT("product"));
	peer_property_set(&c->version, &start->server_properties, TEXT("version"));
	send_start_ok(c, mechanism, text_of(response, len));
	explicit_bzero(response, sizeof response);
	c->state = CONNECTION_LOGIN;
}

/* A limit of 0 from the peer means none. */
static uint32_t smaller_limit(uint32_t ours, uint32_t theirs)
{
	return theirs != 0 && theirs < ours ? theirs : ours;
}

static void take_tune(struct connection *c, struct channel *none, const void *fields)
{
	const amqp_connection_tune_t *tune = fields;

	(void)none;
	if (tune->frame_max != 0 && tune->frame_max < AMQP_FRAME_MIN_SIZE) {
		connection_fail(c, RC_MALFORMED, AMQP_SYNTAX_ERROR,
			"frame-max of %u is below the minimum of %u", tune->frame_max,
			AMQP_FRAME_MIN_SIZE);
		return;
	}
	c->frame_max = smaller_limit(c->params->frame_max, tune->frame_max);
	c->channel_max = (uint16_t)smaller_limit(AMQP_CHANNEL_LIMIT, tune->channel_max);
	c->heartbeat_s = (uint16_t)smaller_limit(c->params->heartbeat_s, tune->heartbeat);
	amqp_connection_tune_ok_t tune_ok = {
		.channel_max = c->channel_max,
		.frame_max = c->frame_max,
		.heartbeat = c->heartbeat_s,
	};
	amqp_connection_open_t open = {
		.virtual_host = amqp_cstring_bytes(c->params->vhost),
		.capabilities = amqp_empty_bytes,
	};

	method_send(c, 0, AMQP_CONNECTION_TUNE_OK_METHOD, &tune_ok);
	method_send(c, 0, AMQP_CONNECTION_OPEN_METHOD, &open);
	c->state = CONNECTION_OPENING;
}

static void take_secure(struct connection *c, struct channel *none, const void *fields)
{
	(void)none, (void)fields;
	connection_fail(c, RC_MALFORMED, AMQP_NOT_IMPLEMENTED,
		"the peer asks for another round of login, which PLAIN and EXTERNAL do not have");
}

static void take_open_ok(struct connection *c, struct channel *none, const void *fields)
{
	(void)none, (void)fields;
	c->state = CONNECTION_OPEN;
	connection_emit(c, &(struct amqp_event){.kind = AMQP_OPENED});
}

/* False: the connection has failed. */
static bool send_close_ok(struct connection *c)
{
	return method_answer(
		c, 0, AMQP_CONNECTION_CLOSE_OK_METHOD, &(amqp_connection_close_ok_t){0});
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
	if (!send_close_ok(c))
		return;
	connection_end(c, RC_CLOSED);
	connection_emit(c, &event);
}

static void take_close_ok(struct connection *c, struct channel *none, const void *fields)
{
	(void)none, (void)fields;
	connection_end(c, RC_CLOSED);
	connection_emit(c, &(struct amqp_event){.kind = AMQP_CLOSE_OK});
}

static void take_blocked(struct connection *c, struct channel *none, const void *fields)
{
	const amqp_connection_blocked_t *blocked = fields;
	struct amqp_event event = {.kind = AMQP_BLOCKED, .text = method_text(blocked->reason)};

	(void)none;
	connection_emit(c, &event);
}

static void take_unblocked(struct connection *c, struct channel *none, const void *fields)
{
	(void)none, (void)fields;
	connection_emit(c, &(struct amqp_event){.kind = AMQP_UNBLOCKED});
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

	/* If both sides close at once, each answers the other and waits for its own answer. */
	if (c->state == CONNECTION_CLOSING && id == AMQP_CONNECTION_CLOSE_METHOD)
		send_close_ok(c);
	else if (c->state != CONNECTION_CLOSING || id == AMQP_CONNECTION_CLOSE_OK_METHOD)
		method_take(c, NULL, &table, c->state, payload);
}
