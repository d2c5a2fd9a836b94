/* Open a stream to the broker: look up the name, connect to each address in turn, do the TLS
 * handshake. Layer: net. Owns everything until it hands out the stream. Never retries and never
 * logs; the broker link does. */
#ifndef NET_DIALER_H
#define NET_DIALER_H

#include "net/stream.h"
#include <ev.h>

struct dialer;

/* Called once, from the loop, as the dialer's last act: it may free the dialer. stream moves out;
 * NULL: problem is the reason, valid until dialer_free. */
typedef void dialer_on_done(void *ctx, struct stream *, const char *problem);

/* url is borrowed until dialer_free. *tls is the url's context, owned by the caller: created
 * here when there is none or its files have changed, and dropped after a failed handshake; other
 * users keep theirs. span: for all addresses together, shared among them so that a silent
 * one leaves time for the next; the caller limits the whole. NULL: see errno. */
struct dialer *dialer_start(struct ev_loop *, const struct broker_url *url, struct tls **tls,
	mtime span, dialer_on_done *, void *ctx);
void dialer_free(struct dialer *);
/* What it is doing: "name lookup", "connect" or "TLS handshake". */
const char *dialer_stage(const struct dialer *);

#endif
