#include "unit/support/http/http_rig.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

struct ev_loop *loop;
struct http *http;
struct listener listener;

static char folder[] = "/tmp/wpool-http-XXXXXX";
static char path[LISTENER_PATH_BYTES];

void http_rig_begin(unsigned places, void (*on_request)(void *ctx, const struct http_request *))
{
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/socket", folder);
	loop = loop_default();
	ck_assert_int_eq(listener_open_path(path, LISTENER_NO_GROUP, &listener), RC_OK);
	http = http_new(loop, places, on_request, NULL);
	ck_assert_ptr_nonnull(http);
	http_listen(http, listener.fd);
}

void http_rig_end(void)
{
	http_free(http);
	listener_close(&listener);
	ev_loop_destroy(loop);
	rmdir(folder);
}

int http_rig_connect(void)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	strcpy(name.sun_path, path);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&name, sizeof name), 0);
	return fd;
}
