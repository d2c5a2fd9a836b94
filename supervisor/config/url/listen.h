/* A numeric address to listen on: "127.0.0.1:9464", "[::1]:9464". Layer: config. Pure. */
#ifndef CONFIG_URL_LISTEN_H
#define CONFIG_URL_LISTEN_H

#include "base/text.h"

#include <sys/socket.h>

struct listen_address {
	struct sockaddr_storage storage;
	socklen_t len;
};

/* False: another form, or the port is above 65535. Names are not resolved. */
bool listen_parse(struct text, struct listen_address *ret);

#endif
