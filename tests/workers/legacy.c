#include "workers/legacy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

void legacy_connect(struct raw *raw)
{
	char name[108];
	const char *folder = getenv("TMPDIR");
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	raw_read_address(name, sizeof name);
	int len = snprintf(address.sun_path, sizeof address.sun_path, "%s/CoreFxPipe_%s",
		folder ? folder : "/tmp", name);
	raw->in = raw->out = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (len >= (int)sizeof address.sun_path || raw->in < 0 ||
		connect(raw->in, (struct sockaddr *)&address, sizeof address) < 0) {
		perror(address.sun_path);
		exit(70);
	}
}

static bool starts_with(msgpack_object_str text, const char *start)
{
	size_t len = strlen(start);
	return text.size >= len && memcmp(text.ptr, start, len) == 0;
}

enum legacy_result legacy_handle(msgpack_object_str body, msgpack_object_str *ret_reply)
{
	if (starts_with(body, "fail"))
		return LEGACY_FAILURE;
	if (!starts_with(body, "reply "))
		return LEGACY_DONE;
	*ret_reply = (msgpack_object_str){body.size - 6, body.ptr + 6};
	return LEGACY_REPLY;
}
