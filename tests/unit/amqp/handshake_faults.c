/* Every way in which the handshake can fail, and the code that it fails with. */
#include "unit/support/amqp/dialog.h"
#include "unit/unit.h"

static struct dialog dialog;

static void set_up(void)
{
	dialog_init(&dialog);
}

static void tear_down(void)
{
	dialog_release(&dialog);
}

static void mechanism_missing(void)
{
	peer_start(&dialog.in, "PLAINER AMQPLAIN");
}

static void no_mechanisms(void)
{
	peer_start(&dialog.in, "");
}

static void other_version(void)
{
	amqp_connection_start_t start = {8, 0, {0, NULL}, peer_string("PLAIN"), {0}};

	peer_method(&dialog.in, 0, AMQP_CONNECTION_START_METHOD, &start);
}

static void secure(void)
{
	peer_start(&dialog.in, "PLAIN");
	peer_method(&dialog.in, 0, AMQP_CONNECTION_SECURE_METHOD,
		&(amqp_connection_secure_t){peer_string("riddle")});
}

static void tiny_frames(void)
{
	peer_start(&dialog.in, "PLAIN");
	peer_tune(&dialog.in, 0, 4095, 0);
}

static void tune_first(void)
{
	peer_tune(&dialog.in, 0, 0, 0);
}

static void start_twice(void)
{
	peer_start(&dialog.in, "PLAIN");
	peer_start(&dialog.in, "PLAIN");
}

static void open_before_tune(void)
{
	peer_start(&dialog.in, "PLAIN");
	peer_open_ok(&dialog.in);
}

static void blocked_before_open(void)
{
	peer_start(&dialog.in, "PLAIN");
	peer_tune(&dialog.in, 0, 0, 0);
	peer_method(
		&dialog.in, 0, AMQP_CONNECTION_BLOCKED_METHOD, &(amqp_connection_blocked_t){{0}});
}

static void unexpected_close_ok(void)
{
	peer_method(
		&dialog.in, 0, AMQP_CONNECTION_CLOSE_OK_METHOD, &(amqp_connection_close_ok_t){0});
}

static void channel_before_open(void)
{
	peer_channel_open_ok(&dialog.in, 1);
}

static void early_heartbeat(void)
{
	peer_frame(&dialog.in, AMQP_FRAME_HEARTBEAT, 0, TEXT_NONE);
}

static void login_refused(void)
{
	peer_start(&dialog.in, "PLAIN");
	peer_method(&dialog.in, 0, AMQP_CONNECTION_CLOSE_METHOD,
		&(amqp_connection_close_t){403, peer_string("ACCESS_REFUSED"), 0, 0});
}

static void not_amqp(void)
{
	buf_append_text(&dialog.in, TEXT("HTTP/1.1 400 Bad Request\r\n"));
}

static void nearly_amqp(void)
{
	buf_append_text(&dialog.in, TEXT("AMQX\0\0\11\1"));
}

static void another_amqp(void)
{
	buf_append_text(&dialog.in, TEXT("AMQP\3\1\0\0"));
}

/* 64 arrays in each other among the server's properties: rabbitmq-c would follow them. */
static void deep_properties(void)
{
	struct buf payload;

	buf_init(&payload, 4096);
	buf_append_be32(&payload, AMQP_CONNECTION_START_METHOD);
	buf_append_be16(&payload, 9);
	buf_append_be32(&payload, 2 + 64 * 5);
	buf_append_text(&payload, TEXT("\1x"));
	for (uint32_t left = 64; left-- > 0;) {
		buf_append_byte(&payload, 'A');
		buf_append_be32(&payload, left * 5);
	}
	buf_append_text(&payload, TEXT("\0\0\0\5PLAIN\0\0\0\0"));
	peer_frame(&dialog.in, AMQP_FRAME_METHOD, 0, buf_text(&payload));
	buf_release(&payload);
}

static const struct {
	void (*bytes)(void);
	uint16_t code;
	enum rc rc;
} failures[] = {
	{mechanism_missing, 403, RC_MALFORMED},
	{no_mechanisms, 403, RC_MALFORMED},
	{other_version, 540, RC_MALFORMED},
	{secure, 540, RC_MALFORMED},
	{tiny_frames, 502, RC_MALFORMED},
	{tune_first, 503, RC_MALFORMED},
	{start_twice, 503, RC_MALFORMED},
	{open_before_tune, 503, RC_MALFORMED},
	{blocked_before_open, 503, RC_MALFORMED},
	{unexpected_close_ok, 503, RC_MALFORMED},
	{channel_before_open, 505, RC_MALFORMED},
	{early_heartbeat, 505, RC_MALFORMED},
	{login_refused, 403, RC_CLOSED},
	{not_amqp, 501, RC_MALFORMED},
	{nearly_amqp, 501, RC_MALFORMED},
	{another_amqp, 540, RC_CLOSED},
	{deep_properties, 502, RC_MALFORMED},
};

static unsigned times_emitted(const char *kind)
{
	struct text events = buf_text(&dialog.events);
	unsigned times = 0;

	while (events.len > 0) {
		const char *end = memchr(events.ptr, '\n', events.len);
		times += text_starts(events, text_from(kind));
		events = text_of(end + 1, events.len - (size_t)(end + 1 - events.ptr));
	}
	return times;
}

static void fails_with(size_t i, size_t step)
{
	dialog_start(&dialog);
	failures[i].bytes();
	ck_assert_int_eq(dialog_feed(&dialog, buf_text(&dialog.in), step), failures[i].rc);
	ck_assert_uint_eq(times_emitted("AMQP_CLOSED "), 1);
	ck_assert_uint_eq(dialog.last_code, failures[i].code);
	ck_assert(!connection_is_open(dialog.connection));
	ck_assert_int_eq(connection_input(dialog.connection, TEXT("more")), failures[i].rc);
}

START_TEST(handshake_faults_in_one_piece)
{
	fails_with((size_t)_i, SIZE_MAX);
}
END_TEST

START_TEST(handshake_faults_byte_by_byte)
{
	fails_with((size_t)_i, 1);
}
END_TEST

START_TEST(peer_version_is_reported)
{
	dialog_start(&dialog);
	another_amqp();
	ck_assert_int_eq(dialog_feed_in(&dialog), RC_CLOSED);
	dialog_expect_events(&dialog,
		"AMQP_CLOSED 0 540 [the peer speaks AMQP 3-1-0-0, not 0-9-1] [|||] 0 0 0 "
		"000\n");
	buf_consume(connection_output(dialog.connection), 8); /* our own */
	ck_assert_uint_eq(buf_len(connection_output(dialog.connection)), 0);
}
END_TEST

START_TEST(long_credentials_end_the_login)
{
	static char password[2046];

	memset(password, 'x', sizeof password - 1);
	dialog.params.password = password;
	dialog_start(&dialog);
	peer_start(&dialog.in, "PLAIN");
	ck_assert_int_eq(dialog_feed_in(&dialog), RC_LIMIT);
	ck_assert_uint_eq(dialog.last_code, 403);
}
END_TEST

static Suite *faults_suite(void)
{
	Suite *suite = suite_create("amqp/handshake_faults");
	TCase *faults = tcase_create("faults");
	int cases = sizeof failures / sizeof *failures;

	tcase_add_checked_fixture(faults, set_up, tear_down);
	tcase_add_loop_test(faults, handshake_faults_in_one_piece, 0, cases);
	tcase_add_loop_test(faults, handshake_faults_byte_by_byte, 0, cases);
	tcase_add_test(faults, peer_version_is_reported);
	tcase_add_test(faults, long_credentials_end_the_login);
	suite_add_tcase(suite, faults);
	return suite;
}

UNIT_MAIN(faults_suite)
