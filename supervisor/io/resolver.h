/* Names to addresses without blocking the loop. Layer: io.
 * getaddrinfo runs in a detached thread that shares nothing with us but one counted record; what it
 * finds after resolver_free goes nowhere. Numeric addresses need no thread. Never caches. */
#ifndef IO_RESOLVER_H
#define IO_RESOLVER_H

#include <ev.h>
#include <netdb.h>
#include <stdint.h>

struct resolver;

/* Told once, from the loop. list: borrowed until resolver_free; NULL when problem says why not. May
 * free the resolver. */
typedef void resolver_on_done(void *ctx, const struct addrinfo *list, const char *problem);

/* host is copied. NULL: errno tells (memory, descriptors, threads). */
struct resolver *resolver_start(
	struct ev_loop *, const char *host, uint16_t port, resolver_on_done *, void *ctx);
void resolver_free(struct resolver *);

#endif
