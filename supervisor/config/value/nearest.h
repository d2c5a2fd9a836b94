/* Suggest the name that was probably meant. Layer: config. Pure. */
#ifndef CONFIG_VALUE_NEAREST_H
#define CONFIG_VALUE_NEAREST_H

#include "base/text.h"

/* The edit distance of a and b, with transpositions (optimal string alignment). SIZE_MAX for
 * texts over 64 bytes. */
size_t nearest_distance(struct text a, struct text b);
/* The name (of a NULL-terminated list) nearest to word, or NULL if none is similar. */
const char *nearest_name(struct text word, const char *const *names);

#endif
