#include "bench/link.h"

#include <amqp_tcp_socket.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#define FRAME_MAX    131072
#define SILENCE_SECS 60 /* without a confirm; then the program gives up */
#define EXIT_USAGE   64
#define NO_HEARTBEAT 0
#define ALL_CHANNELS 0

volatile sig_atomic_t link_is_stopping;

static void on_signal(int number)
{
	(void)number;
	link_is_stopping = 1;
}

void link_stop_on_signals(void)
{
	struct sigaction action = {.sa_handler = on_signal};
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
}

void link_fail(const char *what, const char *detail)
{
	fprintf(stderr, "bench: %s: %s\n", what, detail);
	exit(EXIT_FAILURE);
}

void link_must(amqp_rpc_reply_t reply, const char *what)
{
	if (reply.reply_type == AMQP_RESPONSE_LIBRARY_EXCEPTION)
		link_fail(what, amqp_error_string2(reply.library_error));
	if (reply.reply_type != AMQP_RESPONSE_NORMAL)
		link_fail(what, "the broker refused");
}

void link_must_send(int status, const char *what)
{
	if (status != AMQP_STATUS_OK)
		link_fail(what, amqp_error_string2(status));
}

amqp_connection_state_t link_open(const char *url)
{
	struct amqp_connection_info parts;
	char *copy = strdup(url);
	amqp_default_connection_info(&parts);
	if (!copy || amqp_parse_url(copy, &parts) != AMQP_STATUS_OK)
		link_fail(url, "not an amqp:// URL");
	amqp_connection_state_t link = amqp_new_connection();
	amqp_socket_t *socket = amqp_tcp_socket_new(link);
	if (!socket || amqp_socket_open(socket, parts.host, parts.port) != AMQP_STATUS_OK)
		link_fail("cannot connect to", parts.host);
	link_must(amqp_login(link, parts.vhost, ALL_CHANNELS, FRAME_MAX, NO_HEARTBEAT,
			  AMQP_SASL_METHOD_PLAIN, parts.user, parts.password),
		"login");
	free(copy);
	amqp_channel_open(link, LINK_CHANNEL);
	link_must(amqp_get_rpc_reply(link), "channel");
	return link;
}

void link_close(amqp_connection_state_t link)
{
	amqp_connection_close(link, AMQP_REPLY_SUCCESS);
	amqp_destroy_connection(link);
}

void link_declare_tasks(
	amqp_connection_state_t link, const char *queue, const char *type, bool is_single)
{
	amqp_table_entry_t entries[] = {
		{.key = amqp_cstring_bytes("x-queue-type"),
			.value = {.kind = AMQP_FIELD_KIND_UTF8,
				.value.bytes = amqp_cstring_bytes(type)}},
		{.key = amqp_cstring_bytes("x-single-active-consumer"),
			.value = {.kind = AMQP_FIELD_KIND_BOOLEAN, .value.boolean = true}},
	};
	amqp_queue_declare(link, LINK_CHANNEL, amqp_cstring_bytes(queue), false, true, false, false,
		(amqp_table_t){is_single ? 2 : 1, entries});
	link_must(amqp_get_rpc_reply(link), queue);
}

void link_consume_replies(amqp_connection_state_t link, const char *queue)
{
	amqp_queue_declare(link, LINK_CHANNEL, amqp_cstring_bytes(queue), false, false, true, true,
		amqp_empty_table);
	link_must(amqp_get_rpc_reply(link), queue);
	amqp_basic_consume(link, LINK_CHANNEL, amqp_cstring_bytes(queue), amqp_empty_bytes, false,
		true, true, amqp_empty_table);
	link_must(amqp_get_rpc_reply(link), queue);
}

void link_consume(amqp_connection_state_t link, const char *queue, uint16_t prefetch)
{
	amqp_basic_qos(link, LINK_CHANNEL, 0, prefetch, false);
	link_must(amqp_get_rpc_reply(link), "prefetch");
	amqp_basic_consume(link, LINK_CHANNEL, amqp_cstring_bytes(queue), amqp_empty_bytes, false,
		false, false, amqp_empty_table);
	link_must(amqp_get_rpc_reply(link), queue);
}

bool link_next(amqp_connection_state_t link, int wait_ms, amqp_envelope_t *ret_envelope)
{
	struct timeval limit = {.tv_sec = wait_ms / 1000, .tv_usec = wait_ms % 1000 * 1000};
	amqp_maybe_release_buffers(link);
	amqp_rpc_reply_t reply = amqp_consume_message(link, ret_envelope, &limit, 0);
	if (reply.reply_type == AMQP_RESPONSE_LIBRARY_EXCEPTION &&
		reply.library_error == AMQP_STATUS_TIMEOUT)
		return false;
	link_must(reply, "consume");
	return true;
}

uint64_t link_await_confirm(amqp_connection_state_t link)
{
	amqp_frame_t frame;
	struct timeval limit = {.tv_sec = SILENCE_SECS};
	amqp_maybe_release_buffers(link);
	link_must_send(amqp_simple_wait_frame_noblock(link, &frame, &limit), "confirm");
	if (frame.frame_type != AMQP_FRAME_METHOD ||
		frame.payload.method.id != AMQP_BASIC_ACK_METHOD)
		link_fail("publish", "not confirmed");
	return ((amqp_basic_ack_t *)frame.payload.method.decoded)->delivery_tag;
}

void link_select_confirms(amqp_connection_state_t link)
{
	amqp_confirm_select(link, LINK_CHANNEL);
	link_must(amqp_get_rpc_reply(link), "confirms");
}

long link_number(const char *text, const char *what, long min)
{
	char *end;
	long number = strtol(text, &end, 10);
	if (*text && !*end && number >= min)
		return number;
	fprintf(stderr, "bench: %s: a number from %ld up, not \"%s\"\n", what, min, text);
	exit(EXIT_USAGE);
}
