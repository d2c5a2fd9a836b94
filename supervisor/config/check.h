/* Checks across a pool's settings, and the defaults that depend on other settings. Layer:
 * config. */
#ifndef CONFIG_CHECK_H
#define CONFIG_CHECK_H

#include "config/config.h"
#include "config/draft.h"

/* Check the settings outside pools. */
void check_root(struct draft *);
/* Fill in what was left out of a pool, and check it. is_for_other_process: the configuration is
 * checked for another process, so what this one lacks the rights for is a warning, not a problem.
 */
void check_pool(struct draft *, bool is_for_other_process);
/* Report it if the draft's pool, the last of count, has the name of an earlier one. */
void check_name_is_new(struct draft *, const struct config_pool *pools, size_t count);

#endif
