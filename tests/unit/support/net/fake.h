/* A fake broker for tests, in the same loop as the tested code. It does the handshake and the
 * close, otherwise what its script defines. One connection at a time. */
#ifndef UNIT_FAKE_H
#define UNIT_FAKE_H

#include "base/buf.h"
#include <ev.h>
#include <openssl/ssl.h>

/* What it does with a client. */
enum fake_script {
	FAKE_OPENS,
	FAKE_REFUSES,      /* connection.close 403 for the start-ok */
	FAKE_HANGS_UP,     /* closes the socket for the start-ok */
	FAKE_SAYS_NOTHING, /* accepts the connection, then does nothing */
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
	struct text words;   /* of its close; default: "words" */
	bool greets_at_once; /* before the client has sent anything */
};

/* Listen on a free port of 127.0.0.1. */
void fake_init(struct fake *, struct ev_loop *, enum fake_script);
/* Use TLS, and ask for client certificates of the same issuer. */
void fake_use_tls(struct fake *, X509 *, EVP_PKEY *);
/* Send connection.close on the open connection. */
void fake_send_close(struct fake *, uint16_t code);
void fake_send_heartbeat(struct fake *);
void fake_listen(struct fake *);
/* Cut the connection, if there is one. */
void fake_cut(struct fake *);
void fake_release(struct fake *);

#endif
