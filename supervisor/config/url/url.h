/* amqp:// and amqps:// addresses. Layer: config.
 * RabbitMQ's URI specification (rabbitmq.com/uri-spec.html, uri-query-parameters.html):
 * percent-encoding, vhost, IPv6 in brackets, and the query options heartbeat (seconds),
 * connection_timeout (milliseconds), cacertfile, certfile, keyfile, verify, server_name_indication
 * and auth_mechanism; the last six are for amqps alone. */
#ifndef CONFIG_URL_URL_H
#define CONFIG_URL_URL_H

#include "base/buf.h"
#include "base/mtime.h"
#include "base/rc.h"
#include "base/text.h"

struct broker_url {
	bool tls;
	char *host;               /* owned, without brackets */
	uint16_t port;            /* default 5672, or 5671 for amqps */
	char *user, *password;    /* owned; default guest, guest */
	char *password_file;      /* owned, or NULL: a file that has the password instead */
	char *vhost;              /* owned; default "/" */
	int heartbeat_s;          /* -1: not given */
	mtime connection_timeout; /* 0: not given */
	char *cacertfile, *certfile, *keyfile; /* owned, or NULL */
	char *server_name; /* server_name_indication; owned, or NULL: the host */
	bool verify;       /* false: verify=verify_none */
	bool external;     /* auth_mechanism=external */
};

/* All defaults: amqp://guest:guest@localhost:5672/%2f. RC_OK: *ret needs broker_url_release. */
enum rc broker_url_default(struct broker_url *ret) MUST_CHECK;
/* RC_OK: *ret needs broker_url_release. RC_MALFORMED: ret_problem (256 bytes are enough) is a text
 * with the mistake and what would be right, without any part of the user information. RC_MEMORY. */
enum rc broker_url_parse(
	const char *url, struct broker_url *ret, char *ret_problem, size_t size) MUST_CHECK;
/* True for a host name or an IP address; IPv6 without brackets. */
bool broker_url_is_host(const char *);
void broker_url_release(struct broker_url *);
/* Release count addresses and free the array; NULL is allowed. */
void broker_urls_free(struct broker_url *, size_t count);
/* True if both are equal in every part; password_file, which is a setting, is not compared. */
bool broker_url_is_same(const struct broker_url *, const struct broker_url *);
/* Append the whole address, with the password as "***". */
void broker_url_print(const struct broker_url *, struct buf *out);
/* Append the whole address with its password, for broker_url_parse. password_file is no part of it.
 */
void broker_url_write(const struct broker_url *, struct buf *out);
/* Write "amqps://host:port/vhost", without credentials, into buffer and return it. */
const char *broker_url_shown(const struct broker_url *, char *buffer, size_t size);
/* The part of an address, or of a list of addresses, that looks like a password; the address may be
 * invalid. If that is not certain, the part is too long rather than too short. TEXT_NONE: there is
 * none. */
struct text broker_url_password(struct text address);
/* Overwrite the password with asterisks, in place. */
void broker_url_hide_password(char *address);

/* Read a decimal number from min to max; false when t is anything else. */
bool url_number(struct text t, long min, long max, long *ret) MUST_CHECK;
/* The part of t before the first c; *ret_rest is what follows it, and ptr is NULL without a c. */
struct text url_split(struct text t, char c, struct text *ret_rest);

#endif
