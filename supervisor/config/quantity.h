/* Numbers with units: durations in microseconds, sizes in bytes. Layer: config. Pure. */
#ifndef CONFIG_QUANTITY_H
#define CONFIG_QUANTITY_H

#include "base/buf.h"

/* Digits and nothing else. False: something else, or over 18 digits. */
bool quantity_read_integer(struct text, int64_t *ret) MUST_CHECK;
/* "4", as from 4 to 4, or "2..32". False: something else, or the second is less than the first. */
bool quantity_read_range(struct text, int64_t *ret_least, int64_t *ret_most) MUST_CHECK;
/* "30s", "1.5h": us, ms, s, min or m, h, d. False: no such thing, or too large. */
bool quantity_read_duration(struct text, int64_t *ret) MUST_CHECK;
/* "16MiB": B, kB, MB, GB, KiB, MiB, GiB. False as above. */
bool quantity_read_size(struct text, int64_t *ret) MUST_CHECK;
enum quantity { QUANTITY_DURATION, QUANTITY_SIZE };
/* It has a number, and then no unit that there is. Appends what is wrong with it, behind the words
 * that name it: ", which has no unit (us, ms, ...)". False: nothing to say. */
bool quantity_append_unit_problem(struct buf *out, struct text, enum quantity);
/* In the largest unit without a fraction. */
void quantity_append_duration(struct buf *out, int64_t duration);
void quantity_append_size(struct buf *out, int64_t size);

#endif
