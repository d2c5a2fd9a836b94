/* Look up the addresses of a name without blocking the loop. Layer: net. getaddrinfo runs in a
 * detached thread that shares one counted record with us; a result after resolver_free is
 * dropped. Numeric addresses need no thread. Never caches. */
#ifndef NET_RESOLVER_H
#define NET_RESOLVER_H

#include <ev.h>
#include <netdb.h>
#include <stdint.h>

struct resolver;

/* Called once, from the loop; may free the resolver. list: borrowed until resolver_free; NULL:
 * see problem. */
typedef void resolver_on_done(void *ctx, const struct addrinfo *list, const char *problem);

/* host is copied. NULL: see errno (memory, descriptors, threads). */
struct resolver *resolver_start(
	struct ev_loop *, const char *host, uint16_t port, resolver_on_done *, void *ctx);
void resolver_free(struct resolver *);

#endif
