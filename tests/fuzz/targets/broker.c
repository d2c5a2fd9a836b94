/* A hostile broker against all that decides: a pool with its consuming and its publishing channel,
 * each on a connection of its own, and workers that answer, break and end as the script says. No
 * order of the broker's words may break a list, a state or a counter (pool_audit), or make us
 * settle what is not ours. */
#include "broker/consumer.h"
#include "broker/publisher.h"
#include "core/workers/starts.h"
#include "fuzz/fuzz.h"
#include "fuzz/memory.h"
#include "fuzz/peer.h"
#include "message/same.h"

#include <stdlib.h>

#define WORKERS    3 /* and room for more, where they are asked for */
#define SLOTS      5
#define BODY_LIMIT 64
#define CHANNEL    1

/* base: a pool's tables, two connections, their channels, what differs about its queue. */
const struct fuzz_memory fuzz_memory = {.base = 30 * 1024, .multiple = 64};

struct pool_runtime;

struct link_end {
	struct pool_runtime *runtime;
	struct connection *connection; /* NULL: gone */
	struct peer peer;
	bool publishes;
	uint16_t close_code; /* of an AMQP_CLOSED; 0: there was none */
};

struct pool_runtime {
	struct feed feed;
	mtime now;
	struct link_end ends[2]; /* consume, publish */
	struct pool *pool;
	struct starts starts;
	uint64_t last_task_id;
	struct consumer *consumer;
	struct publisher *publisher;
	uint32_t lives[SLOTS]; /* of the process that runs; 0: none */
	bool is_ready[SLOTS], is_broken[SLOTS];
};

static const struct connection_params params = {
	SASL_PLAIN, "user", "secret", "/", "fuzz", 5, 8192, 1u << 20, 4096};

/* ---------- the pool's effects ---------- */

static enum send_result do_send(
	void *io, uint16_t slot, struct delivery *delivery, uint16_t attempt)
{
	struct pool_runtime *runtime = io;
	FUZZ_REQUIRE(slot < SLOTS && runtime->is_ready[slot] && attempt > 0);
	FUZZ_REQUIRE(delivery->invalid == REASON_NONE && delivery->body.len <= BODY_LIMIT);
	switch (feed_byte(&runtime->feed)) {
	case 1:
		return SEND_TOO_LARGE;
	case 2:
		return SEND_NO_MEMORY;
	default:
		return SEND_OK;
	}
}

static void do_ack(void *io, uint64_t tag, bool multiple)
{
	struct pool_runtime *runtime = io;
	FUZZ_REQUIRE(tag > 0);
	consumer_ack(runtime->consumer, tag, multiple);
}

static void do_reject(void *io, uint64_t tag, enum reject how)
{
	struct pool_runtime *runtime = io;
	FUZZ_REQUIRE(tag > 0);
	consumer_reject(runtime->consumer, tag, how);
}

static void do_publish(void *io, const struct parcel *parcel)
{
	struct pool_runtime *runtime = io;
	publisher_publish(runtime->publisher, parcel);
}

static void do_source(void *io, enum source_request request, uint32_t window)
{
	struct pool_runtime *runtime = io;
	consumer_request(runtime->consumer, request, window);
}

static void do_slot(void *io, uint16_t slot, uint32_t life, enum slot_request request)
{
	struct pool_runtime *runtime = io;
	FUZZ_REQUIRE(slot < SLOTS);
	if (request != SLOT_SPAWN)
		return;
	FUZZ_REQUIRE(runtime->lives[slot] == 0 && life > 0);
	runtime->lives[slot] = life;
	runtime->is_ready[slot] = runtime->is_broken[slot] = false;
}

static bool do_ask(
	void *io, uint16_t slot, uint32_t life, enum task_request request, uint64_t task_id)
{
	(void)io, (void)slot, (void)life, (void)request, (void)task_id;
	return true;
}

static bool do_is_same(void *io, const struct delivery *before, const struct delivery *after)
{
	(void)io;
	return message_is_same(before, after);
}

static bool do_allow_slots(void *io, uint16_t slots)
{
	(void)io;
	return slots <= SLOTS;
}

static mtime do_waited(void *io, uint16_t slot, uint32_t life)
{
	(void)io;
	(void)slot;
	(void)life;
	return 0;
}

static int64_t do_wall_ms(void *io)
{
	(void)io;
	return INT64_C(1700000000000);
}

static void do_emit(void *io, const struct notice *notice)
{
	(void)io;
	FUZZ_REQUIRE(reason_name(notice->reason));
}

/* No pool here has a token. */
static void do_hand_over(void *io, const struct session_handover *handover)
{
	(void)io;
	(void)handover;
}

static void do_window(void *io, uint32_t window)
{
	(void)io;
	(void)window;
}

static const struct effects effects = {do_send, do_ack, do_reject, do_publish, do_source, do_slot,
	do_ask, do_is_same, do_allow_slots, do_waited, do_wall_ms, do_emit, do_hand_over, do_window,
	do_hand_over, NULL};

static void on_log_line(void *ctx, enum log_level level, const char *words)
{
	(void)ctx, (void)level;
	FUZZ_REQUIRE(*words);
}

/* ---------- connections ---------- */

static void step(struct pool_runtime *runtime, struct event event)
{
	pool_step(runtime->pool, runtime->now, &event);
}

static void on_event(void *ctx, const struct amqp_event *event)
{
	struct link_end *end = ctx;
	struct pool_runtime *runtime = end->runtime;
	if (event->kind == AMQP_CLOSED)
		end->close_code = event->code;
	if (event->kind == AMQP_OPENED && end->publishes)
		publisher_up(runtime->publisher, end->connection, CHANNEL, runtime->now);
	else if (event->kind == AMQP_OPENED)
		consumer_up(runtime->consumer, end->connection);
	else if (event->channel == CHANNEL && end->publishes)
		publisher_on_event(runtime->publisher, event, runtime->now);
	else if (event->channel == CHANNEL)
		consumer_on_event(runtime->consumer, event, runtime->now);
}

static uint8_t *content_memory(
	void *ctx, uint16_t channel, bool is_return, size_t len, void **ret_owner)
{
	struct link_end *end = ctx;
	FUZZ_REQUIRE(channel == CHANNEL);
	if (end->publishes)
		return connection_content_memory(len, ret_owner);
	(void)is_return;
	return consumer_content_memory(end->runtime->consumer, len, ret_owner);
}

static void content_dropped(void *ctx, void *owner)
{
	struct link_end *end = ctx;
	if (end->publishes)
		free(owner);
	else
		delivery_free(owner);
}

static const struct connection_handler handler = {on_event, content_memory, content_dropped};

static void dial(struct link_end *end)
{
	end->connection = connection_new(&params, &handler, end);
	FUZZ_REQUIRE(end->connection);
	end->close_code = 0;
	peer_init(&end->peer, end->connection, &end->runtime->feed);
	peer_handshake(&end->peer);
	FUZZ_REQUIRE(connection_is_open(end->connection));
}

static void hang_up(struct link_end *end)
{
	struct pool_runtime *runtime = end->runtime;
	enum outbox_loss loss =
		publisher_loss(end->close_code != 0, publisher_is_publishing(runtime->publisher));
	if (end->publishes)
		publisher_down(runtime->publisher, loss, runtime->now);
	else
		consumer_down(runtime->consumer, runtime->now);
	connection_free(end->connection);
	end->connection = end->peer.connection = NULL;
}

/* ---------- workers ---------- */

/* A status, a body, a queue: what answer_read could have made of a frame. */
static struct output *output_said(struct feed *feed)
{
	static const int32_t statuses[] = {-1, 200, 200, 201, 201, 400, 500, 599};
	struct text body = feed_text(feed, feed_byte(feed) % 16);
	struct text queue = feed_text(feed, feed_byte(feed) % 8);
	struct output *output = output_new(body.len + queue.len);
	FUZZ_REQUIRE(output);
	uint8_t how = feed_byte(feed);
	memcpy(output->bytes, body.ptr, body.len);
	memcpy(output->bytes + body.len, queue.ptr, queue.len);
	output->body = text_of(output->bytes, body.len);
	output->reply_queue = text_of(output->bytes + body.len, queue.len);
	output->status = statuses[how % 8];
	output->invalid = how & 64 ? REASON_REPLY_INVALID : REASON_NONE;
	output->retry_after_ms = how & 128 ? how * 100 : -1;
	return output;
}

static void end_worker(struct pool_runtime *runtime, uint16_t slot, uint32_t life)
{
	struct exit_info exit = {.kind = EXIT_SIGNAL, .number = 9};
	runtime->lives[slot] = 0;
	runtime->is_ready[slot] = false;
	step(runtime, (struct event){.kind = SLOT_GONE,
			      .slot = {.slot = slot, .life = life, .exit = exit}});
}

static void act_worker(struct pool_runtime *runtime)
{
	uint8_t how = feed_byte(&runtime->feed);
	uint16_t slot = how % SLOTS;
	uint32_t life = runtime->lives[slot];
	if (life == 0)
		return;
	if (!runtime->is_ready[slot] && how < 200) {
		runtime->is_ready[slot] = true;
		step(runtime,
			(struct event){.kind = SLOT_READY, .slot = {.slot = slot, .life = life}});
	} else if (how >= 240) {
		end_worker(runtime, slot, life);
	} else if (runtime->is_ready[slot] && !runtime->is_broken[slot] && how >= 220) {
		runtime->is_broken[slot] = true;
		step(runtime, (struct event){.kind = SLOT_BROKEN,
				      .slot = {.slot = slot, .life = life, .what = "words"}});
	} else if (runtime->is_ready[slot] && !runtime->is_broken[slot]) {
		step(runtime, (struct event){.kind = SLOT_OUTPUT,
				      .slot = {.slot = slot,
					      .life = life,
					      .output = output_said(&runtime->feed)}});
	}
}

/* ---------- the run ---------- */

/* As in serve. */
static void end_turn(struct pool_runtime *runtime)
{
	publisher_set_wall(runtime->publisher, 1700000000);
	publisher_tick(runtime->publisher, runtime->now);
	step(runtime, (struct event){.kind = TURN_END});
	consumer_tick(runtime->consumer, runtime->now);
	pool_audit(runtime->pool);
	for (int i = 0; i < 2; i++) {
		struct link_end *end = &runtime->ends[i];
		if (end->connection &&
			(end->peer.rc != RC_OK || connection_has_failed(end->connection)))
			hang_up(end);
	}
}

static void command(struct pool_runtime *runtime, bool steers)
{
	struct event event = {.kind = COMMAND, .command.what = feed_byte(&runtime->feed) % 2};
	if (steers) {
		event.command.what = COMMAND_PAUSE + feed_byte(&runtime->feed) % 4;
		event.command.number = feed_byte(&runtime->feed);
	}
	step(runtime, event);
}

static void act(struct pool_runtime *runtime)
{
	uint8_t how = feed_byte(&runtime->feed);
	struct link_end *end = &runtime->ends[how & 1];
	switch (how >> 1 & 7) {
	case 0:
		act_worker(runtime);
		break;
	case 1:
		runtime->now += feed_byte(&runtime->feed) * MTIME_SECOND / 4;
		break;
	case 2:
		end_turn(runtime);
		break;
	case 3:
		if (how >= 0xf0)
			command(runtime, how & 1);
		else if (!end->connection)
			dial(end);
		else if (how >= 0xe0)
			hang_up(end);
		break;
	case 4:
		if (end->connection)
			peer_read(&end->peer, true);
		break;
	default:
		if (end->connection)
			peer_act(&end->peer);
	}
}

static const struct pool_config pool_config = {
	.name = "fuzz",
	.concurrency = 1,
	.workers = WORKERS,
	.pipe_wait = 5 * MTIME_MS,
	.memory = 1 << 20,
	.boot_limit = 10 * MTIME_SECOND,
	.hard_limit = 20 * MTIME_SECOND,
	.soft_limit = MTIME_NEVER,
	.grace = 5 * MTIME_SECOND,
	.outbox_limit = 2000,
	.policy = {.attempts = 3,
		.delays = {MTIME_SECOND, 2 * MTIME_SECOND},
		.delay_count = 2,
		.slices = 5,
		.retried = SETTLE_RETRIED_ALL,
		.queue = {"work", 4}},
};

/* The routing key is the session; so a peer can use any. */
static void add_sessions(struct pool_config *config, struct consumer_config *consumer_config)
{
	config->prefetch = 4;
	config->session = (struct session_config){.is_on = true,
		.quantum = 2,
		.on_failure = SESSION_SKIP,
		.max_active = 3,
		.max_sessions = 5,
		.max_unacked_age = 10 * MTIME_SECOND,
		.takeover_delay = MTIME_NEVER,
		.is_return_free = true};
	consumer_config->key.kind = KEY_ROUTING_KEY;
	consumer_config->keep_route = true;
	consumer_config->is_ordered = consumer_config->is_return_free = true;
}

static void start(struct pool_runtime *runtime, uint8_t how)
{
	struct pool_config config = pool_config;
	static const struct channel_log channel_log = {on_log_line, NULL};
	static struct consumer_config consumer_config;
	static struct publisher_config publisher_config;
	struct retry_plan plan = {.delays = {MTIME_SECOND, 2 * MTIME_SECOND}, .count = 2};
	consumer_config = (struct consumer_config){.channel = CHANNEL,
		.queue = TEXT("work"),
		.declare = (enum declare)(how % 3),
		.dead_letter = TEXT("work.dead"),
		.retry = plan,
		.body_limit = BODY_LIMIT,
		.keep_route = how & 4,
		.seed = 1};
	publisher_config = (struct publisher_config){
		.queue = TEXT("work"), .dead_letter = TEXT("work.dead"), .retry = plan, .seed = 2};
	if (how & 0x80)
		add_sessions(&config, &consumer_config);
	starts_init(&runtime->starts, 1000 * SLOTS, 0);
	runtime->pool = pool_new(
		&config, &runtime->starts, &runtime->last_task_id, &effects, runtime, runtime->now);
	runtime->consumer = consumer_new(&consumer_config, &channel_log);
	runtime->publisher = publisher_new(&publisher_config, &channel_log);
	FUZZ_REQUIRE(runtime->pool && runtime->consumer && runtime->publisher);
	consumer_attach(runtime->consumer, runtime->pool);
	publisher_attach(runtime->publisher, runtime->pool);
	for (int i = 0; i < 2; i++) {
		runtime->ends[i] = (struct link_end){.runtime = runtime, .publishes = i};
		dial(&runtime->ends[i]);
	}
	end_turn(runtime);
}

void fuzz_one(struct text input)
{
	struct pool_runtime runtime = {.feed = {input}, .now = MTIME_SECOND};
	start(&runtime, feed_byte(&runtime.feed));
	while (!feed_is_over(&runtime.feed))
		act(&runtime);
	end_turn(&runtime);
	for (int i = 0; i < 2; i++)
		if (runtime.ends[i].connection)
			hang_up(&runtime.ends[i]);
	end_turn(&runtime);
	consumer_free(runtime.consumer);
	publisher_free(runtime.publisher);
	pool_free(runtime.pool);
}
