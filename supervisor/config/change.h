/* What differs between two configurations, setting by setting, and how it is taken over. Layer:
 * config. Pure. Both bases are of the same scope: struct config or config_pool. */
#ifndef CONFIG_CHANGE_H
#define CONFIG_CHANGE_H

#include "config/settings.h"

/* From one setting that differs to the next: *at is 0 at first. NULL: there is none any more. */
const struct setting *change_next(
	enum setting_scope, const void *old, const void *other, size_t *at);
/* False: they are the same. Else *ret is the most that a setting which differs asks for. */
bool change_is_any(
	enum setting_scope, const void *old, const void *other, enum setting_reload *ret);
/* Each setting that differs and can be taken over while work goes on changes places with the
 * other's. Texts of the others stay where they are, so who has borrowed one need not know. */
void change_take_over(enum setting_scope, void *base, void *other);

#endif
