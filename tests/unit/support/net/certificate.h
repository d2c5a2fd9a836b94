/* Certificates for tests: a key and a self-signed certificate. */
#ifndef UNIT_CERTIFICATE_H
#define UNIT_CERTIFICATE_H

#include <openssl/x509.h>

struct certificate {
	EVP_PKEY *key;
	X509 *x509;
	char path[64];     /* a file with the certificate, in PEM */
	char key_path[64]; /* and one with its key */
};

/* names: as subjectAltName has them, such as "DNS:localhost,IP:127.0.0.1"; the subject's own name
 * is always localhost. days: how long it is valid from now on; below 0 it has expired. */
void certificate_make(struct certificate *, const char *names, int days);
/* The same with an RSA key. */
void certificate_make_rsa(struct certificate *, const char *names, int days);
/* Also removes its files. */
void certificate_release(struct certificate *);

#endif
