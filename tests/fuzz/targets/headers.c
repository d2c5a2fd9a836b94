/* A message from the broker on its whole way through wpool: its properties and the keys of its
 * session and of throttles are read, it becomes a task of every form, its headers come back in a
 * worker's answer, and everything that is published for it is built, read again and built again, as
 * retries and replays do. */
#include "base/utf8.h"
#include "c/task.h"
#include "fuzz/feed.h"
#include "fuzz/fuzz.h"
#include "fuzz/memory.h"
#include "fuzz/published.h"
#include "fuzz/tables.h"
#include "message/answer.h"
#include "message/replay.h"
#include "message/same.h"
#include "message/task.h"
#include "wire/value.h"

#include <stdlib.h>

/* base: what stands between the layers here, of which serve never holds two at once. */
const struct fuzz_memory fuzz_memory = {.base = 8 * 1024, .multiple = 32};

#define BODY_LIMIT  256
#define FRAME_LIMIT (1u << 20)
#define GENERATIONS 3

static const struct key_source key_sources[] = {
	{.kind = KEY_NONE},
	{.kind = KEY_HEADER, .header = {"a", 1}},
	{.kind = KEY_HEADER, .header = {"x-match", 7}, .is_required = true},
	{.kind = KEY_PROPERTY, .property = PROPERTY_CORRELATION_ID},
};

#define THROTTLE_OF_PROPERTY 1 /* its place in throttle_keys_of_all */

/* One throttle for all runs. */
static const struct throttle_keys *throttle_keys_of_all(void)
{
	static struct throttle_keys keys = {.count = 4,
		.of = {{NULL, {.kind = KEY_HEADER, .header = {"a", 1}}},
			[THROTTLE_OF_PROPERTY] = {NULL,
				{.kind = KEY_PROPERTY, .property = PROPERTY_CORRELATION_ID}},
			{NULL, {.kind = KEY_ROUTING_KEY}}, {NULL, {.kind = KEY_SESSION}}}};
	static struct throttle *throttle;
	if (throttle)
		return &keys;
	memory_pause();
	throttle =
		throttle_new(&(struct throttle_figures){.limit = 1, .period = 1, .max_keys = 1}, 7);
	memory_resume();
	FUZZ_REQUIRE(throttle);
	for (uint32_t i = 0; i < keys.count; i++)
		keys.of[i].throttle = throttle;
	return &keys;
}

static struct delivery *delivery_made(
	struct text properties, struct text body, const struct key_source *source)
{
	struct delivery *delivery =
		delivery_new(properties.len + body.len + session_key_space(source));
	FUZZ_REQUIRE(delivery);
	if (properties.len > 0)
		memcpy(delivery->bytes, properties.ptr, properties.len);
	if (body.len > 0)
		memcpy(delivery->bytes + properties.len, body.ptr, body.len);
	delivery->properties = text_of(delivery->bytes, properties.len);
	delivery->body = text_of(delivery->bytes + properties.len, body.len);
	task_read_facts(delivery, &(struct task_facts_options){.body_limit = BODY_LIMIT,
					  .key = source,
					  .throttles = throttle_keys_of_all()});
	FUZZ_REQUIRE(delivery->key.len <= SESSION_KEY_MAX && utf8_is_valid(delivery->key));
	FUZZ_REQUIRE(message_is_same(delivery, delivery));
	return delivery;
}

/* ---------- the task, and the worker's echo ---------- */

/* The head of the headers' map in a task frame, and what is behind the map. */
static struct text headers_of(struct text frame)
{
	const uint8_t *at = (const uint8_t *)frame.ptr, *end = at + frame.len;
	struct wire_value value;
	FUZZ_REQUIRE(wire_take(&at, end, &value) == WIRE_OK && value.type == WIRE_MAP);
	for (int i = 0; i < 3; i++) { /* body, correlation id, queue */
		wire_skip(&at, end);
		wire_skip(&at, end);
	}
	wire_skip(&at, end);
	const uint8_t *start = at;
	wire_skip(&at, end);
	return text_of(start, (size_t)(at - start));
}

/* Not the supervisor's memory: paused by the caller. */
static void check_sdk_takes(struct text frame)
{
	struct wpool_worker worker = {.references = 1};
	const char *wrong;
	uint8_t *copy = malloc(frame.len + 1);
	FUZZ_REQUIRE(copy);
	memcpy(copy, frame.ptr, frame.len);
	struct wpool_task *task = task_new(&worker, &(struct frame){copy, copy, frame.len}, &wrong);
	FUZZ_REQUIRE(task);
	wpool_task_unref(task);
}

/* {"1": 201, "2": headers}; the headers are a task's. */
static struct output *echo_of(struct text headers)
{
	struct answer_limits limits = {.header_bytes = 2048, .body_bytes = BODY_LIMIT};
	struct output *output;
	struct buf frame;
	struct answer_fault fault;
	buf_init(&frame, SIZE_MAX);
	buf_append_text(&frame, TEXT("\x82\xa1\x31\xcc\xc9\xa1\x32"));
	buf_append_text(&frame, headers);
	FUZZ_REQUIRE(answer_read(buf_text(&frame), &limits, &output, &fault) == RC_OK);
	buf_release(&frame);
	return output;
}

/* NULL: no worker can be given it. */
static struct output *work(const struct delivery *delivery, uint8_t how)
{
	struct task_options options = {.body = (enum task_body)(how % 3),
		.headers = how & 4 ? TASK_HEADERS_TYPED : TASK_HEADERS_TEXT,
		.properties = how & 8,
		.has_id = how & 64,
		.frame_limit = how & 16 ? 300 : FRAME_LIMIT,
		.soft_ms = how & 32 ? 1000 : 0,
		.queue = TEXT("work")};
	struct output *output = NULL;
	struct buf out;
	buf_init(&out, SIZE_MAX);
	enum rc rc = task_write(delivery, &options, 1, 1000, &out, NULL);
	FUZZ_REQUIRE(rc == RC_OK || (rc == RC_LIMIT && buf_len(&out) == 0));
	if (rc == RC_OK) {
		struct text frame = text_of(
			buf_text(&out).ptr + WIRE_LENGTH_BYTES, buf_len(&out) - WIRE_LENGTH_BYTES);
		FUZZ_REQUIRE(frame.len <= options.frame_limit);
		FUZZ_REQUIRE(wire_check((const uint8_t *)frame.ptr, frame.len) == WIRE_OK);
		memory_pause();
		check_sdk_takes(frame);
		memory_resume();
		output = echo_of(headers_of(frame));
	}
	buf_release(&out);
	return output;
}

/* ---------- what is published ---------- */

static void reply(struct delivery *delivery, struct output *output)
{
	struct buf scratch;
	if (output->invalid != REASON_NONE)
		return;
	buf_init(&scratch, SIZE_MAX);
	for (int kind = PARCEL_REPLY; kind <= PARCEL_HAND_BACK; kind++)
		published_build(&(struct parcel){.kind = (enum parcel_kind)kind,
					.delivery = delivery,
					.output = output},
			&scratch);
	published_build(&(struct parcel){.kind = PARCEL_REFUSAL, .delay = 1, .delivery = delivery},
		&scratch);
	buf_release(&scratch);
}

/* A copy comes back, and so does a copy of the copy: what a worker could be given stays so. */
static struct delivery *copy(struct delivery *delivery, uint8_t how, struct output *output,
	const struct key_source *source)
{
	static const enum parcel_kind kinds[] = {
		PARCEL_RETRY, PARCEL_DEAD_LETTER, PARCEL_RENEW, PARCEL_POSTPONE};
	struct parcel parcel = {.kind = kinds[how % 4],
		.reason = delivery->invalid ? delivery->invalid
					    : (enum reason)(1 + how % (REASON_COUNT - 1)),
		.exit = {.kind = how & 1 ? EXIT_SIGNAL : EXIT_NONE, .number = 9},
		.delivery = delivery,
		.output = output};
	struct buf scratch;
	buf_init(&scratch, SIZE_MAX);
	struct amqp_publish publish = published_build(&parcel, &scratch);
	struct delivery *again = delivery_made(publish.properties, publish.body, source);
	buf_release(&scratch);
	FUZZ_REQUIRE(delivery->invalid != REASON_NONE || again->invalid == REASON_NONE);
	FUZZ_REQUIRE(again->attempt >= delivery->attempt);
	FUZZ_REQUIRE(again->slice == delivery->slice);
	FUZZ_REQUIRE(parcel.kind != PARCEL_POSTPONE || again->attempt == delivery->attempt);
	FUZZ_REQUIRE(again->throttle_keys[THROTTLE_OF_PROPERTY] ==
		     delivery->throttle_keys[THROTTLE_OF_PROPERTY]);
	delivery_free(delivery);
	return again;
}

static void replay(const struct delivery *delivery)
{
	struct properties properties, written;
	struct buf out;
	if (properties_parse(delivery->properties, &properties) != RC_OK)
		return;
	struct text headers = properties.value[PROPERTY_HEADERS];
	if (table_check(headers) != RC_OK)
		return;
	FUZZ_REQUIRE(replay_named_queue(headers).len <= 255);
	buf_init(&out, SIZE_MAX);
	enum rc rc = replay_write(&properties, headers, 5, PUBLISHED_FRAME_MAX, &out);
	FUZZ_REQUIRE(rc == RC_OK || rc == RC_LIMIT);
	if (rc == RC_OK) {
		FUZZ_REQUIRE(properties_parse(buf_text(&out), &written) == RC_OK);
		FUZZ_REQUIRE(table_check(written.value[PROPERTY_HEADERS]) == RC_OK);
		FUZZ_REQUIRE(copy_returned_number(buf_text(&out)) == 5);
	}
	buf_release(&out);
}

void fuzz_one(struct text input)
{
	struct feed feed = {input};
	struct buf properties;
	uint8_t how = feed_byte(&feed), then = feed_byte(&feed);
	struct text body = feed_text(&feed, then % 8 * 40u);
	memory_pause();
	buf_init(&properties, SIZE_MAX);
	tables_put_properties(&properties, &feed);
	memory_resume();
	const struct key_source *source = &key_sources[then >> 6];
	struct delivery *delivery = delivery_made(buf_text(&properties), body, source);
	struct output *output = delivery->invalid == REASON_NONE ? work(delivery, how) : NULL;
	if (output)
		reply(delivery, output);
	if (output && how & 128) { /* the rest of its work is the next task, and in all copies */
		delivery->rest = output;
		output = work(delivery, how);
	}
	for (int i = 0; i < GENERATIONS; i++) {
		replay(delivery);
		delivery = copy(delivery, then, output, source);
		then = (uint8_t)(then / 3 + how);
	}
	output_free(output);
	delivery_free(delivery);
	memory_pause();
	buf_release(&properties);
	memory_resume();
}
