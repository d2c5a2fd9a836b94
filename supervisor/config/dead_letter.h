/* The default of retry.dead_letter: the name of the pool's queue with a suffix. Layer: config. */
#ifndef CONFIG_DEAD_LETTER_H
#define CONFIG_DEAD_LETTER_H

#include <stdbool.h>
#include <string.h>

#define DEAD_LETTER_SUFFIX ".dead"

/* True: dead_letter is the default for that queue. */
static inline bool dead_letter_is_default(const char *queue, const char *dead_letter)
{
	size_t len = strlen(queue);

	return strncmp(dead_letter, queue, len) == 0 &&
	       strcmp(dead_letter + len, DEAD_LETTER_SUFFIX) == 0;
}

#endif
