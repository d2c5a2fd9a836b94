/* Values of settings: from text, to text, and what would have been right. Layer: config.
 * base is the struct config or config_pool that a setting belongs to. Addresses are not values
 * here: addresses.h. */
#ifndef CONFIG_VALUES_H
#define CONFIG_VALUES_H

#include "base/buf.h"
#include "config/settings.h"

/* Replaces what was there. RC_MALFORMED: not what the setting takes; RC_MEMORY. */
enum rc value_set(const struct setting *, void *base, struct text value) MUST_CHECK;
/* Of a quantity with no unit or a wrong one: ", which has no unit (us, ms, ...)"; else nothing. */
void value_append_unit_problem(const struct setting *, struct text value, struct buf *out);
/* Words for a problem or the reference: "a number from 1 to 10000 or auto". */
void value_append_needed(const struct setting *, struct buf *out);
/* As value_set takes it again: "25min", "16MiB", "auto", texts as they are. Not for words. */
void value_append(const struct setting *, const void *base, struct buf *out);
/* Texts by their bytes. */
bool value_is_same(const struct setting *, const void *base, const void *other);
/* Each gets the other's; what was allocated moves. */
void value_swap(const struct setting *, void *base, void *other);
void value_release(const struct setting *, void *base);

#endif
