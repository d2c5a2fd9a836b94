#include "os/random_id.h"

#include "os/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/random.h>

void random_id_make(char ret_id[RANDOM_ID_SIZE])
{
	uint64_t number = (uint64_t)clock_now();
	ssize_t got = getrandom(&number, sizeof number, GRND_NONBLOCK);

	(void)got; /* the clock is unique enough */
	snprintf(ret_id, RANDOM_ID_SIZE, "%016" PRIx64, number);
}

uint64_t random_id_seed(void)
{
	uint64_t seed;

	return getrandom(&seed, sizeof seed, GRND_NONBLOCK) == (ssize_t)sizeof seed ? seed : 0;
}
