/* amqps: certificates are verified by default; a client certificate is sent if configured. */
#include "system/system.h"

#include <string.h>

static char *tls_url(const char *host, const char *query)
{
	return scratch_text(
		"amqps://guest:guest@%s:%d/%%2f?%s", host, broker_tls_port(fixture.broker), query);
}

static struct proc *serve_over(const char *url)
{
	const char *const options[] = {"--broker", url, "--workers", "1", NULL};
	return fixture_serve(options, (const char *const[]){fixture_built("workers/echo"), NULL});
}

static void expect_service(const char *url)
{
	struct proc *serve = serve_over(url);
	client_expect_consumers(fixture.client, fixture.queue, 1);
	char *large = malloc(300001);
	ck_assert_ptr_nonnull(large);
	memset(large, 'a', 300000);
	large[300000] = '\0';
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = large,
			.reply_to = fixture.replies,
			.headers = {{"X-Status", "201"}}});
	client_expect(fixture.client, fixture.replies, large);
	free(large);
	fixture_stop(serve);
	ck_assert_int_eq(broker_messages(fixture.broker, fixture.queue), 0);
}

static void expect_refusal(const char *url)
{
	struct proc *serve = serve_over(url);
	proc_expect(serve, "certificate");
	ck_assert_int_eq(client_consumers(fixture.client, fixture.queue), 0);
	fixture_stop(serve);
}

START_TEST(known_authority_is_trusted)
{
	static const char *const hosts[] = {"localhost", "127.0.0.1"};
	char *ca = broker_tls_file(fixture.broker, "ca.pem");
	char *query = scratch_text("cacertfile=%s", ca);
	expect_service(tls_url(hosts[_i], query));
}
END_TEST

START_TEST(client_certificate_is_sent)
{
	char *ca = broker_tls_file(fixture.broker, "ca.pem");
	char *certificate = broker_tls_file(fixture.broker, "client.pem");
	char *key = broker_tls_file(fixture.broker, "client-key.pem");
	char *query = scratch_text(
		"cacertfile=%s&certfile=%s&keyfile=%s&verify=verify_peer", ca, certificate, key);
	expect_service(tls_url("localhost", query));
}
END_TEST

START_TEST(verification_can_be_turned_off)
{
	expect_service(tls_url("localhost", "verify=verify_none"));
}
END_TEST

START_TEST(unknown_authority_is_refused)
{
	char *ca = broker_tls_file(fixture.broker, "other-ca.pem");
	expect_refusal(tls_url("localhost", scratch_text("cacertfile=%s", ca)));
	expect_refusal(tls_url("localhost", "heartbeat=10"));
}
END_TEST

START_TEST(wrong_host_name_is_refused)
{
	char *ca = broker_tls_file(fixture.broker, "ca.pem");
	expect_refusal(tls_url("127.0.0.2", scratch_text("cacertfile=%s", ca)));
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("tls", {known_authority_is_trusted, 2}, {client_certificate_is_sent, 1},
		{verification_can_be_turned_off, 1}, {unknown_authority_is_refused, 1},
		{wrong_host_name_is_refused, 1});
}
