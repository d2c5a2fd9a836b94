/* The fake broker's dead letters: headers, routes, cycles, and what has nowhere to go. */
#include "amqp/properties.h"
#include "amqp/table.h"
#include "sim/broker_internal.h"

#include <stdlib.h>

#define DEATHS_MAX 64
#define HELD_FOR   (180 * MTIME_SECOND) /* then it is retried */

/* A dead letter while it is made. */
struct death {
	struct broker *broker;
	const struct stored *stored;
	const char *reason;
	const struct release *release;
	struct properties properties;
	struct text headers; /* as they were */
	struct text before;  /* what it died of before */
	struct buf *new_headers, *new_properties;
};

static struct text words_in(struct text table, struct text key)
{
	struct table_field field;

	return table_find(table, key, &field) ? field.value : TEXT_NONE;
}

static bool is_event(const struct death *death, const struct table_field *field)
{
	return field->type == 'F' &&
	       text_is(words_in(field->value, TEXT("queue")), queue_name(death->stored->queue)) &&
	       text_is(words_in(field->value, TEXT("reason")), text_from(death->reason));
}

static struct text deaths_of(struct text headers)
{
	struct table_field field;

	if (!table_find(headers, TEXT("x-death"), &field) || field.type != 'A')
		return TEXT_NONE;
	return field.value;
}

static struct text deaths_before(const struct death *death)
{
	if (!death->stored->has_died && !death->release->trusts_deaths)
		return TEXT_NONE;
	return deaths_of(death->headers);
}

/* ---------- headers ---------- */

static void put_routing_keys(const struct death *death, struct buf *out)
{
	struct table_field keys = {.key = TEXT("routing-keys"), .type = 'A'};
	struct table_field one = {.type = 'S', .value = stored_key(death->stored)};
	struct buf *array = scratch_take(&death->broker->scratch, SCRATCH_KEYS);
	struct text rest = TEXT_NONE;
	struct table_field field;

	peer_put_element(array, &one);
	if (table_find(death->headers, TEXT("CC"), &field) && field.type == 'A')
		rest = field.value;
	while (table_next(&rest, false, &field))
		peer_put_element(array, &field);
	keys.value = buf_text(array);
	table_put_field(out, &keys);
}

static void put_new_event(const struct death *death, struct buf *out)
{
	uint64_t seconds = (uint64_t)(death->broker->now / MTIME_SECOND);
	uint8_t time[8];

	for (int i = 0; i < 8; i++)
		time[i] = (uint8_t)(seconds >> (56 - 8 * i));
	table_put_integer(out, TEXT("count"), 1);
	table_put_string(out, TEXT("exchange"), TEXT(""));
	if (properties_has(&death->properties, PROPERTY_EXPIRATION))
		table_put_string(out, TEXT("original-expiration"),
			death->properties.value[PROPERTY_EXPIRATION]);
	table_put_string(out, TEXT("queue"), queue_name(death->stored->queue));
	table_put_string(out, TEXT("reason"), text_from(death->reason));
	put_routing_keys(death, out);
	table_put_field(out,
		&(struct table_field){.key = TEXT("time"), .type = 'T', .value = text_of(time, 8)});
}

/* The event happened before: it counts one more, all else stays. */
static void put_counted_event(struct text event, struct buf *out)
{
	struct table_field field;
	int64_t count;

	while (table_next(&event, true, &field))
		if (text_is(field.key, TEXT("count")) && table_field_integer(&field, &count))
			table_put_integer(out, field.key, count + 1);
		else
			table_put_field(out, &field);
}

static void put_older(const struct death *death, struct buf *array)
{
	struct text rest = death->before;
	struct table_field older[DEATHS_MAX];
	size_t count = 0;

	while (count < DEATHS_MAX && table_next(&rest, false, &older[count]))
		count++;
	for (size_t i = 0; i < count; i++) {
		bool reversed = death->release->reverses_deaths;
		const struct table_field *one = &older[reversed ? count - 1 - i : i];

		if (!is_event(death, one))
			peer_put_element(array, one);
	}
}

static void put_deaths(struct death *death)
{
	struct table_field all = {.key = TEXT("x-death"), .type = 'A'};
	struct table_field latest = {.type = 'F'};
	struct buf *event = scratch_take(&death->broker->scratch, SCRATCH_EVENT);
	struct buf *array = scratch_take(&death->broker->scratch, SCRATCH_ARRAY);
	struct text rest = death->before;
	struct table_field field;
	bool is_known = false;

	while (!is_known && table_next(&rest, false, &field))
		is_known = is_event(death, &field);
	if (is_known)
		put_counted_event(field.value, event);
	else
		put_new_event(death, event);
	latest.value = buf_text(event);
	peer_put_element(array, &latest);
	put_older(death, array);
	all.value = buf_text(array);
	table_put_field(death->new_headers, &all);
}

struct death_keys {
	struct text exchange, queue, reason;
};

static const struct death_keys first_keys = {
	TEXT("x-first-death-exchange"), TEXT("x-first-death-queue"), TEXT("x-first-death-reason")};
static const struct death_keys last_keys = {
	TEXT("x-last-death-exchange"), TEXT("x-last-death-queue"), TEXT("x-last-death-reason")};

static void put_three(const struct death *death, const struct death_keys *keys)
{
	table_put_string(death->new_headers, keys->exchange, TEXT(""));
	table_put_string(death->new_headers, keys->queue, queue_name(death->stored->queue));
	table_put_string(death->new_headers, keys->reason, text_from(death->reason));
}

static bool loses_cc(const struct death *death)
{
	return death->stored->queue->arguments.has_target && !death->release->dead_keep_cc;
}

static bool is_replaced(const struct death *death, struct text key)
{
	return text_is(key, TEXT("x-death")) || (text_is(key, TEXT("CC")) && loses_cc(death)) ||
	       (death->release->has_last_death && text_starts(key, TEXT("x-last-death-")));
}

static void make_headers(struct death *death)
{
	struct text rest = death->headers;
	struct table_field field;

	while (table_next(&rest, true, &field))
		if (!is_replaced(death, field.key))
			table_put_field(death->new_headers, &field);
	put_deaths(death);
	if (death->before.len == 0)
		put_three(death, &first_keys);
	if (death->release->has_last_death)
		put_three(death, &last_keys);
}

/* The expiration is taken off, or it would expire there too. */
static void make(struct death *death)
{
	struct properties properties;

	sim_require(properties_parse(stored_properties(death->stored), &death->properties) == RC_OK,
		"stored properties");
	death->headers = death->properties.value[PROPERTY_HEADERS];
	death->before = deaths_before(death);
	death->new_headers = scratch_take(&death->broker->scratch, SCRATCH_HEADERS);
	death->new_properties = scratch_take(&death->broker->scratch, SCRATCH_PROPERTIES);
	make_headers(death);
	properties = death->properties;
	properties_clear(&properties, PROPERTY_EXPIRATION);
	properties_set(&properties, PROPERTY_HEADERS, buf_text(death->new_headers));
	properties_write(&properties, death->new_properties);
}

/* ---------- where it goes ---------- */

/* True: it died in that queue before, and was not rejected since. */
static bool is_cycle(const struct death *death, const struct queue *queue)
{
	struct text rest = deaths_of(buf_text(death->new_headers));
	struct table_field field;

	while (table_next(&rest, false, &field)) {
		if (text_is(words_in(field.value, TEXT("reason")), TEXT("rejected")))
			return false;
		if (text_is(words_in(field.value, TEXT("queue")), queue_name(queue)))
			return true;
	}
	return false;
}

static void choose_keys(const struct death *death, struct route *ret)
{
	const struct queue_arguments *arguments = &death->stored->queue->arguments;

	*ret = (struct route){0};
	if (arguments->has_target) {
		route_add(ret, text_from(arguments->target));
		return;
	}
	route_add(ret, stored_key(death->stored));
	(void)route_add_header(ret, death->headers, TEXT("CC"));
	route_add_array(ret, stored_bcc(death->stored));
}

/* From 4.0 on a dead letter carries a count: how often it was returned with a channel, in this
 * queue and in earlier ones, and how often it was rejected for good. What was returned by
 * basic.reject or nack counts in the queue only. */
static uint32_t returns_to_bring(const struct death *death)
{
	const struct stored *stored = death->stored;

	if (!death->release->keeps_count)
		return 0;
	if (!stored->queue->arguments.quorum)
		return stored->brought;
	return stored->brought + stored->taken_back + (strcmp(death->reason, "rejected") == 0);
}

static size_t send_on(struct broker *broker, const struct death *death)
{
	const struct queue_arguments *arguments = &death->stored->queue->arguments;
	struct incoming incoming = {
		.key = arguments->has_target ? text_from(arguments->target)
					     : stored_key(death->stored),
		.properties = buf_text(death->new_properties),
		.body = stored_body(death->stored),
		.facts = death->stored->facts,
		.bcc = arguments->has_target ? TEXT_NONE : stored_bcc(death->stored),
		.has_died = true,
		.returns = returns_to_bring(death),
	};
	struct route route;
	size_t sent = 0;

	choose_keys(death, &route);
	for (size_t i = 0; i < route.count; i++) {
		struct queue *queue = queue_find(broker, route.keys[i]);

		if (!queue || (strcmp(death->reason, "rejected") && is_cycle(death, queue)))
			continue;
		queue_store(broker, queue, &incoming);
		sent++;
	}
	return sent;
}

static bool try(struct broker *broker, const struct stored *stored, const char *reason)
{
	struct death death = {
		.broker = broker, .stored = stored, .reason = reason, .release = broker->release};
	size_t sent = 0;

	make(&death);
	if (stored->queue->arguments.dead_exchange)
		sent = send_on(broker, &death);
	return sent > 0 || !stored->queue->arguments.at_least_once;
}

void dead_letter(struct broker *broker, struct stored *stored, const char *reason)
{
	struct queue *queue = stored->queue;

	if (!queue->deleted && queue->arguments.dead_letters && !try(broker, stored, reason)) {
		stored->held_for = reason;
		stored->expires = broker->now + HELD_FOR;
		list_append(&queue->held, &stored->place);
		broker->is_changed = true;
		return;
	}
	list_init(&stored->place);
	queue_forget(stored);
}

void dead_try_held(struct broker *broker, struct queue *queue)
{
	struct link *next;

	for (struct link *link = queue->held.next; link != &queue->held; link = next) {
		struct stored *stored = CONTAINER_OF(link, struct stored, place);

		next = link->next;
		if (stored->expires > broker->now)
			continue;
		stored->expires = broker->now + HELD_FOR;
		if (try(broker, stored, stored->held_for))
			queue_forget(stored);
	}
}
