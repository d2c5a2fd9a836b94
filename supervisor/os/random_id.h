/* Random numbers: ids of messages that wpool itself publishes, and secrets for tables of keys that
 * others choose (base/keyed_hash.h). Layer: os. */
#ifndef OS_RANDOM_ID_H
#define OS_RANDOM_ID_H

#include <stdint.h>

#define RANDOM_ID_SIZE 17

/* Make an id that no other run of a command has made: random, or if that would wait, from the
 * clock. */
void random_id_make(char ret_id[RANDOM_ID_SIZE]);
/* Another one at each call; 0 if the kernel has no random bytes yet. */
uint64_t random_id_seed(void);

#endif
