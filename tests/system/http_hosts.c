/* A web page that points a name of its own at this machine (DNS rebinding) reads nothing, over TCP
 * or through a tunnel to the control socket. */
#include "harness/control.h"
#include "harness/http.h"
#include "harness/page.h"
#include "system/system.h"

#include <string.h>

static const char *const paths[] = {"/", "/livez", "/readyz", "/metrics", "/v1/status", "/v1/pools",
	"/v1/workers", "/v1/nothing"};

static int status_of(const char *where, const char *path, const char *headers)
{
	struct http_reply reply = http_request_with(where, "GET", path, headers);
	int status = reply.status;
	http_release(&reply);
	return status;
}

static void expect(const char *where, const char *host, bool is_answered)
{
	char *header = scratch_text("Host: %s\r\n", host);
	int status = status_of(where, "/v1/status", header);
	ck_assert_msg(
		status == (is_answered ? 200 : 421), "Host %s at %s: %d", host, where, status);
	free(header);
}

START_TEST(foreign_host_is_refused_everywhere)
{
	static const char foreign[] = "Host: evil.example:9464\r\n";
	page_serve(page_echo_pool("first", 1), 0);
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		ck_assert_int_eq(status_of(page_address(), paths[i], foreign), 421);
		ck_assert_int_eq(status_of(control_socket(), paths[i], foreign), 421);
	}
	ck_assert_int_eq(status_of(control_socket(), "/v1/logs", foreign), 421);
	struct http_reply reply =
		http_request_with(control_socket(), "POST", "/v1/stop?force=true", foreign);
	ck_assert_int_eq(reply.status, 421);
	http_release(&reply);
	control_get("/livez", 200);
}
END_TEST

START_TEST(own_hosts_are_answered)
{
	static const struct {
		const char *host;
		bool is_answered;
	} cases[] = {
		{"127.0.0.1", true},
		{"[::1]:9464", true},
		{"LOCALHOST:9464", true},
		{"wpool", true},
		{"supervisor", true},
		{"Supervisor.:9464", true},
		{"supervisor.evil.example", false},
		{"localhost.evil.example", false},
		{"127.0.0.1.evil.example", false},
		{"supervisors", false},
	};
	const char *const environment[] = {
		"WPOOL_HTTP_LISTEN=127.0.0.1:0", "WPOOL_HTTP_HOSTS=other supervisor", NULL};
	struct proc *serve =
		fixture_serve_program("wpool", environment, page_echo_pool("first", 1));
	proc_expect(serve, "page, metrics and health: ");
	char *address = scratch_text(
		"127.0.0.1:%d", atoi(strstr(proc_stderr(serve), "(port ") + strlen("(port ")));
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		expect(address, cases[i].host, cases[i].is_answered);
		expect(control_socket(), cases[i].host, cases[i].is_answered);
	}
	ck_assert_int_eq(status_of(address, "/v1/status", ""), 200); /* HTTP/1.0 without Host */
	ck_assert_int_eq(status_of(control_socket(), "/v1/status", ""), 200);
}
END_TEST

/* What a proxy in front may read in another way than we do (RFC 9112, 3.2). */
START_TEST(ambiguous_hosts_are_refused)
{
	static const struct {
		const char *text;
		int status;
	} cases[] = {
		{"HTTP/1.1\r\nHost: wpool\r\n", 200},
		{"HTTP/1.1\r\n", 400},
		{"\r\n", 400},
		{"HTTP/1.1\r\nHost: wpool\r\nHost: evil.example\r\n", 400},
		{"HTTP/1.1\r\nHost: evil.example\r\nhost: wpool\r\n", 400},
		{"HTTP/1.1\r\nHost: wpool\r\nHost: wpool\r\n", 400},
		{"HTTP/1.0\r\nHost: wpool\r\nHOST: evil.example\r\n", 400},
		{"HTTP/1.1\r\nHost: wpool\r\n .evil.example\r\n", 400},
		{"HTTP/1.1\r\nHost:\r\n wpool\r\n", 400},
		{"HTTP/1.1\r\nHost: wpool\r\nHost : evil.example\r\n", 400},
		{"HTTP/1.1\r\nHost\t: evil.example\r\nHost: wpool\r\n", 400},
		{"HTTP/1.1\r\nHost : wpool\r\n", 400},
		{"HTTP/1.0\r\nHost : evil.example\r\n", 400},
		{"HTTP/1.1\r\nHost:\r\n", 421},
		{"HTTP/1.1\r\nHost: wpool\001\r\n", 421},
		{"HTTP/1.1\r\nHost: wpool\x7f\r\n", 421},
		{"HTTP/1.1\r\nHost: wpool\rX: y\r\n", 421},
	};
	page_serve(page_echo_pool("first", 1), 0);
	const char *const places[] = {page_address(), control_socket()};
	for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
		const char *where = places[i % 2], *text = cases[i / 2].text;
		char *request = scratch_text("GET /v1/status %sConnection: close\r\n\r\n", text);
		int fd = http_connect(where);
		http_send(fd, request, strlen(request));
		free(request);
		struct http_reply reply = http_read(fd);
		ck_assert_msg(reply.status == cases[i / 2].status, "%s at %s: %d", text, where,
			reply.status);
		http_release(&reply);
	}
}
END_TEST

/* The answer is none of the page's even where the browser takes it for the page's own. */
START_TEST(rebound_page_reads_nothing)
{
	page_serve(page_echo_pool("first", 1), 0);
	const char *port = strchr(page_address(), ':');
	struct browser *browser = browser_start(fixture.folder);
	browser_open(browser, scratch_text("http://" BROWSER_REBOUND "%s/", port));
	ck_assert_str_eq(browser_text(browser, "location.hostname"), BROWSER_REBOUND);
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		char *answer = browser_text(browser,
			scratch_text("fetch('%s').then(async r => r.status + ' ' + await r.text())",
				paths[i]));
		ck_assert_msg(strncmp(answer, "421 ", 4) == 0, "%s: %.200s", paths[i], answer);
		ck_assert_ptr_null(strstr(answer, "first"));
	}
	browser_open(browser, scratch_text("http://127.0.0.1%s/", port));
	browser_await(browser, "document.querySelector('#verdict').textContent === 'Ready'");
	browser_free(browser);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("http_hosts", {foreign_host_is_refused_everywhere, 1},
		{own_hosts_are_answered, 1}, {ambiguous_hosts_are_refused, 1},
		{rebound_page_reads_nothing, 1});
}
