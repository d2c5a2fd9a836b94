#include "client/top/top_keys.h"

#include <stdbool.h>

#define ESCAPE 0x1b

int top_keys_feed(struct top_keys *keys, uint8_t byte)
{
	bool is_in_sequence = keys->state == TOP_KEYS_SEQUENCE;

	/* ECMA-48, 5.4: parameters and intermediates are below 0x40, the last byte is not. */
	if (is_in_sequence && byte >= 0x20 && byte < 0x40)
		return TOP_KEY_NONE;
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
	if (is_in_sequence)
		return byte == 'A' ? TOP_KEY_UP : byte == 'B' ? TOP_KEY_DOWN : TOP_KEY_NONE;
	return byte == 'k' ? TOP_KEY_UP : byte == 'j' ? TOP_KEY_DOWN : byte;
}
