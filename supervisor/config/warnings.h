/* Warnings about an environment or a file. Layer: config. The environment is an argument
 * ("NAME=value" strings, NULL-terminated; NULL: none). Warnings never contain a value. */
#ifndef CONFIG_WARNINGS_H
#define CONFIG_WARNINGS_H

#include "config/config.h"

/* Add a warning for each variable WPOOL_* that looks like a misspelt setting. Others may belong
 * to a worker. */
void warnings_add_names(char *const *environment, struct problems *);
/* Add a warning if both AMQP_URL and RABBITMQ_HOSTNAME are set. Only for an environment that is
 * used to find the broker. */
void warnings_add_broker(char *const *environment, struct problems *);
/* Add a warning for each pool whose dead letters go to the queue of another pool, which takes
 * them as tasks. */
void warnings_add_dead_letters(const struct config *, struct problems *);
/* Add a warning for each pool whose workers this process lacks the rights to start as
 * configured, or whose stray processes it cannot find. */
void warnings_add_rights(const struct config *, struct problems *);

#endif
