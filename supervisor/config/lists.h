/* Short lists of values: waits, and words out of a set. Layer: config. Pure.
 * Written "1s, 10s, 1min", the brackets of YAML around it or not; "[]" is the empty one. */
#ifndef CONFIG_LISTS_H
#define CONFIG_LISTS_H

#include "base/buf.h"
#include "config/config.h"

/* Each from least to most, in whole milliseconds, in any order. False: not such a list, or more
 * than CONFIG_DELAYS_MAX; *ret is untouched then. */
bool list_read_delays(
	struct text, int64_t least, int64_t most, struct config_delays *ret) MUST_CHECK;
/* Says of the first member with a number and no unit what is wrong with it; false: there is none.
 */
bool list_append_unit_problem(struct buf *out, struct text);
void list_append_delays(struct buf *out, const struct config_delays *);

/* Words of choices (NULL-terminated, at most 32): bit n of *ret is choices[n]. False: another word;
 * *ret is untouched then. */
bool list_read_set(struct text, const char *const *choices, uint32_t *ret) MUST_CHECK;
void list_append_set(struct buf *out, const char *const *choices, uint32_t set);

#endif
