/* From an address of the broker to a stream that is ready for AMQP: resolves, connects to each
 * address in turn, shakes hands over TLS. Layer: io.
 * Owns all of it until it hands the stream out. Never retries and never logs: the uplink does. */
#ifndef IO_DIALER_H
#define IO_DIALER_H

#include "io/stream.h"
#include <ev.h>

struct dialer;

/* Told once, from the loop, and the last thing the dialer does: it may be freed here. stream moves
 * out; NULL when problem (good until dialer_free) says why not. */
typedef void dialer_on_done(void *ctx, struct stream *, const char *problem);

/* url is borrowed until dialer_free. *tls is the url's context, owned by the caller: made here when
 * it is first needed, and given up after a failed handshake so that mended files are read anew;
 * others who share it keep what they have. span: what all of it may take; it is shared out among
 * the addresses, so that a silent one leaves time for the next. The caller watches over the whole.
 * NULL: errno tells. */
struct dialer *dialer_start(struct ev_loop *, const struct broker_url *url, struct tls **tls,
	mtime span, dialer_on_done *, void *ctx);
void dialer_free(struct dialer *);
/* What it is at: "connect", "TLS handshake". */
const char *dialer_stage(const struct dialer *);

#endif
