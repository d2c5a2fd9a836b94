/* What was typed, from the bytes that a terminal sends. Layer: cli, without I/O. */
#ifndef CLI_TOP_KEYS_H
#define CLI_TOP_KEYS_H

#include <stdint.h>

enum top_key {
	TOP_KEY_NONE, /* in the middle of a sequence, or of no meaning here */
	TOP_KEY_OTHER,
	TOP_KEY_UP,
	TOP_KEY_DOWN,
	TOP_KEY_MORE,
	TOP_KEY_FEWER,
	TOP_KEY_PAUSE,
	TOP_KEY_RESTART,
	TOP_KEY_YES,
	TOP_KEY_SORT_POOLS,
	TOP_KEY_SORT_WORKERS,
	TOP_KEY_HELP,
	TOP_KEY_QUIT,
};

/* Zero: nothing was typed yet. A sequence may come in pieces. */
struct top_keys {
	enum { TOP_KEYS_PLAIN, TOP_KEYS_ESCAPE, TOP_KEYS_SEQUENCE } state;
};

enum top_key top_keys_feed(struct top_keys *, uint8_t byte);

#endif
