/* Short lists: delays, a number with a size, words from a set, and names. Layer: config. Pure.
 * Written "1s, 10s, 1min", with or without YAML's brackets; "[]" is the empty list. */
#ifndef CONFIG_VALUE_LISTS_H
#define CONFIG_VALUE_LISTS_H

#include "base/buf.h"
#include "config/config.h"

/* Read delays from min to max, in whole milliseconds, in any order. False: not such a list, or
 * more than CONFIG_DELAYS_MAX; *ret is untouched. */
bool list_read_delays(struct text, int64_t min, int64_t max, struct config_delays *ret) MUST_CHECK;
/* Append what is wrong with the first member that has a number without a unit; false: there is
 * none. */
bool list_append_unit_problem(struct buf *out, struct text);
void list_append_delays(struct buf *out, const struct config_delays *);

/* Read "10000", or "10000, 1MiB": lines, 1 to max_lines, and bytes, CONFIG_LOG_BYTES_MIN to _MAX.
 * False: anything else; ret is untouched. */
bool list_read_log_rate(struct text, int64_t max_lines, int64_t ret[2]) MUST_CHECK;
/* Append what is wrong with a size that has no unit, or an unknown one; false: that is not it. */
bool list_append_size_problem(struct buf *out, struct text);
void list_append_log_rate(struct buf *out, const int64_t rate[2]);

/* Read words of choices (NULL-terminated, at most 32): bit n of *ret is choices[n]. False: an
 * unknown word; *ret is untouched. */
bool list_read_set(struct text, const char *const *choices, uint32_t *ret) MUST_CHECK;
void list_append_set(struct buf *out, const char *const *choices, uint32_t set);

/* Read at most max names of any characters but blanks at the ends, commas and, around the list,
 * brackets. RC_OK: *ret is for words_free; NULL: the list is empty. RC_MALFORMED: an empty name,
 * or more names. RC_MEMORY. */
enum rc list_read_names(struct text, int64_t max, char ***ret) MUST_CHECK;
/* names: NULL-terminated, or NULL. */
void list_append_names(struct buf *out, char *const *names);

#endif
