/* Call the workers of a queue, and print how long the answers took.
 *   caller [--rate CALLS_A_SECOND | --window CALLS] URL QUEUE SIZE SECONDS
 * With --window this number of calls is open at any time (default: 1). With --rate a call is
 * due at even steps, whether the last was answered or not, and its time counts from when it was
 * due: a server that stalls is charged for every call that would have been made meanwhile. Ends
 * after SECONDS, or at SIGTERM, once all is answered. stdout: one line of JSON. */
#include "bench/latency.h"
#include "bench/link.h"

#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define NS_A_SECOND 1000000000LL
#define SILENCE_NS  (60 * NS_A_SECOND) /* without an answer; then the caller gives up */
#define CHECK_NS    (NS_A_SECOND / 10) /* how often SIGTERM is checked */
#define EXIT_USAGE  64

struct caller {
	amqp_connection_state_t link;
	const char *queue;
	char replies[64];
	amqp_bytes_t body; /* owned */
	double rate;
	long window;
	int64_t begun, end, answered;
	struct latency latency;
};

static int64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NS_A_SECOND + now.tv_nsec;
}

/* ---- calls ---- */

static void call(struct caller *caller, int64_t due)
{
	char number[24];
	snprintf(number, sizeof number, "%zu", latency_begin(&caller->latency, due));
	amqp_basic_properties_t properties = {
		._flags = AMQP_BASIC_DELIVERY_MODE_FLAG | AMQP_BASIC_REPLY_TO_FLAG |
			  AMQP_BASIC_CORRELATION_ID_FLAG,
		.delivery_mode = AMQP_DELIVERY_PERSISTENT,
		.reply_to = amqp_cstring_bytes(caller->replies),
		.correlation_id = amqp_cstring_bytes(number),
	};
	link_must_send(
		amqp_basic_publish(caller->link, LINK_CHANNEL, amqp_empty_bytes,
			amqp_cstring_bytes(caller->queue), false, false, &properties, caller->body),
		"call");
}

static int64_t next_due(const struct caller *caller)
{
	return caller->begun +
	       (int64_t)((double)caller->latency.begun / caller->rate * (double)NS_A_SECOND);
}

/* Make the calls that are due. Return until when to wait for answers. */
static int64_t call_due(struct caller *caller, int64_t now)
{
	if (caller->rate > 0) {
		int64_t due;
		while ((due = next_due(caller)) <= now)
			call(caller, due);
		return due;
	}
	while (latency_open(&caller->latency) < (size_t)caller->window)
		call(caller, now_ns());
	return now + CHECK_NS;
}

/* ---- answers ---- */

static void take_reply(struct caller *caller)
{
	amqp_message_t message;
	char id[24] = "", *end;
	link_must(amqp_read_message(caller->link, LINK_CHANNEL, &message, 0), "reply");
	amqp_bytes_t given = message.properties.correlation_id;
	if ((message.properties._flags & AMQP_BASIC_CORRELATION_ID_FLAG) && given.len < sizeof id)
		memcpy(id, given.bytes, given.len);
	size_t number = strtoul(id, &end, 10);
	caller->answered = now_ns();
	if (end == id || *end || !latency_end(&caller->latency, number, caller->answered))
		link_fail("reply", "its call is unknown, or was answered before");
	amqp_destroy_message(&message);
}

static void take_news(struct caller *caller)
{
	amqp_frame_t frame;
	struct timeval at_once = {0};
	int status;
	while ((status = amqp_simple_wait_frame_noblock(caller->link, &frame, &at_once)) ==
		AMQP_STATUS_OK) {
		if (frame.frame_type == AMQP_FRAME_METHOD &&
			frame.payload.method.id == AMQP_BASIC_DELIVER_METHOD)
			take_reply(caller);
		else
			link_fail("the broker sent", "something other than a reply");
		amqp_maybe_release_buffers(caller->link);
	}
	if (status != AMQP_STATUS_TIMEOUT)
		link_must_send(status, "replies");
}

static void wait_until(const struct caller *caller, int64_t when)
{
	struct pollfd readable = {.fd = amqp_get_sockfd(caller->link), .events = POLLIN};
	int64_t now = now_ns(), left = when - now;
	if (left > CHECK_NS)
		left = CHECK_NS;
	struct timespec limit = {.tv_nsec = left > 0 ? left : 0};
	if (ppoll(&readable, 1, &limit, NULL) < 0 && errno != EINTR)
		link_fail("poll", strerror(errno));
	if (now - caller->answered > SILENCE_NS)
		link_fail("no answer", "given up");
}

/* Make calls until the end, then wait for the last answers. */
static void run(struct caller *caller, double seconds)
{
	caller->begun = caller->answered = now_ns();
	caller->end = caller->begun + (int64_t)(seconds * (double)NS_A_SECOND);
	for (;;) {
		int64_t now = now_ns(), next = now + CHECK_NS;
		bool is_over = link_is_stopping || now >= caller->end;
		if (!is_over)
			next = call_due(caller, now);
		else if (latency_open(&caller->latency) == 0)
			break;
		wait_until(caller, next);
		take_news(caller);
	}
	caller->end = caller->answered;
}

/* ---- the program ---- */

static void prepare(struct caller *caller, const char *url, size_t size)
{
	char *bytes = malloc(size);
	if (!bytes)
		link_fail("body", "out of memory");
	memset(bytes, 'x', size);
	caller->body = (amqp_bytes_t){size, bytes};
	snprintf(caller->replies, sizeof caller->replies, "bench.caller.%d", (int)getpid());
	caller->link = link_open(url);
	link_consume_replies(caller->link, caller->replies);
}

static int usage(void)
{
	fprintf(stderr, "usage: caller [--rate CALLS_A_SECOND | --window CALLS] URL QUEUE SIZE "
			"SECONDS\n");
	return EXIT_USAGE;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"rate", required_argument, NULL, 'r'},
		{"window", required_argument, NULL, 'w'}, {0}};
	struct caller caller = {.window = 1};
	int option;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'r')
			caller.rate = (double)link_number(optarg, "--rate", 1);
		else if (option == 'w')
			caller.window = link_number(optarg, "--window", 1);
		else
			return usage();
	}
	if (argc - optind != 4)
		return usage();
	link_stop_on_signals();
	caller.queue = argv[optind + 1];
	prepare(&caller, argv[optind], (size_t)link_number(argv[optind + 2], "SIZE", 1));
	run(&caller, strtod(argv[optind + 3], NULL));
	latency_print(&caller.latency, (double)(caller.end - caller.begun) / (double)NS_A_SECOND);
	link_close(caller.link);
	latency_release(&caller.latency);
	free(caller.body.bytes);
	return EXIT_SUCCESS;
}
