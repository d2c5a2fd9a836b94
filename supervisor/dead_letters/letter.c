#include "dead_letters/letter.h"

#include "amqp/table.h"
#include "base/utf8.h"
#include "dead_letters/dead_letters.h"
#include "dead_letters/letter_fingerprint.h"
#include "message/field_text.h"
#include "message/names.h"
#include "tty/console.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Properties that --match knows, and by which a message is named. */
static const enum property known_by[] = {PROPERTY_MESSAGE_ID, PROPERTY_CORRELATION_ID};
#define KNOWN_BY (sizeof known_by / sizeof *known_by)

const char *property_name(enum property property)
{
	static const char *const names[PROPERTY_COUNT] = {
		[PROPERTY_CONTENT_TYPE] = "content_type",
		[PROPERTY_CONTENT_ENCODING] = "content_encoding",
		[PROPERTY_DELIVERY_MODE] = "delivery_mode",
		[PROPERTY_PRIORITY] = "priority",
		[PROPERTY_CORRELATION_ID] = "correlation_id",
		[PROPERTY_REPLY_TO] = "reply_to",
		[PROPERTY_EXPIRATION] = "expiration",
		[PROPERTY_MESSAGE_ID] = "message_id",
		[PROPERTY_TIMESTAMP] = "timestamp",
		[PROPERTY_TYPE] = "type",
		[PROPERTY_USER_ID] = "user_id",
		[PROPERTY_APP_ID] = "app_id",
		[PROPERTY_CLUSTER_ID] = "cluster_id",
	};
	return names[property];
}

void property_append(const struct properties *properties, enum property property, struct buf *out)
{
	if (property == PROPERTY_TIMESTAMP)
		buf_printf(out, "%" PRIu64, properties_timestamp(properties));
	else if (property_is_number(property))
		buf_printf(out, "%u", properties_octet(properties, property));
	else
		buf_append_text(out, properties->value[property]);
}

void dead_letter_read(
	struct dead_letter *letter, const struct amqp_event *delivery, uint64_t position)
{
	*letter = (struct dead_letter){
		.position = position,
		.tag = delivery->tag,
		.is_redelivered = delivery->redelivered,
		.exchange = delivery->exchange,
		.routing_key = delivery->routing_key,
		.body = delivery->content.body,
	};
	if (properties_parse(delivery->content.properties, &letter->properties) != RC_OK) {
		letter->properties = (struct properties){0};
		letter->is_unreadable = true;
		letter->unreadable = delivery->content.properties;
		return;
	}
	struct text table = letter->properties.value[PROPERTY_HEADERS];
	if (table_check(table) == RC_OK)
		letter->headers = table;
	else
		letter->is_unreadable = true;
}

bool dead_letter_header(const struct dead_letter *letter, struct text name, struct buf *out)
{
	struct table_field field;
	if (!table_find(letter->headers, name, &field))
		return false;
	field_append_text(out, &field);
	return true;
}

void dead_letter_name(const struct dead_letter *letter, struct buf *out)
{
	buf_printf(out, "message %" PRIu64, letter->position);
	for (size_t i = 0; i < KNOWN_BY; i++) {
		struct text value = letter->properties.value[known_by[i]];
		if (value.len == 0)
			continue;
		buf_printf(out, " (%s ", property_name(known_by[i]));
		utf8_append_escaped(out, value);
		buf_append_byte(out, ')');
		return;
	}
}

/* ---------- what its queue counts ---------- */

const struct text dead_letter_counters[DEAD_LETTER_COUNTERS] = {
	{"x-delivery-count", 16}, {"x-acquired-count", 16}};

bool dead_letter_is_counter(struct text name)
{
	for (size_t i = 0; i < DEAD_LETTER_COUNTERS; i++)
		if (text_is(name, dead_letter_counters[i]))
			return true;
	return false;
}

/* ---------- conditions ---------- */

const char *matches_add(struct matches *matches, const char *condition)
{
	const char *equals = strchr(condition, '=');
	if (!equals || equals == condition)
		return "is not HEADER=VALUE";
	if (matches->count == MATCHES_MAX)
		return "is one condition too many";
	matches->of[matches->count].name = text_of(condition, (size_t)(equals - condition));
	matches->of[matches->count].value = text_from(equals + 1);
	matches->count++;
	return NULL;
}

/* NULL: it is the name of a header. */
static const enum property *known_property(struct text name)
{
	for (size_t i = 0; i < KNOWN_BY; i++)
		if (text_is(name, text_from(property_name(known_by[i]))))
			return &known_by[i];
	return NULL;
}

static enum match letter_meets(
	const struct dead_letter *letter, struct text name, struct text value)
{
	const enum property *known = known_property(name);
	if (known)
		return properties_has(&letter->properties, *known) &&
				       text_is(letter->properties.value[*known], value)
			       ? MATCH_YES
			       : MATCH_NO;
	struct buf text;
	buf_init(&text, SIZE_MAX);
	bool is_there = dead_letter_header(letter, name, &text);
	enum match match = is_there && text_is(buf_text(&text), value) ? MATCH_YES : MATCH_NO;
	if (text.failed)
		match = MATCH_MEMORY;
	buf_release(&text);
	return match;
}

static enum match letter_has_fingerprint(const struct dead_letter *letter, struct text wanted)
{
	char fingerprint[FINGERPRINT_SIZE];
	if (!dead_letter_fingerprint(letter, fingerprint))
		return MATCH_MEMORY;
	return text_is(text_from(fingerprint), wanted) ? MATCH_YES : MATCH_NO;
}

enum match matches_meet(const struct matches *matches, const struct dead_letter *letter)
{
	enum match match = matches->fingerprint.ptr
				   ? letter_has_fingerprint(letter, matches->fingerprint)
				   : MATCH_YES;
	for (size_t i = 0; i < matches->count && match == MATCH_YES; i++)
		match = letter_meets(letter, matches->of[i].name, matches->of[i].value);
	return match;
}

void matches_mark_seen(
	const struct matches *matches, const struct dead_letter *letter, uint32_t *seen)
{
	struct table_field field;
	for (size_t i = 0; i < matches->count; i++)
		if (!(*seen & UINT32_C(1) << i) &&
			(known_property(matches->of[i].name) ||
				table_find(letter->headers, matches->of[i].name, &field)))
			*seen |= UINT32_C(1) << i;
}

static const char *suggestion_for(struct text name)
{
	static const struct text prefix = TEXT("x-wpool-");
	const struct text ours[] = {HEADER_ATTEMPT, HEADER_REASON, HEADER_QUEUE, HEADER_EXIT,
		HEADER_STATUS, HEADER_STDERR, HEADER_ACCEPTED, HEADER_FIRST_FAILED, HEADER_RENEWED,
		HEADER_SLICE};
	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
		if (text_is(name, text_of(ours[i].ptr + prefix.len, ours[i].len - prefix.len)))
			return ours[i].ptr;
	return NULL;
}

void matches_print_unseen(const struct matches *matches, uint32_t seen)
{
	for (size_t i = 0; i < matches->count; i++) {
		struct text name = matches->of[i].name;
		const char *meant = suggestion_for(name);
		if (seen & UINT32_C(1) << i)
			continue;
		console_problem(DEAD_LETTERS_COMMAND,
			"none of the messages has a header %.*s%s%s%s", TEXT_ARGS(name),
			meant ? "; did you mean " : "", meant ? meant : "", meant ? "?" : "");
	}
}
