#include "control/routes.h"

#include "control/access.h"
#include "control/answer.h"
#include "control/page.inc"
#include "http/host.h"
#include "runtime/report/health_text.h"

#include <fnmatch.h>
#include <string.h>

#define TEXT_TYPE "text/plain; charset=utf-8"
#define HTML_TYPE "text/html; charset=utf-8"

#define REASONS_LIMIT (1024 * 1024)

/* The page may send requests only to this supervisor; injected scripts do not run. */
#define PAGE_POLICY                                                                                \
	"default-src 'none'; connect-src 'self'; script-src '" PAGE_SCRIPT "'; "                   \
	"style-src '" PAGE_STYLE "'; img-src data:; base-uri 'none'; form-action 'none'; "         \
	"frame-ancestors 'none'"

/* ---------- short answers ---------- */

/* Made of supervisor/control/page by tools/page. */
static const uint8_t page[] = {
	PAGE_BYTES,
};

static void answer_page(const struct supervisor_view *view, const struct http_request *request)
{
	(void)view;
	http_answer_page(request, HTML_TYPE, text_of((const char *)page, sizeof page), PAGE_POLICY);
}

/* An answer shows that the loop turns. */
static void answer_live(const struct supervisor_view *view, const struct http_request *request)
{
	(void)view;
	http_answer(request, 200, TEXT_TYPE, TEXT("alive\n"), NULL);
}

static void answer_ready(const struct supervisor_view *view, const struct http_request *request)
{
	struct health_walk walk = {0};
	bool is_ready = true;
	struct buf reasons;

	buf_init(&reasons, REASONS_LIMIT);
	while (health_next(view, &walk)) {
		if (!request->is_operator)
			health_hide_details(&walk.health);
		for (enum health_cause cause = 0; cause < HEALTH_CAUSE_COUNT; cause++) {
			if (!health_has(walk.health.causes, cause))
				continue;
			is_ready = false;
			health_append_named_text(&reasons, &walk.health, cause);
			buf_append_byte(&reasons, '\n');
		}
	}
	if (is_ready)
		http_answer(request, 200, TEXT_TYPE, TEXT("ready\n"), NULL);
	else
		http_answer(request, 503, TEXT_TYPE, buf_text(&reasons), NULL);
	buf_release(&reasons);
}

/* ---------- the table ---------- */

static const struct route {
	const char *method, *path;
	enum access access;
	void (*answer)(const struct supervisor_view *, const struct http_request *);
} routes[] = {
	{"GET", "/", ACCESS_OPEN, answer_page},
	{"GET", "/livez", ACCESS_OPEN, answer_live},
	{"GET", "/readyz", ACCESS_OPEN, answer_ready},
	{"GET", "/healthz", ACCESS_OPEN, answer_ready},
	{"GET", "/metrics", ACCESS_OPEN, control_answer_metrics},
	{"GET", "/v1/status", ACCESS_OPEN, control_answer_status},
	{"GET", "/v1/pools", ACCESS_OPEN, control_answer_pools},
	{"GET", "/v1/workers", ACCESS_OPEN, control_answer_workers},
	{"GET", "/v1/history", ACCESS_OPEN, control_answer_history},
	{"GET", "/v1/logs", ACCESS_SOCKET, control_answer_logs},
	{"GET", "/v1/log-level", ACCESS_SOCKET, control_answer_log_level},
	{"POST", "/v1/log-level", ACCESS_SOCKET, control_answer_log_level},
	{"POST", "/v1/pools/*/log-level", ACCESS_SOCKET, control_answer_log_level},
	{"GET", "/v1/pools/*/dead-letters", ACCESS_OPERATOR, control_answer_dead_letters},
	{"POST", "/v1/pools/*/dead-letters/replay", ACCESS_OPERATOR, control_answer_dead_letters},
	{"POST", "/v1/pools/*/dead-letters/drop", ACCESS_OPERATOR, control_answer_dead_letters},
	{"GET", "/v1/throttles", ACCESS_OPEN, control_answer_throttles},
	{"POST", "/v1/throttles/*", ACCESS_SOCKET, control_answer_throttles},
	{"POST", "/v1/publish", ACCESS_SOCKET, control_answer_publish},
	{"POST", "/v1/stop", ACCESS_SOCKET, control_answer_stop},
	{"POST", "/v1/reload", ACCESS_SOCKET, control_answer_reload},
#define POOLS_VERB(id, ...)                                                                        \
	{"POST", "/v1/" #id, ACCESS_OPERATOR, control_answer_verb},                                \
		{"POST", "/v1/pools/*/" #id, ACCESS_OPERATOR, control_answer_verb},
#define POOL_VERB(id, ...) {"POST", "/v1/pools/*/" #id, ACCESS_OPERATOR, control_answer_verb},
#include "api/verbs.def"
	{"GET", "/v1/pools/*/sessions", ACCESS_SOCKET, control_answer_sessions},
#define SESSION_VERB(id, verb, ...)                                                                \
	{"POST", "/v1/pools/*/sessions/" #verb, ACCESS_SOCKET, control_answer_session_verb},
#include "api/session_verbs.def"
};

/* RFC 9112, 3.2: which Host counts if there are several is read differently by others. Only
 * HTTP/1.0 needs none, which no browser speaks; in other requests it may be missing because the
 * library takes a value on several lines for a part of the name. */
static bool has_one_host(const struct http_request *request)
{
	unsigned count = http_header_count(request, "Host");

	if (count == 0)
		return strcmp(request->version, "HTTP/1.0") == 0;
	return count == 1 && http_header(request, "Host");
}

static bool is_for_us(const struct supervisor_view *view, const struct http_request *request)
{
	const char *host = http_header(request, "Host");

	return !host || host_is_ours(text_from(host), view->config->http_hosts);
}

/* By a method that the path has. */
static void answer_route(const struct supervisor_view *view, const struct http_request *request,
	const struct route *route)
{
	if (route->access != ACCESS_OPEN && access_is_foreign(request))
		control_refuse(request, 403, "not for pages of another origin in a browser", NULL);
	else
		route->answer(view, request);
}

static void answer_path(const struct supervisor_view *view, const struct http_request *request)
{
	/* A HEAD is a GET whose body the library leaves out. */
	const char *method = strcmp(request->method, "HEAD") == 0 ? "GET" : request->method;
	bool has_get = false, has_post = false;
	const char *refusal;
	unsigned status;

	for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
		const struct route *route = &routes[i];
		if (fnmatch(route->path, request->path, FNM_PATHNAME | FNM_NOESCAPE) != 0)
			continue;
		refusal = access_refusal(view, request, route->access, &status);
		if (refusal) {
			control_refuse(request, status, refusal, NULL);
			return;
		}
		if (strcmp(route->method, method) == 0) {
			answer_route(view, request, route);
			return;
		}
		has_get |= strcmp(route->method, "GET") == 0;
		has_post |= strcmp(route->method, "POST") == 0;
	}
	if (has_get || has_post)
		control_refuse(request, 405, "not by this method",
			!has_get   ? "POST"
			: has_post ? "GET, HEAD, POST"
				   : "GET, HEAD");
	else
		control_refuse(request, 404, "there is no such path (docs/control.md)", NULL);
}

void control_answer(const struct supervisor_view *view, const struct access_token *token,
	const struct http_request *request)
{
	struct http_request known = *request;

	if (request->is_refused) {
		control_refuse(request, 403,
			"the control socket is not for workers, nor for processes that may be "
			"workers (docs/control.md)",
			NULL);
		return;
	}
	if (!has_one_host(request)) {
		control_refuse(request, 400, "a request needs one Host (docs/control.md)", NULL);
		return;
	}
	if (!is_for_us(view, request)) {
		control_refuse(request, 421,
			"this Host is none of ours; http.hosts can name it (docs/control.md)",
			NULL);
		return;
	}
	known.is_operator = access_is_operator(token, request);
	answer_path(view, &known);
}
