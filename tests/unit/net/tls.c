/* The broker link over TLS: who is believed, who is not, and what is said about it. */
#include "net/tls.h"
#include "unit/unit.h"

#include "unit/support/net/certificate.h"
#include "unit/support/net/fake.h"
#include "unit/support/net/linked.h"
#include <openssl/err.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>

static struct linked l;
static struct fake fake;
static struct certificate served, stranger, expired, nameless;

static void set_up(void)
{
	signal(SIGPIPE, SIG_IGN); /* as tls.h demands */
	certificate_make(&served, "DNS:localhost,IP:127.0.0.1", 1);
	certificate_make(&stranger, "DNS:elsewhere.test", 1);
	certificate_make(&nameless, "email:localhost@elsewhere.test", 1);
	certificate_make(&expired, "DNS:localhost,IP:127.0.0.1", -1);
	linked_init(&l, ev_loop_new(EVFLAG_AUTO));
	fake_init(&fake, l.loop, FAKE_OPENS);
}

static void tear_down(void)
{
	linked_release(&l);
	fake_release(&fake);
	ev_loop_destroy(l.loop);
	certificate_release(&served);
	certificate_release(&stranger);
	certificate_release(&expired);
	certificate_release(&nameless);
}

/* options: the query of the address; %s in it are files. */
static void aim(
	const char *host, const char *options, const char *one, const char *two, const char *three)
{
	char query[300], url[400];
	snprintf(query, sizeof query, options, one, two, three);
	snprintf(url, sizeof url, "amqps://somebody:verysecret@%s:%u?connection_timeout=15000%s",
		host, fake.port, query);
	linked_set_host(&l, 0, url);
}

static void check_fails(const char *words)
{
	linked_start(&l);
	while (!*broker_link_failure(l.broker_link)) /* check's own limit ends this */
		ev_run(l.loop, EVRUN_ONCE);
	const char *why = broker_link_failure(l.broker_link);
	ck_assert_msg(strstr(why, words), "no '%s' in '%s'", words, why);
	ck_assert_uint_eq(l.ups, 0);
}

START_TEST(a_name_is_asked_for_and_matched)
{
	fake_use_tls(&fake, served.x509, served.key);
	aim("localhost", "&cacertfile=%s", served.path, "", "");
	linked_start(&l);
	linked_wait(&l, &l.ups, 1);
	ck_assert_str_eq(fake.sni, "localhost");
	ck_assert(!fake.client_had_certificate);
}
END_TEST

START_TEST(an_address_is_matched_and_not_asked_for)
{
	fake_use_tls(&fake, served.x509, served.key);
	aim("127.0.0.1", "&cacertfile=%s", served.path, "", "");
	linked_start(&l);
	linked_wait(&l, &l.ups, 1);
	ck_assert_str_eq(fake.sni, "");
}
END_TEST

static const struct {
	const struct certificate *shown;
	const char *host;
	const struct certificate *trusted; /* NULL: what the system trusts */
	const char *words;
} strangers[] = {
	{&stranger, "localhost", &stranger, "hostname mismatch"},
	{&stranger, "127.0.0.1", &stranger, "IP address mismatch"},
	{&nameless, "localhost", &nameless, "hostname mismatch"}, /* RFC 9525, 2 */
	{&served, "localhost", &stranger, "self-signed certificate"},
	{&served, "localhost", NULL, "self-signed certificate"},
	{&expired, "localhost", &expired, "certificate has expired"},
};

START_TEST(a_stranger_is_not_believed)
{
	const struct certificate *trusted = strangers[_i].trusted;
	char words[100];
	fake_use_tls(&fake, strangers[_i].shown->x509, strangers[_i].shown->key);
	if (trusted)
		aim(strangers[_i].host, "&cacertfile=%s", trusted->path, "", "");
	else
		aim(strangers[_i].host, "", "", "", "");
	snprintf(words, sizeof words, "certificate verify failed: %s", strangers[_i].words);
	check_fails(words);
}
END_TEST

static void serve_only(const struct certificate *certificate, const char *ciphers)
{
	fake_use_tls(&fake, certificate->x509, certificate->key);
	ck_assert(SSL_CTX_set_max_proto_version(fake.context, TLS1_2_VERSION));
	ck_assert(SSL_CTX_set_cipher_list(fake.context, ciphers));
	aim("localhost", "&cacertfile=%s", certificate->path, "", "");
}

START_TEST(old_suites_are_refused)
{
	static const char *const suites[] = {"AES128-GCM-SHA256", "AES128-SHA",
		"DHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-SHA"};
	struct certificate rsa;
	certificate_make_rsa(&rsa, "DNS:localhost", 1);
	serve_only(&rsa, suites[_i]);
	SSL_CTX_set_dh_auto(fake.context, 1);
	check_fails("TLS: ");
	certificate_release(&rsa);
}
END_TEST

START_TEST(a_peer_may_not_renegotiate)
{
	char byte;
	int read = -1;
	serve_only(&served, "ECDHE-ECDSA-AES128-GCM-SHA256");
	linked_start(&l);
	linked_wait(&l, &l.ups, 1);
	ev_io_stop(l.loop, &fake.readable);
	ck_assert_int_eq(SSL_renegotiate(fake.session), 1);
	do { /* check's own limit ends this */
		ck_assert_int_eq(SSL_renegotiate_pending(fake.session), 1);
		ev_run(l.loop, EVRUN_NOWAIT);
		read = SSL_read(fake.session, &byte, 1);
	} while (read > 0 || SSL_get_error(fake.session, read) != SSL_ERROR_SSL);
	ck_assert_int_eq(ERR_GET_REASON(ERR_peek_error()), SSL_R_NO_RENEGOTIATION);
}
END_TEST

START_TEST(verification_can_be_turned_off)
{
	fake_use_tls(&fake, stranger.x509, stranger.key);
	aim("localhost", "&verify=verify_none", "", "", "");
	linked_start(&l);
	linked_wait(&l, &l.ups, 1);
}
END_TEST

START_TEST(a_client_certificate_is_shown)
{
	fake_use_tls(&fake, served.x509, served.key);
	aim("localhost", "&cacertfile=%s&certfile=%s&keyfile=%s", served.path, served.path,
		served.key_path);
	linked_start(&l);
	linked_wait(&l, &l.ups, 1);
	ck_assert(fake.client_had_certificate);
}
END_TEST

START_TEST(files_that_do_not_work_are_named)
{
	static const struct {
		const char *options, *words;
	} cases[] = {
		{"&cacertfile=/nonexistent", "cannot use cacertfile /nonexistent: No such file"},
		{"&cacertfile=/dev/null", "cannot use cacertfile /dev/null: "},
		{"&certfile=/nonexistent&keyfile=/nonexistent",
			"cannot use certfile /nonexistent: No such file"},
	};
	fake_use_tls(&fake, served.x509, served.key);
	aim("localhost", "%s", cases[_i].options, "", "");
	check_fails(cases[_i].words);
}
END_TEST

/* Opening it must not wait for a writer, nor reading for an end. */
START_TEST(only_regular_files_are_read)
{
	static const char *const keys[] = {"cacertfile", "certfile", "keyfile"};
	char fifo[80], words[160];
	snprintf(fifo, sizeof fifo, "%s.fifo", served.path);
	ck_assert_int_eq(mkfifo(fifo, 0600), 0);
	const char *paths[] = {served.path, served.path, served.key_path};
	paths[_i % 3] = _i < 3 ? fifo : "/dev/zero";
	snprintf(words, sizeof words, "cannot use %s %s: it is not a regular file", keys[_i % 3],
		paths[_i % 3]);
	fake_use_tls(&fake, served.x509, served.key);
	aim("localhost", "&cacertfile=%s&certfile=%s&keyfile=%s", paths[0], paths[1], paths[2]);
	check_fails(words);
	unlink(fifo);
}
END_TEST

START_TEST(a_key_of_another_certificate_is_named)
{
	fake_use_tls(&fake, served.x509, served.key);
	aim("localhost", "&cacertfile=%s&certfile=%s&keyfile=%s", served.path, served.path,
		stranger.key_path);
	check_fails("cannot use keyfile");
}
END_TEST

START_TEST(a_port_without_tls_is_guessed)
{
	fake.script = FAKE_IS_NO_BROKER;
	fake.greets_at_once = true;
	aim("localhost", "&cacertfile=%s", served.path, "", "");
	check_fails("does that port speak TLS?");
}
END_TEST

START_TEST(mended_files_are_read_again)
{
	fake_use_tls(&fake, served.x509, served.key);
	aim("localhost", "&cacertfile=%s", stranger.path, "", "");
	linked_start(&l);
	while (!strstr(linked_log(&l), "retrying in"))
		ev_run(l.loop, EVRUN_ONCE);
	ck_assert_int_eq(rename(served.path, stranger.path), 0);
	linked_wait(&l, &l.ups, 1);
}
END_TEST

START_TEST(a_lost_session_comes_back)
{
	fake_use_tls(&fake, served.x509, served.key);
	aim("localhost", "&cacertfile=%s", served.path, "", "");
	linked_start(&l);
	linked_wait(&l, &l.ups, 1);
	fake_cut(&fake);
	for (int i = 0; i < 3; i++) {
		connection_heartbeat_send(l.connection);
		broker_link_flush(l.broker_link);
	}
	linked_wait(&l, &l.ups, 2);
	ck_assert_uint_eq(l.downs, 1);
}
END_TEST

/* Not only those of a handshake that failed, and only when they have changed. */
START_TEST(each_connect_reads_changed_files)
{
	char kept[80];
	fake_use_tls(&fake, served.x509, served.key);
	aim("localhost", "&cacertfile=%s", served.path, "", "");
	linked_start(&l);
	linked_wait(&l, &l.ups, 1);
	snprintf(kept, sizeof kept, "%s.kept", served.path);
	ck_assert_int_eq(rename(served.path, kept), 0);
	ck_assert_int_eq(rename(stranger.path, served.path), 0);
	fake_cut(&fake);
	while (!strstr(linked_log(&l), "certificate verify failed")) {
		ev_run(l.loop, EVRUN_ONCE);
		ck_assert_uint_eq(l.ups, 1);
	}
	ck_assert_int_eq(rename(kept, served.path), 0);
	linked_wait(&l, &l.ups, 2);
}
END_TEST

/* Those of the system, which are older than this test. */
START_TEST(unchanged_files_are_not_read_again)
{
	struct broker_url url;
	char problem[256];
	ck_assert_int_eq(broker_url_parse("amqps://h", &url, problem, sizeof problem), RC_OK);
	struct tls *tls = tls_new(&url, problem, sizeof problem);
	ck_assert_ptr_nonnull(tls);
	ck_assert(tls_is_current(tls, &url));
	setenv("SSL_CERT_FILE", served.path, 1);
	ck_assert(!tls_is_current(tls, &url));
	tls_free(tls);
	broker_url_release(&url);
}
END_TEST

START_TEST(output_arrives_whole)
{
	static const uint8_t heartbeat[8] = {8, 0, 0, 0, 0, 0, 0, 0xce};
	enum { COUNT = 1000000 };

	fake.script = FAKE_IS_DEAF;
	fake_use_tls(&fake, served.x509, served.key);
	aim("localhost", "&cacertfile=%s", served.path, "", "");
	linked_start(&l);
	linked_wait(&l, &l.ups, 1);
	for (int i = 0; i < COUNT; i++) {
		buf_append(connection_output(l.connection), heartbeat, sizeof heartbeat);
		if (i % 200000 == 0) /* the buffer moves while a write is unfinished */
			broker_link_flush(l.broker_link);
	}
	broker_link_flush(l.broker_link);
	fake_listen(&fake);
	linked_wait(&l, &fake.heartbeats, COUNT);
	ck_assert_uint_eq(fake.heartbeats, COUNT);
	broker_link_close(l.broker_link);
	linked_wait(&l, &l.ends, 1);
	ck_assert_str_eq(l.why, "");
}
END_TEST

static Suite *tls_suite(void)
{
	Suite *suite = suite_create("net/tls");
	TCase *tls = tcase_create("tls");
	tcase_add_checked_fixture(tls, set_up, tear_down);
	tcase_set_timeout(tls, 30);
	tcase_add_test(tls, a_name_is_asked_for_and_matched);
	tcase_add_test(tls, an_address_is_matched_and_not_asked_for);
	tcase_add_loop_test(
		tls, a_stranger_is_not_believed, 0, sizeof strangers / sizeof *strangers);
	tcase_add_test(tls, verification_can_be_turned_off);
	tcase_add_test(tls, a_client_certificate_is_shown);
	tcase_add_loop_test(tls, files_that_do_not_work_are_named, 0, 3);
	tcase_add_loop_test(tls, only_regular_files_are_read, 0, 6);
	tcase_add_test(tls, a_key_of_another_certificate_is_named);
	tcase_add_test(tls, a_port_without_tls_is_guessed);
	tcase_add_test(tls, mended_files_are_read_again);
	tcase_add_test(tls, a_lost_session_comes_back);
	tcase_add_loop_test(tls, old_suites_are_refused, 0, 4);
	tcase_add_test(tls, a_peer_may_not_renegotiate);
	tcase_add_test(tls, each_connect_reads_changed_files);
	tcase_add_test(tls, unchanged_files_are_not_read_again);
	tcase_add_test(tls, output_arrives_whole);
	suite_add_tcase(suite, tls);
	return suite;
}

UNIT_MAIN(tls_suite)
