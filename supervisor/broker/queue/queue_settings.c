#include "broker/queue/queue_settings.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Of all other arguments a whole number is a number. */
static bool is_always_text(struct text key)
{
	return text_starts(key, TEXT("x-dead-letter-")) || text_is(key, TEXT("x-overflow")) ||
	       text_is(key, TEXT("x-queue-leader-locator"));
}

bool queue_settings_read_argument(const char *pair, struct probe_argument *ret)
{
	struct text key = text_of(pair, strcspn(pair, "="));
	struct text value = text_from(pair + key.len + (pair[key.len] == '='));

	*ret = (struct probe_argument){.kind = PROBE_STRING};
	if (key.len >= sizeof ret->key || value.len >= sizeof ret->string)
		return false;
	memcpy(ret->key, key.ptr, key.len);
	memcpy(ret->string, value.ptr, value.len);
	if (is_always_text(key))
		return true;
	if (text_read_signed(value, &ret->number))
		ret->kind = PROBE_NUMBER;
	else if (text_is(value, TEXT("true")) || text_is(value, TEXT("false")))
		ret->kind = PROBE_BOOL;
	if (ret->kind == PROBE_BOOL)
		ret->number = text_is(value, TEXT("true"));
	return true;
}

void queue_settings_add(const struct queue_settings *settings, struct queue_probe *probe)
{
	struct probe_argument argument;

	for (char *const *pair = settings->arguments; pair && *pair; pair++)
		if (queue_settings_read_argument(*pair, &argument))
			queue_probe_add(probe, &argument);
}

static bool is_same(const struct probe_argument *a, const struct probe_argument *b)
{
	if (a->kind != b->kind)
		return false;
	return a->kind == PROBE_STRING ? strcmp(a->string, b->string) == 0 : a->number == b->number;
}

static void append_value(struct buf *out, const struct probe_argument *argument)
{
	if (argument->kind == PROBE_STRING)
		buf_printf(out, "\"%s\"", argument->string);
	else if (argument->kind == PROBE_BOOL)
		buf_printf(out, "%s", argument->number ? "true" : "false");
	else
		buf_printf(out, "%" PRId64, argument->number);
}

void queue_settings_append_differences(
	const struct queue_settings *settings, const struct queue_probe *probe, struct buf *out)
{
	struct probe_argument wanted;

	for (char *const *pair = settings->arguments; pair && *pair; pair++) {
		const struct probe_argument *found;
		if (!queue_settings_read_argument(*pair, &wanted))
			continue;
		found = queue_probe_find(probe, text_from(wanted.key));
		if (found && is_same(found, &wanted))
			continue;
		buf_printf(out, "%s%s is ", buf_len(out) > 0 ? "; " : "", wanted.key);
		if (found)
			append_value(out, found);
		else
			buf_append_text(out, TEXT("not set"));
		buf_append_text(out, TEXT(", not "));
		append_value(out, &wanted);
	}
}

/* ---------- bindings ---------- */

static void take_header(struct queue_binding *b, char *header)
{
	char *value = strchr(header, '=');

	if (!value)
		return;
	assert(b->header_count < AMQP_ARGUMENTS_MAX);
	*value++ = '\0';
	b->headers[b->header_count++] = (struct amqp_argument){.key = header, .string = value};
}

static void take_field(struct queue_binding *b, char *field)
{
	char *value = strchr(field, '=');

	if (!value)
		return;
	*value++ = '\0';
	if (strcmp(field, "exchange") == 0)
		b->exchange = text_from(value);
	else if (strcmp(field, "type") == 0)
		b->type = text_from(value);
	else if (strcmp(field, "routing_key") == 0)
		b->routing_key = text_from(value);
	else if (strcmp(field, "match") == 0)
		b->headers[b->header_count++] =
			(struct amqp_argument){.key = "x-match", .string = value};
	else if (strcmp(field, "header") == 0)
		take_header(b, value);
}

bool queue_settings_binding(
	const struct queue_settings *settings, size_t i, struct queue_binding *ret)
{
	char *const *binding = settings->bindings;
	char *at;

	while (binding && *binding && i > 0) {
		binding++;
		i--;
	}
	if (!binding || !*binding)
		return false;
	*ret = (struct queue_binding){.header_count = 0};
	snprintf(ret->space, sizeof ret->space, "%s", *binding);
	at = ret->space;
	for (char *field; (field = strsep(&at, "\n"));)
		take_field(ret, field);
	return true;
}
