/* Warnings about an environment or a file. Layer: config. The environment is an argument
 * ("NAME=value" strings, NULL-terminated; NULL: none). Warnings never contain a value. */
#ifndef CONFIG_WARNINGS_H
#define CONFIG_WARNINGS_H

#include "config/config.h"
#include "config/draft.h"
#include "config/yaml/tree.h"

/* What uses the environment; all borrowed. */
struct variable_uses {
	char *const *environment;
	const struct tree *file;  /* NULL: there is none */
	const struct draft *root; /* of a configuration without problems */
	const struct draft *pool; /* NULL: the file has the pools */
};

/* A configuration, and the file that it was read from, where lines of settings are found; both
 * borrowed. */
struct config_source {
	const struct config *config;
	const struct tree *file; /* NULL: there is none */
};

/* Add a warning for each variable WPOOL_*, AMQP_URL, or of addresses (RABBITMQ_HOSTNAME and its
 * like), that is set and has no effect. Kubernetes sets some for Services; those are expected. */
void warnings_add_variables(const struct variable_uses *, struct problems *);
/* Add a warning for each RABBITMQ_* that has no effect because AMQP_URL is set. Only for an
 * environment that is used to find the broker. */
void warnings_add_broker(char *const *environment, struct problems *);
/* Add a warning for each pool whose dead letters go to the queue of another pool, which takes
 * them as tasks. */
void warnings_add_dead_letters(const struct config_source *, struct problems *);
/* Add a warning for each pool whose workers have more places for tasks than its channel can hold
 * messages (CONFIG_PREFETCH_MAX), or than its prefetch lets it have. */
void warnings_add_empty_places(const struct config_source *, struct problems *);
/* Add a warning for each limit of a task that the broker's acknowledgement timeout undermines, or
 * that another limit makes ineffective. */
void warnings_add_limits(const struct config_source *, struct problems *);
/* Add warnings for settings of sessions that contradict each other or the broker's defaults. */
void warnings_add_sessions(const struct config_source *, struct problems *);
/* Add warnings for throttles that no pool names, and for those that hold the messages of sessions
 * back for longer than their channel stays open. */
void warnings_add_throttles(const struct config_source *, struct problems *);
/* Add a warning for each pool with sessions whose session.delivery_limit is unknown: what that
 * costs, and how to change it. */
void warnings_add_delivery_limits(const struct config *, struct problems *);
/* Add a warning for each pool whose workers this process lacks the rights to start as
 * configured, or whose stray processes it cannot find. */
void warnings_add_rights(const struct config *, struct problems *);

#endif
