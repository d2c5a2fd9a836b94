#include "config/yaml/bindings.h"

#include "config/config_bounds.h"
#include "config/value/binding.h"
#include "config/value/nearest.h"
#include "config/value/words.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define KEYS "exchange, routing_key, headers, match, type"

/* One member of the list while it is read. */
struct binding {
	struct draft *draft;
	size_t place;
	const struct tree *exchange, *keys, *headers, *match, *type;
	bool is_wrong;
};

static void report(struct binding *b, const struct tree *node, const char *format, ...)
	PRINTF_LIKE(3, 4);
static void report(struct binding *b, const struct tree *node, const char *format, ...)
{
	char what[300];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof what, format, args);
	va_end(args);
	problems_add(b->draft->problems, draft_line(b->draft, node->line), "%sbindings[%zu]%s",
		b->draft->prefix, b->place, what);
	b->is_wrong = true;
}

static void report_unknown(struct binding *b, const struct tree *member)
{
	static const char *const keys[] = {
		"exchange", "routing_key", "headers", "match", "type", NULL};
	const char *nearest = nearest_name(text_from(member->key), keys);
	char shown[PROBLEMS_QUOTED_SIZE];

	report(b, member, ": %s is unknown; %s%s", problems_quote(text_from(member->key), shown),
		nearest ? "the nearest is " : "there are ", nearest ? nearest : KEYS);
}

static void take_member(struct binding *b, const struct tree *member)
{
	const struct {
		const char *key;
		const struct tree **target;
	} keys[] = {{"exchange", &b->exchange}, {"routing_key", &b->keys}, {"headers", &b->headers},
		{"match", &b->match}, {"type", &b->type}};

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		if (strcmp(member->key, keys[i].key) != 0)
			continue;
		*keys[i].target = member;
		b->is_wrong |= member->bad;
		return;
	}
	report_unknown(b, member);
}

static void append(struct binding *b, struct buf *out, const char *name, const struct tree *node)
{
	const char *problem;

	if (node->kind != TREE_TEXT || tree_is_nothing(node)) {
		report(b, node, ".%s is no text", name);
		return;
	}
	problem = binding_append(out, name, text_from(node->text));
	if (problem)
		report(b, node, ".%s %s", name, problem);
}

static void append_header(struct binding *b, struct buf *out, const struct tree *header)
{
	struct buf pair;
	const char *problem;

	if (header->kind != TREE_TEXT || strchr(header->key, '=')) {
		report(b, header, ".headers has a value that is no text, or a name with a \"=\"");
		return;
	}
	b->is_wrong |= header->bad;
	buf_init(&pair, SIZE_MAX);
	buf_printf(&pair, "%s=%s", header->key, header->text);
	b->draft->problems->memory |= pair.failed;
	problem = binding_append(out, "header", buf_text(&pair));
	if (problem)
		report(b, header, ".headers: a header %s", problem);
	buf_release(&pair);
}

static void append_type(struct binding *b, struct buf *out)
{
	static const char *const types[] = {"direct", "fanout", "topic", "headers", NULL};
	const struct tree *type = b->type;
	const char *nearest;
	char shown[PROBLEMS_QUOTED_SIZE];

	append(b, out, "type", type);
	if (b->is_wrong || types[text_index(text_from(type->text), types)] ||
		text_starts(text_from(type->text), TEXT("x-")))
		return;
	nearest = nearest_name(text_from(type->text), types);
	report(b, type,
		".type is %s; direct, fanout, topic, headers or the x-... of a plugin is "
		"needed%s%s",
		problems_quote(text_from(type->text), shown), nearest ? "; the nearest is " : "",
		nearest ? nearest : "");
}

static void append_headers(struct binding *b, struct buf *out)
{
	size_t count = b->match ? 1 : 0; /* it is one more of the binding's arguments */

	if (b->headers->kind != TREE_MAP) {
		report(b, b->headers, ".headers is no map");
		return;
	}
	for (const struct tree *header = b->headers->first; header; header = header->next) {
		append_header(b, out, header);
		count++;
	}
	if (count > CONFIG_BINDING_HEADERS_MAX)
		report(b, b->headers, ".headers are more than %d together with match",
			CONFIG_BINDING_HEADERS_MAX);
}

/* All but the routing key. */
static void append_fields(struct binding *b, struct buf *out)
{
	append(b, out, "exchange", b->exchange);
	if (b->type)
		append_type(b, out);
	if (b->match && b->match->kind == TREE_TEXT && strcmp(b->match->text, "any") != 0 &&
		strcmp(b->match->text, "all") != 0)
		report(b, b->match, ".match is neither all nor any");
	else if (b->match)
		append(b, out, "match", b->match);
	if (b->headers)
		append_headers(b, out);
}

/* A binding for each routing key. */
static void add_words(struct binding *b, char ***words)
{
	bool is_list = b->keys && b->keys->kind == TREE_LIST;
	const struct tree *key = is_list ? b->keys->first : b->keys;
	struct buf text;

	do {
		buf_init(&text, SIZE_MAX);
		append_fields(b, &text);
		if (key)
			append(b, &text, "routing_key", key);
		if (text.failed || (!b->is_wrong && words_append(words, buf_text(&text)) != RC_OK))
			b->draft->problems->memory = true;
		buf_release(&text);
		key = is_list && key ? key->next : NULL;
	} while (key && !b->is_wrong);
}

static bool read_binding(struct draft *draft, const struct tree *node, size_t place, char ***words)
{
	struct binding b = {.draft = draft, .place = place};

	if (node->kind != TREE_MAP) {
		report(&b, node, " is no map; keys are needed: " KEYS);
		return false;
	}
	for (const struct tree *member = node->first; member; member = member->next)
		take_member(&b, member);
	if (!b.exchange)
		report(&b, node, ".exchange is missing");
	if (!b.is_wrong)
		add_words(&b, words);
	return !b.is_wrong;
}

void bindings_read(struct draft *draft, const struct setting *setting, const struct tree *node)
{
	char ***target = (char ***)(void *)((char *)draft->base + setting->offset);
	char **words = NULL;
	size_t place = 0;
	bool is_good = true;

	draft_note(draft, setting, draft_line(draft, node->line));
	if (node->kind != TREE_LIST) {
		draft_wrong(draft, setting, "no list", draft_line(draft, node->line));
		return;
	}
	for (const struct tree *member = node->first; member; member = member->next)
		is_good = read_binding(draft, member, place++, &words) && is_good;
	words_free(is_good ? *target : words);
	if (is_good)
		*target = words;
}
