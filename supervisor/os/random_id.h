/* Ids of messages that wpool itself publishes. Layer: os. */
#ifndef OS_RANDOM_ID_H
#define OS_RANDOM_ID_H

#define RANDOM_ID_SIZE 17

/* Make an id that no other run of a command has made: random, or if that would wait, from the
 * clock. */
void random_id_make(char ret_id[RANDOM_ID_SIZE]);

#endif
