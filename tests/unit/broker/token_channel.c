/* The channels of a token: declared, opened again, closed for good; what is no token is dropped,
 * and a publish that failed is followed by another channel. The channels are fakes of this test,
 * which record their calls. Channel 3 consumes, channel 9 publishes. */
#include "broker/token_channel.h"

#include "core/tasks/delivery.h"
#include "unit/unit.h"

#include <stdio.h>

const char amqp_true[] = "true"; /* a fake, too */
static char calls[256], logged[1024];
static bool is_closed;
static uint16_t channel_max;
static bool is_out_of_memory;

#if defined(__SANITIZE_ADDRESS__)
#define HAS_OWN_MALLOC 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_OWN_MALLOC 1
#endif
#endif

#ifndef HAS_OWN_MALLOC
#define HAS_OWN_MALLOC 0
/* In front of glibc's: the manual's "Replacing malloc". */
void *__libc_realloc(void *, size_t);

void *realloc(void *old, size_t size)
{
	return is_out_of_memory ? NULL : __libc_realloc(old, size);
}
#endif

static void record_call(const char *what, uint16_t channel, unsigned long long number)
{
	size_t len = strlen(calls);

	snprintf(calls + len, sizeof calls - len, "%s%s%u", len > 0 ? " " : "", what, channel);
	len = strlen(calls);
	if (number > 0)
		snprintf(calls + len, sizeof calls - len, ":%llu", number);
	ck_assert_uint_lt(strlen(calls), sizeof calls - 1);
}

void channel_open(struct connection *connection, uint16_t channel)
{
	(void)connection;
	record_call("open", channel, 0);
}

void channel_close(struct connection *connection, uint16_t channel)
{
	(void)connection;
	record_call("close", channel, 0);
}

bool channel_is_closed(const struct connection *connection, uint16_t channel)
{
	(void)connection, (void)channel;
	return is_closed;
}

void channel_confirm_select(struct connection *connection, uint16_t channel)
{
	(void)connection;
	record_call("select", channel, 0);
}

void channel_publish(
	struct connection *connection, uint16_t channel, const struct amqp_publish *publish)
{
	struct token_content content;

	(void)connection;
	ck_assert(text_is(publish->routing_key, TEXT("work.token")));
	ck_assert_ptr_null(token_message_read(publish->body, &content));
	record_call(content.is_orderly ? "orderly" : "publish", channel, content.epoch);
}

void channel_declare_queue(
	struct connection *connection, uint16_t channel, const struct amqp_queue *queue)
{
	(void)connection;
	ck_assert(text_is(queue->name, TEXT("work.token")) && queue->durable);
	ck_assert_str_eq(queue->arguments[1].key, "x-single-active-consumer");
	ck_assert_ptr_eq(queue->arguments[1].string, amqp_true);
	record_call(queue->passive ? "check" : "declare", channel, 0);
}

void channel_qos(struct connection *connection, uint16_t channel, uint16_t prefetch)
{
	(void)connection;
	record_call("qos", channel, prefetch);
}

void channel_consume(struct connection *connection, uint16_t channel, struct text queue,
	struct text consumer, bool no_ack)
{
	(void)connection, (void)consumer;
	ck_assert(text_is(queue, TEXT("work.token")) && !no_ack);
	record_call("consume", channel, 0);
}

void channel_ack(struct connection *connection, uint16_t channel, uint64_t tag, bool multiple)
{
	(void)connection;
	ck_assert(!multiple);
	record_call("ack", channel, tag);
}

void channel_nack(struct connection *connection, uint16_t channel, uint64_t tag)
{
	(void)connection;
	record_call("nack", channel, tag);
}

uint16_t connection_channel_max(const struct connection *connection)
{
	(void)connection;
	return channel_max;
}

/* ---------- the rig ---------- */

static void on_log_line(void *ctx, enum log_level level, const char *text)
{
	(void)ctx;
	if (level >= LOG_WARN)
		snprintf(logged, sizeof logged, "%s", text);
}

static void on_held(void *io, const struct token_grant *grant)
{
	(void)io, (void)grant;
	record_call("HELD", 0, 0);
}

static void on_lost(void *io)
{
	(void)io;
	record_call("LOST", 0, 0);
}

static void on_handed_over(void *io)
{
	(void)io;
	record_call("HANDED", 0, 0);
}

static void on_lease(void *io, mtime until)
{
	(void)io, (void)until;
}

static const struct channel_log channel_log = {on_log_line, NULL};
static void on_window_named(void *io, uint32_t window)
{
	(void)io;
	record_call("NAMED", 0, window);
}

static const struct token_handler handler = {
	on_held, on_lost, on_handed_over, on_window_named, on_lease};
static const struct token_channel_config config = {.channel = 3,
	.queue = TEXT("work.token"),
	.token = {TEXT("us"), 2000, 30 * MTIME_SECOND},
	.seed = 1};
static struct token_channel *tokens;
static struct connection *const connection = (struct connection *)calls;

static void set_up(void)
{
	calls[0] = logged[0] = '\0';
	is_closed = is_out_of_memory = false;
	channel_max = 100;
	tokens = token_channel_new(&config, &channel_log, &handler, NULL);
	ck_assert_ptr_nonnull(tokens);
}

static void tear_down(void)
{
	token_channel_free(tokens);
}

static void expect(const char *wanted)
{
	ck_assert_str_eq(calls, wanted);
	calls[0] = '\0';
}

static void handle(enum amqp_event_kind kind)
{
	token_channel_on_event(tokens, &(struct amqp_event){.kind = kind, .channel = 3}, 0);
}

static void close_with(uint16_t code)
{
	const struct amqp_event event = {
		.kind = AMQP_CHANNEL_CLOSED, .channel = 3, .code = code, .text = TEXT("why")};

	token_channel_on_event(tokens, &event, 0);
}

static void handle_publish(enum amqp_event_kind kind, uint64_t tag, bool positive)
{
	const struct amqp_event event = {
		.kind = kind, .channel = 9, .tag = tag, .positive = positive};

	token_channel_on_publish_event(tokens, &event, 0);
}

static void deliver(uint64_t tag, struct text body)
{
	struct delivery *delivery = delivery_new(1);
	const struct amqp_event event = {.kind = AMQP_DELIVERY,
		.channel = 3,
		.tag = tag,
		.content = {.owner = delivery, .body = body}};

	ck_assert_ptr_nonnull(delivery);
	token_channel_on_event(tokens, &event, 0);
}

static void deliver_token(
	uint64_t tag, const char *holder, unsigned epoch, unsigned counter, unsigned window)
{
	char body[256];

	snprintf(body, sizeof body,
		"{\"wpool_token\":1,\"holder\":\"%s\",\"epoch\":%u,\"counter\":%u,\"window\":%u,"
		"\"wait_ms\":30000,\"orderly\":false,\"deaths\":0}\n",
		holder, epoch, counter, window);
	deliver(tag, text_from(body));
}

static void consume(void)
{
	token_channel_up(tokens, connection);
	handle(AMQP_CHANNEL_OPENED);
	handle(AMQP_QUEUE_DECLARED);
	handle(AMQP_CONSUME_OK);
	expect("open3 declare3 qos3:2 consume3");
}

static void open_publish(void)
{
	handle_publish(AMQP_CHANNEL_OPENED, 0, false);
	handle_publish(AMQP_CONFIRM_SELECTED, 0, false);
}

static void publish(void)
{
	token_channel_publish_up(tokens, connection, 9);
	open_publish();
	expect("open9 select9 publish9");
}

static void become_holder(void)
{
	consume();
	publish();
	handle_publish(AMQP_CONFIRM, 1, true);
	deliver_token(1, "", 0, 0, 2000);
	handle_publish(AMQP_CONFIRM, 2, true);
	deliver_token(2, "us", 1, 0, 2000);
	expect("publish9:1 HELD0 ack3:1");
}

/* ---------- consuming ---------- */

START_TEST(the_token_is_taken_over)
{
	become_holder();
	ck_assert(token_facts(token_channel_token(tokens)).is_held);
}
END_TEST

START_TEST(what_is_no_token_is_dropped_and_named)
{
	consume();
	deliver(1, TEXT("hello"));
	expect("ack3:1");
	ck_assert_ptr_nonnull(strstr(logged, "5 bytes"));
	ck_assert_ptr_nonnull(strstr(logged, "does not begin with a line of JSON"));
	logged[0] = '\0';
	deliver(2, TEXT("hello"));
	expect("ack3:2");
	ck_assert_str_eq(logged, "");
}
END_TEST

START_TEST(a_queue_that_may_not_be_declared_is_only_checked)
{
	token_channel_up(tokens, connection);
	handle(AMQP_CHANNEL_OPENED);
	close_with(403);
	handle(AMQP_CHANNEL_OPENED);
	expect("open3 declare3 open3 check3");
	ck_assert_str_eq(logged, "");
	handle(AMQP_QUEUE_DECLARED);
	expect("qos3:2 consume3");
}
END_TEST

START_TEST(a_queue_of_another_kind_is_named_once)
{
	token_channel_up(tokens, connection);
	handle(AMQP_CHANNEL_OPENED);
	close_with(406);
	ck_assert_ptr_nonnull(strstr(logged, "no quorum queue with a single active consumer"));
	logged[0] = '\0';
	token_channel_tick(tokens, token_channel_deadline(tokens));
	handle(AMQP_CHANNEL_OPENED);
	close_with(406);
	ck_assert_str_eq(logged, "");
	expect("open3 declare3 open3 declare3");
}
END_TEST

START_TEST(a_token_that_was_unacked_for_too_long_is_no_queue_of_another_kind)
{
	consume();
	close_with(406);
	ck_assert_ptr_nonnull(strstr(logged, "the broker closed the channel"));
}
END_TEST

START_TEST(a_missing_queue_that_may_not_be_declared_is_named)
{
	token_channel_up(tokens, connection);
	handle(AMQP_CHANNEL_OPENED);
	close_with(403);
	handle(AMQP_CHANNEL_OPENED);
	close_with(404);
	ck_assert_ptr_nonnull(strstr(logged, "does not let us declare it"));
	token_channel_tick(tokens, token_channel_deadline(tokens));
	handle(AMQP_CHANNEL_OPENED);
	expect("open3 declare3 open3 check3 open3 declare3");
}
END_TEST

START_TEST(a_cancelled_consumer_is_replaced_on_another_channel)
{
	become_holder();
	handle(AMQP_CANCELLED);
	ck_assert(!token_channel_waits(tokens));
	token_channel_tick(tokens, MTIME_SECOND);
	expect("close3 open3");
	handle(AMQP_CHANNEL_CLOSE_OK); /* of the number that was still in use */
	expect("open3");
	ck_assert(token_facts(token_channel_token(tokens)).is_held);
}
END_TEST

START_TEST(a_connection_without_a_channel_for_it_is_named)
{
	channel_max = 2;
	token_channel_up(tokens, connection);
	expect("");
	ck_assert_ptr_nonnull(strstr(logged, "raise its channel_max"));
}
END_TEST

/* ---------- publishing ---------- */

START_TEST(it_waits_while_it_consumes_and_can_publish)
{
	consume();
	ck_assert(!token_channel_waits(tokens));
	token_channel_publish_up(tokens, connection, 9);
	ck_assert(!token_channel_waits(tokens));
	open_publish();
	ck_assert(token_channel_waits(tokens));
	token_channel_publish_down(tokens);
	ck_assert(!token_channel_waits(tokens));
}
END_TEST

START_TEST(a_confirm_of_an_earlier_publish_proves_nothing)
{
	consume();
	publish();
	deliver_token(1, "other", 7, 0, 2000);
	deliver_token(2, "us", 8, 0, 2000);
	expect("publish9:8");
	handle_publish(AMQP_CONFIRM, 1, true);
	expect("");
	handle_publish(AMQP_CONFIRM, 2, true);
	expect("HELD0 ack3:1");
}
END_TEST

START_TEST(a_refused_publish_is_sent_again_on_another_channel)
{
	consume();
	publish();
	deliver_token(1, "other", 7, 0, 2000);
	handle_publish(AMQP_CONFIRM, 2, false);
	expect("publish9:8 close9");
	ck_assert_ptr_nonnull(strstr(logged, "refused"));
	ck_assert(!token_channel_waits(tokens)); /* it may stay so, for lack of a right */
	token_channel_tick(tokens, token_channel_deadline(tokens));
	open_publish();
	expect("open9 select9 publish9:8");
	handle_publish(AMQP_CONFIRM, 1, true);
	ck_assert(token_channel_waits(tokens));
}
END_TEST

START_TEST(a_closed_publish_channel_is_opened_again)
{
	const struct amqp_event closed = {.kind = AMQP_CHANNEL_CLOSED,
		.channel = 9,
		.code = 403,
		.text = TEXT("write access refused")};

	become_holder();
	token_channel_on_publish_event(tokens, &closed, 0);
	ck_assert_ptr_nonnull(strstr(logged, "403 write access refused"));
	token_channel_tick(tokens, token_channel_deadline(tokens));
	expect("open9");
	logged[0] = '\0';
	token_channel_on_publish_event(tokens, &closed, 0); /* the same again */
	ck_assert_str_eq(logged, "");
	token_channel_tick(tokens, token_channel_deadline(tokens));
	expect("open9");
	token_channel_publish_down(tokens);
	token_channel_tick(tokens, 6 * MTIME_SECOND); /* no publish: it renews by a requeue */
	expect("nack3:2");
}
END_TEST

/* A publish of the holder is not confirmed yet, and for the next one, which is longer, the memory
 * is missing. */
static void fail_to_publish(void)
{
	static const char handover[4096];

	become_holder();
	token_name_window(token_channel_token(tokens), 3000, 0);
	expect("publish9:1");
	is_out_of_memory = true;
	ck_assert(token_hand_over(
		token_channel_token(tokens), text_of(handover, sizeof handover), 0));
	is_out_of_memory = false;
	expect("");
}

START_TEST(what_was_not_published_is_not_confirmed)
{
	fail_to_publish();
	handle_publish(AMQP_CONFIRM, 3, true);
	expect("");
	token_channel_tick(tokens, token_channel_deadline(tokens));
	expect("close9");
	ck_assert_ptr_nonnull(strstr(logged, "out of memory"));
	token_channel_tick(tokens, token_channel_deadline(tokens));
	open_publish();
	expect("open9 select9 publish9:1");
	handle_publish(AMQP_CONFIRM, 1, true);
	expect("HANDED0");
}
END_TEST

/* Then the next channel is opened when it is time, and no lack of memory is logged. */
START_TEST(a_channel_that_is_lost_ends_the_lack_of_memory)
{
	const struct amqp_event closed = {
		.kind = AMQP_CHANNEL_CLOSED, .channel = 9, .code = 541, .text = TEXT("why")};

	fail_to_publish();
	if (_i > 0) {
		token_channel_publish_down(tokens);
		token_channel_publish_up(tokens, connection, 9);
		open_publish();
		expect("open9 select9 publish9:1");
	}
	token_channel_on_publish_event(tokens, &closed, 0);
	token_channel_tick(tokens, token_channel_deadline(tokens));
	expect("open9");
	ck_assert_ptr_null(strstr(logged, "memory"));
}
END_TEST

/* ---------- leaving ---------- */

START_TEST(a_leave_ends_both_channels_after_its_confirm)
{
	become_holder();
	token_channel_leave(tokens, 0);
	expect("orderly9:1");
	ck_assert(!token_channel_has_left(tokens));
	handle_publish(AMQP_CONFIRM, 3, true);
	expect("ack3:2 close3 close9");
	ck_assert(!token_channel_has_left(tokens));
	is_closed = true;
	ck_assert(token_channel_has_left(tokens));
	token_channel_leave(tokens, 0);
	token_channel_publish_down(tokens);
	token_channel_publish_up(tokens, connection, 9);
	token_channel_down(tokens);
	token_channel_up(tokens, connection);
	token_channel_tick(tokens, MTIME_MINUTE);
	ck_assert(token_channel_deadline(tokens) == MTIME_NEVER);
	expect("");
}
END_TEST

START_TEST(a_leave_without_connections_has_left)
{
	token_channel_leave(tokens, 0);
	ck_assert(token_channel_has_left(tokens));
	expect("");
}
END_TEST

static Suite *token_channel_suite(void)
{
	Suite *suite = suite_create("broker/token_channel");
	TCase *tcase = tcase_create("channel");
	const TTest *const tests[] = {
		the_token_is_taken_over,
		what_is_no_token_is_dropped_and_named,
		a_queue_that_may_not_be_declared_is_only_checked,
		a_queue_of_another_kind_is_named_once,
		a_token_that_was_unacked_for_too_long_is_no_queue_of_another_kind,
		a_missing_queue_that_may_not_be_declared_is_named,
		a_cancelled_consumer_is_replaced_on_another_channel,
		a_connection_without_a_channel_for_it_is_named,
		it_waits_while_it_consumes_and_can_publish,
		a_confirm_of_an_earlier_publish_proves_nothing,
		a_refused_publish_is_sent_again_on_another_channel,
		a_closed_publish_channel_is_opened_again,
		a_leave_ends_both_channels_after_its_confirm,
		a_leave_without_connections_has_left,
	};

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
		tcase_add_test(tcase, tests[i]);
	if (!HAS_OWN_MALLOC) {
		tcase_add_test(tcase, what_was_not_published_is_not_confirmed);
		tcase_add_loop_test(tcase, a_channel_that_is_lost_ends_the_lack_of_memory, 0, 2);
	}
	suite_add_tcase(suite, tcase);
	return suite;
}

UNIT_MAIN(token_channel_suite)
