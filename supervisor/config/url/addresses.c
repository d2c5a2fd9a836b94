#include "config/url/addresses.h"

#include "config/config.h"
#include "config/value/environment.h"
#include "config/warnings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64 };

static bool no_memory(struct problems *problems)
{
	problems->memory = true;
	return false;
}

/* url moves in, on failure too. */
static bool keep(struct addresses *addresses, struct broker_url url, struct problems *problems)
{
	size_t size = (addresses->count + 1) * sizeof url;
	struct broker_url *urls = realloc(addresses->urls, size);
	if (!urls) {
		broker_url_release(&url);
		return no_memory(problems);
	}
	addresses->urls = urls;
	urls[addresses->count++] = url;
	return true;
}

static bool add_one(struct addresses *addresses, struct text address, const char *what,
	struct place place, struct problems *problems)
{
	char words[256];
	struct broker_url url;
	if (addresses->count >= MOST) {
		problems_add(problems, place, "%s has more than %d addresses", what, MOST);
		return false;
	}
	char *string = strndup(address.len ? address.ptr : "", address.len);
	if (!string)
		return no_memory(problems);
	enum rc rc = broker_url_parse(string, &url, words, sizeof words);
	free(string);
	if (rc == RC_OK)
		return keep(addresses, url, problems);
	if (rc == RC_MALFORMED)
		problems_add(problems, place, "%s is not an address: %s", what, words);
	else
		problems->memory = true;
	return false;
}

static struct text without_blanks(struct text t)
{
	while (t.len > 0 && t.ptr[0] == ' ')
		t = text_of(t.ptr + 1, t.len - 1);
	while (t.len > 0 && t.ptr[t.len - 1] == ' ')
		t.len--;
	return t;
}

bool addresses_add(struct addresses *addresses, struct text list, const char *what,
	struct place place, struct problems *problems)
{
	bool good = true;
	const char *comma;
	do {
		comma = list.len ? memchr(list.ptr, ',', list.len) : NULL;
		size_t len = comma ? (size_t)(comma - list.ptr) : list.len;
		struct text one = without_blanks(text_of(list.ptr, len));
		good &= add_one(addresses, one, what, place, problems);
		if (comma)
			list = text_of(comma + 1, list.len - len - 1);
	} while (comma);
	return good;
}

/* ---------- the environment ---------- */

/* RABBITMQ_USERNAME and its relatives. USERNAME and PASSWORD count only beside
 * RABBITMQ_HOSTNAME, since they have other meanings elsewhere (the login name of a desktop). */
struct parts {
	const char *host, *port, *user, *password, *vhost;
};

static struct parts parts_of(char *const *environment)
{
	struct parts parts = {
		.host = environment_value(environment, "RABBITMQ_HOSTNAME"),
		.port = environment_value(environment, "RABBITMQ_PORT"),
		.user = environment_value(environment, "RABBITMQ_USERNAME"),
		.password = environment_value(environment, "RABBITMQ_PASSWORD"),
		.vhost = environment_value(environment, "RABBITMQ_VHOST"),
	};
	if (parts.host && !parts.user)
		parts.user = environment_value(environment, "USERNAME");
	if (parts.host && !parts.password)
		parts.password = environment_value(environment, "PASSWORD");
	return parts;
}

static bool set_text(char **target, const char *value)
{
	char *copy = value ? strdup(value) : NULL;
	if (!value)
		return true;
	if (!copy)
		return false;
	free(*target);
	*target = copy;
	return true;
}

/* Container platforms set RABBITMQ_PORT to "tcp://10.0.0.1:5672" for a service of that name: the
 * port follows the last colon. */
static bool set_port(uint16_t *target, const char *value)
{
	char *end;
	if (!value)
		return true;
	if (strncmp(value, "tcp://", 6) == 0)
		value = strrchr(value, ':') + 1;
	if (*value < '0' || *value > '9')
		return false;
	unsigned long port = strtoul(value, &end, 10);
	if (*end || port < 1 || port > 65535)
		return false;
	*target = (uint16_t)port;
	return true;
}

static bool add_parts(
	struct addresses *addresses, const struct parts *parts, struct problems *problems)
{
	struct broker_url url;
	char shown[PROBLEMS_QUOTED_SIZE];
	if (broker_url_default(&url) != RC_OK)
		return no_memory(problems);
	bool good = true;
	if (!set_port(&url.port, parts->port)) {
		problems_add(problems, place_named("RABBITMQ_PORT"),
			"%s is not a port; a number from 1 to 65535 is needed",
			problems_quote(text_from(parts->port), shown));
		good = false;
	}
	if (!set_text(&url.host, parts->host) || !set_text(&url.user, parts->user) ||
		!set_text(&url.password, parts->password) || !set_text(&url.vhost, parts->vhost))
		good = no_memory(problems);
	if (parts->host && !broker_url_is_host(parts->host)) {
		problems_add(problems, place_named("RABBITMQ_HOSTNAME"),
			"%s is not a host; a name or an address is needed",
			problems_quote(text_from(parts->host), shown));
		good = false;
	}
	if (strlen(url.host) > 253 || strlen(url.vhost) > 255) {
		problems_add(problems, place_named("RABBITMQ_HOSTNAME"),
			"the host (at most 253 bytes) or RABBITMQ_VHOST (at most 255) is too long");
		good = false;
	}
	if (strlen(url.user) > 1024 || strlen(url.password) > 1024) {
		problems_add(problems, place_named("RABBITMQ_USERNAME"),
			"the user name or RABBITMQ_PASSWORD is longer than 1024 bytes");
		good = false;
	}
	if (good)
		return keep(addresses, url, problems);
	broker_url_release(&url);
	return false;
}

bool addresses_add_from_environment(
	struct addresses *addresses, char *const *environment, struct problems *problems)
{
	const char *list = environment_value(environment, "AMQP_URL");
	struct parts parts = parts_of(environment);
	if (list)
		return addresses_add(
			addresses, text_from(list), "the value", place_named("AMQP_URL"), problems);
	if (!parts.host && parts.port && strncmp(parts.port, "tcp://", 6) == 0)
		parts.port = NULL;
	return add_parts(addresses, &parts, problems);
}

const char *addresses_source(char *const *environment)
{
	return environment_value(environment, "AMQP_URL") || parts_of(environment).host
		       ? "environment"
		       : "default";
}

/* The path that is meant; owned by the caller. NULL: out of memory, or *ret_is_lost: a relative
 * path without the folder. */
static char *find_password_file(const char *path, char *const *environment, bool *ret_is_lost)
{
	const char *folder = environment_value(environment, "CREDENTIALS_DIRECTORY");
	char *found;
	*ret_is_lost = *path != '/' && !folder;
	if (*path == '/' || *ret_is_lost)
		return strdup(path);
	return asprintf(&found, "%s/%s", folder, path) < 0 ? NULL : found;
}

bool addresses_set_password_file(struct broker_url *urls, size_t count, const char *path,
	char *const *environment, bool is_for_other_process, struct place place,
	struct problems *problems)
{
	bool is_lost;
	char shown[PROBLEMS_QUOTED_SIZE];
	for (size_t i = 0; i < count; i++) {
		free(urls[i].password_file);
		urls[i].password_file = find_password_file(path, environment, &is_lost);
		if (!urls[i].password_file)
			return no_memory(problems);
		if (!is_lost || is_for_other_process)
			continue;
		problems_add(problems, place,
			"broker.password_file is %s; a path from / on is needed, because "
			"CREDENTIALS_DIRECTORY, in which systemd has credentials, is not set",
			problems_quote(text_from(path), shown));
		return false;
	}
	return true;
}

/* The commands without a file have the variable of the setting. */
static bool set_password_file(
	struct addresses *addresses, char *const *environment, struct problems *problems)
{
	static const char name[] = "WPOOL_PASSWORD_FILE";
	const char *path = environment_value(environment, name);
	return !path || addresses_set_password_file(addresses->urls, addresses->count, path,
				environment, false, place_named(name), problems);
}

enum rc config_load_broker(const char *flag, char *const *environment, struct broker_url **ret,
	size_t *ret_count, struct problems *problems)
{
	struct addresses addresses = {0};
	bool good = flag ? addresses_add(&addresses, text_from(flag), "the value",
				   place_typed("--broker"), problems)
			 : addresses_add_from_environment(&addresses, environment, problems);
	good = good && set_password_file(&addresses, environment, problems);
	if (good && !flag)
		warnings_add_broker(environment, problems);
	enum rc rc = problems_verdict(problems);
	if (rc != RC_OK) {
		addresses_release(&addresses);
		return rc;
	}
	*ret = addresses.urls;
	*ret_count = addresses.count;
	return RC_OK;
}

void addresses_install(struct addresses *addresses, struct config *config)
{
	broker_urls_free(config->hosts, config->host_count);
	config->hosts = addresses->urls;
	config->host_count = addresses->count;
	*addresses = (struct addresses){0};
}

void addresses_release(struct addresses *addresses)
{
	broker_urls_free(addresses->urls, addresses->count);
	*addresses = (struct addresses){0};
}

bool addresses_are_same(const struct config *config, const struct config *other)
{
	bool are_same = config->host_count == other->host_count;

	for (size_t i = 0; are_same && i < config->host_count; i++)
		are_same = broker_url_is_same(&config->hosts[i], &other->hosts[i]);
	return are_same;
}
