#include "client/top/top_keys.h"

#define ESCAPE 0x1b

/* ECMA-48, 5.4: parameters and intermediates are below 0x40, the last byte is not. */
static int in_sequence(struct top_keys *keys, uint8_t byte)
{
	if (byte >= 0x20 && byte < 0x40)
		return TOP_KEY_NONE;
	keys->state = byte == ESCAPE ? TOP_KEYS_ESCAPE : TOP_KEYS_PLAIN;
	if (byte == 'A')
		return TOP_KEY_UP;
	return byte == 'B' ? TOP_KEY_DOWN : TOP_KEY_NONE;
}

int top_keys_feed(struct top_keys *keys, uint8_t byte)
{
	if (keys->state == TOP_KEYS_SEQUENCE)
		return in_sequence(keys, byte);
	if (byte == ESCAPE) {
		keys->state = TOP_KEYS_ESCAPE;
		return TOP_KEY_NONE;
	}
	/* In a terminal's application mode arrows begin with "ESC O". */
	if (keys->state == TOP_KEYS_ESCAPE && (byte == '[' || byte == 'O')) {
		keys->state = TOP_KEYS_SEQUENCE;
		return TOP_KEY_NONE;
	}
	keys->state = TOP_KEYS_PLAIN;
	return byte == 'k' ? TOP_KEY_UP : byte == 'j' ? TOP_KEY_DOWN : byte;
}
