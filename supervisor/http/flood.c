#include "http/flood.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#define QUEUE_SHARE 2

/* Of a listener the kernel gives the length of its queue, and the maximum, in these two members
 * (tcp_get_info). */
bool flood_is_on(int listener)
{
	struct tcp_info info = {0};
	socklen_t len = sizeof info;

	if (getsockopt(listener, IPPROTO_TCP, TCP_INFO, &info, &len) != 0)
		return false;
	return info.tcpi_unacked > info.tcpi_sacked / QUEUE_SHARE;
}

bool flood_admits(struct flood *flood, uint64_t address)
{
	unsigned i = 0;

	while (i < flood->used && flood->addresses[i] != address)
		i++;
	if (i == FLOOD_ADDRESSES)
		return true;
	if (i == flood->used)
		flood->addresses[flood->used++] = address;
	return ++flood->counts[i] <= FLOOD_SHARE;
}

/* A reset leaves nothing in the kernel: a flood of closed connections would wait for their ends. */
void flood_turn_away(int fd)
{
	static const struct linger reset = {.l_onoff = 1};

	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
	close(fd);
}
