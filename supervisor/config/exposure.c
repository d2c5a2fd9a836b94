#include "config/exposure.h"

#include "config/url/listen.h"
#include "config/yaml/tree.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---------- files ---------- */

/* Who is in root's group is as good as root. */
void exposure_add_file(const struct exposure_file *file, struct problems *problems)
{
	struct stat status;
	const char *who = NULL, *does = "write", *remedy = "go-w";

	if (!file->path || stat(file->path, &status) != 0 || !S_ISREG(status.st_mode))
		return;
	if (status.st_mode & S_IWOTH) {
		who = "every user";
	} else if (status.st_mode & S_IWGRP && status.st_gid != 0) {
		who = "its group";
	} else if (file->is_secret && status.st_mode & S_IROTH) {
		who = "every user";
		does = "read";
		remedy = "o-rwx";
	}
	if (who)
		problems_add_warning(problems, 0, "%s: %s can %s %s; chmod %s %s", file->path, who,
			does, file->what, remedy, file->path);
}

/* "${NAME}" has no password in it, "${NAME:-default}" has one. The password of RabbitMQ's first
 * user is in its manual, and is accepted from its own machine only. */
static bool is_secret(struct text password)
{
	bool is_variable =
		text_starts(password, TEXT("$")) && !memmem(password.ptr, password.len, ":-", 2);
	bool is_public = text_is(password, TEXT("guest")) || text_ends(password, TEXT(":-guest}"));

	return password.len > 0 && !is_variable && !is_public;
}

bool exposure_has_password(struct text text)
{
	static const struct text schemes[] = {{"amqp://", 7}, {"amqps://", 8}};

	for (size_t i = 0; i < text.len; i++) {
		struct text rest = text_of(text.ptr + i, text.len - i);
		for (size_t k = 0; k < sizeof schemes / sizeof *schemes; k++) {
			struct text password;
			if (!text_starts(rest, schemes[k]))
				continue;
			rest.len = 0;
			while (i + rest.len < text.len &&
				!strchr(" \t\r\n\"',", rest.ptr[rest.len]))
				rest.len++;
			password = broker_url_password(rest);
			if (is_secret(password))
				return true;
			break;
		}
	}
	return false;
}

static bool file_has_password(const char *path)
{
	static char text[TREE_SOURCE_MAX];
	size_t len;
	bool has_password;
	FILE *file = fopen(path, "re");

	if (!file)
		return false;
	len = fread(text, 1, sizeof text, file);
	fclose(file);
	has_password = exposure_has_password(text_of(text, len));
	explicit_bzero(text, len);
	return has_password;
}

/* A pipe could be read only once. */
static bool is_regular(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

/* ---------- the broker ---------- */

/* A name is not looked up. */
static bool is_this_machine(const char *host)
{
	struct in_addr ip4;
	struct in6_addr ip6;

	if (inet_pton(AF_INET, host, &ip4) == 1)
		return ntohl(ip4.s_addr) >> 24 == IN_LOOPBACKNET;
	if (inet_pton(AF_INET6, host, &ip6) == 1)
		return IN6_IS_ADDR_LOOPBACK(&ip6);
	return strcmp(host, "localhost") == 0;
}

static void add_broker(const struct broker_url *url, struct problems *problems)
{
	if (!url->tls && !url->external && (url->password_file || *url->password) &&
		!is_this_machine(url->host))
		problems_add_warning(problems, 0,
			"broker.url: the password goes to %s without encryption; amqps:// encrypts it",
			url->host);
	if (url->tls && !url->verify)
		problems_add_warning(problems, 0,
			"broker.url: verify_none takes any certificate for that of %s, so the "
			"password may go to another machine; verify_peer checks it",
			url->host);
}

/* ---------- workers and the page ---------- */

static void add_root(const struct config *config, struct problems *problems)
{
	size_t first = 0, count = 0;

	for (size_t i = config->pool_count; i-- > 0;)
		if (!config->pools[i].user) {
			first = i;
			count++;
		}
	if (count == 1)
		problems_add_warning(problems, config->pools[first].line,
			"pools[%zu].user: its workers run as root; give them a user of their own",
			first);
	else if (count > 1)
		problems_add_warning(problems, config->pools[first].line,
			"pools[%zu].user: its workers and those of %zu further pool%s run as root; give "
			"them a user of their own",
			first, count - 1, count == 2 ? "" : "s");
}

static bool is_every_address(const struct listen_address *address)
{
	const struct sockaddr_in *ip4 = (const struct sockaddr_in *)&address->storage;
	const struct sockaddr_in6 *ip6 = (const struct sockaddr_in6 *)&address->storage;

	return address->storage.ss_family == AF_INET ? ip4->sin_addr.s_addr == htonl(INADDR_ANY)
						     : IN6_IS_ADDR_UNSPECIFIED(&ip6->sin6_addr);
}

static bool is_loopback(const struct listen_address *address)
{
	const struct sockaddr_in *ip4 = (const struct sockaddr_in *)&address->storage;
	const struct sockaddr_in6 *ip6 = (const struct sockaddr_in6 *)&address->storage;

	return address->storage.ss_family == AF_INET
		       ? ntohl(ip4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET
		       : IN6_IS_ADDR_LOOPBACK(&ip6->sin6_addr);
}

void exposure_add_warnings(const struct config *config, const char *file, struct problems *problems)
{
	struct listen_address address;

	if (file && is_regular(file))
		exposure_add_file(&(struct exposure_file){.path = file,
					  .what = "the configuration",
					  .is_secret = file_has_password(file)},
			problems);
	for (size_t i = 0; i < config->host_count; i++) {
		exposure_add_file(&(struct exposure_file){.path = config->hosts[i].keyfile,
					  .what = "the key of the certificate",
					  .is_secret = true},
			problems);
		add_broker(&config->hosts[i], problems);
	}
	if (config->host_count > 0)
		exposure_add_file(&(struct exposure_file){.path = config->hosts[0].password_file,
					  .what = "the password",
					  .is_secret = true},
			problems);
	exposure_add_file(&(struct exposure_file){.path = config->http_token_file,
				  .what = "the token of http.token_file",
				  .is_secret = true},
		problems);
	if (geteuid() == 0)
		add_root(config, problems);
	if (listen_parse(text_from(config->http_listen), &address) && is_every_address(&address))
		problems_add_warning(problems, 0,
			"http.listen: %s shows pools, workers and figures to every machine that "
			"reaches this one; 127.0.0.1 shows them to this machine",
			config->http_listen);
	if (config->http_token_file && listen_parse(text_from(config->http_listen), &address) &&
		!is_loopback(&address))
		problems_add_warning(problems, 0,
			"http.token_file: the token goes to %s without encryption; listen at "
			"127.0.0.1 behind a proxy that has TLS",
			config->http_listen);
}
