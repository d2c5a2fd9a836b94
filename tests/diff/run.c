#include "diff/run.h"

#include "sim/fail.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PATIENCE_MS 2000 /* for events that are expected */
#define PACE_MS     2    /* between two requests for counts */
#define OBSERVER    SCRIPT_CONNECTIONS

struct run {
	struct side side;
	struct script *script;
	struct client clients[SCRIPT_CONNECTIONS + 1]; /* the last one observes */
	struct events *events;                         /* of the current step */
	struct events *seen;                           /* by the observer */
	char (*tokens)[256];
	struct random random;
	struct broker_watch watch;
	mtime now;
};

static mtime now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (mtime)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---------- a step ---------- */

static void receive_all(struct run *run)
{
	for (size_t i = 0; i <= SCRIPT_CONNECTIONS; i++)
		if (run->clients[i].peer || run->clients[i].fd >= 0)
			client_receive(&run->clients[i]);
}

static void wait_for_any(struct run *run, int timeout_ms)
{
	struct client *open[SCRIPT_CONNECTIONS + 1];
	size_t count = 0;

	for (size_t i = 0; i <= SCRIPT_CONNECTIONS; i++)
		if (run->clients[i].fd >= 0)
			open[count++] = &run->clients[i];
	clients_wait(open, count, timeout_ms);
}

static void await_events(struct run *run, const struct step *expected)
{
	mtime deadline = now_ms() + PATIENCE_MS;

	receive_all(run);
	while (run->events->count < expected->events->count && now_ms() < deadline) {
		wait_for_any(run, 100);
		receive_all(run);
	}
}

/* Let all messages with a TTL expire. None of them is in a consumed queue. */
static void let_expire(struct run *run)
{
	struct broker *fake = run->side.fake;
	mtime deadline = run->now + MTIME_MINUTE;

	while (broker_deadline(fake) < deadline) {
		run->now = broker_deadline(fake);
		broker_set_time(fake, run->now);
		broker_work(fake, true);
	}
	receive_all(run);
}

/* ---------- counts ---------- */

/* The observer's channel for a queue. A request for a missing queue closes it. */
static uint16_t observing_channel(struct client *observer, uint8_t queue)
{
	amqp_channel_open_t open = {0};

	if (!observer->channels[queue + 1].open)
		client_send(observer, queue + 1, AMQP_CHANNEL_OPEN_METHOD, &open);
	observer->channels[queue + 1].open = true;
	return queue + 1;
}

static void ask_counts(struct run *run)
{
	struct client *observer = &run->clients[OBSERVER];

	for (uint8_t i = 0; i < SCRIPT_QUEUES; i++)
		perform_declare(observer, observing_channel(observer, i), run->script, i, NULL);
	client_flush(observer);
}

/* True: all queues have answered. */
static bool read_counts(struct run *run, char counts[][COUNT_SIZE])
{
	size_t answers = 0;

	for (size_t i = 0; i < run->seen->count; i++) {
		const struct event *event = &run->seen->list[i];

		if (strstr(event->text, "OPEN"))
			continue;
		snprintf(counts[event->channel - 1], COUNT_SIZE, "%s", event->text);
		answers++;
	}
	return answers >= SCRIPT_QUEUES;
}

static void count(struct run *run, char counts[][COUNT_SIZE])
{
	mtime deadline = now_ms() + PATIENCE_MS;

	events_clear(run->seen);
	ask_counts(run);
	receive_all(run);
	while (!read_counts(run, counts) && now_ms() < deadline) {
		wait_for_any(run, 100);
		receive_all(run);
	}
}

static void await_counts(struct run *run, struct step *step, const struct step *expected)
{
	mtime deadline = now_ms() + PATIENCE_MS;

	count(run, step->counts);
	while (expected && memcmp(step->counts, expected->counts, sizeof step->counts) &&
		now_ms() < deadline) {
		wait_for_any(run, PACE_MS);
		count(run, step->counts);
	}
}

/* ---------- a run ---------- */

static void do_step(struct run *run, struct step *step, const struct step *expected)
{
	const struct script *script = run->script;

	for (size_t i = 0; i < SCRIPT_CONNECTIONS; i++)
		run->clients[i].step++;
	for (size_t i = step->first; i < step->end; i++)
		if (!script->left_out[i])
			step->performed[i - step->first] =
				perform(script, run->clients, &script->commands[i]);
	for (size_t i = 0; i < SCRIPT_CONNECTIONS; i++)
		client_flush(&run->clients[i]);
	if (run->side.fake) /* a closed socket feeds nothing */
		broker_work(run->side.fake, true);
	receive_all(run);
	if (run->side.fake)
		let_expire(run);
	else
		await_events(run, expected);
	await_counts(run, step, expected);
	events_sort(run->events);
}

static size_t step_end(const struct script *script, size_t first)
{
	size_t end = first + 1;

	while (end < script->count && script->commands[end].joined)
		end++;
	return end;
}

static struct step *begin_step(struct run *run, struct trace *trace, size_t first)
{
	struct step *step = calloc(1, sizeof *step);

	sim_require(step && (step->events = calloc(1, sizeof *step->events)), "out of memory");
	step->first = first;
	step->end = step_end(run->script, first);
	trace->steps[trace->count++] = step;
	run->events = step->events;
	for (size_t i = 0; i < SCRIPT_CONNECTIONS; i++)
		run->clients[i].events = step->events;
	return step;
}

static void open_run(struct run *run)
{
	run->seen = calloc(1, sizeof *run->seen);
	run->tokens = calloc(SCRIPT_COMMANDS + 1, sizeof *run->tokens);
	sim_require(run->seen && run->tokens, "out of memory");
	for (uint8_t i = 0; i <= SCRIPT_CONNECTIONS; i++) {
		client_init(&run->clients[i], &run->side, run->seen, i);
		run->clients[i].tokens = run->tokens;
		run->clients[i].token_count = SCRIPT_COMMANDS + 1;
	}
	client_connect(&run->clients[OBSERVER]);
}

static void close_run(struct run *run)
{
	for (size_t i = 0; i <= SCRIPT_CONNECTIONS; i++)
		client_forget(&run->clients[i]);
	events_clear(run->seen);
	free(run->seen);
	free(run->tokens);
}

static void ignore_stored(void *ctx, uint64_t instance, const struct copy_facts *facts,
	const char *queue, struct text body)
{
	(void)ctx, (void)instance, (void)facts, (void)queue, (void)body;
}

static void ignore_settled(void *ctx, uint64_t instance, bool acked, bool requeued)
{
	(void)ctx, (void)instance, (void)acked, (void)requeued;
}

static void ignore_confirm(void *ctx, uint64_t instance, enum publish_fate fate)
{
	(void)ctx, (void)instance, (void)fate;
}

static void ignore_delivered(
	void *ctx, uint64_t instance, uint64_t tag, const struct broker_connection *connection)
{
	(void)ctx, (void)instance, (void)tag, (void)connection;
}

static void ignore_limit(void *ctx, uint64_t instance)
{
	(void)ctx, (void)instance;
}

static void sum_up(struct trace *trace)
{
	trace->events = 0;
	for (size_t i = 0; i < trace->count; i++)
		trace->events += trace->steps[i]->events->count + SCRIPT_QUEUES;
}

void run_on_fake(struct script *script, enum broker_release release, run_choose *choose, void *ctx,
	struct trace *ret)
{
	struct run *run = calloc(1, sizeof *run);
	size_t first = 0;

	sim_require(run, "out of memory");
	*ret = (struct trace){0};
	run->script = script;
	run->now = MTIME_SECOND;
	run->watch = (struct broker_watch){ignore_stored, ignore_settled, ignore_confirm,
		ignore_delivered, ignore_limit, NULL};
	random_init(&run->random, 1);
	run->side.fake = broker_new(&run->random, &run->watch);
	snprintf(run->side.name, sizeof run->side.name, "the fake broker");
	broker_set_release(run->side.fake, release);
	broker_answer_mistakes(run->side.fake);
	broker_set_time(run->side.fake, run->now);
	open_run(run);
	while (first < script->count || (choose && choose(ctx, script, run->clients))) {
		struct step *step = begin_step(run, ret, first);

		do_step(run, step, NULL);
		first = step->end;
	}
	close_run(run);
	broker_free(run->side.fake);
	free(run);
	sum_up(ret);
}

static void delete_queues(struct run *run)
{
	struct client *observer = &run->clients[OBSERVER];
	mtime deadline = now_ms() + 10000;
	size_t answers = 0;

	for (size_t i = 0; i < SCRIPT_CONNECTIONS; i++)
		client_drop(&run->clients[i]);
	events_clear(run->seen);
	for (uint8_t i = 0; i < SCRIPT_QUEUES; i++) {
		char name[QUEUE_NAME_MAX];
		amqp_queue_delete_t delete_it = {0};

		perform_queue_name(run->script, i, name);
		delete_it.queue = amqp_cstring_bytes(name);
		client_send(observer, observing_channel(observer, i), AMQP_QUEUE_DELETE_METHOD,
			&delete_it);
	}
	client_flush(observer);
	while (answers < SCRIPT_QUEUES && now_ms() < deadline) {
		wait_for_any(run, 100);
		receive_all(run);
		answers = 0;
		for (size_t i = 0; i < run->seen->count; i++)
			answers += strstr(run->seen->list[i].text, "OPEN") == NULL;
	}
}

void run_on_port(struct script *script, int port, const char *release, const struct trace *expected,
	struct trace *ret)
{
	struct run *run = calloc(1, sizeof *run);

	sim_require(run, "out of memory");
	*ret = (struct trace){0};
	run->script = script;
	run->side.port = port;
	run->side.release = release;
	snprintf(run->side.name, sizeof run->side.name, "the broker on port %d", port);
	open_run(run);
	delete_queues(run);
	for (size_t i = 0; i < expected->count; i++) {
		struct step *step = begin_step(run, ret, expected->steps[i]->first);

		do_step(run, step, expected->steps[i]);
		if (trace_compare(expected, ret) <= i)
			break;
	}
	delete_queues(run);
	close_run(run);
	free(run);
	sum_up(ret);
}
