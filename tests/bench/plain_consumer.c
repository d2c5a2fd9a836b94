/* The baseline of throughput: a consumer as rabbitmq-c's users write it, one thread, blocking.
 *   plain_consumer URL QUEUE PREFETCH EVERY
 * It only acks: each message by itself (EVERY is 1), or EVERY messages with one ack. At SIGTERM it
 * prints how many it got. */
#include "bench/link.h"

#include <stdio.h>
#include <stdlib.h>

#define IDLE_MS 100

struct plain {
	amqp_connection_state_t link;
	long every, taken;
	uint64_t last_tag, acked_tag;
};

static void ack(struct plain *plain)
{
	if (plain->acked_tag == plain->last_tag)
		return;
	link_must_send(amqp_basic_ack(plain->link, LINK_CHANNEL, plain->last_tag, plain->every > 1),
		"ack");
	plain->acked_tag = plain->last_tag;
}

static void consume(struct plain *plain)
{
	amqp_envelope_t envelope;
	while (!link_is_stopping) {
		if (!link_next(plain->link, IDLE_MS, &envelope)) {
			ack(plain);
			continue;
		}
		plain->last_tag = envelope.delivery_tag;
		plain->taken++;
		amqp_destroy_envelope(&envelope);
		if (plain->taken % plain->every == 0)
			ack(plain);
	}
	ack(plain);
}

int main(int argc, char **argv)
{
	if (argc != 5) {
		fprintf(stderr, "usage: plain_consumer URL QUEUE PREFETCH EVERY\n");
		return 64;
	}
	struct plain plain = {.every = link_number(argv[4], "EVERY", 1)};
	link_stop_on_signals();
	plain.link = link_open(argv[1]);
	link_consume(plain.link, argv[2], (uint16_t)link_number(argv[3], "PREFETCH", 1));
	consume(&plain);
	link_close(plain.link);
	printf("%ld\n", plain.taken);
	return EXIT_SUCCESS;
}
