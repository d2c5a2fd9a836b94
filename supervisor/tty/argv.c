#include "tty/argv.h"

#include "config/url/url.h"
#include <stdlib.h>
#include <string.h>

char **argv_take(int argc, char **argv)
{
	size_t list = ((size_t)argc + 1) * sizeof *argv, size = list;
	for (int i = 0; i < argc; i++)
		size += strlen(argv[i]) + 1;
	char **copy = malloc(size);
	if (!copy)
		return NULL;
	char *at = (char *)copy + list;
	for (int i = 0; i < argc; i++) {
		copy[i] = at;
		at = stpcpy(at, argv[i]) + 1;
		broker_url_hide_password(argv[i]);
	}
	copy[argc] = NULL;
	return copy;
}
