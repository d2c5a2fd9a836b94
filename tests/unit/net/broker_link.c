/* The broker link over plain TCP, against a fake broker in the same loop. */
#include "unit/unit.h"

#include "net/broker_link_internal.h"
#include "os/clock.h"
#include "unit/support/net/fake.h"
#include "unit/support/net/linked.h"
#include <poll.h>

static struct linked l;
static struct fake fake;

static void set_up(void)
{
	linked_init(&l, ev_loop_new(EVFLAG_AUTO));
}

static void tear_down(void)
{
	linked_release(&l);
	fake_release(&fake);
	ev_loop_destroy(l.loop);
}

static void start(enum fake_script script)
{
	fake_init(&fake, l.loop, script);
	l.hosts[0].port = fake.port;
	linked_start(&l);
}

static void start_up(enum fake_script script, uint16_t heartbeat_s)
{
	fake_init(&fake, l.loop, script);
	fake.heartbeat_s = heartbeat_s;
	l.hosts[0].port = fake.port;
	linked_start(&l);
	linked_wait(&l, &l.ups, 1);
}

static void check_log(const char *words)
{
	ck_assert_msg(strstr(linked_log(&l), words), "no '%s' in:\n%s", words, l.log);
}

START_TEST(comes_up_and_closes_in_order)
{
	start_up(FAKE_OPENS, 0);
	check_log("(test): connected, Fake 1.2");
	broker_link_close(l.broker_link);
	ck_assert_uint_eq(l.ends, 0); /* not from within */
	linked_wait(&l, &l.ends, 1);
	ck_assert_uint_eq(l.downs, 1);
	ck_assert_uint_eq(l.errors, 0);
	ck_assert_str_eq(l.why, "");
}
END_TEST

START_TEST(names_are_resolved)
{
	linked_set_host(&l, 0, "amqp://somebody:verysecret@localhost");
	start_up(FAKE_OPENS, 0);
}
END_TEST

START_TEST(an_unknown_name_is_reported)
{
	linked_set_host(&l, 0, "amqp://somebody:verysecret@no-such-name.invalid");
	l.config.reconnect_limit = 300 * MTIME_MS;
	start(FAKE_OPENS);
	linked_wait(&l, &l.ends, 1);
	ck_assert_str_ne(l.why, "");
	check_log("retrying in");
}
END_TEST

START_TEST(hosts_are_tried_in_turn_without_a_wait)
{
	fake_init(&fake, l.loop, FAKE_OPENS);
	l.hosts[1].port = fake.port;
	l.config.host_count = 2;
	mtime before = clock_now();
	linked_start(&l);
	linked_wait(&l, &l.ups, 1);
	ck_assert_int_lt(clock_now() - before, RECONNECT_FIRST / 2);
	check_log("broker 127.0.0.1:1 (test): Connection refused; trying 127.0.0.1:");
}
END_TEST

static const struct refusal {
	enum fake_script script;
	bool external;
	const char *words;
} refusals[] = {
	{FAKE_REFUSES, false, "refused the login of user somebody: 403 words"},
	{FAKE_HANGS_UP, false, "refused the login of user somebody (it hung up after the login)"},
	{FAKE_FORBIDS_VHOST, false,
		"refused the virtual host to the login of user somebody: 530 words"},
	{FAKE_REFUSES, true, "refused the login by certificate: 403 words"},
};

START_TEST(a_refused_login_is_reported_and_may_be_final)
{
	const struct refusal *refusal = &refusals[_i];
	l.config.refusal_is_final = true;
	l.hosts[0].external = refusal->external;
	start(refusal->script);
	linked_wait(&l, &l.ends, 1);
	ck_assert_msg(strncmp(l.why, "127.0.0.1:", 10) == 0 && strstr(l.why, refusal->words), "%s",
		l.why);
	ck_assert(broker_link_is_refused(l.broker_link));
	ck_assert_uint_eq(l.ups + l.downs, 0);
}
END_TEST

/* What the broker says is stored as it may be shown, whole, with the name of a user who has an odd
 * one.
 */
START_TEST(a_brokers_words_are_stored_escaped)
{
	static const struct {
		struct text said;
		const char *stored;
	} cases[] = {
		{TEXT("bad \xff\xfe"), ": 403 bad \xef\xbf\xbd\xef\xbf\xbd"},
		{TEXT("\x1b]0;x\x07\r\nready \xc2\x9b\xe2\x80\xae\x7f"),
			": 403 \\x1b]0;x\\x07\\r\\nready \\x9b\\u202e\\x7f"},
		{TEXT("cut in \xc3"), ": 403 cut in \xef\xbf\xbd"},
		{TEXT("before\0behind"), ": 403 before\\x00behind"},
	};
	l.config.refusal_is_final = true;
	linked_set_host(&l, 0, "amqp://some%1B[31mbody:verysecret@127.0.0.1");
	fake_init(&fake, l.loop, FAKE_REFUSES);
	fake.words = cases[_i].said;
	l.hosts[0].port = fake.port;
	linked_start(&l);
	linked_wait(&l, &l.ends, 1);
	ck_assert_msg(strstr(l.why, "refused the login of user some\\x1b[31mbody: 403") &&
			      text_ends(text_from(l.why), text_from(cases[_i].stored)),
		"%s", l.why);
}
END_TEST

START_TEST(a_refused_login_waits_longer)
{
	double wait = 0;
	start(FAKE_REFUSES);
	while (!strstr(linked_log(&l), "retrying in"))
		ev_run(l.loop, EVRUN_ONCE);
	ck_assert_int_eq(sscanf(strstr(l.log, "retrying in"), "retrying in %lf s", &wait), 1);
	ck_assert_double_ge(wait, 3.7);
	ck_assert(broker_link_is_refused(l.broker_link));
}
END_TEST

static const struct silence {
	enum fake_script script;
	const char *words;
} silences[] = {
	{FAKE_SAYS_NOTHING, "no answer within 0.2 s (AMQP handshake)"},
	{FAKE_IS_NO_BROKER, "the peer broke the protocol"},
};

START_TEST(a_peer_that_is_no_broker_is_given_up)
{
	l.hosts[0].connection_timeout = 200 * MTIME_MS;
	l.config.reconnect_limit = 600 * MTIME_MS;
	start(silences[_i].script);
	linked_wait(&l, &l.ends, 1);
	ck_assert_msg(strstr(l.why, silences[_i].words), "%s", l.why);
	ck_assert(!broker_link_is_refused(l.broker_link));
}
END_TEST

START_TEST(a_closed_port_is_tried_until_the_limit)
{
	fake_init(&fake, l.loop, FAKE_OPENS);
	l.config.reconnect_limit = 900 * MTIME_MS;
	mtime before = clock_now();
	linked_start(&l);
	linked_wait(&l, &l.ends, 1);
	ck_assert_int_ge(clock_now() - before, 890 * MTIME_MS);
	ck_assert_str_eq(l.why, "127.0.0.1:1: Connection refused");
	ck_assert_str_eq(broker_link_failure(l.broker_link), l.why);
	check_log("debug broker 127.0.0.1:1 (test): Connection refused; retrying in");
	ck_assert_ptr_null(strstr(l.log, "warn")); /* the end reports it, once */
}
END_TEST

static void await_lines(const char *words, int wanted)
{
	for (;;) {
		int lines = 0;
		for (const char *at = linked_log(&l); (at = strstr(at, words)); at++)
			lines++;
		if (lines >= wanted)
			return;
		ev_run(l.loop, EVRUN_ONCE);
	}
}

/* Both try and fail, and one logs each failure until it is freed; then the other does. */
START_TEST(of_two_that_fail_alike_one_logs_it)
{
	static const struct broker_link_handler silent;
	static struct log_dedup log_dedup;
	l.config.log_dedup = &log_dedup;
	linked_start(&l);
	struct broker_link_config config = l.config;
	config.name = "other";
	struct broker_link *other = broker_link_new(l.loop, &config, &silent, NULL);
	ck_assert_ptr_nonnull(other);
	await_lines("(test): Connection refused; retrying in", 2);
	await_lines("(other): Connection refused; retrying in", 2);
	bool is_first = strstr(l.log, "(test)") < strstr(l.log, "(other)");
	const char *loud =
		is_first ? "warn  broker 127.0.0.1:1 (test)" : "warn  broker 127.0.0.1:1 (other)";
	const char *low =
		is_first ? "warn  broker 127.0.0.1:1 (other)" : "warn  broker 127.0.0.1:1 (test)";
	await_lines(loud, 2);
	ck_assert_ptr_null(strstr(l.log, low));
	broker_link_free(is_first ? l.broker_link : other);
	*(is_first ? &l.broker_link : &other) = NULL;
	await_lines(low, 1);
	broker_link_free(other);
}
END_TEST

START_TEST(a_lost_connection_is_opened_again)
{
	start_up(FAKE_OPENS, 0);
	fake_cut(&fake);
	linked_wait(&l, &l.ups, 2);
	ck_assert_uint_eq(l.downs, 1);
	ck_assert_uint_eq(l.errors, 0);
	check_log("the broker hung up; retrying in");
}
END_TEST

static const struct closing {
	uint16_t code;
	bool is_error;
} closings[] = {{320, false}, {541, true}, {501, true}};

START_TEST(a_close_by_the_broker_tells_errors_from_operators)
{
	char words[64];
	start_up(FAKE_OPENS, 0);
	fake_send_close(&fake, closings[_i].code);
	linked_wait(&l, &l.downs, 1);
	ck_assert_uint_eq(l.errors, closings[_i].is_error);
	snprintf(words, sizeof words, "closed the connection: %u words", closings[_i].code);
	check_log(words);
	linked_wait(&l, &l.ups, 2);
}
END_TEST

START_TEST(heartbeats_go_out_and_silence_ends_the_connection)
{
	start_up(FAKE_IS_SILENT, 1);
	mtime before = clock_now();
	linked_wait(&l, &l.downs, 1);
	ck_assert_int_ge(clock_now() - before, 1900 * MTIME_MS);
	ck_assert_int_le(clock_now() - before, 3 * MTIME_SECOND);
	ck_assert_uint_ge(fake.heartbeats, 3);
	check_log("nothing received for 2 s");
}
END_TEST

/* As after a suspension: the clock has jumped, and the heartbeat is still in the socket. */
START_TEST(bytes_in_the_socket_count_before_the_clock)
{
	start_up(FAKE_IS_SILENT, 1);
	struct pollfd arrival = {.fd = stream_fd(l.broker_link->stream), .events = POLLIN};
	fake_send_heartbeat(&fake);
	ck_assert_int_eq(poll(&arrival, 1, 5000), 1);
	l.broker_link->received -= MTIME_MINUTE;
	ev_invoke(l.loop, &l.broker_link->pulse, EV_TIMER);
	ck_assert_msg(l.downs == 0, "%s", linked_log(&l));
	l.broker_link->received -= MTIME_MINUTE;
	ev_invoke(l.loop, &l.broker_link->pulse, EV_TIMER);
	ck_assert_uint_eq(l.downs, 1);
}
END_TEST

START_TEST(output_waits_for_a_slow_broker_and_arrives_whole)
{
	static const uint8_t heartbeat[8] = {8, 0, 0, 0, 0, 0, 0, 0xce};
	enum { COUNT = 1000000 };
	unsigned before;

	start_up(FAKE_IS_DEAF, 0);
	before = fake.heartbeats;
	for (int i = 0; i < COUNT; i++)
		buf_append(connection_output(l.connection), heartbeat, sizeof heartbeat);
	broker_link_flush(l.broker_link);
	for (int i = 0; i < 5; i++)
		ev_run(l.loop, EVRUN_NOWAIT);
	ck_assert_uint_gt(buf_len(connection_output(l.connection)), 0);
	fake_listen(&fake);
	linked_wait(&l, &fake.heartbeats, before + COUNT);
	ck_assert_uint_eq(fake.heartbeats, before + COUNT);
	ck_assert_uint_eq(l.downs, 0);
}
END_TEST

START_TEST(output_over_its_limit_closes_the_connection)
{
	static char much[4096];
	l.config.output_limit = 65536;
	start_up(FAKE_IS_DEAF, 0);
	while (!connection_output(l.connection)->failed)
		buf_append(connection_output(l.connection), much, sizeof much);
	broker_link_flush(l.broker_link);
	ck_assert_uint_eq(l.downs, 0); /* not from within */
	linked_wait(&l, &l.downs, 1);
	check_log("reads too slowly");
}
END_TEST

START_TEST(a_close_without_an_answer_ends_after_a_second)
{
	start_up(FAKE_IS_SILENT, 0);
	mtime before = clock_now();
	broker_link_close(l.broker_link);
	linked_wait(&l, &l.ends, 1);
	ck_assert_int_ge(clock_now() - before, 900 * MTIME_MS);
	ck_assert_uint_eq(l.downs, 1);
	ck_assert_str_eq(l.why, "");
}
END_TEST

START_TEST(may_be_closed_in_on_down)
{
	l.closes_on_down = true;
	start_up(FAKE_OPENS, 0);
	fake_cut(&fake);
	linked_wait(&l, &l.ends, 1);
	ck_assert_uint_eq(l.ups, 1);
	ck_assert_str_eq(l.why, "");
}
END_TEST

START_TEST(may_be_closed_before_it_is_up)
{
	start(FAKE_SAYS_NOTHING);
	for (int turn = 0; turn < _i; turn++)
		ev_run(l.loop, EVRUN_ONCE);
	broker_link_close(l.broker_link);
	linked_wait(&l, &l.ends, 1);
	ck_assert_uint_eq(l.ups + l.downs, 0);
}
END_TEST

/* Names go through the thread, whose answer may come after the link was freed. */
START_TEST(may_be_freed_at_any_turn)
{
	linked_set_host(&l, 0, "amqp://somebody:verysecret@localhost");
	start(FAKE_OPENS);
	for (int turn = 0; turn < _i; turn++)
		ev_run(l.loop, EVRUN_ONCE);
	broker_link_free(l.broker_link);
	l.broker_link = NULL;
}
END_TEST

static Suite *broker_link_suite(void)
{
	Suite *suite = suite_create("net/broker_link");
	TCase *plain = tcase_create("plain");
	tcase_add_checked_fixture(plain, set_up, tear_down);
	tcase_set_timeout(plain, 30);
	tcase_add_test(plain, comes_up_and_closes_in_order);
	tcase_add_test(plain, names_are_resolved);
	tcase_add_test(plain, an_unknown_name_is_reported);
	tcase_add_test(plain, hosts_are_tried_in_turn_without_a_wait);
	tcase_add_loop_test(plain, a_refused_login_is_reported_and_may_be_final, 0,
		sizeof refusals / sizeof *refusals);
	tcase_add_loop_test(plain, a_brokers_words_are_stored_escaped, 0, 4);
	tcase_add_test(plain, a_refused_login_waits_longer);
	tcase_add_loop_test(
		plain, a_peer_that_is_no_broker_is_given_up, 0, sizeof silences / sizeof *silences);
	tcase_add_test(plain, a_closed_port_is_tried_until_the_limit);
	tcase_add_test(plain, of_two_that_fail_alike_one_logs_it);
	tcase_add_test(plain, a_lost_connection_is_opened_again);
	tcase_add_loop_test(plain, a_close_by_the_broker_tells_errors_from_operators, 0,
		sizeof closings / sizeof *closings);
	tcase_add_test(plain, heartbeats_go_out_and_silence_ends_the_connection);
	tcase_add_test(plain, bytes_in_the_socket_count_before_the_clock);
	tcase_add_test(plain, output_waits_for_a_slow_broker_and_arrives_whole);
	tcase_add_test(plain, output_over_its_limit_closes_the_connection);
	tcase_add_test(plain, a_close_without_an_answer_ends_after_a_second);
	tcase_add_test(plain, may_be_closed_in_on_down);
	tcase_add_loop_test(plain, may_be_closed_before_it_is_up, 0, 4);
	tcase_add_loop_test(plain, may_be_freed_at_any_turn, 0, 12);
	suite_add_tcase(suite, plain);
	return suite;
}

UNIT_MAIN(broker_link_suite)
