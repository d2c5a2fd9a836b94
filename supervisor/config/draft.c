#include "config/draft.h"

#include "config/url/secrets.h"
#include "config/value/environment.h"
#include "config/value/values.h"

#include <assert.h>

void draft_init(struct draft *draft, enum setting_scope scope, void *base,
	struct problems *problems, struct place place)
{
	size_t count;
	const struct setting *settings = settings_of(scope, &count);
	*draft = (struct draft){
		.scope = scope, .base = base, .problems = problems, .prefix = "", .place = place};
	for (size_t i = 0; i < count; i++) {
		enum rc rc = settings[i].fallback ? value_set(&settings[i], base,
							    text_from(settings[i].fallback))
						  : RC_OK;
		assert(rc != RC_MALFORMED);
		if (rc != RC_OK)
			problems->memory = true;
	}
}

static size_t index_of(const struct draft *draft, const struct setting *setting)
{
	size_t count;
	return (size_t)(setting - settings_of(draft->scope, &count));
}

const struct place *draft_given(const struct draft *draft, const char *key)
{
	const struct place *place =
		&draft->places[index_of(draft, settings_find(draft->scope, key))];
	return place->name ? place : NULL;
}

struct place draft_place(const struct draft *draft, const char *key)
{
	const struct place *given = draft_given(draft, key);
	return given ? *given : draft->place;
}

struct place draft_line(const struct draft *draft, size_t line)
{
	struct place place = place_line(draft->place.name, line);
	place.is_of_defaults = draft->scope == SETTING_DEFAULTS;
	return place;
}

const char *draft_prefix(const struct draft *draft, const char *key)
{
	const struct place *given = draft_given(draft, key);
	return given && given->is_of_defaults ? "defaults." : draft->prefix;
}

void draft_contradiction(struct draft *draft, const char *key, const char *by, const char *needed)
{
	const struct place *place = draft_given(draft, key);
	if (place)
		problems_add(draft->problems, *place, "%s%s%s contradicts %s, which needs %s",
			draft->prefix, key, place->is_of_defaults ? ", a default," : "", by,
			needed);
}

void draft_note(struct draft *draft, const struct setting *setting, struct place place)
{
	draft->places[index_of(draft, setting)] = place;
}

void draft_wrong(
	struct draft *draft, const struct setting *setting, const char *is, struct place place)
{
	struct buf needed;
	buf_init(&needed, 1024);
	value_append_needed(setting, &needed);
	draft_note(draft, setting, place);
	if (needed.failed)
		draft->problems->memory = true;
	else if (place.line)
		problems_add(draft->problems, place, "%s%s is %s; %.*s is needed", draft->prefix,
			setting->key, is, TEXT_ARGS(buf_text(&needed)));
	else
		problems_add(draft->problems, place, "%s is %s; %.*s is needed",
			place.is_typed ? "the value" : setting->key, is,
			TEXT_ARGS(buf_text(&needed)));
	buf_release(&needed);
}

/* Append "abc", or "abc" (from "${NAME}"), or "${NAME}" if that may be a secret. */
static void append_value(
	const struct draft *draft, struct text value, struct text written, struct buf *out)
{
	char quoted[PROBLEMS_QUOTED_SIZE];
	struct text rest = written, name;
	bool is_secret = secrets_are_in(draft->secrets, written);
	buf_append_text(out, text_from(problems_quote(is_secret ? written : value, quoted)));
	if (!is_secret && environment_next_name(&rest, &name))
		buf_printf(out, " (from %s)", problems_quote(written, quoted));
}

void draft_set(struct draft *draft, const struct setting *setting, struct text value,
	struct text written, struct place place)
{
	enum rc rc = value_set(setting, draft->base, value);
	draft_note(draft, setting, place);
	if (rc == RC_OK)
		return;
	struct buf is;
	buf_init(&is, 1024);
	if (setting->type == SETTING_PAIRS) { /* a value may be a password */
		buf_append_text(&is, TEXT("no such map"));
	} else if (setting->type == SETTING_WORDS ||
		   setting->type == SETTING_BINDINGS) { /* a word of a command may be, too */
		buf_append_text(&is, TEXT("invalid"));
	} else {
		append_value(draft, value, written, &is);
		if (!secrets_are_in(draft->secrets, written))
			value_append_unit_problem(setting, value, &is);
	}
	buf_append_byte(&is, '\0');
	if (rc == RC_MEMORY || is.failed)
		draft->problems->memory = true;
	else
		draft_wrong(draft, setting, buf_text(&is).ptr, place);
	buf_release(&is);
}

void draft_add_environment(struct draft *draft, char *const *environment)
{
	size_t count;
	const struct setting *setting = settings_of(draft->scope, &count);
	for (; count > 0; count--, setting++) {
		const char *value = setting->variable && setting->type != SETTING_ADDRESSES
					    ? environment_value(environment, setting->variable)
					    : NULL;
		if (value)
			draft_set(draft, setting, text_from(value), TEXT_NONE,
				place_named(setting->variable));
	}
}
