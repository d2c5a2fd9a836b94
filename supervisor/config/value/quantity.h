/* Numbers with units: durations in microseconds, sizes in bytes. Layer: config. Pure. */
#ifndef CONFIG_VALUE_QUANTITY_H
#define CONFIG_VALUE_QUANTITY_H

#include "base/buf.h"

/* Read up to 18 digits and nothing else. */
bool quantity_read_integer(struct text, int64_t *ret) MUST_CHECK;
/* Read "2..32", or "4" as 4 to 4. False: anything else, or max is less than min. */
bool quantity_read_range(struct text, int64_t *ret_min, int64_t *ret_max) MUST_CHECK;
/* Read "30s" or "1.5h"; units: us, ms, s, min or m, h, d. False: anything else, or too large. */
bool quantity_read_duration(struct text, int64_t *ret) MUST_CHECK;
/* Read "16MiB"; units: B, kB, MB, GB, KiB, MiB, GiB. False: anything else, or too large. */
bool quantity_read_size(struct text, int64_t *ret) MUST_CHECK;
enum quantity { QUANTITY_DURATION, QUANTITY_SIZE };
/* If the text is a number with a missing or unknown unit, append what is wrong, such as ", which
 * has no unit (us, ms, ...)", and return true. */
bool quantity_append_unit_problem(struct buf *out, struct text, enum quantity);
/* Append it in the largest unit without a fraction. */
void quantity_append_duration(struct buf *out, int64_t duration);
void quantity_append_size(struct buf *out, int64_t size);

#endif
