/* amqp:// and amqps:// addresses. Layer: config.
 * RabbitMQ's URI specification (rabbitmq.com/uri-spec.html, uri-query-parameters.html):
 * percent-encoding, vhost, IPv6 in brackets, and the query options heartbeat (seconds),
 * connection_timeout (milliseconds), cacertfile, certfile, keyfile, verify, server_name_indication
 * and auth_mechanism; the last six are for amqps alone. */
#ifndef CONFIG_URL_H
#define CONFIG_URL_H

#include "base/buf.h"
#include "base/mtime.h"
#include "base/rc.h"
#include "base/text.h"

struct broker_url {
	bool tls;
	char *host;                            /* owned, without brackets */
	uint16_t port;                         /* 5672, or 5671 for amqps, where unsaid */
	char *user, *password;                 /* owned; guest, guest where unsaid */
	char *vhost;                           /* owned; "/" where unsaid */
	int heartbeat_s;                       /* -1: unsaid */
	mtime connection_timeout;              /* 0: unsaid */
	char *cacertfile, *certfile, *keyfile; /* owned, or NULL */
	char *server_name; /* server_name_indication; owned, or NULL: the host */
	bool verify;       /* verify=verify_none turns it off */
	bool external;     /* auth_mechanism=external */
};

/* Everything unsaid, amqp://guest:guest@localhost:5672/%2f. RC_OK: *ret is to be released. */
enum rc broker_url_default(struct broker_url *ret) MUST_CHECK;
/* RC_OK: *ret is to be released. RC_MALFORMED: ret_problem (256 bytes are enough) says what is
 * wrong and what would be right, without any part of the user information. RC_MEMORY. */
enum rc broker_url_parse(
	const char *url, struct broker_url *ret, char *ret_problem, size_t room) MUST_CHECK;
/* A name or an address, IPv6 without its brackets: what stands for a host in an address. */
bool broker_url_is_host(const char *);
void broker_url_release(struct broker_url *);
/* Releases count addresses and frees the array; NULL is fine. */
void broker_urls_free(struct broker_url *, size_t count);
/* What is unsaid in both, too. */
bool broker_url_is_same(const struct broker_url *, const struct broker_url *);
/* The whole address again, the password as "***". */
void broker_url_print(const struct broker_url *, struct buf *out);
/* "amqps://host:port/vhost" with no credentials, for people. Returns buffer. */
const char *broker_url_shown(const struct broker_url *, char *buffer, size_t room);
/* What looks like the password in an address or a list of addresses, valid or not: rather too much
 * than too little. TEXT_NONE: nothing does. */
struct text broker_url_password(struct text address);
/* Overwrites it with asterisks, in place. */
void broker_url_hide_password(char *address);

#endif
