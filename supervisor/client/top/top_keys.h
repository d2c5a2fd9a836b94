/* Keys, from the bytes that a terminal sends. Layer: client, without I/O. */
#ifndef CLIENT_TOP_TOP_KEYS_H
#define CLIENT_TOP_TOP_KEYS_H

#include <stdint.h>

/* Other keys are their byte. */
enum {
	TOP_KEY_NONE = -1, /* an incomplete sequence, or one that means nothing here */
	TOP_KEY_UP = 256,  /* also k */
	TOP_KEY_DOWN,      /* also j */
};

/* Zeroed at the start. A sequence may come in pieces. */
struct top_keys {
	enum { TOP_KEYS_PLAIN, TOP_KEYS_ESCAPE, TOP_KEYS_SEQUENCE } state;
};

int top_keys_feed(struct top_keys *, uint8_t byte);

#endif
