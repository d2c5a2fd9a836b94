#include "config/url.h"

#include <stdio.h>

/* RFC 3986, section 2.3: what never needs encoding. */
static bool is_unreserved(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '.' || c == '_' || c == '~';
}

/* safe: bytes that may stay as they are besides the unreserved ones. */
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

void broker_url_print(const struct broker_url *url, struct buf *out)
{
	buf_append_text(out, url->tls ? TEXT("amqps://") : TEXT("amqp://"));
	append_encoded(out, url->user, "");
	buf_append_text(out, TEXT(":***@"));
	append_host_and_vhost(out, url);
	append_options(out, url);
}

/* From the first colon that ends no scheme to the last at sign: a password may hold an at sign, or
 * even "://", that should have been encoded. */
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

const char *broker_url_shown(const struct broker_url *url, char *buffer, size_t room)
{
	struct buf shown;
	buf_init(&shown, 4096);
	append_host_and_vhost(&shown, url);
	snprintf(buffer, room, "%s%.*s", url->tls ? "amqps://" : "amqp://",
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
