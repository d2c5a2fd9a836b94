#include "broker/queue/queue_probe.h"

#include <stdio.h>

#define REFUSALS_MAX AMQP_ARGUMENTS_MAX

#define KEY_TYPE   "x-queue-type"
#define KEY_SINGLE "x-single-active-consumer"
#define KEY_LIMIT  "x-delivery-limit"

void queue_probe_init(struct queue_probe *probe)
{
	*probe = (struct queue_probe){
		.arguments =
			{
				{.kind = PROBE_STRING, KEY_TYPE, "quorum"},
				/* As in topology.c. */
				{.kind = PROBE_NUMBER, KEY_LIMIT, .number = INT32_MAX},
				{.kind = PROBE_BOOL, KEY_SINGLE, .number = true},
			},
		.count = 3,
	};
}

void queue_probe_init_unordered(struct queue_probe *probe)
{
	queue_probe_init(probe);
	probe->count--; /* the single active consumer */
}

struct amqp_argument queue_probe_argument(const struct probe_argument *from)
{
	struct amqp_argument argument = {.key = from->key, .number = from->number};

	if (from->kind == PROBE_STRING)
		argument.string = from->string;
	else if (from->kind == PROBE_BOOL)
		argument.string = from->number ? amqp_true : amqp_false;
	return argument;
}

void queue_probe_declare(const struct queue_probe *probe, struct connection *connection,
	uint16_t channel, struct text name)
{
	struct amqp_argument arguments[AMQP_ARGUMENTS_MAX];
	struct amqp_queue queue = {.name = name,
		.durable = true,
		.arguments = arguments,
		.argument_count = probe->count};

	for (size_t i = 0; i < probe->count; i++)
		arguments[i] = queue_probe_argument(&probe->arguments[i]);
	channel_declare_queue(connection, channel, &queue);
}

static struct probe_argument *find(const struct queue_probe *probe, struct text key)
{
	for (size_t i = 0; i < probe->count; i++)
		if (text_is(key, text_from(probe->arguments[i].key)))
			return (struct probe_argument *)&probe->arguments[i];
	return NULL;
}

void queue_probe_add(struct queue_probe *probe, const struct probe_argument *argument)
{
	if (probe->count < AMQP_ARGUMENTS_MAX && !find(probe, text_from(argument->key)))
		probe->arguments[probe->count++] = *argument;
}

const struct probe_argument *queue_probe_find(const struct queue_probe *probe, struct text key)
{
	return find(probe, key);
}

void queue_probe_accepted(struct queue_probe *probe)
{
	const struct probe_argument *single = find(probe, TEXT(KEY_SINGLE));

	probe->refusals = 0;
	probe->order = single && single->number ? QUEUE_ORDER_SINGLE : QUEUE_ORDER_ALONE;
}

int64_t queue_probe_limit(const struct queue_probe *probe)
{
	const struct probe_argument *limit = find(probe, TEXT(KEY_LIMIT));

	return limit && limit->number != INT32_MAX ? limit->number : INT64_MAX;
}

bool queue_probe_has_limit(const struct queue_probe *probe)
{
	return find(probe, TEXT(KEY_LIMIT)) != NULL;
}

bool queue_probe_has_default_limit(struct text version)
{
	unsigned major = 0;

	for (size_t i = 0; i < version.len && version.ptr[i] >= '0' && version.ptr[i] <= '9'; i++)
		major = major * 10 + (unsigned)(version.ptr[i] - '0');
	return major >= 4;
}

/* ---------- the broker's text ---------- */

/* Take what stands before the first `end` off *rest, and `end` with it. False: there is none. */
static bool take_before(struct text *rest, struct text end, struct text *ret)
{
	for (size_t i = 0; i + end.len <= rest->len; i++) {
		if (!text_starts(text_of(rest->ptr + i, rest->len - i), end))
			continue;
		*ret = text_of(rest->ptr, i);
		*rest = text_of(rest->ptr + i + end.len, rest->len - i - end.len);
		return true;
	}
	return false;
}

/* What differs: "... inequivalent arg 'KEY' for queue 'NAME' in vhost 'VHOST': received ... but
 * current is VALUE". VALUE: none, or 'TEXT' if both have one, or the value 'TEXT' of type 'TYPE'.
 * The end of a long text is missing. */
struct difference {
	struct text key, value, type; /* type empty: that of our own value */
	bool is_none;
};

static bool read_difference(struct text reason, struct difference *ret)
{
	struct text skipped;

	*ret = (struct difference){.value = TEXT_NONE};
	if (!take_before(&reason, TEXT("inequivalent arg '"), &skipped) ||
		!take_before(&reason, TEXT("'"), &ret->key))
		return false;
	while (take_before(&reason, TEXT(" but current is "), &skipped))
		ret->value = reason;
	return true;
}

/* False: it is not complete. */
static bool read_value(struct difference *difference)
{
	struct text rest = difference->value, skipped;

	difference->is_none = text_is(rest, TEXT("none"));
	if (difference->is_none)
		return true;
	if (!take_before(&rest, TEXT("'"), &skipped) || !text_ends(rest, TEXT("'")))
		return false;
	rest.len--;
	difference->value = rest;
	if (skipped.len == 0)
		return true;
	while (take_before(&rest, TEXT("' of type '"), &skipped)) /* the last one counts */
		difference->type = rest;
	difference->value.len -= difference->type.len + strlen("' of type '");
	return difference->type.len > 0;
}

static bool set_value(struct probe_argument *argument, const struct difference *difference)
{
	if (text_is(difference->type, TEXT("longstr")))
		argument->kind = PROBE_STRING;
	else if (text_is(difference->type, TEXT("bool")))
		argument->kind = PROBE_BOOL;
	else if (difference->type.len > 0)
		argument->kind = PROBE_NUMBER;
	if (argument->kind == PROBE_NUMBER)
		return text_read_signed(difference->value, &argument->number);
	if (argument->kind == PROBE_BOOL) {
		argument->number = text_is(difference->value, TEXT("true"));
		return true;
	}
	return (size_t)snprintf(argument->string, sizeof argument->string, "%.*s",
		       TEXT_ARGS(difference->value)) < sizeof argument->string;
}

/* Take over the value of the argument; false: that is not possible. */
static bool adopt(struct queue_probe *probe, const struct difference *difference)
{
	struct probe_argument *argument = find(probe, difference->key);

	if (difference->is_none) {
		if (argument)
			*argument = probe->arguments[--probe->count];
		return argument != NULL;
	}
	if (!argument) {
		if (probe->count == AMQP_ARGUMENTS_MAX || difference->key.len >= PROBE_KEY_SIZE)
			return false;
		argument = &probe->arguments[probe->count++];
		*argument = (struct probe_argument){.number = 0};
		snprintf(argument->key, sizeof argument->key, "%.*s", TEXT_ARGS(difference->key));
	}
	return set_value(argument, difference);
}

/* ---------- a refusal ---------- */

static bool end_probe(struct queue_probe *probe, enum queue_order order)
{
	queue_probe_init(probe);
	probe->order = order;
	return false;
}

/* Only classic queues differ in one of those that are no arguments: durable, auto_delete. */
static bool is_of_another_type(const struct difference *difference)
{
	return text_is(difference->key, TEXT(KEY_TYPE)) ||
	       !text_starts(difference->key, TEXT("x-"));
}

bool queue_probe_is_classic(struct text reason)
{
	struct difference difference;

	if (!read_difference(reason, &difference) || !is_of_another_type(&difference))
		return false;
	return !text_is(difference.key, TEXT(KEY_TYPE)) ||
	       text_starts(difference.value, TEXT("none")) ||
	       text_starts(difference.value, TEXT("'classic'")) ||
	       text_starts(difference.value, TEXT("the value 'classic'"));
}

bool queue_probe_refused(struct queue_probe *probe, uint16_t code, struct text reason)
{
	struct difference difference;

	if (code == CODE_ACCESS_REFUSED)
		return end_probe(probe, QUEUE_ORDER_HIDDEN);
	if (code != CODE_PRECONDITION_FAILED)
		return end_probe(probe, QUEUE_ORDER_UNKNOWN);
	if (!read_difference(reason, &difference))
		return end_probe(probe, QUEUE_ORDER_HIDDEN);
	if (is_of_another_type(&difference))
		return end_probe(probe, QUEUE_ORDER_NONE);
	if (++probe->refusals > REFUSALS_MAX || !read_value(&difference) ||
		!adopt(probe, &difference))
		return end_probe(probe, QUEUE_ORDER_HIDDEN);
	return true;
}

const char *queue_order_name(enum queue_order order)
{
	static const char *const names[] = {
#define X(order, text) [order] = text,
		QUEUE_ORDERS(X)
#undef X
	};

	return names[order];
}
