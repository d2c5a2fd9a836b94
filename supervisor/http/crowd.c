#include "http/crowd.h"

#include <assert.h>
#include <netinet/in.h>
#include <string.h>

/* Keeps IPv4 addresses apart from networks of IPv6. */
#define IP4_MARK ((uint64_t)0xffff << 32)

/* At most half of the places are in use. */
#define PLACES      (2 * CROWD_MAX)
#define PLACES_BITS 11
_Static_assert(PLACES == 1 << PLACES_BITS, "the places that a hash has");

uint64_t crowd_address(const struct sockaddr_storage *peer)
{
	const struct sockaddr_in *ip4 = (const struct sockaddr_in *)peer;
	const struct sockaddr_in6 *ip6 = (const struct sockaddr_in6 *)peer;
	uint64_t number;
	uint32_t last;

	if (peer->ss_family == AF_INET)
		return IP4_MARK | ntohl(ip4->sin_addr.s_addr);
	if (peer->ss_family != AF_INET6)
		return 0;
	if (IN6_IS_ADDR_V4MAPPED(&ip6->sin6_addr)) {
		memcpy(&last, &ip6->sin6_addr.s6_addr[12], sizeof last);
		return IP4_MARK | ntohl(last);
	}
	memcpy(&number, ip6->sin6_addr.s6_addr, sizeof number);
	return number == 0 ? 1 : number; /* [::1] is no Unix peer */
}

struct place {
	uint64_t address;
	uint16_t count; /* 0: the place is free */
	uint16_t oldest;
};

/* The place of this address, or the free one for it. */
static struct place *find(struct place places[PLACES], uint64_t address)
{
	/* 2^64 divided by the golden ratio (Knuth, TAOCP 6.4). */
	size_t i = (size_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> (64 - PLACES_BITS));

	while (places[i].count > 0 && places[i].address != address)
		i = (i + 1) % PLACES;
	return &places[i];
}

size_t crowd_choose(const uint64_t addresses[], size_t count)
{
	struct place places[PLACES] = {0};
	const struct place *most = NULL;

	assert(count > 0 && count <= CROWD_MAX);
	for (size_t i = 0; i < count; i++) {
		struct place *place = find(places, addresses[i]);
		if (place->count == 0)
			*place = (struct place){.address = addresses[i], .oldest = (uint16_t)i};
		place->count++;
	}
	for (size_t i = 0; i < count; i++) {
		const struct place *place = find(places, addresses[i]);
		if (!most || place->count > most->count)
			most = place;
	}
	return most->oldest;
}
