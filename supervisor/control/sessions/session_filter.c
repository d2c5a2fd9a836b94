#include "control/sessions/session_filter.h"

#include "base/utf8.h"
#include "config/value/quantity.h"
#include "core/tasks/delivery.h"

#include <stdarg.h>
#include <stdio.h>

enum kind { KIND_TEXT, KIND_STATE, KIND_REASON, KIND_COUNT, KIND_DURATION };

static const struct {
	struct text name;
	enum kind kind;
} fields[] = {
	[SESSION_FIELD_KEY] = {{"key", 3}, KIND_TEXT},
	[SESSION_FIELD_STATE] = {{"state", 5}, KIND_STATE},
	[SESSION_FIELD_REASON] = {{"reason", 6}, KIND_REASON},
	[SESSION_FIELD_BACKLOG] = {{"backlog", 7}, KIND_COUNT},
	[SESSION_FIELD_HIGH] = {{"high", 4}, KIND_COUNT},
	[SESSION_FIELD_NORMAL] = {{"normal", 6}, KIND_COUNT},
	[SESSION_FIELD_ATTEMPTS] = {{"attempts", 8}, KIND_COUNT},
	[SESSION_FIELD_FOR] = {{"for", 3}, KIND_DURATION},
};
#define FIELD_NAMES "key, state, reason, backlog, high, normal, attempts, for"

/* An operator stands before those that it begins with. */
static const struct text relations[] = {
	[SESSION_NOT] = {"!=", 2},
	[SESSION_MIN] = {">=", 2},
	[SESSION_MAX] = {"<=", 2},
	[SESSION_PREFIX] = {"^=", 2},
	[SESSION_EQUAL] = {"=", 1},
	[SESSION_ABOVE] = {">", 1},
	[SESSION_BELOW] = {"<", 1},
};

static const char *const states[] = {
#define X(state, text) [state] = text,
	SESSION_STATES(X)
#undef X
		NULL};
#define X(state, text) " " text
#define STATE_NAMES    SESSION_STATES(X)

/* ---------- parsing ---------- */

struct parser {
	struct text whole, rest;
	struct session_filter_problem *problem;
};

static struct text skip(struct text t, size_t len)
{
	return text_of(t.ptr + len, t.len - len);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Report what is wrong at a place in the expression. Return false. */
static bool PRINTF_LIKE(3, 4)
	refuse(const struct parser *parser, struct text at, const char *format, ...)
{
	struct session_filter_problem *problem = parser->problem;
	char text[1024];
	va_list args;

	problem->position = 1;
	for (const char *c = parser->whole.ptr; c < at.ptr; c++)
		problem->position += ((uint8_t)*c & 0xc0) != 0x80;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	utf8_copy_escaped(problem->text, sizeof problem->text, text_from(text));
	return false;
}

static bool take_field(struct parser *parser, struct session_condition *condition)
{
	struct text t = parser->rest;
	size_t len = 0;

	while (len < t.len && t.ptr[len] >= 'a' && t.ptr[len] <= 'z')
		len++;
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		if (!text_is(fields[i].name, text_of(t.ptr, len)))
			continue;
		condition->field = i;
		parser->rest = skip(t, len);
		return true;
	}
	return refuse(parser, t, "a condition begins with one of " FIELD_NAMES);
}

static bool is_allowed(enum session_relation relation, enum kind kind)
{
	if (relation == SESSION_EQUAL || relation == SESSION_NOT)
		return true;
	return relation == SESSION_PREFIX ? kind == KIND_TEXT
					  : kind == KIND_COUNT || kind == KIND_DURATION;
}

static bool take_relation(struct parser *parser, struct session_condition *condition)
{
	enum kind kind = fields[condition->field].kind;
	struct text t = parser->rest;

	for (size_t i = 0; i < sizeof relations / sizeof *relations; i++) {
		if (!text_starts(t, relations[i]))
			continue;
		if (!is_allowed(i, kind))
			return refuse(parser, t, "%.*s is not for %.*s", TEXT_ARGS(relations[i]),
				TEXT_ARGS(fields[condition->field].name));
		condition->relation = i;
		parser->rest = skip(t, relations[i].len);
		return true;
	}
	return refuse(parser, t, "an operator is missing: =, !=, >, <, >=, <= or ^=");
}

/* Take a word, or what stands in quotation marks, off the rest. */
static bool take_value(struct parser *parser, struct text *ret)
{
	struct text t = parser->rest;
	bool is_quoted = t.len > 0 && (*t.ptr == '"' || *t.ptr == '\'');
	size_t len = 0;

	if (is_quoted) {
		const char *end = memchr(t.ptr + 1, *t.ptr, t.len - 1);
		if (!end)
			return refuse(parser, t, "this quotation mark is not closed");
		*ret = text_of(t.ptr + 1, (size_t)(end - t.ptr) - 1);
		len = ret->len + 2;
		if (len < t.len && !is_blank(t.ptr[len]))
			return refuse(parser, skip(t, len), "a blank is missing");
	} else {
		while (len < t.len && !is_blank(t.ptr[len]))
			len++;
		if (len == 0)
			return refuse(parser, t, "a value is missing");
		*ret = text_of(t.ptr, len);
	}
	parser->rest = skip(t, len);
	return true;
}

/* Read the value of a condition. at: where it stands. */
static bool read_value(const struct parser *parser, struct text at, struct text value,
	struct session_condition *condition)
{
	int64_t number = 0;

	condition->text = value;
	switch (fields[condition->field].kind) {
	case KIND_TEXT:
		break;
	case KIND_STATE:
		number = (int64_t)text_index(value, states);
		if (number == SESSION_STATE_COUNT)
			return refuse(parser, at, "the states are" STATE_NAMES);
		break;
	case KIND_REASON:
		while (number < REASON_COUNT &&
			!text_is(value, text_from(reason_name((enum reason)number))))
			number++;
		if (number == REASON_COUNT)
			return refuse(parser, at, "there is no reason \"%.*s\"", TEXT_ARGS(value));
		break;
	case KIND_COUNT:
		if (!quantity_read_integer(value, &number))
			return refuse(parser, at, "this is no number");
		break;
	case KIND_DURATION:
		if (!quantity_read_duration(value, &number))
			return refuse(
				parser, at, "this is no time such as 500ms, 30s, 10min, 2h or 1d");
		break;
	}
	condition->number = number;
	return true;
}

static void skip_blanks(struct parser *parser)
{
	while (parser->rest.len > 0 && is_blank(*parser->rest.ptr))
		parser->rest = skip(parser->rest, 1);
}

bool session_filter_parse(struct session_filter *ret, struct text expression,
	struct session_filter_problem *ret_problem)
{
	struct parser parser = {expression, expression, ret_problem};
	struct text at, value = TEXT_NONE;

	ret->count = 0;
	for (skip_blanks(&parser); parser.rest.len > 0; skip_blanks(&parser)) {
		struct session_condition *condition = &ret->conditions[ret->count];
		if (ret->count == SESSION_FILTER_MAX)
			return refuse(&parser, parser.rest, "there are more than %d conditions",
				SESSION_FILTER_MAX);
		if (!take_field(&parser, condition) || !take_relation(&parser, condition))
			return false;
		at = parser.rest;
		if (!take_value(&parser, &value) || !read_value(&parser, at, value, condition))
			return false;
		ret->count++;
	}
	return ret->count > 0 || refuse(&parser, parser.rest, "the expression is empty");
}

/* ---------- matching ---------- */

static int64_t value_of(const struct session_facts *facts, enum session_field field, mtime now)
{
	switch (field) {
	case SESSION_FIELD_KEY:
		break;
	case SESSION_FIELD_STATE:
		return facts->state;
	case SESSION_FIELD_REASON:
		return facts->reason;
	case SESSION_FIELD_BACKLOG:
		return (int64_t)facts->high + facts->normal;
	case SESSION_FIELD_HIGH:
		return facts->high;
	case SESSION_FIELD_NORMAL:
		return facts->normal;
	case SESSION_FIELD_ATTEMPTS:
		return facts->attempts;
	case SESSION_FIELD_FOR:
		return now - facts->since;
	}
	__builtin_unreachable();
}

static bool matches_key(const struct session_condition *condition, struct text key)
{
	if (condition->relation == SESSION_PREFIX)
		return text_starts(key, condition->text);
	return text_is(key, condition->text) == (condition->relation == SESSION_EQUAL);
}

static bool matches_number(enum session_relation relation, int64_t value, int64_t wanted)
{
	switch (relation) {
	case SESSION_EQUAL:
		return value == wanted;
	case SESSION_NOT:
		return value != wanted;
	case SESSION_ABOVE:
		return value > wanted;
	case SESSION_BELOW:
		return value < wanted;
	case SESSION_MIN:
		return value >= wanted;
	case SESSION_MAX:
		return value <= wanted;
	case SESSION_PREFIX:
		break;
	}
	__builtin_unreachable();
}

bool session_filter_matches(
	const struct session_filter *filter, const struct session_facts *facts, mtime now)
{
	for (size_t i = 0; i < filter->count; i++) {
		const struct session_condition *condition = &filter->conditions[i];
		bool holds = condition->field == SESSION_FIELD_KEY
				     ? matches_key(condition, facts->key)
				     : matches_number(condition->relation,
					       value_of(facts, condition->field, now),
					       condition->number);
		if (!holds)
			return false;
	}
	return true;
}
