/* The handshake: what we answer, and what we agree on. */
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

static void consume_protocol_header(void)
{
	struct buf *out = connection_output(dialog.connection);

	ck_assert_uint_ge(buf_len(out), 8);
	ck_assert_mem_eq(buf_text(out).ptr, "AMQP\0\0\11\1", 8);
	buf_consume(out, 8);
}

static const amqp_field_value_t *value_of(const amqp_table_t *table, const char *key)
{
	for (int i = 0; i < table->num_entries; i++) {
		amqp_bytes_t k = table->entries[i].key;

		if (text_is(text_of(k.bytes, k.len), text_from(key)))
			return &table->entries[i].value;
	}
	ck_abort_msg("no %s", key);
	return NULL;
}

static void bytes_are(amqp_bytes_t bytes, struct text expected)
{
	ck_assert(text_is(text_of(bytes.bytes, bytes.len), expected));
}

START_TEST(plain_login_opens)
{
	static const char *const abilities[] = {"connection.blocked", "consumer_cancel_notify",
		"publisher_confirms", "basic.nack", "authentication_failure_close"};
	amqp_connection_start_ok_t *start_ok;
	amqp_connection_tune_ok_t *tune_ok;
	amqp_connection_open_t *open;

	dialog_start(&dialog);
	consume_protocol_header();
	peer_start(&dialog.in, "AMQPLAIN PLAIN");
	ck_assert_int_eq(dialog_feed_in(&dialog), RC_OK);
	start_ok = dialog_sent_method(&dialog, 0, AMQP_CONNECTION_START_OK_METHOD);
	bytes_are(start_ok->mechanism, TEXT("PLAIN"));
	bytes_are(start_ok->response, TEXT("\0guest\0secret"));
	bytes_are(start_ok->locale, TEXT("en_US"));
	bytes_are(value_of(&start_ok->client_properties, "product")->value.bytes, TEXT("wpool"));
	bytes_are(value_of(&start_ok->client_properties, "connection_name")->value.bytes,
		TEXT("unit"));
	value_of(&start_ok->client_properties, "version");
	value_of(&start_ok->client_properties, "platform");
	for (size_t i = 0; i < sizeof abilities / sizeof *abilities; i++) {
		const amqp_table_t *can =
			&value_of(&start_ok->client_properties, "capabilities")->value.table;
		ck_assert(value_of(can, abilities[i])->value.boolean);
	}

	peer_tune(&dialog.in, 100, 4096, 10);
	ck_assert_int_eq(dialog_feed_in(&dialog), RC_OK);
	tune_ok = dialog_sent_method(&dialog, 0, AMQP_CONNECTION_TUNE_OK_METHOD);
	ck_assert_uint_eq(tune_ok->channel_max, 100);
	ck_assert_uint_eq(tune_ok->frame_max, 4096);
	ck_assert_uint_eq(tune_ok->heartbeat, 10);
	open = dialog_sent_method(&dialog, 0, AMQP_CONNECTION_OPEN_METHOD);
	bytes_are(open->virtual_host, TEXT("/"));
	ck_assert(!connection_is_open(dialog.connection));

	peer_open_ok(&dialog.in);
	ck_assert_int_eq(dialog_feed_in(&dialog), RC_OK);
	dialog_expect_events(&dialog, "AMQP_OPENED 0 0 [] [|||] 0 0 0 000\n");
	ck_assert(connection_is_open(dialog.connection));
	ck_assert_uint_eq(buf_len(connection_output(dialog.connection)), 0);
	ck_assert(text_is(connection_peer_product(dialog.connection), TEXT("RabbitMQ")));
	ck_assert(text_is(connection_peer_version(dialog.connection), TEXT("3.10.8")));
}
END_TEST

START_TEST(external_login_has_no_password)
{
	amqp_connection_start_ok_t *start_ok;

	dialog.params.sasl = SASL_EXTERNAL;
	dialog.params.user = dialog.params.password = NULL;
	dialog_start(&dialog);
	consume_protocol_header();
	peer_start(&dialog.in, "PLAIN EXTERNAL");
	ck_assert_int_eq(dialog_feed_in(&dialog), RC_OK);
	start_ok = dialog_sent_method(&dialog, 0, AMQP_CONNECTION_START_OK_METHOD);
	bytes_are(start_ok->mechanism, TEXT("EXTERNAL"));
	bytes_are(start_ok->response, TEXT(""));
}
END_TEST

/* ours, theirs, agreed; 0 is no limit, and no heartbeat */
static const struct {
	uint16_t our_heartbeat, their_heartbeat, heartbeat;
	uint32_t our_frame, their_frame, frame;
	uint16_t their_channels, channels;
} tunings[] = {
	{15, 60, 15, 131072, 131072, 131072, 2047, 2047},
	{60, 15, 15, 131072, 4096, 4096, 1, 1},
	{15, 0, 15, 8192, 0, 8192, 0, 2047},
	{0, 60, 0, 8192, 16384, 8192, 65535, 2047},
	{0, 0, 0, 4096, UINT32_MAX, 4096, 2046, 2046},
};

START_TEST(smaller_limit_is_agreed_on)
{
	dialog.params.heartbeat_s = tunings[_i].our_heartbeat;
	dialog.params.frame_max = tunings[_i].our_frame;
	dialog_start(&dialog);
	peer_start(&dialog.in, "PLAIN");
	peer_tune(&dialog.in, tunings[_i].their_channels, tunings[_i].their_frame,
		tunings[_i].their_heartbeat);
	peer_open_ok(&dialog.in);
	ck_assert_int_eq(dialog_feed_in(&dialog), RC_OK);
	ck_assert_uint_eq(connection_heartbeat(dialog.connection), tunings[_i].heartbeat);
	ck_assert_uint_eq(connection_frame_max(dialog.connection), tunings[_i].frame);
	ck_assert_uint_eq(connection_channel_max(dialog.connection), tunings[_i].channels);
}
END_TEST

START_TEST(long_vhost_fails_the_connection)
{
	static char vhost[257];

	memset(vhost, 'x', sizeof vhost - 1);
	dialog.params.vhost = vhost;
	dialog_start(&dialog);
	peer_start(&dialog.in, "PLAIN");
	peer_tune(&dialog.in, 0, 0, 0);
	ck_assert_int_eq(dialog_feed_in(&dialog), RC_OK);
	ck_assert(connection_has_failed(dialog.connection));
}
END_TEST

START_TEST(close_before_open_is_answered)
{
	dialog_start(&dialog);
	peer_start(&dialog.in, "PLAIN");
	ck_assert_int_eq(dialog_feed_in(&dialog), RC_OK);
	connection_close(dialog.connection, 200, "stop");
	peer_tune(&dialog.in, 0, 0, 0);
	peer_method(
		&dialog.in, 0, AMQP_CONNECTION_CLOSE_OK_METHOD, &(amqp_connection_close_ok_t){0});
	ck_assert_int_eq(dialog_feed_in(&dialog), RC_CLOSED);
	dialog_expect_events(&dialog, "AMQP_CLOSE_OK 0 0 [] [|||] 0 0 0 000\n");
}
END_TEST

START_TEST(long_peer_properties_are_cut)
{
	char words[200];
	amqp_table_entry_t entry = {peer_string("product"),
		{.kind = AMQP_FIELD_KIND_UTF8, .value.bytes = {sizeof words, words}}};
	amqp_connection_start_t start = {0, 9, {1, &entry}, peer_string("PLAIN"), {0}};

	memset(words, 'w', sizeof words);
	dialog_start(&dialog);
	peer_method(&dialog.in, 0, AMQP_CONNECTION_START_METHOD, &start);
	ck_assert_int_eq(dialog_feed_in(&dialog), RC_OK);
	ck_assert_uint_eq(connection_peer_product(dialog.connection).len, 64);
	ck_assert_uint_eq(connection_peer_version(dialog.connection).len, 0);
}
END_TEST

static Suite *handshake_suite(void)
{
	Suite *suite = suite_create("amqp/handshake");
	TCase *agreed = tcase_create("agreed");

	tcase_add_checked_fixture(agreed, set_up, tear_down);
	tcase_add_loop_test(
		agreed, smaller_limit_is_agreed_on, 0, sizeof tunings / sizeof *tunings);
	tcase_add_test(agreed, plain_login_opens);
	tcase_add_test(agreed, external_login_has_no_password);
	tcase_add_test(agreed, long_vhost_fails_the_connection);
	tcase_add_test(agreed, close_before_open_is_answered);
	tcase_add_test(agreed, long_peer_properties_are_cut);
	suite_add_tcase(suite, agreed);
	return suite;
}

UNIT_MAIN(handshake_suite)
