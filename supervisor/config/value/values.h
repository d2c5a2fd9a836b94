/* Values of settings: read, print, compare, and describe what is accepted. Layer: config. base
 * is the struct config, config_pool or config_throttle that the setting belongs to. Addresses are
 * in addresses.h. */
#ifndef CONFIG_VALUE_VALUES_H
#define CONFIG_VALUE_VALUES_H

#include "base/buf.h"
#include "config/settings.h"

/* Replace the value. RC_MALFORMED: the setting does not accept it. RC_MEMORY. */
enum rc value_set(const struct setting *, void *base, struct text value) MUST_CHECK;
/* For a quantity with a missing or unknown unit, append ", which has no unit (us, ms, ...)". */
void value_append_unit_problem(const struct setting *, struct text value, struct buf *out);
/* Append what the setting accepts: "a number from 1 to 10000 or auto". */
void value_append_needed(const struct setting *, struct buf *out);
/* Append the value in a form that value_set accepts: "25min", "16MiB", "auto". Not for what may
 * hold a secret: words, pairs, bindings, addresses. */
void value_append(const struct setting *, const void *base, struct buf *out);
/* Texts are compared by their bytes. */
bool value_is_same(const struct setting *, const void *base, const void *other);
/* Only for a number that may be none. */
bool value_is_none(const struct setting *, const void *base);
/* Swap both values; allocated memory moves with them. */
void value_swap(const struct setting *, void *base, void *other);
void value_release(const struct setting *, void *base);

#endif
