/* Linked into the sample that fetches, with ld's --wrap: the first call of the function that
 * FAILING_CALL names fails, as it does without memory. */
#include <curl/curl.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <wpool/worker.h>

/* libcurl numbers the options whose values are long below this. */
#define FIRST_POINTER_OPTION CURLOPTTYPE_OBJECTPOINT

CURLcode __real_curl_easy_setopt(CURL *, CURLoption, ...);
CURLcode __wrap_curl_easy_setopt(CURL *, CURLoption, ...);
CURLMcode __real_curl_multi_add_handle(CURLM *, CURL *);
CURLMcode __wrap_curl_multi_add_handle(CURLM *, CURL *);
int __real_wpool_reply(struct wpool_task *, const void *body, size_t len);
int __wrap_wpool_reply(struct wpool_task *, const void *body, size_t len);

static bool fails(const char *call)
{
	static bool has_failed;
	const char *failing = getenv("FAILING_CALL");
	if (has_failed || !failing || strcmp(failing, call) != 0)
		return false;
	has_failed = true;
	return true;
}

CURLcode __wrap_curl_easy_setopt(CURL *easy, CURLoption option, ...)
{
	va_list values;
	CURLcode result;
	if (fails("curl_easy_setopt"))
		return CURLE_OUT_OF_MEMORY;
	va_start(values, option);
	if ((int)option < FIRST_POINTER_OPTION)
		result = __real_curl_easy_setopt(easy, option, va_arg(values, long));
	else
		result = __real_curl_easy_setopt(easy, option, va_arg(values, void *));
	va_end(values);
	return result;
}

CURLMcode __wrap_curl_multi_add_handle(CURLM *multi, CURL *easy)
{
	if (fails("curl_multi_add_handle"))
		return CURLM_OUT_OF_MEMORY;
	return __real_curl_multi_add_handle(multi, easy);
}

int __wrap_wpool_reply(struct wpool_task *task, const void *body, size_t len)
{
	if (!fails("wpool_reply"))
		return __real_wpool_reply(task, body, len);
	errno = ENOMEM;
	return -1;
}
