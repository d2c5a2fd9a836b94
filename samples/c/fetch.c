/* Waits for HTTP: the body of a task is a URL (http or https), and the reply is what it refers to.
 * As many transfers at once as the pool's `concurrency`, in one thread, with libcurl's multi
 * interface. An HTTP status of 400 to 499 rejects the task (but 408 and 429, which may pass), and
 * so does a bad URL or one over 1 MiB (400), or a body over 16 MiB (413); 502: the transfer failed;
 * 504: it took longer than 30 s, or than the task's TimeoutMilliseconds. A task that is cancelled,
 * or cannot be begun or answered, has failed (500). It fetches whatever it is asked for: decide who
 * may publish to its queue. */
#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wpool/loop.h>

#define TIMEOUT_MS 30000
#define BODY_MAX   (16u << 20)
#define URL_MAX    (1u << 20)
#define REDIRECTS  5
#define WAIT_MS    10000

enum { BAD_URL = 400, TOO_LARGE = 413, FAILED = 500, BAD_GATEWAY = 502, GATEWAY_TIMEOUT = 504 };

struct transfer {
	struct wpool_task *task; /* borrowed until its answer */
	CURL *easy;
	char *body;
	size_t len, capacity;
	bool is_too_large;
};

static void log_task(const struct wpool_task *task, const char *what)
{
	fprintf(stderr, "task %llu: %s\n", (unsigned long long)wpool_task_id(task), what);
}

static void fail_task(struct wpool_task *task, int code, const char *why)
{
	log_task(task, why);
	if (wpool_fail(task, code) < 0)
		log_task(task, "it has no answer");
}

/* result: of the call that answered the task. An answer that could not be given becomes a failure,
 * which needs less memory. If the pipe is broken the worker ends, and no task is lost. */
static void check_answer(struct wpool_task *task, int result)
{
	if (result < 0)
		fail_task(task, FAILED, strerror(errno));
}

static void free_transfer(struct transfer *transfer)
{
	if (!transfer)
		return;
	curl_easy_cleanup(transfer->easy);
	free(transfer->body);
	free(transfer);
}

/* libcurl ends the transfer if the result is not len. */
static size_t on_body(char *bytes, size_t size, size_t count, void *context)
{
	struct transfer *transfer = context;
	size_t len = size * count, end = transfer->len + len;
	transfer->is_too_large = end > BODY_MAX;
	if (transfer->is_too_large)
		return 0;
	if (end > transfer->capacity) {
		size_t capacity = 2 * transfer->capacity > end ? 2 * transfer->capacity : end;
		char *body = realloc(transfer->body, capacity);
		if (!body)
			return 0;
		transfer->body = body;
		transfer->capacity = capacity;
	}
	memcpy(transfer->body + transfer->len, bytes, len);
	transfer->len = end;
	return len;
}

/* Return the first error. */
static CURLcode set_options(
	CURL *easy, struct transfer *transfer, const char *url, int64_t timeout_ms)
{
	const CURLcode results[] = {
		curl_easy_setopt(easy, CURLOPT_URL, url),
		curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https"),
		curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 1L),
		curl_easy_setopt(easy, CURLOPT_MAXREDIRS, (long)REDIRECTS),
		curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)timeout_ms),
		curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L),
		curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body),
		curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer),
		curl_easy_setopt(easy, CURLOPT_PRIVATE, transfer),
	};
	size_t i = 0;
	while (i + 1 < sizeof results / sizeof *results && results[i] == CURLE_OK)
		i++;
	return results[i];
}

/* 0 would mean no limit to libcurl. */
static int64_t timeout_of(const struct wpool_task *task)
{
	int64_t left_ms = wpool_task_remaining_ms(task);
	if (left_ms == 0)
		return 1;
	return left_ms < TIMEOUT_MS ? left_ms : TIMEOUT_MS;
}

/* A transfer that is not begun yet. NULL: out of memory. */
static struct transfer *new_transfer(struct wpool_task *task)
{
	struct transfer *transfer = calloc(1, sizeof *transfer);
	if (!transfer)
		return NULL;
	transfer->task = task;
	transfer->easy = curl_easy_init();
	if (transfer->easy)
		return transfer;
	free(transfer);
	return NULL;
}

/* Return why it could not be started, or NULL. */
static const char *start_transfer(CURLM *multi, struct transfer *transfer, const char *url)
{
	CURLcode option = set_options(transfer->easy, transfer, url, timeout_of(transfer->task));
	if (option != CURLE_OK)
		return curl_easy_strerror(option);
	CURLMcode added = curl_multi_add_handle(multi, transfer->easy);
	return added == CURLM_OK ? NULL : curl_multi_strerror(added);
}

static void begin_transfer(CURLM *multi, struct wpool_task *task)
{
	struct wpool_text url = wpool_task_body(task);
	if (strlen(url.data) != url.len || url.len > URL_MAX) {
		check_answer(task, wpool_reject(task, BAD_URL));
		return;
	}
	struct transfer *transfer = new_transfer(task);
	const char *why = transfer ? start_transfer(multi, transfer, url.data) : strerror(ENOMEM);
	if (why) {
		free_transfer(transfer);
		fail_task(task, FAILED, why);
		return;
	}
	wpool_task_set_data(task, transfer);
}

static void cancel_transfer(CURLM *multi, struct wpool_task *task)
{
	struct transfer *transfer = wpool_task_data(task);
	curl_multi_remove_handle(multi, transfer->easy);
	free_transfer(transfer);
	fail_task(task, FAILED, "cancelled");
}

static void on_event(
	struct wpool_worker *worker, enum wpool_event event, struct wpool_task *task, void *context)
{
	(void)worker;
	if (event == WPOOL_EVENT_TASK)
		begin_transfer(context, task);
	else if (event == WPOOL_EVENT_CANCEL)
		cancel_transfer(context, task);
}

static void answer_status(const struct transfer *transfer)
{
	struct wpool_task *task = transfer->task;
	long status = 0;
	curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
	if (status < 400)
		check_answer(task,
			wpool_reply(task, transfer->body ? transfer->body : "", transfer->len));
	else if (status < 500 && status != 408 && status != 429)
		check_answer(task, wpool_reject(task, (int)status));
	else
		fail_task(task, BAD_GATEWAY, "the server failed");
}

static void answer(const struct transfer *transfer, CURLcode result)
{
	if (result == CURLE_OK) {
		answer_status(transfer);
		return;
	}
	struct wpool_task *task = transfer->task;
	const char *why = curl_easy_strerror(result);
	bool is_bad_url = result == CURLE_URL_MALFORMAT || result == CURLE_UNSUPPORTED_PROTOCOL;
	if (is_bad_url || transfer->is_too_large) {
		log_task(task, why);
		check_answer(task, wpool_reject(task, is_bad_url ? BAD_URL : TOO_LARGE));
	} else {
		fail_task(task, result == CURLE_OPERATION_TIMEDOUT ? GATEWAY_TIMEOUT : BAD_GATEWAY,
			why);
	}
}

static void finish_transfers(CURLM *multi)
{
	const CURLMsg *message;
	int left;
	while ((message = curl_multi_info_read(multi, &left))) {
		struct transfer *transfer;
		CURLcode result = message->data.result;
		curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
		curl_multi_remove_handle(multi, transfer->easy);
		answer(transfer, result);
		free_transfer(transfer);
	}
}

/* Wait for libcurl's descriptors and timeouts, and for the worker's descriptors. */
static void wait_for_events(struct wpool_worker *worker, CURLM *multi)
{
	struct pollfd fds[WPOOL_FDS];
	struct curl_waitfd extra[WPOOL_FDS];
	unsigned count = 0;
	size_t places = wpool_worker_fds(worker, fds, WPOOL_FDS);
	for (size_t i = 0; i < places; i++) {
		short events = (fds[i].events & POLLIN ? CURL_WAIT_POLLIN : 0) |
			       (fds[i].events & POLLOUT ? CURL_WAIT_POLLOUT : 0);
		if (fds[i].fd >= 0)
			extra[count++] = (struct curl_waitfd){.fd = fds[i].fd, .events = events};
	}
	curl_multi_poll(multi, extra, count, WAIT_MS, NULL);
}

static int work(CURLM *multi)
{
	struct wpool_worker *worker = wpool_worker_open(on_event, multi);
	int state = -1, running;
	if (worker)
		curl_multi_setopt(
			multi, CURLMOPT_MAXCONNECTS, (long)wpool_worker_concurrency(worker));
	while (worker && (state = wpool_worker_step(worker)) > 0) {
		wait_for_events(worker, multi);
		curl_multi_perform(multi, &running);
		finish_transfers(multi);
	}
	wpool_worker_close(worker);
	return state;
}

int main(void)
{
	curl_global_init(CURL_GLOBAL_DEFAULT);
	CURLM *multi = curl_multi_init();
	int state = multi ? work(multi) : -1;
	curl_multi_cleanup(multi);
	curl_global_cleanup();
	return state == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
