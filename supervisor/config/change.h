/* Compare two configurations, setting by setting, and apply what can change while wpool runs.
 * Layer: config. Pure. Both bases have the same scope: struct config or struct config_pool. */
#ifndef CONFIG_CHANGE_H
#define CONFIG_CHANGE_H

#include "config/settings.h"

/* Return the next setting that differs; NULL at the end. *at is the position: 0 before the first
 * call. */
const struct setting *change_next(
	enum setting_scope, const void *old, const void *other, size_t *at);
/* What the change of a setting that differs requires. */
enum setting_reload change_reload(const struct setting *, const void *old, const void *other);
/* True if any setting differs; *ret is then the most that one of them requires. */
bool change_is_any(
	enum setting_scope, const void *old, const void *other, enum setting_reload *ret);
/* Swap each setting that differs and can change at run time. The texts of all other settings
 * stay where they are, so what borrows them stays valid. */
void change_take_over(enum setting_scope, void *base, void *other);

#endif
