/* Shared by all TLS sessions with one broker: trusted certificates, our certificate, the
 * options. Layer: net. Client side only; TLS 1.2 with ECDHE and AEAD, or newer; never renegotiates.
 * A peer is known by the names in its certificate's subjectAltName, never by the subject's. Owns
 * the OpenSSL context; sessions belong to their streams. Never prompts for a passphrase. The
 * process must not die of SIGPIPE: OpenSSL writes with write(2). */
#ifndef NET_TLS_H
#define NET_TLS_H

#include "config/url/url.h"
#include <openssl/types.h>

struct tls;

/* Create it from cacertfile (or the system's certificates), certfile, keyfile and verify. NULL:
 * ret_problem is a text with the file and the problem. */
struct tls *tls_new(const struct broker_url *, char *ret_problem, size_t size);
/* True if the files are certainly those that it was made of. The url is that of tls_new. */
bool tls_is_current(const struct tls *, const struct broker_url *);
/* Add a reference; the last tls_free frees it. */
struct tls *tls_share(struct tls *);
void tls_free(struct tls *);

/* Create a client session on fd (borrowed). host: the peer's name, requested by SNI and matched
 * with the certificate, or its address, matched. Free it with SSL_free before tls_free. NULL:
 * out of memory. */
SSL *tls_session(struct tls *, int fd, const char *host);

/* A text for OpenSSL's latest failure; session may be NULL. Clears its error queue. */
void tls_problem(const SSL *session, char *ret_problem, size_t size);

#endif
