#include "config/url/listen.h"

#include "config/url/url.h"

#include <arpa/inet.h>
#include <stdio.h>

#define PORT_MAX 65535

static bool make_ip4(const char *host, uint16_t port, struct listen_address *ret)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};

	if (inet_pton(AF_INET, host, &address.sin_addr) != 1)
		return false;
	*ret = (struct listen_address){.len = sizeof address};
	memcpy(&ret->storage, &address, sizeof address);
	return true;
}

static bool make_ip6(const char *host, uint16_t port, struct listen_address *ret)
{
	struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_port = htons(port)};

	if (inet_pton(AF_INET6, host, &address.sin6_addr) != 1)
		return false;
	*ret = (struct listen_address){.len = sizeof address};
	memcpy(&ret->storage, &address, sizeof address);
	return true;
}

/* The host before the port; an IPv6 address has brackets around it, and colons inside. */
static bool split(struct text t, struct text *ret_host, struct text *ret_port)
{
	bool has_brackets = t.len > 0 && t.ptr[0] == '[';
	struct text host, rest;

	if (!has_brackets) {
		*ret_host = url_split(t, ':', ret_port);
		return ret_port->ptr != NULL;
	}
	host = url_split(text_of(t.ptr + 1, t.len - 1), ']', &rest);
	if (!rest.ptr || rest.len == 0 || rest.ptr[0] != ':')
		return false;
	*ret_host = host;
	*ret_port = text_of(rest.ptr + 1, rest.len - 1);
	return true;
}

bool listen_parse(struct text t, struct listen_address *ret)
{
	char host[INET6_ADDRSTRLEN];
	struct text before, after;
	long port;

	if (!split(t, &before, &after) || before.len >= sizeof host ||
		!url_number(after, 0, PORT_MAX, &port))
		return false;
	snprintf(host, sizeof host, "%.*s", TEXT_ARGS(before));
	return t.ptr[0] == '[' ? make_ip6(host, (uint16_t)port, ret)
			       : make_ip4(host, (uint16_t)port, ret);
}
