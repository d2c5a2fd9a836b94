/* Which connection goes first when there are too many. Layer: http. Pure. */
#ifndef HTTP_CROWD_H
#define HTTP_CROWD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* The maximum of count below. */
#define CROWD_MAX 1024

/* A number for the peer's address, without its port: equal for those that one machine can choose
 * freely, which for IPv6 are the 2^64 of its network. A Unix peer has the number 0. */
uint64_t crowd_address(const struct sockaddr_storage *);
/* addresses: of count connections, oldest first; count is 1 to CROWD_MAX. Return the index of the
 * oldest connection of the address that has the most; of several such addresses, the one whose
 * connection is older. */
size_t crowd_choose(const uint64_t addresses[], size_t count);

#endif
