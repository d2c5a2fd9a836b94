#include "cli/top_link.h"

#include <stdio.h>

#define TIMEOUT_MS   10000L
#define ANSWER_LIMIT (256u * 1024 * 1024)
#define HTTP_OK      200

enum rc top_link_init(struct top_link *link, const char *socket, const char **ret_why)
{
	*link = (struct top_link){.socket = socket, .paths = question_paths(socket)};
	buf_init(&link->answer, ANSWER_LIMIT);
	if (curl_load(&link->curl, ret_why) != RC_OK)
		return RC_NOT_FOUND;
	link->multi = link->curl.multi_init();
	link->handle = link->curl.easy_init();
	if (link->multi && link->handle)
		return RC_OK;
	*ret_why = "out of memory";
	top_link_release(link);
	return RC_MEMORY;
}

void top_link_release(struct top_link *link)
{
	if (link->is_asking)
		link->curl.multi_remove_handle(link->multi, link->handle);
	if (link->handle)
		link->curl.easy_cleanup(link->handle);
	if (link->multi)
		link->curl.multi_cleanup(link->multi);
	buf_release(&link->answer);
}

/* ---------- the reply ---------- */

static void put_trouble(struct top_link *link, CURLcode code, struct top_reply *reply)
{
	struct buf places;
	long os_error = 0;

	link->curl.easy_getinfo(link->handle, CURLINFO_OS_ERRNO, &os_error);
	buf_init(&places, SIZE_MAX);
	question_append_places(link->socket, &link->paths, &places);
	if (code == CURLE_COULDNT_CONNECT)
		snprintf(reply->words, sizeof reply->words, "no supervisor listens at %.*s%s%s",
			TEXT_ARGS(buf_text(&places)), os_error ? ": " : "",
			os_error ? strerror((int)os_error) : "");
	else
		snprintf(reply->words, sizeof reply->words, "no answer from the supervisor: %s",
			link->curl.easy_strerror(code));
	buf_release(&places);
}

static void put_answer(struct top_link *link, struct top_reply *reply)
{
	struct text bytes = buf_text(&link->answer);
	const char *what;

	link->curl.easy_getinfo(link->handle, CURLINFO_RESPONSE_CODE, &reply->status);
	reply->json = json_loadb(bytes.ptr ? bytes.ptr : "", bytes.len, 0, NULL);
	what = json_string_value(json_object_get(reply->json, "error"));
	if (!reply->json)
		snprintf(reply->words, sizeof reply->words, "the answer is no JSON (status %ld)",
			reply->status);
	else if (reply->status != HTTP_OK)
		snprintf(reply->words, sizeof reply->words, "the supervisor says: %s (status %ld)",
			what ? what : "no", reply->status);
}

/* ---------- the question ---------- */

/* Where the last one was answered first, then the others. */
static CURLcode begin(struct top_link *link)
{
	CURLcode code;
	int running;

	link->question.socket = link->paths.list[(link->at + link->tried) % link->paths.count];
	buf_clear(&link->answer);
	code = question_put(&link->question, &link->curl, link->handle);
	if (code != CURLE_OK)
		return code;
	if (link->curl.multi_add_handle(link->multi, link->handle) != CURLM_OK)
		return CURLE_OUT_OF_MEMORY;
	link->is_asking = true;
	link->curl.multi_perform(link->multi, &running);
	return CURLE_OK;
}

void top_link_ask(struct top_link *link, const char *method, const char *path, const char *pool)
{
	link->question = (struct question){
		.method = method,
		.path = path,
		.pool = pool,
		.timeout_ms = TIMEOUT_MS,
		.out = &link->answer,
	};
	link->tried = 0;
	link->begun = link->paths.count ? begin(link) : CURLE_COULDNT_CONNECT;
}

/* False: it goes on at the next place. */
static bool end(struct top_link *link, CURLcode code, struct top_reply *ret)
{
	*ret = (struct top_reply){0};
	if (code == CURLE_COULDNT_CONNECT && ++link->tried < link->paths.count) {
		link->begun = begin(link);
		return false;
	}
	if (code == CURLE_OK)
		put_answer(link, ret);
	else
		put_trouble(link, code, ret);
	if (code == CURLE_OK)
		link->at = (link->at + link->tried) % link->paths.count;
	return true;
}

/* What did not even begin has ended. */
static bool take_end(struct top_link *link, CURLcode *ret)
{
	const CURLMsg *message;
	int left;

	if (!link->is_asking) {
		*ret = link->begun;
		link->begun = CURLE_OK;
		return *ret != CURLE_OK;
	}
	message = link->curl.multi_info_read(link->multi, &left);
	if (!message || message->msg != CURLMSG_DONE)
		return false;
	*ret = message->data.result;
	link->curl.multi_remove_handle(link->multi, link->handle);
	link->is_asking = false;
	return true;
}

bool top_link_wait(struct top_link *link, struct curl_waitfd fds[], unsigned count, int timeout_ms,
	struct top_reply *ret)
{
	CURLcode code;
	int running;

	if (take_end(link, &code))
		return end(link, code, ret);
	link->curl.multi_poll(link->multi, fds, count, timeout_ms, NULL);
	link->curl.multi_perform(link->multi, &running);
	return take_end(link, &code) && end(link, code, ret);
}
