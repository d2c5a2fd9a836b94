#include "http/host.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <strings.h>

#define PORT_MAX 65535

/* Cut off the port. False: what follows the colon is no port. */
static bool cut_port(struct text *host, size_t len)
{
	uint64_t port;
	struct text rest = text_of(host->ptr + len, host->len - len);

	host->len = len;
	return rest.len == 0 ||
	       (rest.ptr[0] == ':' &&
		       (rest.len == 1 || text_read_decimal(text_of(rest.ptr + 1, rest.len - 1),
						 PORT_MAX, &port)));
}

static bool is_ip(int family, struct text t)
{
	char address[INET6_ADDRSTRLEN];
	struct in6_addr ignored;

	if (t.len == 0 || t.len >= sizeof address || memchr(t.ptr, '\0', t.len))
		return false;
	snprintf(address, sizeof address, "%.*s", TEXT_ARGS(t));
	return inet_pton(family, address, &ignored) == 1;
}

static struct text without_dot(struct text name)
{
	return text_ends(name, TEXT(".")) ? text_of(name.ptr, name.len - 1) : name;
}

static bool is_same_name(struct text a, struct text b)
{
	a = without_dot(a);
	b = without_dot(b);
	return a.len > 0 && a.len == b.len && strncasecmp(a.ptr, b.ptr, a.len) == 0;
}

bool host_is_ours(struct text host, char *const *names)
{
	const char *end;

	if (text_starts(host, TEXT("["))) {
		end = memchr(host.ptr, ']', host.len);
		if (!end || !cut_port(&host, (size_t)(end - host.ptr) + 1))
			return false;
		return is_ip(AF_INET6, text_of(host.ptr + 1, host.len - 2));
	}
	end = host.len > 0 ? memchr(host.ptr, ':', host.len) : NULL;
	if (!cut_port(&host, end ? (size_t)(end - host.ptr) : host.len))
		return false;
	if (is_ip(AF_INET, host) || is_same_name(host, TEXT("localhost")) ||
		is_same_name(host, TEXT("wpool")))
		return true;
	for (; names && *names; names++)
		if (is_same_name(host, text_from(*names)))
			return true;
	return false;
}
