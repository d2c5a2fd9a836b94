#include "cli/curl.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define LIBRARY "libcurl.so.4"

/* POSIX, dlsym: what is an object pointer there is copied into a function pointer. */
static bool find(void *library, const char *name, void *ret_function)
{
	void *found = dlsym(library, name);

	memcpy(ret_function, &found, sizeof found);
	return found != NULL;
}

static bool find_easy(void *library, struct curl *curl)
{
	return find(library, "curl_easy_init", &curl->easy_init) &&
	       find(library, "curl_easy_setopt", &curl->easy_setopt) &&
	       find(library, "curl_easy_perform", &curl->easy_perform) &&
	       find(library, "curl_easy_getinfo", &curl->easy_getinfo) &&
	       find(library, "curl_easy_strerror", &curl->easy_strerror) &&
	       find(library, "curl_easy_cleanup", &curl->easy_cleanup);
}

static bool find_multi(void *library, struct curl *curl)
{
	return find(library, "curl_multi_init", &curl->multi_init) &&
	       find(library, "curl_multi_add_handle", &curl->multi_add_handle) &&
	       find(library, "curl_multi_remove_handle", &curl->multi_remove_handle) &&
	       find(library, "curl_multi_perform", &curl->multi_perform) &&
	       find(library, "curl_multi_poll", &curl->multi_poll) &&
	       find(library, "curl_multi_info_read", &curl->multi_info_read) &&
	       find(library, "curl_multi_cleanup", &curl->multi_cleanup);
}

enum rc curl_load(struct curl *ret, const char **ret_why)
{
	struct curl curl;
	/* Stays: its own libraries leave things behind that run at the end. */
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);

	if (!library || !find_easy(library, &curl) || !find_multi(library, &curl)) {
		*ret_why = LIBRARY " cannot be loaded, or is too old (Debian: libcurl4)";
		return RC_NOT_FOUND;
	}
	*ret = curl;
	return RC_OK;
}
