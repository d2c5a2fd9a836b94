/* What all TLS sessions with one broker share: trust, our certificate, the rules. Layer: io.
 * Client side only, TLS 1.2 or newer. Owns the OpenSSL context; sessions belong to their streams.
 * Never asks a terminal for a passphrase, never raises SIGPIPE. */
#ifndef IO_TLS_H
#define IO_TLS_H

#include "config/url.h"
#include <openssl/types.h>

struct tls;

/* From cacertfile (or the system's certificates), certfile, keyfile and verify. NULL: ret_problem
 * says what was wrong with which file. */
struct tls *tls_new(const struct broker_url *, char *ret_problem, size_t room);
/* For one more who will call tls_free: the last of them frees it. */
struct tls *tls_share(struct tls *);
void tls_free(struct tls *);

/* A client session on fd (borrowed), its peer to be known as host: a name is asked for by SNI and
 * matched with the certificate, an address is matched. To be freed by SSL_free before tls_free.
 * NULL: out of memory. */
SSL *tls_session(struct tls *, int fd, const char *host);

/* Words for the failure that OpenSSL just told of; session may be NULL. Empties its error queue. */
void tls_problem(const SSL *session, char *ret_problem, size_t room);

#endif
