/* A broker's end of a connection for tests, in the same loop as what is tested. It knows the
 * handshake and the close, and otherwise does what its script says. One connection at a time. */
#ifndef UNIT_FAKE_H
#define UNIT_FAKE_H

#include "base/buf.h"
#include <ev.h>
#include <openssl/ssl.h>

/* What it does when a client has got that far. */
enum fake_script {
	FAKE_OPENS,
	FAKE_REFUSES,      /* connection.close 403 for the start-ok */
	FAKE_HANGS_UP,     /* closes the socket for the start-ok */
	FAKE_SAYS_NOTHING, /* takes the connection, and that is all */
	FAKE_IS_NO_BROKER, /* answers in another protocol */
	FAKE_FORBIDS_VHOST,
	FAKE_IS_SILENT, /* opens; sends nothing afterwards, not even close-ok */
	FAKE_IS_DEAF    /* opens; then reads nothing until fake_listen */
};

struct fake {
	struct ev_loop *loop;
	int listener, fd; /* -1: none */
	uint16_t port;
	enum fake_script script;
	uint16_t heartbeat_s; /* what it tunes to */
	SSL_CTX *context;     /* owned; NULL: plain */
	SSL *session;
	ev_io acceptable, readable;
	struct buf input;
	unsigned accepted, opened, heartbeats;
	size_t received; /* bytes in all */
	char sni[64];    /* of the latest TLS client */
	bool client_had_certificate;
	bool is_deaf;
	bool greets_at_once; /* before the client has said anything */
};

/* On a port of 127.0.0.1 that the kernel picks. */
void fake_init(struct fake *, struct ev_loop *, enum fake_script);
/* Speaks TLS; client certificates by the same issuer are asked for. */
void fake_use_tls(struct fake *, X509 *, EVP_PKEY *);
/* connection.close, on an open connection. */
void fake_send_close(struct fake *, uint16_t code);
void fake_send_heartbeat(struct fake *);
void fake_listen(struct fake *);
/* Cuts the connection, if there is one. */
void fake_cut(struct fake *);
void fake_release(struct fake *);

#endif
