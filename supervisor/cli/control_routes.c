#include "cli/control_routes.h"

#include "base/json.h"
#include "cli/health.h"

#include <fnmatch.h>
#include <string.h>

#define TEXT_TYPE "text/plain; charset=utf-8"
#define JSON_TYPE "application/json"

#define BODY_LIMIT (1024 * 1024)

/* Over TCP anybody on this machine may ask, or on others where so configured: what is answered
 * there changes nothing, and tells of pools, workers and the broker, but nothing of messages. */
static const struct route {
	const char *method, *path;
	bool is_open; /* over TCP, too */
	void (*answer)(const struct overview *, const struct http_request *);
} routes[] = {
	{"GET", "/", true, control_answer_page},
	{"GET", "/livez", true, control_answer_live},
	{"GET", "/readyz", true, control_answer_ready},
	{"GET", "/healthz", true, control_answer_ready},
	{"GET", "/metrics", true, control_answer_metrics},
	{"GET", "/v1/status", true, control_answer_status},
	{"GET", "/v1/pools", true, control_answer_pools},
	{"GET", "/v1/workers", true, control_answer_workers},
	{"GET", "/v1/logs", false, control_answer_logs},
	{"GET", "/v1/log-level", false, control_answer_log_level},
	{"POST", "/v1/log-level", false, control_answer_log_level},
	{"POST", "/v1/pools/*/log-level", false, control_answer_log_level},
	{"POST", "/v1/stop", false, control_answer_stop},
	{"POST", "/v1/reload", false, control_answer_reload},
	{"POST", "/v1/pause", false, control_answer_steer},
	{"POST", "/v1/resume", false, control_answer_steer},
	{"POST", "/v1/restart", false, control_answer_steer},
	{"POST", "/v1/pools/*/pause", false, control_answer_steer},
	{"POST", "/v1/pools/*/resume", false, control_answer_steer},
	{"POST", "/v1/pools/*/restart", false, control_answer_steer},
	{"POST", "/v1/pools/*/scale", false, control_answer_steer},
};

static bool is_path(const struct route *route, const struct http_request *request)
{
	return fnmatch(route->path, request->path, FNM_PATHNAME | FNM_NOESCAPE) == 0;
}

/* A HEAD is a GET whose body the library leaves out. */
static bool is_method(const struct route *route, const struct http_request *request)
{
	const char *method = strcmp(request->method, "HEAD") == 0 ? "GET" : request->method;

	return strcmp(route->method, method) == 0;
}

void control_refuse(
	const struct http_request *request, unsigned status, const char *what, const char *allow)
{
	struct buf body;

	buf_init(&body, BODY_LIMIT);
	buf_append_text(&body, TEXT("{\"error\":"));
	json_append_string(&body, text_from(what));
	buf_append_text(&body, TEXT("}\n"));
	http_answer(request, status, JSON_TYPE, buf_text(&body), allow);
	buf_release(&body);
}

bool control_is_true(const struct http_request *request, const char *name)
{
	const char *value = http_query(request, name);

	return value && strcmp(value, "true") == 0;
}

/* What may be done there, for who did something else: with a GET comes a HEAD. */
static const char *allowed(const struct http_request *request)
{
	bool get = false, post = false;

	for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
		if (!is_path(&routes[i], request))
			continue;
		get |= strcmp(routes[i].method, "GET") == 0;
		post |= strcmp(routes[i].method, "POST") == 0;
	}
	if (get)
		return post ? "GET, HEAD, POST" : "GET, HEAD";
	return post ? "POST" : NULL;
}

/* Through a tunnel to the socket a browser gets here, too, and any page in it may send a POST:
 * those have an Origin. Our own page steers nothing, and other clients have none. */
static void answer_by(const struct route *route, const struct overview *overview,
	const struct http_request *request)
{
	if (strcmp(route->method, "POST") == 0 && http_header(request, "Origin"))
		control_refuse(request, 403, "not for pages in a browser", NULL);
	else
		route->answer(overview, request);
}

void control_answer(const struct overview *overview, const struct http_request *request)
{
	const char *allow;

	for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
		if (!is_path(&routes[i], request))
			continue;
		if (!routes[i].is_open && !request->is_local) {
			control_refuse(request, 403,
				"this is answered at the control socket only, not over TCP "
				"(docs/control.md)",
				NULL);
			return;
		}
		if (is_method(&routes[i], request)) {
			answer_by(&routes[i], overview, request);
			return;
		}
	}
	allow = allowed(request);
	if (allow)
		control_refuse(request, 405, "not by this method", allow);
	else
		control_refuse(request, 404, "there is no such path (docs/control.md)", NULL);
}

/* The loop turns, or nobody could say so. */
void control_answer_live(const struct overview *overview, const struct http_request *request)
{
	(void)overview;
	http_answer(request, 200, TEXT_TYPE, TEXT("alive\n"), NULL);
}

void control_answer_ready(const struct overview *overview, const struct http_request *request)
{
	struct buf reasons;

	buf_init(&reasons, BODY_LIMIT);
	health_append_reasons(overview, &reasons);
	if (buf_len(&reasons) == 0 && !reasons.failed)
		http_answer(request, 200, TEXT_TYPE, TEXT("ready\n"), NULL);
	else
		http_answer(request, 503, TEXT_TYPE, buf_text(&reasons), NULL);
	buf_release(&reasons);
}
