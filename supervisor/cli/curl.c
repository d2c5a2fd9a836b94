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

enum rc curl_load(struct curl *ret, const char **ret_why)
{
	struct curl curl;
	/* Stays: its own libraries leave things behind that run at the end. */
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);

	if (!library || !find(library, "curl_easy_init", &curl.easy_init) ||
		!find(library, "curl_easy_setopt", &curl.easy_setopt) ||
		!find(library, "curl_easy_perform", &curl.easy_perform) ||
		!find(library, "curl_easy_getinfo", &curl.easy_getinfo) ||
		!find(library, "curl_easy_strerror", &curl.easy_strerror) ||
		!find(library, "curl_easy_cleanup", &curl.easy_cleanup)) {
		*ret_why = LIBRARY " cannot be loaded (Debian: libcurl4)";
		return RC_NOT_FOUND;
	}
	*ret = curl;
	return RC_OK;
}
