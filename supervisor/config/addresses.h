/* The broker's addresses: from a flag, the file or the environment. Layer: config.
 * What is wrong is told without any part of an address. */
#ifndef CONFIG_ADDRESSES_H
#define CONFIG_ADDRESSES_H

#include "config/problems.h"
#include "config/url.h"

/* The environment that addresses_from_environment reads, for the reference page. */
#define ADDRESSES_VARIABLES                                                                        \
	"AMQP_URL, or RABBITMQ_HOSTNAME, RABBITMQ_PORT, RABBITMQ_USERNAME, RABBITMQ_PASSWORD, "    \
	"RABBITMQ_VHOST"
#define ADDRESSES_DEFAULT "amqp://guest:guest@localhost:5672/%2f"

struct config;

struct addresses {
	struct broker_url *urls; /* owned */
	size_t count;
};

/* Adds each address of a list with commas between. what names the setting in problems. False: one
 * of them was wrong, or memory could not be had; problems say so. */
bool addresses_add(
	struct addresses *, struct text list, const char *what, struct place, struct problems *);
/* Adds those of the environment, or the default. */
bool addresses_add_from_environment(
	struct addresses *, char *const *environment, struct problems *);
/* Moves them into hosts and host_count, in place of what was there; addresses is empty afterwards.
 */
void addresses_install(struct addresses *, struct config *);
/* Those of both, in the same order, with their passwords and options. */
bool addresses_are_same(const struct config *, const struct config *);
void addresses_release(struct addresses *);

#endif
