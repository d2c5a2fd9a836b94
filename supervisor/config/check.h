/* What a pool's settings must be together, and the defaults that follow from others. Layer: config.
 */
#ifndef CONFIG_CHECK_H
#define CONFIG_CHECK_H

#include "config/config.h"
#include "config/draft.h"

/* Checks what is for the whole. */
void check_root(struct draft *);
/* Completes and checks the pool of a draft. */
void check_pool(struct draft *);
/* draft's pool is the last of count; it must not have the name of an earlier one. */
void check_name_is_new(struct draft *, const struct config_pool *pools, size_t count);

#endif
