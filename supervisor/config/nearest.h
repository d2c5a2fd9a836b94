/* The name somebody probably meant. Layer: config. Pure. */
#ifndef CONFIG_NEAREST_H
#define CONFIG_NEAREST_H

#include "base/text.h"

/* How many letters must be changed, added, left out or swapped with their neighbour to make b of a
 * (optimal string alignment). Texts over 64 bytes are as far apart as can be: SIZE_MAX. */
size_t nearest_distance(struct text a, struct text b);
/* The one of names (NULL-terminated) that is nearest to word, or NULL where none is alike. */
const char *nearest_name(struct text word, const char *const *names);

#endif
