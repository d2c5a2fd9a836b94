/* amqps: verified by default, with a client certificate where asked, and never around a bad one. */
#include "system/system.h"

#include <string.h>

static char *tls_url(const char *host, const char *query)
{
	return scratch_text(
		"amqps://guest:guest@%s:%d/%%2f?%s", host, broker_tls_port(site.broker), query);
}

static struct proc *serve_over(const char *url)
{
	const char *const options[] = {"--broker", url, "--workers", "1", NULL};
	return site_serve(options, (const char *const[]){site_built("workers/echo"), NULL});
}

static void expect_service(const char *url)
{
	struct proc *serve = serve_over(url);
	client_expect_consumers(site.client, site.queue, 1);
	char *large = malloc(300001);
	ck_assert_ptr_nonnull(large);
	memset(large, 'a', 300000);
	large[300000] = '\0';
	client_post(site.client, site.queue,
		&(struct letter){
			.body = large, .reply_to = site.replies, .headers = {{"X-Status", "201"}}});
	client_expect(site.client, site.replies, large);
	free(large);
	site_stop(serve);
	ck_assert_int_eq(broker_messages(site.broker, site.queue), 0);
}

static void expect_refusal(const char *url)
{
	struct proc *serve = serve_over(url);
	proc_expect(serve, "certificate");
	ck_assert_int_eq(client_consumers(site.client, site.queue), 0);
	site_stop(serve);
}

START_TEST(a_known_authority_is_trusted)
{
	static const char *const hosts[] = {"localhost", "127.0.0.1"};
	char *ca = broker_tls_file(site.broker, "ca.pem");
	char *query = scratch_text("cacertfile=%s", ca);
	expect_service(tls_url(hosts[_i], query));
}
END_TEST

START_TEST(a_client_certificate_is_shown)
{
	char *ca = broker_tls_file(site.broker, "ca.pem");
	char *certificate = broker_tls_file(site.broker, "client.pem");
	char *key = broker_tls_file(site.broker, "client-key.pem");
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

START_TEST(an_unknown_authority_is_refused)
{
	char *ca = broker_tls_file(site.broker, "other-ca.pem");
	expect_refusal(tls_url("localhost", scratch_text("cacertfile=%s", ca)));
	expect_refusal(tls_url("localhost", "heartbeat=10"));
}
END_TEST

START_TEST(another_host_name_is_refused)
{
	char *ca = broker_tls_file(site.broker, "ca.pem");
	expect_refusal(tls_url("127.0.0.2", scratch_text("cacertfile=%s", ca)));
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("tls", {a_known_authority_is_trusted, 2},
		{a_client_certificate_is_shown, 1}, {verification_can_be_turned_off, 1},
		{an_unknown_authority_is_refused, 1}, {another_host_name_is_refused, 1});
}
