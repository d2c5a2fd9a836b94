#include "client/api_client.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#define LIBRARY      "libcurl.so.4"
#define VARIABLE     "WPOOL_CONTROL_SOCKET"
#define TIMEOUT_MS   10000L
#define ANSWER_LIMIT (256u * 1024 * 1024)
#define TEXT_LIMIT   (64 * 1024)
#define HTTP_OK      200
/* How long a supervisor may take from its last answer to its end. */
#define EXIT_LIMIT_MS (API_CLIENT_EXIT_LIMIT_S * 1000)

/* ---------- the library ---------- */

#define FUNCTIONS(X)                                                                               \
	X(CURL *, easy_init, (void))                                                               \
	X(CURLcode, easy_setopt, (CURL *, CURLoption, ...))                                        \
	X(CURLcode, easy_getinfo, (CURL *, CURLINFO, ...))                                         \
	X(const char *, easy_strerror, (CURLcode))                                                 \
	X(void, easy_cleanup, (CURL *))                                                            \
	X(CURLM *, multi_init, (void))                                                             \
	X(CURLMcode, multi_add_handle, (CURLM *, CURL *))                                          \
	X(CURLMcode, multi_remove_handle, (CURLM *, CURL *))                                       \
	X(CURLMcode, multi_perform, (CURLM *, int *))                                              \
	X(CURLMcode, multi_poll, (CURLM *, struct curl_waitfd[], unsigned, int, int *))            \
	X(CURLMsg *, multi_info_read, (CURLM *, int *))                                            \
	X(CURLMcode, multi_cleanup, (CURLM *))

struct curl {
#define X(type, name, parameters) type(*name) parameters;
	FUNCTIONS(X)
#undef X
};

static struct curl loaded;

/* POSIX allows to copy the object pointer of dlsym into a function pointer. */
static bool find(void *library, const char *name, void *ret_function)
{
	void *found = dlsym(library, name);

	memcpy(ret_function, &found, sizeof found);
	return found != NULL;
}

static bool load(void)
{
	/* Stays loaded: its own libraries leave code that runs at exit. */
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	bool is_whole = library != NULL;

#define X(type, name, parameters) is_whole = is_whole && find(library, "curl_" #name, &loaded.name);
	FUNCTIONS(X)
#undef X
	return is_whole;
}

/* ---------- life ---------- */

static const char *setting_of(const char *socket)
{
	const char *variable = getenv(VARIABLE);

	if (socket)
		return socket;
	return variable && *variable ? variable : "auto";
}

enum rc api_client_init(struct api_client *client, const char *socket, const char **ret_why)
{
	if (!load()) {
		*ret_why = LIBRARY " cannot be loaded, or is too old (Debian: libcurl4)";
		return RC_NOT_FOUND;
	}
	*client = (struct api_client){.curl = &loaded,
		.socket = socket,
		.paths = control_paths_of(setting_of(socket)),
		.multi = loaded.multi_init(),
		.handle = loaded.easy_init(),
		.peer = PEER_PROCESS_NONE};
	control_paths_drop_foreign(&client->paths);
	buf_init(&client->answer, ANSWER_LIMIT);
	buf_init(&client->problem, TEXT_LIMIT);
	if (client->multi && client->handle)
		return RC_OK;
	*ret_why = "out of memory";
	api_client_release(client);
	return RC_MEMORY;
}

void api_client_release(struct api_client *client)
{
	if (client->is_sent)
		client->curl->multi_remove_handle(client->multi, client->handle);
	if (client->handle)
		client->curl->easy_cleanup(client->handle);
	if (client->multi)
		client->curl->multi_cleanup(client->multi);
	peer_process_release(&client->peer);
	buf_release(&client->answer);
	buf_release(&client->problem);
}

/* ---------- the request ---------- */

void api_append_query_value(struct buf *path, struct text value)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789._-";

	for (size_t i = 0; i < value.len; i++)
		buf_printf(path, memchr(plain, value.ptr[i], sizeof plain - 1) ? "%c" : "%%%02X",
			(uint8_t)value.ptr[i]);
}

static void append_url(struct buf *url, const struct api_request *request)
{
	const char *path = request->path, *star = strchr(path, '*');

	buf_printf(url, "http://wpool%.*s", star ? (int)(star - path) : (int)strlen(path), path);
	if (request->pool && !star)
		buf_printf(url, "%cpool=", strchr(path, '?') ? '&' : '?');
	api_append_query_value(url, text_from(request->pool));
	buf_printf(url, "%s", star ? star + 1 : "");
	buf_append_byte(url, '\0');
}

static long status_of(const struct api_client *client)
{
	long status = 0;

	client->curl->easy_getinfo(client->handle, CURLINFO_RESPONSE_CODE, &status);
	return status;
}

/* The sockopt function of libcurl, called before it connects. */
static int on_socket(void *ctx, curl_socket_t fd, curlsocktype purpose)
{
	struct api_client *client = ctx;

	(void)purpose;
	client->socket_fd = fd;
	return CURL_SOCKOPT_OK;
}

/* The write function of libcurl. Returning less than size * count ends the transfer. */
static size_t on_bytes(char *bytes, size_t size, size_t count, void *ctx)
{
	struct api_client *client = ctx;
	const struct api_request *request = &client->request;
	struct text rest, line;

	buf_append(&client->answer, bytes, size * count);
	if (client->answer.failed)
		return 0;
	if (status_of(client) != HTTP_OK)
		return size * count;
	if (request->until_exit && client->peer.connection < 0)
		peer_process_hold(&client->peer, client->socket_fd);
	if (!request->on_line)
		return size * count;
	rest = buf_text(&client->answer);
	while (!client->has_enough && text_take_line(&rest, &line))
		client->has_enough = !request->on_line(request->ctx, line);
	buf_consume(&client->answer, buf_len(&client->answer) - rest.len);
	return client->has_enough ? 0 : size * count;
}

/* Set options until one fails. */
static CURLcode set_options(struct api_client *client, const char *socket, const char *url)
{
	CURLcode (*set)(CURL *, CURLoption, ...) = client->curl->easy_setopt;
	CURL *handle = client->handle;
	CURLcode code = client->request.is_post ? (set)(handle, CURLOPT_POSTFIELDS, "")
						: (set)(handle, CURLOPT_HTTPGET, 1L);

	if (code == CURLE_OK)
		code = (set)(handle, CURLOPT_UNIX_SOCKET_PATH, socket);
	if (code == CURLE_OK)
		code = (set)(handle, CURLOPT_URL, url);
	if (code == CURLE_OK)
		code = (set)(handle, CURLOPT_TIMEOUT_MS,
			client->request.on_line || client->request.is_long ? 0 : TIMEOUT_MS);
	if (code == CURLE_OK)
		code = (set)(handle, CURLOPT_NOSIGNAL, 1L);
	if (code == CURLE_OK)
		code = (set)(handle, CURLOPT_NOPROXY, "*");
	if (code == CURLE_OK)
		code = (set)(handle, CURLOPT_SOCKOPTFUNCTION, on_socket);
	if (code == CURLE_OK)
		code = (set)(handle, CURLOPT_SOCKOPTDATA, (void *)client);
	if (code == CURLE_OK)
		code = (set)(handle, CURLOPT_WRITEFUNCTION, on_bytes);
	return code == CURLE_OK ? (set)(handle, CURLOPT_WRITEDATA, (void *)client) : code;
}

/* Start the request at the path that answered last, then at the others. */
static CURLcode start_transfer(struct api_client *client)
{
	struct buf url;
	CURLcode code = CURLE_URL_MALFORMAT;
	int running;

	if (client->paths.count == 0)
		return CURLE_COULDNT_CONNECT;
	buf_clear(&client->answer);
	buf_init(&url, TEXT_LIMIT);
	append_url(&url, &client->request);
	if (!url.failed)
		code = set_options(client,
			client->paths.list[(client->at + client->tried) % client->paths.count],
			buf_text(&url).ptr);
	buf_release(&url);
	if (code != CURLE_OK)
		return code;
	if (client->curl->multi_add_handle(client->multi, client->handle) != CURLM_OK)
		return CURLE_OUT_OF_MEMORY;
	client->is_sent = true;
	client->curl->multi_perform(client->multi, &running);
	return CURLE_OK;
}

void api_client_send(struct api_client *client, const struct api_request *request)
{
	client->request = *request;
	client->tried = 0;
	client->has_enough = false;
	client->start_error = start_transfer(client);
}

/* ---------- the result ---------- */

static void set_no_supervisor(struct api_client *client)
{
	const struct control_paths *paths = &client->paths;
	long error = 0;

	client->curl->easy_getinfo(client->handle, CURLINFO_OS_ERRNO, &error);
	buf_printf(&client->problem, "no supervisor listens at ");
	for (size_t i = 0; i < paths->count; i++)
		buf_printf(&client->problem, "%s%s", i ? " or " : "", paths->list[i]);
	if (paths->count == 0)
		buf_printf(&client->problem, "\"%s\"", setting_of(client->socket));
	if (error)
		buf_printf(&client->problem, ": %s", strerror((int)error));
	client->is_absent = true;
	client->exit_code = error == EACCES || error == EPERM ? EX_NOPERM : EX_UNAVAILABLE;
}

/* The body is {"error": "..."}. */
static void set_refusal(struct api_client *client)
{
	json_t *answer = api_client_json(client);
	const char *error = json_string_value(json_object_get(answer, "error"));

	if (error)
		buf_printf(&client->problem, "%s", error);
	else
		buf_printf(
			&client->problem, "the supervisor answers with status %ld", client->status);
	json_decref(answer);
	client->exit_code = client->status == 400   ? EX_USAGE
			    : client->status == 404 ? EX_DATAERR
			    : client->status == 409 ? EX_TEMPFAIL
			    : client->status == 422 ? EX_CONFIG
						    : EX_UNAVAILABLE;
}

/* False: the request goes to the next path. */
static bool finish_transfer(struct api_client *client, CURLcode code)
{
	if (code == CURLE_COULDNT_CONNECT && ++client->tried < client->paths.count) {
		client->start_error = start_transfer(client);
		return false;
	}
	buf_clear(&client->problem);
	client->exit_code = EX_OK;
	client->status = 0;
	client->is_absent = client->is_outlived = false;
	if (code == CURLE_COULDNT_CONNECT) {
		set_no_supervisor(client);
	} else if (code != CURLE_OK && !client->has_enough) {
		buf_printf(&client->problem, "no answer from the supervisor: %s",
			client->curl->easy_strerror(code));
		client->exit_code = EX_UNAVAILABLE;
	} else {
		client->at = (client->at + client->tried) % client->paths.count;
		client->status = status_of(client);
		if (client->status != HTTP_OK)
			set_refusal(client);
	}
	return true;
}

/* True: the transfer has ended, or did not even start. */
static bool take_end(struct api_client *client, CURLcode *ret)
{
	const CURLMsg *message;
	int left;

	if (!client->is_sent) {
		*ret = client->start_error;
		client->start_error = CURLE_OK;
		return *ret != CURLE_OK;
	}
	message = client->curl->multi_info_read(client->multi, &left);
	if (!message || message->msg != CURLMSG_DONE)
		return false;
	*ret = message->data.result;
	client->curl->multi_remove_handle(client->multi, client->handle);
	client->is_sent = false;
	return true;
}

bool api_client_wait(
	struct api_client *client, struct curl_waitfd fds[], unsigned count, int timeout_ms)
{
	CURLcode code;
	int running;

	if (take_end(client, &code))
		return finish_transfer(client, code);
	client->curl->multi_poll(client->multi, fds, count, timeout_ms, NULL);
	client->curl->multi_perform(client->multi, &running);
	return take_end(client, &code) && finish_transfer(client, code);
}

int api_client_ask(struct api_client *client, const struct api_request *request)
{
	api_client_send(client, request);
	while (!api_client_wait(client, NULL, 0, (int)TIMEOUT_MS))
		;
	/* has_enough: the caller has ended the answer, and does not want the end either. */
	if (client->exit_code == EX_OK && client->request.until_exit && !client->has_enough)
		client->is_outlived = !peer_process_await_end(&client->peer, EXIT_LIMIT_MS);
	return client->exit_code;
}

json_t *api_client_json(const struct api_client *client)
{
	struct text body = buf_text(&client->answer);

	/* Names and keys come from publishers. */
	return json_loadb(body.ptr ? body.ptr : "", body.len, JSON_ALLOW_NUL, NULL);
}
