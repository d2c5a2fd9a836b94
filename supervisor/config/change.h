/* Compare two configurations, setting by setting, and apply what can change while wpool runs.
 * Layer: config. Pure. Both bases have the same scope: struct config, struct config_pool or struct
 * config_throttle. The throttles of a struct config are no settings of it: they are matched by
 * name, each is compared with SETTING_THROTTLE, and all are taken over at once. */
#ifndef CONFIG_CHANGE_H
#define CONFIG_CHANGE_H

#include "config/config.h"
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

/* What the throttles that both configurations have, and that a pool names in both (old_names,
 * names; NULL: none), require of that pool: SETTING_REPLACES if one has another key or scope,
 * because the pool has tasks in hand with the old keys; SETTING_LIVE for other figures, which hold
 * for what is charged so far. False: none of them differs; *ret is untouched. A change of the names
 * is one of the pool's own setting throttle. */
bool change_of_throttles(const struct config *old, char *const *old_names,
	const struct config *other, char *const *names, enum setting_reload *ret) MUST_CHECK;
/* Swap the lists of throttles. What borrows the texts of the old ones has to be configured before
 * other is freed. */
void change_take_over_throttles(struct config *, struct config *other);

#endif
