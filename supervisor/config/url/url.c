#include "config/url/url.h"

#include "config/value/nearest.h"

#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A parse in progress. */
struct url_parse {
	struct broker_url url;
	char *problem; /* borrowed */
	size_t size;
};

enum {
	URL_MAX = 4096,
	HOST_MAX = 253,
	VHOST_MAX = 255, /* an AMQP short string */
	CREDENTIAL_MAX = 1024,
	PLAIN_PORT = 5672,
	TLS_PORT = 5671
};

/* Messages never repeat what precedes the options: a '/' that should have been encoded turns
 * half a password into a port or a vhost. */
PRINTF_LIKE(2, 3) static enum rc url_wrong(struct url_parse *parse, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(parse->problem, parse->size, format, args);
	va_end(args);
	return RC_MALFORMED;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
		return (c | 0x20) - 'a' + 10;
	return -1;
}

/* The value of "%xx" at the start of t, or -1. */
static int encoded_byte(struct text t)
{
	if (t.len < 3)
		return -1;
	int high = hex_digit(t.ptr[1]), low = hex_digit(t.ptr[2]);
	return high < 0 || low < 0 ? -1 : high << 4 | low;
}

static enum rc undo_encoding(
	struct url_parse *parse, struct text t, const char *what, char *out, size_t *ret_len)
{
	size_t len = 0;
	for (size_t i = 0; i < t.len; i++) {
		int byte = (uint8_t)t.ptr[i];
		if (byte == '%') {
			byte = encoded_byte(text_of(t.ptr + i, t.len - i));
			i += 2;
		}
		if (byte < 0)
			return url_wrong(parse,
				"the %s has a '%%' without two hexadecimal digits after it; a '%%' "
				"itself is written %%25",
				what);
		if (byte == 0)
			return url_wrong(parse, "the %s must not hold a NUL byte", what);
		out[len++] = (char)byte;
	}
	out[len] = '\0';
	*ret_len = len;
	return RC_OK;
}

static enum rc url_decode(
	struct url_parse *parse, struct text t, const char *what, size_t max, char **ret)
{
	size_t len = 0;
	char *decoded = malloc(t.len + 1);
	if (!decoded)
		return RC_MEMORY;
	enum rc rc = undo_encoding(parse, t, what, decoded, &len);
	if (rc == RC_OK && len > max)
		rc = url_wrong(parse, "the %s is longer than %zu bytes", what, max);
	if (rc != RC_OK) {
		free(decoded);
		return rc;
	}
	free(*ret);
	*ret = decoded;
	return RC_OK;
}

bool url_number(struct text t, long min, long max, long *ret)
{
	long number = 0;
	if (t.len == 0 || t.len > 9)
		return false;
	for (size_t i = 0; i < t.len; i++) {
		if (t.ptr[i] < '0' || t.ptr[i] > '9')
			return false;
		number = number * 10 + (t.ptr[i] - '0');
	}
	if (number < min || number > max)
		return false;
	*ret = number;
	return true;
}

struct text url_split(struct text t, char c, struct text *ret_rest)
{
	const char *at = t.len ? memchr(t.ptr, c, t.len) : NULL;
	size_t len = at ? (size_t)(at - t.ptr) : t.len;
	*ret_rest = at ? text_of(at + 1, t.len - len - 1) : TEXT_NONE;
	return text_of(t.ptr, len);
}

/* ---------- options ---------- */

enum {
	FILE_NAME_MAX = 1024,
	SERVER_NAME_MAX = 253,
	HEARTBEAT_MAX = 65535,
	TIMEOUT_MAX_MS = 3600000
};

/* Those from CACERTFILE on need TLS. */
enum option {
	HEARTBEAT,
	CONNECTION_TIMEOUT,
	CACERTFILE,
	CERTFILE,
	KEYFILE,
	VERIFY,
	SERVER_NAME,
	AUTH_MECHANISM,
	OPTION_COUNT
};

static const char *const names[] = {"heartbeat", "connection_timeout", "cacertfile", "certfile",
	"keyfile", "verify", "server_name_indication", "auth_mechanism", NULL};
_Static_assert(sizeof names / sizeof *names == OPTION_COUNT + 1, "a name for each");

static enum rc set_text(
	struct url_parse *parse, enum option option, struct text value, size_t max, char **ret)
{
	if (value.len == 0)
		return url_wrong(parse, "option %s has no value", names[option]);
	return url_decode(parse, value, names[option], max, ret);
}

static enum rc set_number(struct url_parse *parse, enum option option, struct text value,
	const char *unit, long min, long max, long *ret)
{
	if (url_number(value, min, max, ret))
		return RC_OK;
	return url_wrong(parse, "option %s must be a number of %s from %ld to %ld", names[option],
		unit, min, max);
}

/* *ret: whether the value is the first word. */
static enum rc set_choice(struct url_parse *parse, enum option option, struct text value,
	const char *first, const char *second, bool *ret)
{
	*ret = text_is(value, text_from(first));
	if (*ret || text_is(value, text_from(second)))
		return RC_OK;
	return url_wrong(parse, "option %s must be %s or %s", names[option], first, second);
}

static enum rc set_value(struct url_parse *parse, enum option option, struct text value)
{
	struct broker_url *url = &parse->url;
	long number = 0;
	bool is_plain;
	enum rc rc = RC_OK;
	switch (option) {
	case HEARTBEAT:
		rc = set_number(parse, option, value, "seconds", 0, HEARTBEAT_MAX, &number);
		url->heartbeat_s = (int)number;
		break;
	case CONNECTION_TIMEOUT:
		rc = set_number(parse, option, value, "milliseconds", 1, TIMEOUT_MAX_MS, &number);
		url->connection_timeout = number * MTIME_MS;
		break;
	case CACERTFILE:
		return set_text(parse, option, value, FILE_NAME_MAX, &url->cacertfile);
	case CERTFILE:
		return set_text(parse, option, value, FILE_NAME_MAX, &url->certfile);
	case KEYFILE:
		return set_text(parse, option, value, FILE_NAME_MAX, &url->keyfile);
	case SERVER_NAME:
		return set_text(parse, option, value, SERVER_NAME_MAX, &url->server_name);
	case VERIFY:
		return set_choice(parse, option, value, "verify_peer", "verify_none", &url->verify);
	case AUTH_MECHANISM:
		rc = set_choice(parse, option, value, "plain", "external", &is_plain);
		url->external = !is_plain;
		break;
	case OPTION_COUNT:
		break;
	}
	return rc;
}

static enum rc unknown(struct url_parse *parse, struct text name)
{
	const char *nearest = nearest_name(name, names);
	return url_wrong(parse, "an option is unknown; %s%s", nearest ? "the nearest is " : "",
		nearest ? nearest
			: "there are heartbeat, connection_timeout, cacertfile, certfile, keyfile, "
			  "verify, server_name_indication and auth_mechanism");
}

static enum rc set_option(struct url_parse *parse, struct text option, unsigned *seen)
{
	struct text value;
	struct text name = url_split(option, '=', &value);
	size_t i = text_index(name, names);
	if (!names[i])
		return unknown(parse, name);
	if (*seen & 1u << i)
		return url_wrong(parse, "option %s is given twice", names[i]);
	*seen |= 1u << i;
	if (i >= CACERTFILE && !parse->url.tls)
		return url_wrong(parse, "option %s is for amqps:// only", names[i]);
	return set_value(parse, (enum option)i, value);
}

static enum rc parse_options(struct url_parse *parse, struct text query)
{
	unsigned seen = 0;
	while (query.len > 0) {
		struct text option = url_split(query, '&', &query);
		enum rc rc = option.len > 0 ? set_option(parse, option, &seen) : RC_OK;
		if (rc != RC_OK)
			return rc;
	}
	if (parse->url.keyfile && !parse->url.certfile)
		return url_wrong(parse, "option keyfile needs certfile beside it");
	return RC_OK;
}

/* ---------- the parts, from left to right ---------- */

static enum rc check_bytes(struct url_parse *parse, struct text t)
{
	if (t.len > URL_MAX)
		return url_wrong(parse, "the address is longer than %d bytes", URL_MAX);
	for (size_t i = 0; i < t.len; i++) {
		uint8_t byte = (uint8_t)t.ptr[i];
		if (byte <= ' ' || byte == 0x7f)
			return url_wrong(parse, "the address holds a space or a control character; "
						"in a name or password it is percent-encoded");
		if (byte == '#')
			return url_wrong(parse, "the address holds a '#'; in a name or password it "
						"is written %%23");
	}
	return RC_OK;
}

static enum rc take_scheme(struct url_parse *parse, struct text *t)
{
	static const struct text plain = TEXT("amqp://"), tls = TEXT("amqps://");
	size_t len = 0;
	if (t->len >= tls.len && strncasecmp(t->ptr, tls.ptr, tls.len) == 0)
		len = tls.len;
	else if (t->len >= plain.len && strncasecmp(t->ptr, plain.ptr, plain.len) == 0)
		len = plain.len;
	else
		return url_wrong(parse, "the address must begin with amqp:// or amqps://");
	parse->url.tls = len == tls.len;
	parse->url.port = parse->url.tls ? TLS_PORT : PLAIN_PORT;
	*t = text_of(t->ptr + len, t->len - len);
	return RC_OK;
}

static size_t count_of(struct text t, char c)
{
	size_t count = 0;
	for (size_t i = 0; i < t.len; i++)
		count += t.ptr[i] == c;
	return count;
}

static enum rc take_user(struct url_parse *parse, struct text user_information)
{
	struct text password;
	struct text user = url_split(user_information, ':', &password);
	enum rc rc = url_decode(parse, user, "user name", CREDENTIAL_MAX, &parse->url.user);
	if (rc == RC_OK && password.ptr)
		rc = url_decode(parse, password, "password", CREDENTIAL_MAX, &parse->url.password);
	return rc;
}

static enum rc take_port(struct url_parse *parse, struct text digits)
{
	long port;
	if (digits.len == 0)
		return RC_OK;
	if (!url_number(digits, 1, 65535, &port))
		return url_wrong(parse,
			"the port must be a number from 1 to 65535 (a '/' in a user "
			"name or password is written %%2f)");
	parse->url.port = (uint16_t)port;
	return RC_OK;
}

/* An IPv6 address, with or without a zone ("fe80::1%eth0"). */
static bool is_ip6(const char *host)
{
	char address[INET6_ADDRSTRLEN];
	struct in6_addr parsed;
	size_t len = strcspn(host, "%");
	if (len >= sizeof address)
		return false;
	memcpy(address, host, len);
	address[len] = '\0';
	return inet_pton(AF_INET6, address, &parsed) == 1;
}

static bool is_host_name(const char *host)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789._-";
	return host[0] && host[strspn(host, allowed)] == '\0';
}

bool broker_url_is_host(const char *host)
{
	return is_host_name(host) || is_ip6(host);
}

static enum rc take_host(struct url_parse *parse, struct text host, bool brackets)
{
	enum rc rc = url_decode(parse, host, "host", HOST_MAX, &parse->url.host);
	if (rc != RC_OK)
		return rc;
	if (brackets && !is_ip6(parse->url.host))
		return url_wrong(parse, "what stands in brackets must be an IPv6 address");
	if (!brackets && !is_host_name(parse->url.host))
		return url_wrong(parse, "the host must be a name or an address (an IPv6 address in "
					"brackets)");
	return RC_OK;
}

static enum rc take_host_and_port(struct url_parse *parse, struct text t)
{
	struct text port;
	bool brackets = t.len > 0 && t.ptr[0] == '[';
	struct text host = brackets ? url_split(text_of(t.ptr + 1, t.len - 1), ']', &port)
				    : url_split(t, ':', &port);
	if (brackets && (!port.ptr || (port.len > 0 && port.ptr[0] != ':')))
		return url_wrong(parse, "an IPv6 address is written [address] or [address]:port");
	if (brackets && port.len > 0)
		port = text_of(port.ptr + 1, port.len - 1);
	enum rc rc = RC_OK;
	if (host.len > 0 || brackets)
		rc = take_host(parse, host, brackets);
	return rc == RC_OK ? take_port(parse, port) : rc;
}

/* One '@' precedes the host. A second one, or one after a '/' or '?', belongs to a name or
 * password that was not encoded; its meaning is not guessed. */
static enum rc take_authority(struct url_parse *parse, struct text *t)
{
	struct text authority = text_of(t->ptr, 0), host;
	while (authority.len < t->len && !strchr("/?", t->ptr[authority.len]))
		authority.len++;
	if (count_of(*t, '@') > 1 || count_of(*t, '@') != count_of(authority, '@'))
		return url_wrong(parse,
			"an '@', '/' or '?' in a name, password or option is written "
			"%%40, %%2f or %%3f");
	struct text user = url_split(authority, '@', &host);
	*t = text_of(t->ptr + authority.len, t->len - authority.len);
	if (!host.ptr)
		return take_host_and_port(parse, authority);
	enum rc rc = take_user(parse, user);
	return rc == RC_OK ? take_host_and_port(parse, host) : rc;
}

/* By the specification "amqp://host/" is the vhost with the empty name. No broker has one by
 * default, and the Go and Python clients (amqp091-go, pika) read it as "/"; so do we. */
static enum rc take_vhost(struct url_parse *parse, struct text path)
{
	if (path.len <= 1)
		return RC_OK;
	path = text_of(path.ptr + 1, path.len - 1);
	if (count_of(path, '/') > 0)
		return url_wrong(parse, "a '/' in the name of a vhost is written %%2f");
	return url_decode(parse, path, "vhost", VHOST_MAX, &parse->url.vhost);
}

/* ---------- the outside ---------- */

enum rc broker_url_default(struct broker_url *ret)
{
	struct broker_url url = {
		.host = strdup("localhost"),
		.port = PLAIN_PORT,
		.user = strdup("guest"),
		.password = strdup("guest"),
		.vhost = strdup("/"),
		.heartbeat_s = -1,
		.verify = true,
	};
	if (!url.host || !url.user || !url.password || !url.vhost) {
		broker_url_release(&url);
		return RC_MEMORY;
	}
	*ret = url;
	return RC_OK;
}

enum rc broker_url_parse(const char *url, struct broker_url *ret, char *ret_problem, size_t size)
{
	struct url_parse parse = {.problem = ret_problem, .size = size};
	struct text rest = text_from(url), query = TEXT_NONE;
	enum rc rc = broker_url_default(&parse.url);
	if (rc != RC_OK)
		return rc;
	rc = check_bytes(&parse, rest);
	if (rc == RC_OK)
		rc = take_scheme(&parse, &rest);
	if (rc == RC_OK)
		rc = take_authority(&parse, &rest);
	if (rc == RC_OK)
		rc = take_vhost(&parse, url_split(rest, '?', &query));
	if (rc == RC_OK)
		rc = parse_options(&parse, query);
	if (rc == RC_OK)
		*ret = parse.url;
	else
		broker_url_release(&parse.url);
	return rc;
}

void broker_url_release(struct broker_url *url)
{
	free(url->host);
	free(url->user);
	free(url->password);
	free(url->password_file);
	free(url->vhost);
	free(url->cacertfile);
	free(url->certfile);
	free(url->keyfile);
	free(url->server_name);
	*url = (struct broker_url){.heartbeat_s = -1};
}

void broker_urls_free(struct broker_url *urls, size_t count)
{
	for (size_t i = 0; urls && i < count; i++)
		broker_url_release(&urls[i]);
	free(urls);
}

/* ---------- printing ---------- */

/* The unreserved characters of RFC 3986, section 2.3. */
static bool is_unreserved(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '.' || c == '_' || c == '~';
}

/* safe: further bytes that need no encoding. */
static void append_encoded(struct buf *out, const char *string, const char *safe)
{
	for (; *string; string++) {
		if (is_unreserved(*string) || strchr(safe, *string))
			buf_append_byte(out, (uint8_t)*string);
		else
			buf_printf(out, "%%%02x", (unsigned)(uint8_t)*string);
	}
}

static void append_host_and_vhost(struct buf *out, const struct broker_url *url)
{
	if (strchr(url->host, ':')) {
		buf_append_byte(out, '[');
		append_encoded(out, url->host, ":");
		buf_append_byte(out, ']');
	} else {
		append_encoded(out, url->host, "");
	}
	buf_printf(out, ":%u/", (unsigned)url->port);
	append_encoded(out, url->vhost, "");
}

static void append_option(struct buf *out, char *separator, const char *name, const char *value)
{
	if (!value)
		return;
	buf_printf(out, "%c%s=", *separator, name);
	append_encoded(out, value, "/");
	*separator = '&';
}

static void append_options(struct buf *out, const struct broker_url *url)
{
	char separator = '?', number[32];
	snprintf(number, sizeof number, "%d", url->heartbeat_s);
	append_option(out, &separator, "heartbeat", url->heartbeat_s >= 0 ? number : NULL);
	snprintf(number, sizeof number, "%lld", (long long)(url->connection_timeout / MTIME_MS));
	append_option(
		out, &separator, "connection_timeout", url->connection_timeout ? number : NULL);
	append_option(out, &separator, "cacertfile", url->cacertfile);
	append_option(out, &separator, "certfile", url->certfile);
	append_option(out, &separator, "keyfile", url->keyfile);
	append_option(out, &separator, "verify", url->verify ? NULL : "verify_none");
	append_option(out, &separator, "server_name_indication", url->server_name);
	append_option(out, &separator, "auth_mechanism", url->external ? "external" : NULL);
}

/* password: NULL: hidden */
static void append_url(struct buf *out, const struct broker_url *url, const char *password)
{
	buf_append_text(out, url->tls ? TEXT("amqps://") : TEXT("amqp://"));
	append_encoded(out, url->user, "");
	buf_append_byte(out, ':');
	if (password)
		append_encoded(out, password, "");
	else
		buf_append_text(out, TEXT("***"));
	buf_append_byte(out, '@');
	append_host_and_vhost(out, url);
	append_options(out, url);
}

void broker_url_print(const struct broker_url *url, struct buf *out)
{
	append_url(out, url, NULL);
}

void broker_url_write(const struct broker_url *url, struct buf *out)
{
	append_url(out, url, url->password);
}

/* From the first colon that does not end a scheme to the last '@': a password may contain an
 * '@', or even "://", that should have been encoded. */
struct text broker_url_password(struct text address)
{
	size_t end = address.len, start = 0;
	while (end > 0 && address.ptr[end - 1] != '@')
		end--;
	while (start < end &&
		(address.ptr[start] != ':' ||
			text_starts(text_of(address.ptr + start, end - start), TEXT("://"))))
		start++;
	if (start + 1 >= end)
		return TEXT_NONE;
	return text_of(address.ptr + start + 1, end - start - 2);
}

void broker_url_hide_password(char *address)
{
	struct text password = broker_url_password(text_from(address));
	if (password.len > 0)
		memset(address + (password.ptr - address), '*', password.len);
}

const char *broker_url_shown(const struct broker_url *url, char *buffer, size_t size)
{
	struct buf shown;
	buf_init(&shown, 4096);
	append_host_and_vhost(&shown, url);
	snprintf(buffer, size, "%s%.*s", url->tls ? "amqps://" : "amqp://",
		TEXT_ARGS(buf_text(&shown)));
	buf_release(&shown);
	return buffer;
}

static bool are_same(const char *string, const char *other)
{
	return string && other ? strcmp(string, other) == 0 : string == other;
}

bool broker_url_is_same(const struct broker_url *url, const struct broker_url *other)
{
	return url->tls == other->tls && are_same(url->host, other->host) &&
	       url->port == other->port && are_same(url->user, other->user) &&
	       are_same(url->password, other->password) && are_same(url->vhost, other->vhost) &&
	       url->heartbeat_s == other->heartbeat_s &&
	       url->connection_timeout == other->connection_timeout &&
	       are_same(url->cacertfile, other->cacertfile) &&
	       are_same(url->certfile, other->certfile) && are_same(url->keyfile, other->keyfile) &&
	       are_same(url->server_name, other->server_name) && url->verify == other->verify &&
	       url->external == other->external;
}
