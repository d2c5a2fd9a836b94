/* Checks of throttles, and of the pools that name them. Layer: config. */
#ifndef CONFIG_CHECK_THROTTLES_H
#define CONFIG_CHECK_THROTTLES_H

#include "config/config.h"
#include "config/draft.h"

/* Check the draft's throttle, the last of count. */
void check_throttle(struct draft *, const struct config_throttle *throttles, size_t count);
/* Report it at the largest throttle if the starts of all could take more memory than
 * CONFIG_THROTTLES_MEMORY. file: the name of the configuration file. */
void check_throttle_memory(const struct config *, const char *file, struct problems *);
/* Check the throttles that the draft's pool names, and set what they imply for its other settings.
 * is_complete: the configuration has all throttles of the file; false: a problem hides some, so
 * that a name may well be one of those. */
void check_pool_throttles(struct draft *, const struct config *, bool is_complete);

#endif
