/* Whether a request's Host header names us. Layer: http. Pure. A web page can point a name of its
 * own at our address and then read our answers as if they were its own (DNS rebinding); its
 * requests carry that name as their Host. */
#ifndef HTTP_HOST_H
#define HTTP_HOST_H

#include "base/text.h"

/* host: the header's value. names: http.hosts, NULL-terminated; NULL: none. True for an IP address
 * (an IPv6 address in brackets), localhost, wpool, or one of the names, each with or without a
 * port. Names are compared whole, in any case, with or without a dot at the end. */
bool host_is_ours(struct text host, char *const *names);

#endif
