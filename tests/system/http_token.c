/* The token of http.token_file: with it an operator controls pools over TCP; without it, and for
 * pages of other origins, nothing changes and no message is shown. */
#include "harness/control.h"
#include "harness/http.h"
#include "harness/page.h"
#include "harness/scratch.h"
#include "system/system.h"

#include <stdio.h>
#include <string.h>

#define TOKEN  "0123456789abcdef0123456789abcdef"
#define BEARER "Authorization: Bearer "

static char *token_file(const char *token)
{
	char *path = scratch_text("%s/token", fixture.folder);
	FILE *file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	fprintf(file, "%s\n", token);
	fclose(file);
	return path;
}

static struct proc *serve_with_token(const char *token)
{
	return page_serve_with(scratch_text("WPOOL_HTTP_TOKEN_FILE=%s", token_file(token)),
		page_echo_pool("first", 1), 0);
}

static int status_of(const char *where, const char *method, const char *path, const char *headers)
{
	struct http_reply reply = http_request_with(where, method, path, headers);
	int status = reply.status;
	http_release(&reply);
	return status;
}

/* What GET /v1/status says about who asks. */
static const char *access_of(const char *where, const char *headers)
{
	struct http_reply reply = http_request_with(where, "GET", "/v1/status", headers);
	ck_assert_int_eq(reply.status, 200);
	const char *access = control_text(control_parse(strdup(reply.body)), "access");
	http_release(&reply);
	return access;
}

START_TEST(only_the_token_makes_an_operator)
{
	static const struct {
		const char *method, *path, *headers;
		int status;
	} cases[] = {
		{"POST", "/v1/pause", "", 401},
		{"POST", "/v1/pause", BEARER "\r\n", 401},
		{"POST", "/v1/pause", BEARER "0123456789abcdef0123456789abcdeF\r\n", 401},
		{"POST", "/v1/pause", BEARER "0123456789abcdef0123456789abcde\r\n", 401},
		{"POST", "/v1/pause", BEARER TOKEN "0\r\n", 401},
		{"POST", "/v1/pause", "Authorization: Basic " TOKEN "\r\n", 401},
		{"POST", "/v1/pause", BEARER TOKEN "\r\nOrigin: http://x\r\n", 403},
		{"POST", "/v1/pause", BEARER TOKEN "\r\nOrigin: null\r\n", 403},
		{"POST", "/v1/pause",
			BEARER TOKEN "\r\nOrigin: http://localhost\r\nOrigin: http://x\r\n", 403},
		{"POST", "/v1/pools/first/scale?workers=2", "", 401},
		{"POST", "/v1/stop", BEARER TOKEN "\r\n", 403},
		{"POST", "/v1/reload", BEARER TOKEN "\r\n", 403},
		{"POST", "/v1/throttles/erp?limit=1", BEARER TOKEN "\r\n", 403},
		{"GET", "/v1/throttles", "", 200},
		{"GET", "/v1/logs", BEARER TOKEN "\r\n", 403},
		{"GET", "/v1/pools/first/sessions", BEARER TOKEN "\r\n", 403},
		{"GET", "/readyz", BEARER "wrong\r\n", 200},
	};
	serve_with_token(TOKEN);
	control_await("/readyz", 200);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		ck_assert_msg(status_of(page_address(), cases[i].method, cases[i].path,
				      cases[i].headers) == cases[i].status,
			"%s %s with %s", cases[i].method, cases[i].path, cases[i].headers);
	control_get("/readyz", 200); /* nothing has changed */
	ck_assert_int_eq(status_of(page_address(), "POST", "/v1/pause", BEARER TOKEN "\r\n"), 200);
	control_get("/readyz", 503);
}
END_TEST

/* Host and Origin as a browser has them, at the socket (through a tunnel) and over TCP. */
START_TEST(page_of_own_origin_may_post)
{
	static const struct {
		const char *host, *origin;
		int status;
	} cases[] = {
		{"localhost:9464", "http://localhost:9464", 200},
		{"wpool", "https://WPOOL", 200},
		{"localhost:9464", "http://localhost:9465", 403},
		{"localhost:9464", "http://localhost", 403},
		{"localhost", "http://localhost.evil.example", 403},
		{"localhost", "ftp://localhost", 403},
		{"localhost", "null", 403},
	};
	serve_with_token(TOKEN);
	control_await("/readyz", 200);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (int tcp = 0; tcp < 2; tcp++) {
			char *request = scratch_text("POST /v1/resume HTTP/1.0\r\nHost: %s\r\n"
						     "Origin: %s\r\n" BEARER TOKEN "\r\n\r\n",
				cases[i].host, cases[i].origin);
			int fd = http_connect(tcp ? page_address() : control_socket());
			http_send(fd, request, strlen(request));
			struct http_reply reply = http_read(fd);
			ck_assert_msg(
				reply.status == cases[i].status, "%s: %d", request, reply.status);
			http_release(&reply);
		}
}
END_TEST

/* A GET by a page of another origin may come without an Origin. Here, as through a tunnel, each
 * request is an operator's; GET /v1/pools/NAME/dead-letters hands every message back. */
START_TEST(page_of_another_origin_may_get_only_what_is_open)
{
	static const struct {
		const char *headers;
		int status;
	} origins[] = {
		{"Host: localhost\r\nSec-Fetch-Site: cross-site\r\n", 403},
		{"Host: localhost\r\nSec-Fetch-Site: same-site\r\n", 403},
		{"Host: localhost\r\nOrigin: http://x\r\n", 403},
		{"Host: localhost\r\nSec-Fetch-Site: same-origin\r\n", 200},
		{"Host: localhost\r\nSec-Fetch-Site: none\r\n", 200},
		{"Host: localhost\r\nOrigin: http://localhost\r\n", 200},
		{"Host: localhost\r\n", 200},
	};
	static const char *const paths[] = {
		"/v1/pools/first/dead-letters", "/v1/logs", "/v1/log-level"};
	serve_with_token(TOKEN);
	control_await("/readyz", 200);
	for (size_t i = 0; i < sizeof origins / sizeof *origins; i++) {
		for (size_t j = 0; j < sizeof paths / sizeof *paths; j++)
			ck_assert_msg(status_of(control_socket(), "GET", paths[j],
					      origins[i].headers) == origins[i].status,
				"%s with %s", paths[j], origins[i].headers);
		ck_assert_int_eq(
			status_of(control_socket(), "GET", "/v1/pools", origins[i].headers), 200);
	}
	ck_assert_int_eq(
		status_of(control_socket(), "GET", "/v1/logs?follow=true", origins[0].headers),
		403);
}
END_TEST

START_TEST(status_says_who_may_control)
{
	page_serve(page_echo_pool("first", 1), 0);
	ck_assert_str_eq(access_of(page_address(), ""), "read");
	ck_assert_str_eq(access_of(page_address(), BEARER TOKEN "\r\n"), "read");
	ck_assert_str_eq(access_of(control_socket(), ""), "operator");
	ck_assert_int_eq(status_of(page_address(), "POST", "/v1/pause", BEARER TOKEN "\r\n"), 403);
}
END_TEST

static void reload(void)
{
	ck_assert_int_eq(status_of(control_socket(), "POST", "/v1/reload", "Host: wpool\r\n"), 200);
}

/* No request reads the file: only a reload does. */
START_TEST(token_is_replaced_without_a_restart)
{
	struct proc *serve = serve_with_token(TOKEN);
	ck_assert_str_eq(access_of(page_address(), ""), "token");
	ck_assert_str_eq(access_of(page_address(), BEARER TOKEN "\r\n"), "operator");
	token_file("another token of many characters");
	ck_assert_str_eq(access_of(page_address(), BEARER TOKEN "\r\n"), "operator");
	reload();
	ck_assert_str_eq(access_of(page_address(), BEARER TOKEN "\r\n"), "token");
	ck_assert_str_eq(access_of(page_address(), BEARER "another token of many characters\r\n"),
		"operator");
	token_file("");
	reload();
	ck_assert_str_eq(access_of(page_address(), BEARER "\r\n"), "token");
	ck_assert(proc_has_logged(serve, scratch_text("http.token_file %s/token: it is empty; "
						      "no request over TCP is an operator's",
						 fixture.folder)));
}
END_TEST

/* RFC 9110, 15.5.2. */
START_TEST(refusal_names_the_scheme)
{
	serve_with_token(TOKEN);
	struct http_reply reply =
		http_request_with(page_address(), "POST", "/v1/pause", "Host: wpool\r\n");
	ck_assert_int_eq(reply.status, 401);
	control_expect_text(reply.head, "\r\nWWW-Authenticate: Bearer");
	http_release(&reply);
}
END_TEST

START_TEST(short_token_is_none)
{
	struct proc *serve = serve_with_token("123456789012345");
	ck_assert(proc_has_logged(
		serve, "it is shorter than 16 characters; no request over TCP is an operator's"));
	ck_assert_str_eq(access_of(page_address(), BEARER "123456789012345\r\n"), "token");
	ck_assert_int_eq(
		status_of(page_address(), "POST", "/v1/pause", BEARER "123456789012345\r\n"), 401);
}
END_TEST

/* The text of this member, which is null over TCP without the token. */
static void expect_hidden(const char *path, const char *list, const char *member, const char *text)
{
	static const struct {
		bool is_tcp, is_shown;
		const char *headers;
	} cases[] = {{true, false, ""}, {true, false, BEARER "wrong\r\n"},
		{true, true, BEARER TOKEN "\r\n"}, {false, true, "Host: wpool\r\n"}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct http_reply reply =
			http_request_with(cases[i].is_tcp ? page_address() : control_socket(),
				"GET", path, cases[i].headers);
		ck_assert_int_eq(reply.status, 200);
		const json_t *first = control_member(control_parse(reply.body), list, 0);
		const json_t *detail = json_object_get(json_object_get(first, member), "detail");
		if (cases[i].is_shown)
			ck_assert_str_eq(json_string_value(detail), text);
		else
			ck_assert(json_is_null(detail));
	}
}

/* What a worker sent against the protocol may be a part of a message. */
START_TEST(details_are_for_operators)
{
	page_serve_with(scratch_text("WPOOL_HTTP_TOKEN_FILE=%s", token_file(TOKEN)),
		scratch_text("- {name: first, queue: %s, command: ['%s', unknown-status, EVIL], "
			     "workers: 1, retry: {attempts: 1}}\n",
			fixture.queue, fixture_built("workers/evil")),
		0);
	client_send(fixture.client, fixture.queue, "EVIL");
	control_await_figure("totals", "worker_deaths", 1);
	expect_hidden("/v1/pools", "pools", "last_death", "999");
	expect_hidden("/v1/workers", "workers", "last_exit", "999");
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("http token", {only_the_token_makes_an_operator, 1},
		{page_of_own_origin_may_post, 1},
		{page_of_another_origin_may_get_only_what_is_open, 1},
		{status_says_who_may_control, 1}, {token_is_replaced_without_a_restart, 1},
		{refusal_names_the_scheme, 1}, {short_token_is_none, 1},
		{details_are_for_operators, 1});
}
