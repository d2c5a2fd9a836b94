#include "net/tls.h"

#include "os/file_stamp.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* TLS 1.3 has no others. */
#define CIPHERS "ECDHE+AESGCM:ECDHE+CHACHA20"

/* The files that a context is made of; of the system's certificates a file and a folder. */
enum { FILE_AUTHORITIES, FILE_AUTHORITIES_FOLDER, FILE_CERTIFICATE, FILE_KEY, FILES };

struct tls {
	SSL_CTX *context;
	struct file_stamp stamps[FILES];
	bool verify;
	unsigned users;
};

/* The oldest entry of the queue is the cause, the later ones are its consequences. */
static void oldest_problem(char *ret_problem, size_t size)
{
	unsigned long error = ERR_peek_error();
	const char *text = error ? ERR_reason_error_string(error) : NULL;
	if (!text && error && ERR_SYSTEM_ERROR(error))
		text = strerror(ERR_GET_REASON(error));
	snprintf(ret_problem, size, "%s", text ? text : "unknown failure");
	ERR_clear_error();
}

void tls_problem(const SSL *session, char *ret_problem, size_t size)
{
	long verdict = session ? SSL_get_verify_result(session) : X509_V_OK;
	unsigned long error = ERR_peek_error();
	char text[160];

	if (verdict != X509_V_OK && SSL_get_verify_mode(session) != SSL_VERIFY_NONE) {
		ERR_clear_error();
		snprintf(ret_problem, size, "certificate verify failed: %s",
			X509_verify_cert_error_string(verdict));
		return;
	}
	oldest_problem(text, sizeof text);
	const char *hint = ERR_GET_LIB(error) == ERR_LIB_SSL &&
					   ERR_GET_REASON(error) == SSL_R_WRONG_VERSION_NUMBER
				   ? " (does that port speak TLS?)"
				   : "";
	snprintf(ret_problem, size, "TLS: %s%s", text, hint);
}

/* An encrypted key would otherwise ask for its passphrase on the terminal, and block the loop. */
static int no_passphrase(char *ret_passphrase, int size, int for_writing, void *ctx)
{
	(void)ret_passphrase, (void)size, (void)for_writing, (void)ctx;
	return 0;
}

static void file_problem(const char *key, const char *path, char *ret_problem, size_t size)
{
	char text[160];
	oldest_problem(text, sizeof text);
	snprintf(ret_problem, size, "cannot use %s %s: %s", key, path, text);
}

static const char *key_of(const struct broker_url *url)
{
	return url->keyfile ? url->keyfile : url->certfile;
}

/* Where OpenSSL finds the system's certificates. */
static const char *system_path(const char *variable, const char *fallback)
{
	const char *path = getenv(variable);
	return path ? path : fallback;
}

static const char *path_of(const struct broker_url *url, int file)
{
	switch (file) {
	case FILE_AUTHORITIES:
		return url->cacertfile ? url->cacertfile
				       : system_path(X509_get_default_cert_file_env(),
						 X509_get_default_cert_file());
	case FILE_AUTHORITIES_FOLDER:
		return url->cacertfile ? NULL
				       : system_path(X509_get_default_cert_dir_env(),
						 X509_get_default_cert_dir());
	case FILE_CERTIFICATE:
		return url->certfile;
	default:
		return key_of(url);
	}
}

/* The loop would wait for the writer of a FIFO, or read a device for ever. */
static bool are_regular(const struct file_stamp stamps[FILES], const struct broker_url *url,
	char *ret_problem, size_t size)
{
	static const char *const keys[FILES] = {[FILE_AUTHORITIES] = "cacertfile",
		[FILE_CERTIFICATE] = "certfile",
		[FILE_KEY] = "keyfile"};
	for (int i = 0; i < FILES; i++)
		if (keys[i] && stamps[i].exists && !stamps[i].is_regular) {
			snprintf(ret_problem, size, "cannot use %s %s: it is not a regular file",
				keys[i], path_of(url, i));
			return false;
		}
	return true;
}

bool tls_is_current(const struct tls *tls, const struct broker_url *url)
{
	bool is_current = true;
	for (int i = 0; i < FILES; i++)
		is_current = is_current && file_stamp_holds(&tls->stamps[i], path_of(url, i));
	return is_current;
}

static bool tls_load(SSL_CTX *context, const struct broker_url *url, char *ret_problem, size_t size)
{
	const char *keyfile = key_of(url);

	if (url->cacertfile && !SSL_CTX_load_verify_file(context, url->cacertfile)) {
		file_problem("cacertfile", url->cacertfile, ret_problem, size);
		return false;
	}
	if (!url->cacertfile && !SSL_CTX_set_default_verify_paths(context)) {
		snprintf(ret_problem, size, "cannot use the system's certificates");
		return false;
	}
	if (!url->certfile)
		return true;
	if (SSL_CTX_use_certificate_chain_file(context, url->certfile) != 1) {
		file_problem("certfile", url->certfile, ret_problem, size);
		return false;
	}
	if (SSL_CTX_use_PrivateKey_file(context, keyfile, SSL_FILETYPE_PEM) != 1) {
		file_problem("keyfile", keyfile, ret_problem, size);
		return false;
	}
	return true;
}

struct tls *tls_new(const struct broker_url *url, char *ret_problem, size_t size)
{
	struct tls *tls = calloc(1, sizeof *tls);
	if (!tls)
		goto memory;
	tls->users = 1;
	ERR_clear_error();
	tls->verify = url->verify;
	for (int i = 0; i < FILES; i++)
		tls->stamps[i] = file_stamp_take(path_of(url, i));
	tls->context = SSL_CTX_new(TLS_client_method());
	if (!tls->context || !SSL_CTX_set_min_proto_version(tls->context, TLS1_2_VERSION) ||
		!SSL_CTX_set_cipher_list(tls->context, CIPHERS))
		goto memory;
	/* The output buffer may have moved when a write is repeated; idle buffers are released;
	 * AMQP has its own close, so a missing close_notify is not an attack. */
	SSL_CTX_set_mode(tls->context, SSL_MODE_ENABLE_PARTIAL_WRITE |
					       SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
					       SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_options(tls->context, SSL_OP_IGNORE_UNEXPECTED_EOF | SSL_OP_NO_RENEGOTIATION);
	SSL_CTX_set_verify(tls->context, url->verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, NULL);
	SSL_CTX_set_default_passwd_cb(tls->context, no_passphrase);
	if (are_regular(tls->stamps, url, ret_problem, size) &&
		tls_load(tls->context, url, ret_problem, size))
		return tls;
	tls_free(tls);
	return NULL;
memory:
	snprintf(ret_problem, size, "out of memory");
	tls_free(tls);
	return NULL;
}

struct tls *tls_share(struct tls *tls)
{
	tls->users++;
	return tls;
}

void tls_free(struct tls *tls)
{
	if (!tls || --tls->users > 0)
		return;
	SSL_CTX_free(tls->context);
	free(tls);
}

static bool expect_peer(SSL *session, const char *host, bool verify)
{
	struct in6_addr address;
	X509_VERIFY_PARAM *param = SSL_get0_param(session);
	X509_VERIFY_PARAM_set_hostflags(
		param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
	if (inet_pton(AF_INET, host, &address) == 1 || inet_pton(AF_INET6, host, &address) == 1)
		return !verify || X509_VERIFY_PARAM_set1_ip_asc(param, host);
	return SSL_set_tlsext_host_name(session, host) &&
	       (!verify || X509_VERIFY_PARAM_set1_host(param, host, 0));
}

SSL *tls_session(struct tls *tls, int fd, const char *host)
{
	SSL *session = SSL_new(tls->context);
	if (!session || !expect_peer(session, host, tls->verify) || !SSL_set_fd(session, fd)) {
		SSL_free(session);
		ERR_clear_error();
		return NULL;
	}
	SSL_set_connect_state(session);
	return session;
}
