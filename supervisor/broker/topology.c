#include "broker/topology.h"

#include "broker/promise.h"

#include <stdio.h>

#define CODE_ACCESS_REFUSED 403
#define CODE_NOT_FOUND      404

void topology_init(struct topology *topology, struct text queue, struct text dead_letter,
	enum declare declare, const struct retry_plan *retry)
{
	*topology = (struct topology){.queue = queue,
		.dead_letter = dead_letter,
		.retry = retry,
		.declare = declare,
		.step = TOPOLOGY_MOST};
}

static bool is_done(const struct topology *topology)
{
	return topology->step >= TOPOLOGY_RETRY + topology->retry->count;
}

static mtime current_delay(const struct topology *topology)
{
	return topology->retry->delays[topology->step - TOPOLOGY_RETRY];
}

/* Of a step that is not done; empty: there is none. */
static struct text current_queue(struct topology *topology)
{
	if (topology->step == TOPOLOGY_QUEUE)
		return topology->queue;
	if (topology->step == TOPOLOGY_DEAD_LETTER)
		return topology->dead_letter;
	return retry_queue_name(
		topology->queue, current_delay(topology), topology->name, sizeof topology->name);
}

static bool is_wanted(struct topology *topology)
{
	if (topology->step == TOPOLOGY_QUEUE)
		return topology->declare != DECLARE_OFF;
	return current_queue(topology).len > 0 && !topology->in_use;
}

/* A queue of ours, with these arguments on top of what all of them have. */
static void make(struct connection *connection, uint16_t channel, struct text name,
	const struct amqp_argument *more, size_t count)
{
	struct amqp_argument arguments[AMQP_ARGUMENTS_MAX] = {
		{"x-queue-type", "quorum", 0},
		/* The largest that 3.10 and 4 both take: -1 drops at the first return on 3.10. */
		{"x-delivery-limit", NULL, INT32_MAX},
	};
	struct amqp_queue queue = {
		.name = name, .durable = true, .arguments = arguments, .argument_count = 2 + count};

	for (size_t i = 0; i < count; i++)
		arguments[2 + i] = more[i];
	channel_declare_queue(connection, channel, &queue);
}

void topology_make(struct connection *connection, uint16_t channel, struct text name)
{
	make(connection, channel, name, NULL, 0);
}

mtime topology_jitter(mtime delay, unsigned jitter)
{
	return delay / 100 * jitter;
}

void topology_make_retry(struct connection *connection, uint16_t channel, struct text name,
	struct text queue, mtime delay, unsigned jitter)
{
	char target[RETRY_QUEUE_NAME_MAX + 1];
	const struct amqp_argument more[] = {
		/* A message has an expiration of its own, which is never longer. */
		{"x-message-ttl", NULL, (delay + topology_jitter(delay, jitter)) / MTIME_MS},
		{"x-dead-letter-exchange", "", 0},
		{"x-dead-letter-routing-key", target, 0},
		/* Else what expires is lost where the pool's queue does not take it. */
		{"x-dead-letter-strategy", "at-least-once", 0},
		{"x-overflow", "reject-publish", 0},
	};

	snprintf(target, sizeof target, "%.*s", TEXT_ARGS(queue));
	make(connection, channel, name, more, sizeof more / sizeof *more);
}

static void make_current(struct topology *topology, struct connection *connection, uint16_t channel)
{
	if (topology->step < TOPOLOGY_RETRY)
		topology_make(connection, channel, current_queue(topology));
	else
		topology_make_retry(connection, channel, current_queue(topology), topology->queue,
			current_delay(topology), topology->retry->jitter);
}

static bool go_on(struct topology *topology, struct connection *connection, uint16_t channel)
{
	while (!is_done(topology) && !is_wanted(topology))
		topology->step++;
	if (is_done(topology))
		return true;
	struct amqp_queue look = {.name = current_queue(topology), .passive = true};
	if (topology->sights[topology->step] == TOPOLOGY_MISSING)
		make_current(topology, connection, channel);
	else
		channel_declare_queue(connection, channel, &look);
	return false;
}

bool topology_begin(
	struct topology *topology, struct connection *connection, uint16_t channel, bool in_use)
{
	topology->in_use = in_use;
	topology->step = TOPOLOGY_QUEUE;
	return go_on(topology, connection, channel);
}

static void see(struct topology *topology, enum topology_sight sight)
{
	enum topology_sight *seen = &topology->sights[topology->step];

	if (*seen != sight)
		topology->is_promise_told = false;
	*seen = sight;
}

static enum topology_sight sight_of_answer(enum topology_sight before)
{
	bool is_ours = before == TOPOLOGY_MISSING || before == TOPOLOGY_MADE;

	return is_ours ? TOPOLOGY_MADE : TOPOLOGY_THERE;
}

bool topology_next(struct topology *topology, struct connection *connection, uint16_t channel)
{
	if (is_done(topology))
		return true;
	see(topology, sight_of_answer(topology->sights[topology->step]));
	topology->step++;
	return go_on(topology, connection, channel);
}

static struct promise promise_of(const struct topology *topology)
{
	struct promise promise = {
		.queue = topology->queue,
		.dead_letter = topology->dead_letter,
		.is_queue_made = topology->sights[TOPOLOGY_QUEUE] == TOPOLOGY_MADE,
		.is_dead_letter_made = topology->sights[TOPOLOGY_DEAD_LETTER] == TOPOLOGY_MADE,
	};

	for (size_t i = 0; i < topology->retry->count; i++)
		promise.retry_queues += topology->sights[TOPOLOGY_RETRY + i] != TOPOLOGY_MADE;
	return promise;
}

static void tell_promise(struct topology *topology, const struct notes *notes)
{
	struct promise promise = promise_of(topology);
	struct buf words;
	enum log_level level;

	buf_init(&words, PROMISE_WORDS_MAX);
	level = promise_add_words(&promise, &words);
	if (buf_len(&words) > 0)
		notes_tell(notes, level, "%.*s", TEXT_ARGS(buf_text(&words)));
	buf_release(&words);
	topology->is_promise_told = true;
}

void topology_proved(struct topology *topology, const struct notes *notes)
{
	topology->complained = 0;
	if (!topology->is_promise_told)
		tell_promise(topology, notes);
}

/* Missing, and ours to make on the next channel. */
static bool is_to_be_made(const struct topology *topology, uint16_t code)
{
	if (is_done(topology) || code != CODE_NOT_FOUND)
		return false;
	if (topology->step == TOPOLOGY_QUEUE && topology->declare != DECLARE_ON)
		return false;
	return topology->sights[topology->step] != TOPOLOGY_MISSING;
}

/* At full volume once; a queue that stays missing for a night is not worth a line every few
 * seconds. */
static void complain(struct topology *topology, struct text queue, uint16_t code, struct text words,
	const struct notes *notes)
{
	enum log_level level = code == topology->complained ? LOG_DEBUG : LOG_WARN;

	topology->complained = code;
	if (code == CODE_NOT_FOUND)
		notes_tell(notes, level,
			"queue \"%.*s\" does not exist; looking again until it does (declare it, "
			"or set "
			"declare: on)",
			TEXT_ARGS(queue));
	else if (code == CODE_ACCESS_REFUSED)
		notes_tell(notes, level,
			"the broker does not let us %s queue \"%.*s\" (%.*s); not consuming, asking "
			"again (give the user the right to %s%s)",
			is_done(topology) ? "read" : "declare", TEXT_ARGS(queue), TEXT_ARGS(words),
			is_done(topology) ? "read it" : "configure it, or ",
			is_done(topology)
				? ""
				: "declare the queue for it with the arguments in docs/retries.md");
	else
		notes_tell(notes, level,
			"the broker closed the channel of queue \"%.*s\" (%u %.*s); opening it "
			"again",
			TEXT_ARGS(queue), code, TEXT_ARGS(words));
}

/* What is refused now is looked for again. */
static enum topology_sight sight_of_close(
	const struct topology *topology, uint16_t code, bool to_be_made)
{
	enum topology_sight before = topology->sights[topology->step];

	if (to_be_made)
		return TOPOLOGY_MISSING;
	return code == CODE_NOT_FOUND || before == TOPOLOGY_MISSING ? TOPOLOGY_UNSEEN : before;
}

bool topology_closed(
	struct topology *topology, uint16_t code, struct text words, const struct notes *notes)
{
	struct text queue = is_done(topology) ? topology->queue : current_queue(topology);
	bool to_be_made = is_to_be_made(topology, code);

	if (!is_done(topology))
		see(topology, sight_of_close(topology, code, to_be_made));
	topology->step = TOPOLOGY_MOST;
	if (to_be_made)
		return true;
	complain(topology, queue, code, words, notes);
	return false;
}
