/* What comes back keeps its order on a real broker, and what was acked does not come back, when the
 * channel of an ordered consumer is renewed again and again under load. This program runs
 * broker/consumer.c on a connection of its own; it is the pool. A publisher numbers the messages.
 */
#include "base/log.h"
#include "broker/consumer.h"
#include "core/pool_facts.h"
#include "net/broker_link.h"
#include "os/clock.h"
#include "system/system.h"

#include <ev.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MESSAGES 40000
#define BATCH    500
#define WINDOW   100
#define GUARD    60.0 /* seconds without a delivery */

/* How a channel ends, and whether its queue has a single active consumer. */
struct way {
	bool is_cut, is_single;
};

struct shop {
	struct way way;
	struct ev_loop *loop;
	struct ev_prepare turn;
	struct ev_timer guard, tick;
	struct broker_url url;
	struct broker_link_config link_config;
	struct broker_link *broker_link;
	bool is_cut_due;
	struct consumer_config config;
	struct consumer *consumer;
	pid_t publisher;
	uint32_t epoch;          /* of the present channel; 0: there is none */
	uint32_t seen[MESSAGES]; /* the last epoch in which the message came; 0: never */
	bool is_acked[MESSAGES];
	uint64_t held[WINDOW + 16]; /* tags that are not acked */
	uint32_t numbers[WINDOW + 16];
	uint32_t held_count;
	uint32_t open;       /* how many are not acked */
	uint32_t first_open; /* all before it are acked */
	uint32_t checked;    /* all before it are acked, or came in this epoch */
	int64_t last;        /* the last one of this epoch; -1: none */
	uint32_t acks, leave_at, channels, repeats;
	bool is_leaving, is_over;
	uint64_t random;
	char warning[768]; /* the last one */
};

static struct shop shop;

static uint32_t chance(uint32_t bound)
{
	shop.random = shop.random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(shop.random >> 33) % bound;
}

/* ---------- the pool ---------- */

/* Within a channel numbers rise, and no message comes while an older one is open that has not come
 * on this channel. */
static void check_order(uint32_t number)
{
	if (number <= shop.last)
		ck_abort_msg("on channel %u message %u came after %lld", shop.epoch, number,
			(long long)shop.last);
	shop.last = number;
	shop.seen[number] = shop.epoch;
	for (; shop.checked < number; shop.checked++)
		if (!shop.is_acked[shop.checked] && shop.seen[shop.checked] != shop.epoch)
			ck_abort_msg("on channel %u message %u came before %u", shop.epoch, number,
				shop.checked);
}

static void ack_one(uint32_t i)
{
	uint32_t number = shop.numbers[i];

	consumer_ack(shop.consumer, shop.held[i], false);
	shop.open -= !shop.is_acked[number];
	shop.is_acked[number] = true;
	shop.acks++;
	shop.held_count--;
	memmove(shop.held + i, shop.held + i + 1, (shop.held_count - i) * sizeof *shop.held);
	memmove(shop.numbers + i, shop.numbers + i + 1,
		(shop.held_count - i) * sizeof *shop.numbers);
	while (shop.first_open < MESSAGES && shop.is_acked[shop.first_open])
		shop.first_open++;
}

/* In the turn of some acks, so that the queue is sending at that moment. */
static void end_channel(void)
{
	shop.is_leaving = true;
	if (shop.way.is_cut)
		shop.is_cut_due = true;
	else
		consumer_request(shop.consumer, SOURCE_LEAVE, 0);
}

static void on_delivery(struct delivery *delivery)
{
	char digits[16] = "";
	uint32_t number;

	ck_assert_uint_lt(delivery->body.len, sizeof digits);
	memcpy(digits, delivery->body.ptr, delivery->body.len);
	number = (uint32_t)strtoul(digits, NULL, 10);
	ck_assert_uint_lt(number, MESSAGES);
	check_order(number);
	shop.repeats += shop.is_acked[number];
	ck_assert_uint_lt(shop.held_count, WINDOW + 16);
	shop.held[shop.held_count] = delivery->tag;
	shop.numbers[shop.held_count++] = number;
	if (shop.is_leaving)
		return;
	while (shop.held_count > 0 &&
		(chance(100) < 60 || shop.held_count > WINDOW / 2 || shop.held_count == shop.open))
		ack_one(chance(2) ? 0 : chance(shop.held_count));
	if (shop.open == 0) {
		shop.is_over = true;
		consumer_request(shop.consumer, SOURCE_CLOSE, 0);
	} else if (shop.acks >= shop.leave_at) {
		end_channel();
	}
}

static void publish_all(void)
{
	struct client *client = client_open(broker_url(fixture.broker));
	char bodies[BATCH][16];
	struct letter letters[BATCH];

	for (uint32_t first = 0; first < MESSAGES; first += BATCH) {
		for (uint32_t i = 0; i < BATCH; i++) {
			snprintf(bodies[i], sizeof bodies[i], "%u", first + i);
			letters[i] = (struct letter){.body = bodies[i]};
		}
		client_post_all(client, fixture.queue, letters, BATCH, NULL);
	}
	client_free(client);
	_exit(0);
}

static void on_channel_up(uint32_t epoch)
{
	shop.epoch = epoch;
	shop.channels++;
	shop.held_count = 0;
	shop.checked = shop.first_open;
	shop.last = -1;
	shop.is_leaving = false;
	shop.leave_at = shop.acks + 50 + chance(600);
	if (shop.publisher)
		return;
	shop.publisher = fork();
	if (shop.publisher == 0)
		publish_all();
}

static void on_channel_down(void)
{
	shop.epoch = 0;
	shop.held_count = 0;
	if (shop.is_over)
		ev_break(shop.loop, EVBREAK_ALL);
	else
		consumer_request(shop.consumer, SOURCE_CONSUME, WINDOW);
}

void pool_step(struct pool *pool, mtime now, const struct event *event)
{
	(void)pool, (void)now;
	if (event->kind == DELIVERY) {
		on_delivery(event->source.delivery);
		delivery_free(event->source.delivery);
		ev_timer_again(shop.loop, &shop.guard);
	} else if (event->kind == SOURCE_UP) {
		on_channel_up(event->source.epoch);
	} else if (event->kind == SOURCE_DOWN) {
		on_channel_down();
	}
}

struct pool_unacked pool_unacked(const struct pool *pool)
{
	(void)pool;
	return (struct pool_unacked){.count = shop.held_count,
		.memory = 1 << 20,
		.oldest_tag = shop.held_count ? shop.held[0] : UINT64_MAX};
}

/* ---------- the channel ---------- */

static void on_log_line(void *ctx, enum log_level level, const char *message)
{
	(void)ctx;
	if (level >= LOG_WARN)
		snprintf(shop.warning, sizeof shop.warning, "%s", message);
}

static const struct channel_log channel_log = {on_log_line, NULL};

static void on_up(void *ctx, struct connection *connection)
{
	(void)ctx;
	consumer_up(shop.consumer, connection);
}

static void on_down(void *ctx, bool by_error)
{
	(void)ctx, (void)by_error;
	consumer_down(shop.consumer, clock_now());
}

static void on_event(void *ctx, const struct amqp_event *event)
{
	(void)ctx;
	if (event->channel != 0)
		consumer_on_event(shop.consumer, event, clock_now());
}

static uint8_t *on_memory(void *ctx, uint16_t channel, bool is_return, size_t len, void **ret_owner)
{
	(void)ctx, (void)channel, (void)is_return;
	return consumer_content_memory(shop.consumer, len, ret_owner);
}

static void on_dropped(void *ctx, void *owner)
{
	(void)ctx;
	delivery_free(owner);
}

static void on_end(void *ctx, const char *reason)
{
	(void)ctx;
	ck_abort_msg("the connection cannot be opened: %s", reason);
}

static void connect_link(void)
{
	static const struct broker_link_handler handler = {.on_up = on_up,
		.on_down = on_down,
		.on_event = on_event,
		.content_memory = on_memory,
		.content_dropped = on_dropped,
		.on_end = on_end};

	shop.broker_link = broker_link_new(shop.loop, &shop.link_config, &handler, NULL);
	ck_assert_ptr_nonnull(shop.broker_link);
}

/* What was appended is sent, and the socket is closed without a channel.close. */
static void cut(void)
{
	shop.is_cut_due = false;
	broker_link_flush(shop.broker_link);
	broker_link_free(shop.broker_link);
	consumer_down(shop.consumer, clock_now());
	connect_link();
}

static void on_tick(struct ev_loop *loop, ev_timer *tick, int events)
{
	(void)loop, (void)tick, (void)events;
}

static void on_turn(struct ev_loop *loop, ev_prepare *turn, int events)
{
	mtime deadline, now = clock_now();

	(void)turn, (void)events;
	if (shop.is_cut_due)
		cut();
	consumer_tick(shop.consumer, now);
	broker_link_flush(shop.broker_link);
	deadline = consumer_deadline(shop.consumer);
	ev_timer_stop(loop, &shop.tick);
	if (deadline == MTIME_NEVER)
		return;
	ev_timer_set(&shop.tick, deadline > now ? (double)(deadline - now) / MTIME_SECOND : 0, 0.);
	ev_timer_start(loop, &shop.tick);
}

static void on_guard(struct ev_loop *loop, ev_timer *guard, int events)
{
	(void)loop, (void)guard, (void)events;
	ck_abort_msg("no message comes; %u of %u are acked; %s", shop.acks, MESSAGES, shop.warning);
}

static void open_shop(struct way way)
{
	char problem[256] = "";

	log_setup(STDERR_FILENO, LOG_WARN, LOG_TEXT, false);
	shop.way = way;
	shop.open = MESSAGES;
	shop.loop = ev_loop_new(EVBACKEND_EPOLL);
	shop.config = (struct consumer_config){.channel = 1,
		.queue = text_from(fixture.queue),
		.declare = DECLARE_ON,
		.body_limit = 1024,
		.is_ordered = true};
	shop.consumer = consumer_new(&shop.config, &channel_log);
	ck_assert(shop.loop && shop.consumer);
	ck_assert_msg(broker_url_parse(broker_url(fixture.broker), &shop.url, problem,
			      sizeof problem) == RC_OK,
		"%s", problem);
	shop.link_config = (struct broker_link_config){.hosts = &shop.url,
		.host_count = 1,
		.heartbeat = 10 * MTIME_SECOND,
		.name = "consume",
		.output_limit = 16 * 1024 * 1024,
		.body_limit = 1024};
	connect_link();
	ev_timer_init(&shop.tick, on_tick, 0., 0.);
	ev_timer_init(&shop.guard, on_guard, 0., GUARD);
	ev_timer_again(shop.loop, &shop.guard);
	ev_prepare_init(&shop.turn, on_turn);
	ev_prepare_start(shop.loop, &shop.turn);
	consumer_request(shop.consumer, SOURCE_CONSUME, WINDOW);
}

static void close_shop(void)
{
	broker_link_free(shop.broker_link);
	consumer_free(shop.consumer);
	broker_url_release(&shop.url);
	ev_loop_destroy(shop.loop);
}

/* Work off all messages, over many channels. */
static void run_shop(struct way way)
{
	int status;

	if (way.is_single)
		client_delete(fixture.client, fixture.queue); /* the consumer makes it */
	open_shop(way);
	ev_run(shop.loop, 0);
	ck_assert_int_eq(consumer_order(shop.consumer),
		way.is_single ? QUEUE_ORDER_SINGLE : QUEUE_ORDER_ALONE);
	ck_assert_int_eq(waitpid(shop.publisher, &status, 0), shop.publisher);
	ck_assert_int_eq(status, 0);
	ck_assert_uint_ge(shop.channels, 50);
	close_shop();
	if (way.is_single)
		broker_expect_messages(fixture.broker, fixture.queue, 0);
	else /* without a barrier the last acks may be lost */
		ck_assert_int_le(broker_messages(fixture.broker, fixture.queue), WINDOW);
}

START_TEST(renewed_channel_of_a_single_active_consumer_repeats_nothing)
{
	run_shop((struct way){.is_single = true});
	ck_assert_uint_eq(shop.repeats, 0);
}
END_TEST

START_TEST(cut_channel_of_a_single_active_consumer_repeats_in_order)
{
	run_shop((struct way){.is_single = true, .is_cut = true});
	ck_assert_uint_le(shop.repeats, WINDOW * shop.channels);
}
END_TEST

START_TEST(renewed_channel_of_another_queue_repeats_in_order)
{
	run_shop((struct way){.is_single = false});
	ck_assert_uint_le(shop.repeats, WINDOW * shop.channels);
}
END_TEST

START_TEST(cut_channel_of_another_queue_repeats_in_order)
{
	run_shop((struct way){.is_cut = true});
	ck_assert_uint_le(shop.repeats, WINDOW * shop.channels);
}
END_TEST

/* It is checked again: an operator removes it, and the consumer makes another one. */
START_TEST(classic_queue_is_refused)
{
	fixture_declare(CLIENT_CLASSIC);
	open_shop((struct way){.is_single = true});
	while (!shop.warning[0])
		ev_run(shop.loop, EVRUN_ONCE);
	ck_assert_msg(strstr(shop.warning, "is not a quorum queue") != NULL, "%s", shop.warning);
	ck_assert_uint_eq(shop.channels, 0);
	client_delete(fixture.client, fixture.queue);
	while (shop.channels == 0)
		ev_run(shop.loop, EVRUN_ONCE);
	ck_assert_int_eq(consumer_order(shop.consumer), QUEUE_ORDER_SINGLE);
	kill(shop.publisher, SIGKILL);
	close_shop();
}
END_TEST

/* Arguments of queues that others declared, in Erlang. */
static const struct {
	const char *arguments;
	enum queue_order order;
} declared[] = {
	{"{<<\"x-queue-type\">>,longstr,<<\"quorum\">>},"
	 "{<<\"x-single-active-consumer\">>,bool,true}",
		QUEUE_ORDER_SINGLE},
	{"{<<\"x-queue-type\">>,longstr,<<\"quorum\">>},"
	 "{<<\"x-dead-letter-exchange\">>,longstr,<<>>},"
	 "{<<\"x-dead-letter-routing-key\">>,longstr,<<\"it's 'there'\">>},"
	 "{<<\"x-max-length\">>,long,100000},{<<\"x-delivery-limit\">>,long,5},"
	 "{<<\"x-single-active-consumer\">>,bool,true}",
		QUEUE_ORDER_SINGLE},
	{"{<<\"x-queue-type\">>,longstr,<<\"quorum\">>},"
	 "{<<\"x-single-active-consumer\">>,bool,false},"
	 "{<<\"x-overflow\">>,longstr,<<\"reject-publish\">>}",
		QUEUE_ORDER_ALONE},
	{"{<<\"x-queue-type\">>,longstr,<<\"quorum\">>},{<<\"x-delivery-limit\">>,long,-1}",
		QUEUE_ORDER_ALONE},
	{"{<<\"x-single-active-consumer\">>,bool,true}", QUEUE_ORDER_NONE},
	{"{<<\"x-queue-type\">>,longstr,<<\"stream\">>}", QUEUE_ORDER_NONE},
};

START_TEST(order_of_a_foreign_queue_is_found_out)
{
	client_delete(fixture.client, fixture.queue);
	free(broker_eval(fixture.broker,
		scratch_text("element(1, rabbit_amqqueue:declare(rabbit_misc:r(<<\"/\">>, queue, "
			     "<<\"%s\">>), true, false, [%s], none, <<\"guest\">>))",
			fixture.queue, declared[_i].arguments)));
	open_shop((struct way){.is_single = true});
	while (!shop.warning[0] && shop.channels == 0)
		ev_run(shop.loop, EVRUN_ONCE);
	ck_assert_int_eq(consumer_order(shop.consumer), declared[_i].order);
	ck_assert_int_eq(shop.channels == 0, declared[_i].order == QUEUE_ORDER_NONE);
	if (shop.publisher)
		kill(shop.publisher, SIGKILL);
	close_shop();
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("return_order",
		{renewed_channel_of_a_single_active_consumer_repeats_nothing, 1},
		{cut_channel_of_a_single_active_consumer_repeats_in_order, 1},
		{renewed_channel_of_another_queue_repeats_in_order, 1},
		{cut_channel_of_another_queue_repeats_in_order, 1}, {classic_queue_is_refused, 1},
		{order_of_a_foreign_queue_is_found_out, sizeof declared / sizeof *declared});
}
