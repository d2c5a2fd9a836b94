/* What there is to say when a reader has ended. Layer: cli. */
#ifndef CLI_DEAD_LETTERS_END_H
#define CLI_DEAD_LETTERS_END_H

#include "cli/dead_letters_reader.h"

/* On stderr: why not everything was looked at, and what the operator should know of it. */
void reader_say_end(const struct reader *);
/* What an account says at its end. Whether it is certain: acks go unanswered, and those before the
 * end of a connection may never have arrived. */
uint64_t reader_left(const struct reader *);
bool reader_is_certain(const struct reader *);
/* "; 3 left in QUEUE" and the line's end. */
void reader_print_left(const struct reader *);

#endif
