/* Turns connections away while more come than can be answered. Layer: http.
 * The kernel hands them over in the order in which they came, so in a flood from one address every
 * other client waits behind thousands of its connections, and most are not even let into the queue.
 * To turn one away costs a small part of an answer: then the queue gets shorter, and each address
 * is served a few times in a turn. */
#ifndef HTTP_FLOOD_H
#define HTTP_FLOOD_H

#include <stdbool.h>
#include <stdint.h>

/* Connections of one address that are accepted in a turn of a flood, and how many a turn may turn
 * away: about a millisecond. */
#define FLOOD_SHARE 4
#define FLOOD_AWAY  256
/* Addresses that are distinguished in a turn; connections of further ones are accepted. */
#define FLOOD_ADDRESSES 32

/* What a turn has accepted of a listener. Zeroed at its beginning, plain data. */
struct flood {
	uint64_t addresses[FLOOD_ADDRESSES];
	unsigned counts[FLOOD_ADDRESSES];
	unsigned used;
};

/* True: half of the queue of this listener is in use. False for a Unix socket, too. */
bool flood_is_on(int listener);
/* Count a connection. False: its address has had its share of this turn. */
bool flood_admits(struct flood *, uint64_t address);
/* Reset the connection, and close it. */
void flood_turn_away(int fd);

#endif
