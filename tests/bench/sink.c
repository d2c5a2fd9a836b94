/* Consume the replies during a measurement, and count them.
 *   sink URL QUEUE
 * Prints "consuming" on stderr once it consumes, and at SIGTERM the count. */
#include "bench/link.h"

#include <stdio.h>
#include <stdlib.h>

#define IDLE_MS 100

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: sink URL QUEUE\n");
		return 64;
	}
	link_stop_on_signals();
	amqp_connection_state_t link = link_open(argv[1]);
	link_consume_replies(link, argv[2]);
	fprintf(stderr, "consuming\n");
	long count = 0;
	for (bool is_idle = false; !is_idle || !link_is_stopping;) {
		amqp_envelope_t envelope;
		is_idle = !link_next(link, IDLE_MS, &envelope);
		if (is_idle)
			continue;
		amqp_destroy_envelope(&envelope);
		count++;
	}
	link_close(link);
	printf("%ld\n", count);
	return EXIT_SUCCESS;
}
