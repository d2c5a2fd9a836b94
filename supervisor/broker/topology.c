#include "broker/topology.h"

#include "base/utf8.h"
#include "broker/durability_note.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

void topology_init(struct topology *topology, struct text queue, struct text dead_letter,
	enum declare declare, const struct retry_plan *retry)
{
	*topology = (struct topology){.queue = queue,
		.dead_letter = dead_letter,
		.retry = retry,
		.declare = declare,
		.refused_binding = SIZE_MAX,
		.skipped_binding = SIZE_MAX,
		.step = TOPOLOGY_MAX};
}

void topology_set_settings(struct topology *topology, const struct queue_settings *settings)
{
	topology->settings = settings;
}

bool topology_has_arguments(const struct topology *topology)
{
	return topology->declare == DECLARE_ON && topology->settings &&
	       topology->settings->arguments && *topology->settings->arguments;
}

/* Begin with what we would declare. */
static void reset_probe(struct topology *topology)
{
	if (topology->is_ordered)
		queue_probe_init(topology->probe);
	else
		queue_probe_init_unordered(topology->probe);
	if (topology_has_arguments(topology))
		queue_settings_add(topology->settings, topology->probe);
}

void topology_set_probe(struct topology *topology, struct queue_probe *probe, bool is_ordered)
{
	topology->probe = probe;
	topology->is_ordered = is_ordered;
	reset_probe(topology);
}

void topology_on_connected(struct topology *topology)
{
	topology->refused_binding = topology->skipped_binding;
	topology->skipped_binding = SIZE_MAX;
	topology->is_compared = false;
}

enum queue_order topology_order(const struct topology *topology)
{
	return topology->is_ordered ? topology->probe->order : QUEUE_ORDER_UNKNOWN;
}

bool topology_has_quorum_queue(const struct topology *topology)
{
	enum queue_order order = topology_order(topology);

	return order == QUEUE_ORDER_SINGLE || order == QUEUE_ORDER_ALONE ||
	       topology->sights[TOPOLOGY_QUEUE] == TOPOLOGY_MADE;
}

static bool is_done(const struct topology *topology)
{
	return topology->step >= TOPOLOGY_RETRY + topology->retry->count;
}

static mtime current_delay(const struct topology *topology)
{
	return topology->retry->delays[topology->step - TOPOLOGY_RETRY];
}

/* The queue of this step, which is not after the last one. Empty: no queue. */
static struct text current_queue(struct topology *topology)
{
	if (topology->step == TOPOLOGY_QUEUE)
		return topology->queue;
	if (topology->step == TOPOLOGY_DEAD_LETTER)
		return topology->dead_letter;
	return retry_queue_name(
		topology->queue, current_delay(topology), topology->name, sizeof topology->name);
}

static bool has_check(struct topology *topology)
{
	if (topology->step == TOPOLOGY_QUEUE)
		return topology->declare != DECLARE_OFF || topology->is_ordered;
	return current_queue(topology).len > 0 && !topology->in_use;
}

/* Declare a queue of ours, with arguments beside those that all have. */
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
		/* Each message has its own expiration, which is never longer. */
		{"x-message-ttl", NULL, (delay + topology_jitter(delay, jitter)) / MTIME_MS},
		{"x-dead-letter-exchange", "", 0},
		{"x-dead-letter-routing-key", target, 0},
		/* Without it an expired message that the pool's queue refuses is lost. */
		{"x-dead-letter-strategy", "at-least-once", 0},
		{"x-overflow", "reject-publish", 0},
	};

	snprintf(target, sizeof target, "%.*s", TEXT_ARGS(queue));
	make(connection, channel, name, more, sizeof more / sizeof *more);
}

/* The pool's own queue, without sessions. */
static void make_own(struct topology *topology, struct connection *connection, uint16_t channel)
{
	struct probe_argument wanted[QUEUE_SETTINGS_ARGUMENTS_MAX];
	struct amqp_argument more[QUEUE_SETTINGS_ARGUMENTS_MAX];
	char *const *pair = topology->settings ? topology->settings->arguments : NULL;
	size_t count = 0;

	for (; pair && *pair; pair++) {
		assert(count < QUEUE_SETTINGS_ARGUMENTS_MAX);
		if (!queue_settings_read_argument(*pair, &wanted[count]))
			continue;
		more[count] = queue_probe_argument(&wanted[count]);
		count++;
	}
	make(connection, channel, topology->queue, more, count);
}

/* The queue of a pool with sessions. */
static void make_ordered(struct topology *topology, struct connection *connection, uint16_t channel)
{
	reset_probe(topology);
	queue_probe_declare(topology->probe, connection, channel, topology->queue);
	topology->is_probing = true;
}

static bool declare_next(struct topology *topology, struct connection *connection, uint16_t channel)
{
	while (!is_done(topology) && !has_check(topology))
		topology->step++;
	if (is_done(topology))
		return true;
	struct amqp_queue check = {.name = current_queue(topology), .passive = true};
	if (topology->sights[topology->step] != TOPOLOGY_MISSING)
		channel_declare_queue(connection, channel, &check);
	else if (topology->step == TOPOLOGY_QUEUE && topology->is_ordered)
		make_ordered(topology, connection, channel);
	else if (topology->step == TOPOLOGY_QUEUE)
		make_own(topology, connection, channel);
	else if (topology->step < TOPOLOGY_RETRY)
		topology_make(connection, channel, check.name);
	else
		topology_make_retry(connection, channel, check.name, topology->queue,
			current_delay(topology), topology->retry->jitter);
	return false;
}

/* Send the next request for a binding; false: there is none. The queue exists. A binding that is
 * there is declared again: that changes nothing. */
static bool bind_next(struct topology *topology, struct connection *connection, uint16_t channel)
{
	struct queue_binding binding;

	topology->is_binding =
		topology->declare == DECLARE_ON && topology->settings && !topology->in_use &&
		topology->bound < topology->refused_binding &&
		queue_settings_binding(topology->settings, topology->bound, &binding);
	if (!topology->is_binding)
		return false;
	if (binding.type.len > 0 && !topology->has_exchange)
		channel_declare_exchange(
			connection, channel, binding.exchange, binding.type, false, true);
	else
		channel_bind_queue_by(connection, channel, topology->queue, binding.exchange,
			binding.routing_key, binding.headers, binding.header_count);
	return true;
}

/* The answer to bind_next came. */
static void end_binding_step(struct topology *topology)
{
	struct queue_binding binding;

	if (queue_settings_binding(topology->settings, topology->bound, &binding) &&
		binding.type.len > 0 && !topology->has_exchange) {
		topology->has_exchange = true;
		return;
	}
	topology->has_exchange = false;
	topology->bound++;
}

/* None is left to request. Without a refusal, the next one is news. */
static void end_bindings(struct topology *topology)
{
	if (topology->refused_binding == SIZE_MAX)
		channel_refusal_clear(&topology->binding);
}

/* Where the exchange exists, and was declared in another way. RabbitMQ 4 refuses an unknown type
 * with the same code: "PRECONDITION_FAILED - unknown exchange type 'TYPE'". */
static const char *binding_remedy(
	const struct queue_binding *binding, uint16_t code, struct text reason)
{
	bool is_another = binding->type.len > 0 && code == CODE_PRECONDITION_FAILED &&
			  text_starts(reason, TEXT("PRECONDITION_FAILED - inequivalent arg '"));

	return is_another ? " (it exists in another form: leave out type, and it is used as it is)"
			  : "";
}

/* Warn once of the same refusal, not on each connection. A text that is too long is cut. */
static void log_binding_refusal(
	struct topology *topology, uint16_t code, struct text reason, const struct channel_log *log)
{
	struct queue_binding binding = {.header_count = 0};
	char text[CHANNEL_REFUSAL_SIZE];
	struct buf sentence;
	bool is_new;

	queue_settings_binding(topology->settings, topology->bound, &binding);
	buf_init(&sentence, SIZE_MAX);
	buf_printf(&sentence, "queue \"%.*s\" cannot be bound to exchange \"%.*s\": %u %s%s",
		TEXT_ARGS(topology->queue), TEXT_ARGS(binding.exchange), (unsigned)code,
		utf8_shown(reason).text, binding_remedy(&binding, code, reason));
	snprintf(text, sizeof text, "%.*s", TEXT_ARGS(buf_text(&sentence)));
	buf_release(&sentence);
	is_new = channel_refusal_set_text(&topology->binding, "a binding is refused", text);
	channel_log_line(log, is_new ? LOG_WARN : LOG_DEBUG,
		"%s; consuming without that binding and those after it, until the next "
		"connection",
		text);
}

static void on_binding_refused(
	struct topology *topology, uint16_t code, struct text reason, const struct channel_log *log)
{
	log_binding_refusal(topology, code, reason, log);
	topology->is_binding = false;
	topology->refused_binding = topology->bound;
	topology->step = TOPOLOGY_MAX;
}

bool topology_begin(
	struct topology *topology, struct connection *connection, uint16_t channel, bool in_use)
{
	topology->in_use = in_use;
	topology->is_probing = false;
	topology->is_binding = topology->has_exchange = false;
	topology->bound = 0;
	topology->step = TOPOLOGY_QUEUE;
	return declare_next(topology, connection, channel);
}

static void see(struct topology *topology, enum topology_sight sight)
{
	enum topology_sight *seen = &topology->sights[topology->step];

	if (*seen != sight)
		topology->is_note_logged = false;
	*seen = sight;
}

/* ---------- what differs from queue_arguments ---------- */

/* A text that is too long is cut. */
static void set_difference(struct topology *topology, const char *kind, const struct buf *sentence)
{
	char text[CHANNEL_REFUSAL_SIZE];

	snprintf(text, sizeof text, "%.*s", TEXT_ARGS(buf_text(sentence)));
	if (channel_refusal_set_text(&topology->difference, kind, text))
		topology->is_difference_logged = false;
}

/* The broker accepted: the probe has the arguments of the queue. */
static void compare(struct topology *topology)
{
	struct buf differences, sentence;

	topology->is_compared = true;
	if (!topology_has_arguments(topology))
		return;
	buf_init(&differences, SIZE_MAX);
	buf_init(&sentence, SIZE_MAX);
	queue_settings_append_differences(topology->settings, topology->probe, &differences);
	buf_printf(&sentence,
		"queue \"%.*s\" exists with other arguments: %.*s (they cannot be changed: adapt "
		"queue_arguments, or declare another queue and move the messages there)",
		TEXT_ARGS(topology->queue), TEXT_ARGS(buf_text(&differences)));
	if (buf_len(&differences) > 0)
		set_difference(topology, "its queue exists with other arguments", &sentence);
	else
		channel_refusal_clear(&topology->difference);
	buf_release(&sentence);
	buf_release(&differences);
}

/* The broker does not show the arguments, or the queue is of another type. */
static void end_comparison(struct topology *topology, uint16_t code, struct text reason)
{
	struct buf sentence;

	topology->is_compared = true;
	if (!topology_has_arguments(topology))
		return;
	buf_init(&sentence, SIZE_MAX);
	buf_printf(&sentence, "queue \"%.*s\" cannot be compared with queue_arguments: ",
		TEXT_ARGS(topology->queue));
	if (queue_probe_is_classic(reason))
		buf_append_text(
			&sentence, TEXT("it is a classic queue; set declare: passive, or leave out "
					"queue_arguments"));
	else
		buf_printf(&sentence, "%u %s", (unsigned)code, utf8_shown(reason).text);
	set_difference(topology, "its queue cannot be compared with queue_arguments", &sentence);
	buf_release(&sentence);
}

/* Warn once of the same difference, not on each connection. */
static void log_difference(struct topology *topology, const struct channel_log *log)
{
	if (!topology->difference.kind || topology->is_difference_logged)
		return;
	topology->is_difference_logged = true;
	channel_log_line(log, LOG_WARN, "%s; consuming it as it is", topology->difference.text);
}

/* The queue exists, and it is open how it was declared. */
static bool is_to_be_probed(const struct topology *topology)
{
	if (topology->step != TOPOLOGY_QUEUE || !topology->probe || topology->is_probing ||
		topology->in_use)
		return false;
	if (topology->is_ordered)
		return topology->probe->order != QUEUE_ORDER_HIDDEN;
	return !topology->is_compared && topology->sights[TOPOLOGY_QUEUE] != TOPOLOGY_MISSING;
}

bool topology_next(struct topology *topology, struct connection *connection, uint16_t channel)
{
	if (is_done(topology))
		return true;
	if (topology->is_binding) {
		end_binding_step(topology);
		if (bind_next(topology, connection, channel))
			return false;
		end_bindings(topology);
		topology->step++;
		return declare_next(topology, connection, channel);
	}
	if (is_to_be_probed(topology)) {
		queue_probe_declare(topology->probe, connection, channel, topology->queue);
		topology->is_probing = true;
		return false;
	}
	if (topology->is_probing) {
		queue_probe_accepted(topology->probe);
		compare(topology);
	}
	topology->is_probing = false;
	enum topology_sight before = topology->sights[topology->step];
	bool is_ours = before == TOPOLOGY_MISSING || before == TOPOLOGY_MADE;
	see(topology, is_ours ? TOPOLOGY_MADE : TOPOLOGY_THERE);
	if (topology->step == TOPOLOGY_QUEUE && bind_next(topology, connection, channel))
		return false;
	topology->step++;
	return declare_next(topology, connection, channel);
}

/* One line for each finding. */
static void log_order(struct topology *topology, enum log_level level, const char *text,
	const struct channel_log *log)
{
	enum queue_order order = topology_order(topology);

	channel_log_line(log, order == topology->logged_order ? LOG_DEBUG : level,
		"queue \"%.*s\" %s", TEXT_ARGS(topology->queue), text);
	topology->logged_order = order;
}

/* How the queue keeps the order; not news for a queue with a single active consumer. */
static void log_way(struct topology *topology, const struct channel_log *log)
{
	if (topology_order(topology) == QUEUE_ORDER_SINGLE)
		log_order(topology, LOG_DEBUG, "has a single active consumer", log);
	else if (topology_order(topology) == QUEUE_ORDER_ALONE)
		log_order(topology, LOG_INFO,
			"has no single active consumer: sessions keep their order, but what was "
			"acked just before a channel closes may run again, and each channel "
			"waits until the queue has no consumer (to change that, declare a queue "
			"with x-single-active-consumer and move the messages there: "
			"docs/ordering.md)",
			log);
	else if (topology_order(topology) == QUEUE_ORDER_HIDDEN)
		log_order(topology, LOG_WARN,
			"does not show how it was declared; taken for a quorum queue without a "
			"single active consumer (give the user the right to configure it)",
			log);
}

void topology_on_consuming(struct topology *topology, const struct channel_log *log)
{
	struct durability_note note = {
		.queue = topology->queue,
		.dead_letter = topology->dead_letter,
		.is_queue_made = topology->sights[TOPOLOGY_QUEUE] == TOPOLOGY_MADE,
		.is_dead_letter_made = topology->sights[TOPOLOGY_DEAD_LETTER] == TOPOLOGY_MADE,
	};
	struct buf text;
	enum log_level level;

	channel_refusal_clear(&topology->refusal);
	log_way(topology, log);
	log_difference(topology, log);
	if (topology->is_note_logged)
		return;
	topology->is_note_logged = true;
	for (size_t i = 0; i < topology->retry->count; i++)
		note.retry_queues += topology->sights[TOPOLOGY_RETRY + i] != TOPOLOGY_MADE;
	buf_init(&text, DURABILITY_NOTE_MAX);
	level = durability_note_append(&note, &text);
	if (buf_len(&text) > 0)
		channel_log_line(log, level, "%.*s", TEXT_ARGS(buf_text(&text)));
	buf_release(&text);
}

/* The queue is missing, and is made on the next channel. */
static bool is_to_be_made(const struct topology *topology, uint16_t code)
{
	if (is_done(topology) || code != CODE_NOT_FOUND)
		return false;
	if (topology->step == TOPOLOGY_QUEUE && topology->declare != DECLARE_ON)
		return false;
	return topology->sights[topology->step] != TOPOLOGY_MISSING;
}

static enum refused_operation current_operation(const struct topology *topology)
{
	if (is_done(topology))
		return REFUSED_CONSUME;
	if (topology->sights[topology->step] != TOPOLOGY_MISSING)
		return REFUSED_CHECK;
	return topology->step < TOPOLOGY_RETRY ? REFUSED_DECLARE : REFUSED_DECLARE_RETRY;
}

/* Warn once: a queue may be missing for a whole night, and is checked every few seconds. */
static void log_refusal(
	struct topology *topology, uint16_t code, struct text reason, const struct channel_log *log)
{
	struct text queue = is_done(topology) ? topology->queue : current_queue(topology);
	bool is_new = channel_refusal_set(
		&topology->refusal, current_operation(topology), queue, code, reason);

	channel_log_line(log, is_new ? LOG_WARN : LOG_DEBUG, "%s; not consuming, retrying",
		topology->refusal.text);
}

void topology_refuse_stream(struct topology *topology, const struct channel_log *log)
{
	char text[CHANNEL_REFUSAL_SIZE];
	bool is_new;

	snprintf(text, sizeof text,
		"queue \"%.*s\" is a stream: it would not deliver what came while nothing consumed "
		"it, and acks remove nothing from it; declare a quorum queue instead",
		TEXT_ARGS(topology->queue));
	is_new = channel_refusal_set_text(&topology->refusal, "the queue is a stream", text);
	channel_log_line(log, is_new ? LOG_ERROR : LOG_DEBUG, "%s; not consuming, retrying", text);
}

static bool on_probe_refused(
	struct topology *topology, uint16_t code, struct text reason, const struct channel_log *log)
{
	bool is_next = queue_probe_refused(topology->probe, code, reason);
	enum queue_order order = topology->probe->order;

	topology->is_probing = false;
	topology->step = TOPOLOGY_MAX;
	if (is_next)
		return true;
	reset_probe(topology);
	topology->probe->order = order;
	if (!topology->is_ordered || order == QUEUE_ORDER_HIDDEN) {
		end_comparison(topology, code, reason);
		return true;
	}
	log_order(topology, LOG_ERROR,
		"is not a quorum queue, and does not keep the order of a session when a channel "
		"is lost; not consuming, checking again until it is one (declare a quorum queue "
		"with x-single-active-consumer and move the messages there: docs/ordering.md)",
		log);
	return false;
}

/* Without sessions the queue is consumed whatever the answer is. */
static bool is_answer_to_probe(const struct topology *topology, uint16_t code)
{
	return topology->is_probing && topology->sights[TOPOLOGY_QUEUE] != TOPOLOGY_MISSING &&
	       (!topology->is_ordered || code == CODE_ACCESS_REFUSED ||
		       code == CODE_PRECONDITION_FAILED);
}

/* It does not exist. */
static void forget_queue(struct topology *topology)
{
	reset_probe(topology);
	channel_refusal_clear(&topology->difference);
	topology->is_compared = false;
}

bool topology_closed(
	struct topology *topology, uint16_t code, struct text reason, const struct channel_log *log)
{
	bool to_be_made = is_to_be_made(topology, code);

	if (topology->is_binding) {
		on_binding_refused(topology, code, reason, log);
		return true;
	}
	if (is_answer_to_probe(topology, code))
		return on_probe_refused(topology, code, reason, log);

	if (topology->probe && topology->step == TOPOLOGY_QUEUE && code == CODE_NOT_FOUND)
		forget_queue(topology);
	if (!to_be_made)
		log_refusal(topology, code, reason, log);
	if (to_be_made)
		see(topology, TOPOLOGY_MISSING);
	else if (!is_done(topology) && /* check it again, also if its declaration was refused */
		 (code == CODE_NOT_FOUND || topology->sights[topology->step] == TOPOLOGY_MISSING))
		see(topology, TOPOLOGY_UNSEEN);
	topology->step = TOPOLOGY_MAX;
	return to_be_made;
}

bool topology_connection_closed(
	struct topology *topology, uint16_t code, struct text reason, const struct channel_log *log)
{
	if (!topology->is_binding || code != CODE_COMMAND_INVALID)
		return false;
	log_binding_refusal(topology, code, reason, log);
	topology->is_binding = false;
	topology->skipped_binding = topology->bound;
	return true;
}
