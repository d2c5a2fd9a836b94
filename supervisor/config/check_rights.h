/* A pool's user, group, umask, rlimits, env and env_pass: checked, and made the struct rights that
 * is used. Layer: config; part of config_load. */
#ifndef CONFIG_CHECK_RIGHTS_H
#define CONFIG_CHECK_RIGHTS_H

#include "config/config.h"
#include "config/draft.h"

/* is_look: another process is to use it, so what this one may not do is no mistake; doubts tell. */
void check_rights(struct draft *, bool is_look);

#endif
