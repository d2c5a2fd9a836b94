#include "cli/top_keys.h"

#define ESCAPE 0x1b

static enum top_key plain(uint8_t byte)
{
	switch (byte) {
	case 'k':
		return TOP_KEY_UP;
	case 'j':
		return TOP_KEY_DOWN;
	case '+':
		return TOP_KEY_MORE;
	case '-':
		return TOP_KEY_FEWER;
	case 'p':
		return TOP_KEY_PAUSE;
	case 'r':
		return TOP_KEY_RESTART;
	case 'y':
		return TOP_KEY_YES;
	case 's':
		return TOP_KEY_SORT_POOLS;
	case 'S':
		return TOP_KEY_SORT_WORKERS;
	case '?':
	case 'h':
		return TOP_KEY_HELP;
	case 'q':
		return TOP_KEY_QUIT;
	default:
		return TOP_KEY_OTHER;
	}
}

/* ECMA-48, 5.4: parameters and intermediates are below 0x40, the last byte is not. */
static enum top_key in_sequence(struct top_keys *keys, uint8_t byte)
{
	if (byte >= 0x20 && byte < 0x40)
		return TOP_KEY_NONE;
	keys->state = byte == ESCAPE ? TOP_KEYS_ESCAPE : TOP_KEYS_PLAIN;
	if (byte == 'A')
		return TOP_KEY_UP;
	return byte == 'B' ? TOP_KEY_DOWN : TOP_KEY_NONE;
}

enum top_key top_keys_feed(struct top_keys *keys, uint8_t byte)
{
	if (keys->state == TOP_KEYS_SEQUENCE)
		return in_sequence(keys, byte);
	if (byte == ESCAPE) {
		keys->state = TOP_KEYS_ESCAPE;
		return TOP_KEY_NONE;
	}
	/* "ESC O" is what arrows begin with in a terminal's application mode. */
	if (keys->state == TOP_KEYS_ESCAPE && (byte == '[' || byte == 'O')) {
		keys->state = TOP_KEYS_SEQUENCE;
		return TOP_KEY_NONE;
	}
	keys->state = TOP_KEYS_PLAIN;
	return plain(byte);
}
