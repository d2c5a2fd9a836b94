/* libcurl, loaded when a command asks a supervisor: so `serve` never has it in its memory, nor the
 * thirty libraries behind it. Layer: cli. */
#ifndef CLI_CURL_H
#define CLI_CURL_H

#include "base/rc.h"

#include <curl/curl.h>

struct curl {
	CURL *(*easy_init)(void);
	CURLcode (*easy_setopt)(CURL *, CURLoption, ...);
	CURLcode (*easy_perform)(CURL *);
	CURLcode (*easy_getinfo)(CURL *, CURLINFO, ...);
	const char *(*easy_strerror)(CURLcode);
	void (*easy_cleanup)(CURL *);
	/* for who must not wait */
	CURLM *(*multi_init)(void);
	CURLMcode (*multi_add_handle)(CURLM *, CURL *);
	CURLMcode (*multi_remove_handle)(CURLM *, CURL *);
	CURLMcode (*multi_perform)(CURLM *, int *);
	CURLMcode (*multi_poll)(CURLM *, struct curl_waitfd[], unsigned, int, int *);
	CURLMsg *(*multi_info_read)(CURLM *, int *);
	CURLMcode (*multi_cleanup)(CURLM *);
};

/* RC_NOT_FOUND: this machine has none; *ret_why says it, static. */
enum rc curl_load(struct curl *ret, const char **ret_why) MUST_CHECK;

#endif
