/* The broker's addresses, from a flag, the file or the environment. Layer: config. Problems
 * never contain a part of an address. */
#ifndef CONFIG_URL_ADDRESSES_H
#define CONFIG_URL_ADDRESSES_H

#include "config/problems.h"
#include "config/url/url.h"

/* The environment variables that addresses_from_environment reads, for the reference page. */
#define ADDRESSES_VARIABLES                                                                        \
	"AMQP_URL, or RABBITMQ_HOSTNAME, RABBITMQ_PORT, RABBITMQ_USERNAME, RABBITMQ_PASSWORD, "    \
	"RABBITMQ_VHOST"
#define ADDRESSES_DEFAULT "amqp://guest:guest@localhost:5672/%2f"

struct config;

struct addresses {
	struct broker_url *urls; /* owned */
	size_t count;
};

/* Add each address of a comma-separated list. what: the name of the setting in problems. False:
 * an address is invalid or memory ran out; problems has the reason. */
bool addresses_add(
	struct addresses *, struct text list, const char *what, struct place, struct problems *);
/* Add the addresses of the environment, or the default. */
bool addresses_add_from_environment(
	struct addresses *, char *const *environment, struct problems *);
/* "environment" if it says where the broker is, else "default"; static. */
const char *addresses_source(char *const *environment);
/* Move the addresses into hosts and host_count, replacing the old ones; addresses is empty
 * afterwards. */
void addresses_install(struct addresses *, struct config *);
/* True if both have the same addresses in the same order, passwords and options included. */
bool addresses_are_same(const struct config *, const struct config *);
/* Let these addresses have their password in a file; path: as configured, not NULL. False:
 * problems has the reason. is_for_other_process: that one has CREDENTIALS_DIRECTORY, not we. */
bool addresses_set_password_file(struct broker_url *urls, size_t count, const char *path,
	char *const *environment, bool is_for_other_process, struct place, struct problems *);
void addresses_release(struct addresses *);

#endif
