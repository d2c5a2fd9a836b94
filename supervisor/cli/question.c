#include "cli/question.h"

#include <stdlib.h>

#define VARIABLE  "WPOOL_CONTROL_SOCKET"
#define URL_LIMIT (64 * 1024)

/* ---------- where to ask ---------- */

static const char *setting_of(const char *socket)
{
	const char *variable = getenv(VARIABLE);

	if (socket)
		return socket;
	return variable && *variable ? variable : "auto";
}

struct control_paths question_paths(const char *socket)
{
	return control_paths_of(setting_of(socket));
}

void question_append_places(const char *socket, const struct control_paths *paths, struct buf *out)
{
	for (size_t i = 0; i < paths->count; i++)
		buf_printf(out, "%s%s", i ? " or " : "", paths->list[i]);
	if (paths->count == 0)
		buf_printf(out, "\"%s\"", setting_of(socket));
}

/* ---------- the request ---------- */

static size_t on_bytes(char *bytes, size_t size, size_t count, void *ctx)
{
	const struct question *q = ctx;

	buf_append(q->out, bytes, size * count);
	if (q->out->failed || (q->on_more && !q->on_more(q->ctx)))
		return 0;
	return size * count;
}

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '.' || c == '_' || c == '-';
}

static void append_name(struct buf *url, const char *name)
{
	for (; *name; name++)
		buf_printf(url, is_plain(*name) ? "%c" : "%%%02X", (unsigned char)*name);
}

static void make_url(const struct question *q, struct buf *url)
{
	const char *path = q->path, *star = strchr(path, '*');

	buf_printf(url, "http://wpool%.*s", star ? (int)(star - path) : (int)strlen(path), path);
	if (q->pool && !star)
		buf_printf(url, "%cpool=", strchr(path, '?') ? '&' : '?');
	if (q->pool)
		append_name(url, q->pool);
	if (star)
		buf_append_text(url, text_from(star + 1));
	buf_append_byte(url, '\0');
}

static CURLcode set_method(const struct question *q, const struct curl *curl, CURL *handle)
{
	if (q->method)
		return (curl->easy_setopt)(handle, CURLOPT_POSTFIELDS, "");
	return (curl->easy_setopt)(handle, CURLOPT_HTTPGET, 1L);
}

static CURLcode set_all(
	const struct question *q, const struct curl *curl, CURL *handle, const char *url)
{
	CURLcode (*set)(CURL *, CURLoption, ...) = curl->easy_setopt;
	CURLcode code = set_method(q, curl, handle);

	if (code == CURLE_OK)
		code = (set)(handle, CURLOPT_UNIX_SOCKET_PATH, q->socket);
	if (code == CURLE_OK)
		code = (set)(handle, CURLOPT_URL, url);
	if (code == CURLE_OK)
		code = (set)(handle, CURLOPT_TIMEOUT_MS, q->timeout_ms);
	if (code == CURLE_OK)
		code = (set)(handle, CURLOPT_NOSIGNAL, 1L);
	if (code == CURLE_OK)
		code = (set)(handle, CURLOPT_NOPROXY, "*");
	if (code == CURLE_OK)
		code = (set)(handle, CURLOPT_WRITEFUNCTION, on_bytes);
	if (code == CURLE_OK)
		code = (set)(handle, CURLOPT_WRITEDATA, (const void *)q);
	return code;
}

CURLcode question_put(const struct question *q, const struct curl *curl, CURL *handle)
{
	struct buf url;
	CURLcode code;

	buf_init(&url, URL_LIMIT);
	make_url(q, &url);
	code = url.failed ? CURLE_URL_MALFORMAT : set_all(q, curl, handle, buf_text(&url).ptr);
	buf_release(&url);
	return code;
}
