/* Checks of a pool's sessions, and what they imply for its other settings. Layer: config. */
#ifndef CONFIG_CHECK_SESSION_H
#define CONFIG_CHECK_SESSION_H

#include "config/config.h"
#include "config/draft.h"

/* Check the section session of the draft's pool, and set what it implies. Do nothing if none of its
 * settings was given. */
void check_session(struct draft *);
/* Report it if the draft's pool, the last of count, has the queue of an earlier one and either has
 * sessions. */
void check_session_is_alone(struct draft *, const struct config_pool *pools, size_t count);

#endif
