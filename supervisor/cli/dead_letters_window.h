/* The reader's consumers: how many messages it is given at once, and what makes its acks sure.
 * Layer: cli, private to dead_letters_reader.c but for its pure part. */
#ifndef CLI_DEAD_LETTERS_WINDOW_H
#define CLI_DEAD_LETTERS_WINDOW_H

#include "cli/dead_letters_reader.h"

/* How wide the window should be. now: how wide it is, 0 at the start; held: how many of that stay;
 * wanted: how many are to stand in it at the most; mean: bytes of a body so far. Pure. */
uint32_t reader_window(uint32_t now, uint64_t held, uint64_t wanted, uint64_t mean);

/* Messages that were looked at and stay. */
uint64_t reader_held(const struct reader *);
/* One more consumer, if there should and may be. */
void reader_widen(struct reader *);
/* The next step of READER_SYNCING; the last closes the channel. */
void reader_synchronize(struct reader *);

#endif
