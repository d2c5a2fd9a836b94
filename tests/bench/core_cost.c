/* What the core alone costs: pool_step from the DELIVERY of a message to its ack, with effects that
 * do nothing, and what a session takes in memory. Prints one JSON object: the nanoseconds of a
 * message in each case, the resident bytes of an idle session with a key of 20 bytes, and the
 * longest step of a pool with 65,000 sessions. Arguments: the messages of each case, 1,000,000 by
 * default; and the one figure to print, for a profiler. */
#include "core/pool.h"
#include "core/pool_facts.h"
#include "core/session_facts.h"
#include "core/workers/starts.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define WORKERS     64
#define KEY_SIZE    20
#define BODY_SIZE   100
#define MANY_KEYS   65000
#define CHUNKS      50
#define TURN        50 /* microseconds */
#define LOSSES      10
#define IDLE_WINDOW 100

struct sent {
	uint16_t slot;
	uint64_t id;
};

struct rig {
	struct pool *pool;
	struct starts starts;
	uint64_t last_task_id, last_tag;
	uint32_t epoch;
	mtime now;
	struct sent sent[WORKERS];
	int sent_count;
	uint16_t spawned[WORKERS];
	int spawned_count;
	struct throttle *throttle; /* NULL: none */
	uint32_t *keys;            /* of the next messages, in an order by chance; NULL: no key */
	uint32_t key_count, next_key;
	uint64_t random;
};

/* ---------- effects ---------- */

static enum send_result on_send(
	void *io, uint16_t slot, struct delivery *delivery, uint16_t attempt)
{
	struct rig *rig = io;
	(void)attempt;
	rig->sent[rig->sent_count++] = (struct sent){slot, delivery->id};
	return SEND_OK;
}

static void on_ack(void *io, uint64_t tag, bool multiple)
{
	(void)io;
	(void)tag;
	(void)multiple;
}

static void on_reject(void *io, uint64_t tag, enum reject how)
{
	(void)io;
	(void)tag;
	(void)how;
}

static void on_publish(void *io, const struct parcel *parcel)
{
	(void)io;
	(void)parcel;
}

static void on_source(void *io, enum source_request request, uint32_t window)
{
	(void)io;
	(void)request;
	(void)window;
}

static void on_slot(void *io, uint16_t slot, uint32_t life, enum slot_request request)
{
	struct rig *rig = io;
	(void)life;
	if (request == SLOT_SPAWN)
		rig->spawned[rig->spawned_count++] = slot;
}

static bool on_ask(
	void *io, uint16_t slot, uint32_t life, enum task_request request, uint64_t task_id)
{
	(void)io;
	(void)slot;
	(void)life;
	(void)request;
	(void)task_id;
	return true;
}

/* What is detached comes again in the order of its bodies. */
static bool is_same(void *io, const struct delivery *one, const struct delivery *other)
{
	(void)io;
	return text_is(one->body, other->body);
}

static bool on_allow_slots(void *io, uint16_t slots)
{
	(void)io;
	(void)slots;
	return true;
}

static mtime on_waited(void *io, uint16_t slot, uint32_t life)
{
	(void)io;
	(void)slot;
	(void)life;
	return 0;
}

static void on_emit(void *io, const struct notice *notice)
{
	(void)io;
	(void)notice;
}

static const struct effects no_effects = {
	.send = on_send,
	.ack = on_ack,
	.reject = on_reject,
	.publish = on_publish,
	.source = on_source,
	.slot = on_slot,
	.ask = on_ask,
	.is_same = is_same,
	.allow_slots = on_allow_slots,
	.waited = on_waited,
	.emit = on_emit,
};

/* ---------- a pool with all workers ready ---------- */

/* CPU time: other processes may interrupt this one. */
static int64_t clock_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void step(struct rig *rig, struct event event)
{
	pool_step(rig->pool, rig->now, &event);
}

static void end_turn(struct rig *rig)
{
	rig->now += TURN;
	step(rig, (struct event){.kind = TURN_END, .boot = rig->now});
}

static void channel_up(struct rig *rig)
{
	rig->last_tag = 0;
	step(rig, (struct event){.kind = SOURCE_UP, .source = {.epoch = ++rig->epoch}});
}

static uint64_t chance(struct rig *rig, uint64_t below)
{
	rig->random = rig->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (rig->random >> 33) % below;
}

static void shuffle(struct rig *rig)
{
	for (uint32_t i = rig->key_count - 1; i > 0; i--) {
		uint64_t other = chance(rig, i + 1);
		uint32_t key = rig->keys[i];
		rig->keys[i] = rig->keys[other];
		rig->keys[other] = key;
	}
}

static struct pool_config config_of(uint32_t window, uint32_t keys, mtime idle)
{
	return (struct pool_config){.name = "bench",
		.workers = WORKERS,
		.concurrency = 1,
		.pipeline = 1,
		.prefetch = (uint16_t)window,
		.memory = SIZE_MAX / 2,
		.boot_limit = MTIME_MINUTE,
		.hard_limit = MTIME_NEVER,
		.soft_limit = MTIME_NEVER,
		.grace = MTIME_SECOND,
		.outbox_limit = SIZE_MAX / 2,
		.session = {.is_on = keys > 0,
			.quantum = 10,
			.idle = idle,
			.max_sessions = 100000,
			.max_unacked_age = MTIME_NEVER,
			.takeover_delay = MTIME_NEVER,
			.hash_seed = 1,
			.is_return_free = true},
		.policy = {.attempts = 3, .queue = TEXT("bench")}};
}

static struct throttle *new_throttle(uint32_t keys)
{
	/* It never applies: in each period there is at most one turn. */
	const struct throttle_figures figures = {
		.limit = WORKERS, .period = TURN, .max_keys = keys};
	return throttle_new(&figures, 1);
}

static void rig_start(
	struct rig *rig, uint32_t window, uint32_t keys, mtime idle, bool is_throttled)
{
	struct pool_config config = config_of(window, is_throttled ? 0 : keys, idle);
	*rig = (struct rig){.now = MTIME_SECOND, .key_count = keys, .random = 1};
	if (is_throttled) {
		rig->throttle = new_throttle(keys);
		config.throttles[config.throttle_count++] = (struct pool_throttle){
			.throttle = rig->throttle, .name = "bench", .has_key = true};
	}
	starts_init(&rig->starts, 1000 * WORKERS, 0);
	if (keys > 0) {
		rig->keys = calloc(keys, sizeof *rig->keys);
		for (uint32_t i = 0; i < keys; i++)
			rig->keys[i] = i;
		shuffle(rig);
	}
	rig->pool = pool_new(&config, &rig->starts, &rig->last_task_id, &no_effects, rig, rig->now);
	step(rig, (struct event){.kind = OUTBOX_UP, .outbox = {.epoch = 1}});
	for (int ready = 0; ready < WORKERS; end_turn(rig))
		for (; ready < rig->spawned_count; ready++)
			step(rig, (struct event){.kind = SLOT_READY,
					  .slot = {.slot = rig->spawned[ready], .life = 1}});
	channel_up(rig);
}

static void rig_end(struct rig *rig)
{
	pool_free(rig->pool);
	throttle_free(rig->throttle);
	free(rig->keys);
}

/* ---------- messages ---------- */

static struct delivery *next_message(struct rig *rig)
{
	struct delivery *delivery = delivery_new(KEY_SIZE + 1 + BODY_SIZE);
	char *key = (char *)delivery->bytes;
	delivery->tag = ++rig->last_tag;
	if (rig->keys) {
		if (rig->next_key == rig->key_count) {
			rig->next_key = 0;
			shuffle(rig);
		}
		snprintf(key, KEY_SIZE + 1, "customer-%011u", rig->keys[rig->next_key++]);
		delivery->key = text_of(key, KEY_SIZE);
	}
	memset(key + KEY_SIZE, 'x', BODY_SIZE);
	delivery->body = text_of(key + KEY_SIZE, BODY_SIZE);
	return delivery;
}

/* The key of a throttle is read when its message arrives. */
static void deliver(struct rig *rig, struct delivery *delivery)
{
	if (rig->throttle) {
		delivery->throttle_keys[0] = throttle_key(rig->throttle, delivery->key);
		delivery->key = TEXT_NONE;
	}
	step(rig, (struct event){
			  .kind = DELIVERY, .source = {.epoch = rig->epoch, .delivery = delivery}});
}

static void fill_window(struct rig *rig, uint32_t window)
{
	while (pool_facts(rig->pool).unacked < window)
		deliver(rig, next_message(rig));
	end_turn(rig);
}

/* One turn: the workers answer what they were sent, and the broker delivers as much as was acked.
 * Return the messages, and add the time of the core. */
static uint32_t turn(struct rig *rig, uint32_t window, int64_t *sum_ns)
{
	struct sent sent[WORKERS];
	struct output *outputs[WORKERS];
	struct delivery *deliveries[2 * WORKERS];
	uint32_t unacked = pool_facts(rig->pool).unacked;
	int sent_count = rig->sent_count, delivery_count = 0;
	memcpy(sent, rig->sent, sizeof sent);
	rig->sent_count = 0;
	for (int i = 0; i < sent_count; i++) {
		outputs[i] = output_new(0);
		outputs[i]->status = STATUS_DONE;
		outputs[i]->task_id = sent[i].id;
	}
	while (delivery_count < 2 * WORKERS && unacked + (uint32_t)delivery_count < window)
		deliveries[delivery_count++] = next_message(rig);
	int64_t begun = clock_ns();
	for (int i = 0; i < sent_count; i++)
		step(rig, (struct event){.kind = SLOT_OUTPUT,
				  .slot = {.slot = sent[i].slot, .life = 1, .output = outputs[i]}});
	for (int i = 0; i < delivery_count; i++)
		deliver(rig, deliveries[i]);
	end_turn(rig);
	if (rig->throttle)
		throttle_end_turn(rig->throttle, rig->now);
	*sum_ns += clock_ns() - begun;
	return (uint32_t)sent_count;
}

static int by_value(const void *one, const void *other)
{
	double difference = *(const double *)one - *(const double *)other;
	return (difference > 0) - (difference < 0);
}

/* The median of chunks, because other processes use the same caches. */
static double message_ns(uint32_t window, uint32_t keys, bool is_throttled, uint64_t messages)
{
	struct rig rig;
	double chunks[CHUNKS];
	rig_start(&rig, window, keys, 0, is_throttled);
	fill_window(&rig, window);
	for (int chunk = -CHUNKS / 5; chunk < CHUNKS; chunk++) { /* the first ones do not count */
		uint64_t done = 0;
		int64_t ns = 0;
		while (done < messages / CHUNKS)
			done += turn(&rig, window, &ns);
		if (chunk >= 0)
			chunks[chunk] = (double)ns / (double)done;
	}
	rig_end(&rig);
	qsort(chunks, CHUNKS, sizeof *chunks, by_value);
	return chunks[CHUNKS / 2];
}

/* ---------- memory, and the longest step ---------- */

static long resident_kib(void)
{
	char line[256];
	long kib = 0;
	FILE *status = fopen("/proc/self/status", "r");
	while (status && fgets(line, sizeof line, status))
		if (sscanf(line, "RssAnon: %ld", &kib) == 1)
			break;
	if (status)
		fclose(status);
	return kib;
}

/* Idle ones, so that no message is in the figure; with a small window, whose memory is used again
 * and again. */
static double session_bytes(void)
{
	struct rig rig;
	int64_t ns = 0;
	rig_start(&rig, IDLE_WINDOW, MANY_KEYS, MTIME_MINUTE * 60, false);
	fill_window(&rig, IDLE_WINDOW);
	turn(&rig, IDLE_WINDOW, &ns);
	long before = resident_kib();
	uint32_t first = pool_session_counts(rig.pool).remembered;
	while (pool_session_counts(rig.pool).remembered < MANY_KEYS)
		turn(&rig, IDLE_WINDOW, &ns);
	double bytes = (double)(resident_kib() - before) * 1024 / (MANY_KEYS - first);
	rig_end(&rig);
	return bytes;
}

/* The channel of a full window is lost, and the first message of the next one shows that nothing
 * comes back: 65,000 sessions are detached in one step, and given up in another one. */
static double longest_step_ms(void)
{
	struct rig rig;
	int64_t longest = 0;
	rig_start(&rig, POOL_WINDOW_MAX, MANY_KEYS, 0, false);
	for (int i = 0; i < LOSSES; i++) {
		fill_window(&rig, POOL_WINDOW_MAX);
		int64_t begun = clock_ns();
		step(&rig, (struct event){.kind = SOURCE_DOWN, .source = {.epoch = rig.epoch}});
		int64_t lost = clock_ns();
		longest = lost - begun > longest ? lost - begun : longest;
		end_turn(&rig);
		channel_up(&rig);
		struct delivery *fresh = next_message(&rig);
		begun = clock_ns();
		deliver(&rig, fresh);
		int64_t given_up = clock_ns();
		longest = given_up - begun > longest ? given_up - begun : longest;
	}
	rig_end(&rig);
	return (double)longest / 1e6;
}

/* ---------- all of it ---------- */

static double cost(const char *name, uint64_t messages)
{
	if (strcmp(name, "session_bytes") == 0)
		return session_bytes();
	if (strcmp(name, "no_key_ns") == 0)
		return message_ns(2000, 0, false, messages);
	if (strcmp(name, "no_key_wide_ns") == 0)
		return message_ns(POOL_WINDOW_MAX, 0, false, messages);
	if (strcmp(name, "keys_1000_ns") == 0)
		return message_ns(2000, 1000, false, messages);
	if (strcmp(name, "throttled_10000_ns") == 0)
		return message_ns(2000, 10000, true, messages);
	if (strcmp(name, "keys_65000_ns") == 0)
		return message_ns(POOL_WINDOW_MAX, MANY_KEYS, false, messages);
	return longest_step_ms();
}

/* The memory first: freed memory of other cases would be used again. */
int main(int argc, char **argv)
{
	static const char *const names[] = {"session_bytes", "no_key_ns", "no_key_wide_ns",
		"keys_1000_ns", "throttled_10000_ns", "keys_65000_ns", "longest_step_ms"};
	uint64_t messages = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
	const char *before = "{";
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (argc > 2 && strcmp(argv[2], names[i]) != 0)
			continue;
		printf("%s\"%s\": %.1f", before, names[i], cost(names[i], messages));
		before = ", ";
	}
	puts("}");
	return 0;
}
