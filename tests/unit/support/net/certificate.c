#include "unit/support/net/certificate.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <unistd.h>

static void certificate_extend(X509 *x509, int nid, const char *value)
{
	X509V3_CTX ctx;
	X509V3_set_ctx(&ctx, x509, x509, NULL, NULL, 0);
	X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	X509_add_ext(x509, extension, -1);
	X509_EXTENSION_free(extension);
}

static FILE *certificate_file(char *path)
{
	int fd = mkstemp(path);
	return fd < 0 ? NULL : fdopen(fd, "w");
}

static void certificate_save(struct certificate *c)
{
	snprintf(c->path, sizeof c->path, "/tmp/wpool-test-XXXXXX");
	snprintf(c->key_path, sizeof c->key_path, "/tmp/wpool-test-XXXXXX");
	FILE *file = certificate_file(c->path);
	PEM_write_X509(file, c->x509);
	fclose(file);
	file = certificate_file(c->key_path);
	PEM_write_PrivateKey(file, c->key, NULL, NULL, 0, NULL, NULL);
	fclose(file);
}

/* key moves in. */
static void certificate_make_with(struct certificate *c, EVP_PKEY *key, const char *names, int days)
{
	c->key = key;
	c->x509 = X509_new();
	X509_set_version(c->x509, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(c->x509), 1);
	X509_gmtime_adj(X509_getm_notBefore(c->x509), days < 0 ? 2L * days * 86400 : -3600);
	X509_gmtime_adj(X509_getm_notAfter(c->x509), days * 86400L);
	X509_set_pubkey(c->x509, c->key);
	X509_NAME *name = X509_get_subject_name(c->x509);
	X509_NAME_add_entry_by_txt(
		name, "CN", MBSTRING_ASC, (const unsigned char *)"localhost", -1, -1, 0);
	X509_set_issuer_name(c->x509, name);
	certificate_extend(c->x509, NID_basic_constraints, "critical,CA:TRUE");
	certificate_extend(c->x509, NID_subject_alt_name, names);
	X509_sign(c->x509, c->key, EVP_sha256());
	certificate_save(c);
}

void certificate_make(struct certificate *c, const char *names, int days)
{
	certificate_make_with(c, EVP_EC_gen("P-256"), names, days);
}

void certificate_make_rsa(struct certificate *c, const char *names, int days)
{
	certificate_make_with(c, EVP_RSA_gen(2048), names, days);
}

void certificate_release(struct certificate *c)
{
	unlink(c->path);
	unlink(c->key_path);
	X509_free(c->x509);
	EVP_PKEY_free(c->key);
}
