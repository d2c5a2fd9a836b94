/* Certificates for tests, made on the spot: a key, and a certificate signed by itself. */
#ifndef UNIT_CERTIFICATE_H
#define UNIT_CERTIFICATE_H

#include <openssl/x509.h>

struct certificate {
	EVP_PKEY *key;
	X509 *x509;
	char path[64];     /* a file with the certificate, in PEM */
	char key_path[64]; /* and one with its key */
};

/* names: as subjectAltName has them, "DNS:localhost,IP:127.0.0.1"; days: how long it is
 * good from now on, and below 0 it is no more. */
void certificate_make(struct certificate *, const char *names, int days);
/* Its files go too. */
void certificate_release(struct certificate *);

#endif
