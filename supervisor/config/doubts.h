/* What is odd about an environment or a file, but no mistake. Layer: config. The environment is
 * an argument ("NAME=value" strings, NULL-terminated; NULL: none). No value is ever told. */
#ifndef CONFIG_DOUBTS_H
#define CONFIG_DOUBTS_H

#include "base/buf.h"
#include "config/config.h"

/* A line for each variable WPOOL_* that is no setting's, but nearly. Others of that name belong to
 * somebody: a worker may have its own. */
void doubts_add_names(char *const *environment, struct buf *out);
/* A line where both AMQP_URL and RABBITMQ_HOSTNAME say where the broker is. For an environment that
 * was asked for it. */
void doubts_add_broker(char *const *environment, struct buf *out);
/* A line for each pool whose dead letters go to the queue of another: it works them as tasks. */
void doubts_add_dead_letters(const struct config *, struct buf *out);
/* A line for each pool whose workers this process, being who it is, could not start as configured,
 * or not end with all that they leave behind. */
void doubts_add_rights(const struct config *, struct buf *out);

#endif
