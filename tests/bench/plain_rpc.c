/* The baseline of replies: an RPC server as a careful user of rabbitmq-c writes it, one thread,
 * blocking, nothing lost.
 *   plain_rpc URL QUEUE PREFETCH BATCH
 * It takes the messages that have come, at most BATCH; publishes the body of each to its reply_to;
 * waits until the broker has confirmed all; acks all with one ack. At SIGTERM it prints how many it
 * got. It has two connections, because under an alarm the broker stops reading from one that
 * publishes, also acks. */
#include "bench/link.h"

#include <stdio.h>
#include <stdlib.h>

#define IDLE_MS 100

struct server {
	amqp_connection_state_t consumer, publisher;
	long batch, taken;
	uint64_t published, confirmed, last_tag;
};

static void reply(struct server *server, const amqp_envelope_t *envelope)
{
	const amqp_basic_properties_t *asked = &envelope->message.properties;
	amqp_basic_properties_t properties = {
		._flags = AMQP_BASIC_DELIVERY_MODE_FLAG | AMQP_BASIC_CORRELATION_ID_FLAG,
		.delivery_mode = AMQP_DELIVERY_PERSISTENT,
		.correlation_id = asked->correlation_id,
	};
	link_must_send(amqp_basic_publish(server->publisher, LINK_CHANNEL, amqp_empty_bytes,
			       asked->reply_to, true, false, &properties, envelope->message.body),
		"reply");
	server->published++;
	server->last_tag = envelope->delivery_tag;
	server->taken++;
}

/* Wait for the first message, then answer those that have already come. */
static long answer_batch(struct server *server)
{
	amqp_envelope_t envelope;
	long answered = 0;
	while (answered < server->batch &&
		link_next(server->consumer, answered == 0 ? IDLE_MS : 0, &envelope)) {
		reply(server, &envelope);
		amqp_destroy_envelope(&envelope);
		answered++;
	}
	return answered;
}

static void serve(struct server *server)
{
	while (!link_is_stopping) {
		if (answer_batch(server) == 0)
			continue;
		while (server->confirmed < server->published)
			server->confirmed = link_await_confirm(server->publisher);
		link_must_send(
			amqp_basic_ack(server->consumer, LINK_CHANNEL, server->last_tag, true),
			"ack");
	}
}

int main(int argc, char **argv)
{
	if (argc != 5) {
		fprintf(stderr, "usage: plain_rpc URL QUEUE PREFETCH BATCH\n");
		return 64;
	}
	struct server server = {.batch = link_number(argv[4], "BATCH", 1)};
	link_stop_on_signals();
	server.publisher = link_open(argv[1]);
	link_select_confirms(server.publisher);
	server.consumer = link_open(argv[1]);
	link_consume(server.consumer, argv[2], (uint16_t)link_number(argv[3], "PREFETCH", 1));
	serve(&server);
	link_close(server.consumer);
	link_close(server.publisher);
	printf("%ld\n", server.taken);
	return EXIT_SUCCESS;
}
