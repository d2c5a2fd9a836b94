#include "config/yaml/tree.h"

#include "base/utf8.h"
#include "config/value/environment.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <yaml.h>

enum { DEPTH_MAX = 16, NODES_MAX = 20000, BEGIN_SIZE = 48 };

/* The state of a read. */
struct reading {
	yaml_parser_t parser;
	struct text source; /* borrowed */
	const char *file;
	struct problems *problems;
	struct tree *root;
	struct tree *open[DEPTH_MAX]; /* the open lists and maps */
	size_t depth, nodes;
	char *key; /* owned; of the next node, if it is a member of a map */
	size_t key_line;
	bool done;
};

static struct place at(const struct reading *reading, size_t line)
{
	return place_line(reading->file, line);
}

/* libyaml counts lines from 0. */
static size_t line_of(const yaml_event_t *event)
{
	return event->start_mark.line + 1;
}

static enum rc malformed(struct reading *reading, size_t line, const char *words)
{
	problems_add(reading->problems, at(reading, line), "%s", words);
	return RC_MALFORMED;
}

static bool wants_key(const struct reading *reading)
{
	return reading->depth > 0 && reading->open[reading->depth - 1]->kind == TREE_MAP &&
	       !reading->key;
}

static bool is_twice(struct reading *reading, const char *key, size_t line)
{
	for (struct tree *member = reading->open[reading->depth - 1]->first; member;
		member = member->next) {
		if (strcmp(member->key, key) == 0) {
			char shown[PROBLEMS_QUOTED_SIZE];
			problems_add(reading->problems, at(reading, line),
				"%s is there twice, first on line %zu",
				problems_quote(text_from(key), shown), member->line);
			return true;
		}
	}
	return false;
}

/* Add a node: the document's root, or the last member of the innermost open list or map. */
static enum rc add_node(
	struct reading *reading, const yaml_event_t *event, enum tree_kind kind, struct tree **ret)
{
	if (++reading->nodes > NODES_MAX)
		return malformed(reading, line_of(event), "the file has too many values");
	struct tree *node = calloc(1, sizeof *node);
	if (!node)
		return RC_MEMORY;
	node->kind = kind;
	node->line = reading->key ? reading->key_line : line_of(event);
	if (reading->depth == 0) {
		reading->root = node;
	} else {
		struct tree *parent = reading->open[reading->depth - 1];
		node->bad = reading->key && is_twice(reading, reading->key, node->line);
		if (parent->last)
			parent->last->next = node;
		else
			parent->first = node;
		parent->last = node;
	}
	node->key = reading->key;
	reading->key = NULL;
	*ret = node;
	return RC_OK;
}

static enum rc on_scalar(struct reading *reading, const yaml_event_t *event)
{
	struct tree *node;
	struct text t = text_of(event->data.scalar.value, event->data.scalar.length);
	if (t.len > TREE_TEXT_MAX)
		return malformed(reading, line_of(event), "a text is longer than 64 KiB");
	if (t.len > 0 && memchr(t.ptr, '\0', t.len))
		return malformed(reading, line_of(event), "a text holds a NUL character");
	char *copy = strndup(t.len ? t.ptr : "", t.len);
	if (!copy)
		return RC_MEMORY;
	if (wants_key(reading)) {
		reading->key = copy;
		reading->key_line = line_of(event);
		return RC_OK;
	}
	enum rc rc = add_node(reading, event, TREE_TEXT, &node);
	if (rc != RC_OK) {
		free(copy);
		return rc;
	}
	node->text = copy;
	node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	return RC_OK;
}

static enum rc on_start(struct reading *reading, const yaml_event_t *event, enum tree_kind kind)
{
	struct tree *node;
	if (wants_key(reading))
		return malformed(reading, line_of(event), "a key must be a text");
	if (reading->depth == DEPTH_MAX)
		return malformed(reading, line_of(event), "lists and maps are nested too deeply");
	enum rc rc = add_node(reading, event, kind, &node);
	if (rc == RC_OK)
		reading->open[reading->depth++] = node;
	return rc;
}

/* True if the event has a tag or an anchor: unsupported, so refused instead of ignored. */
static bool is_marked(const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_SCALAR_EVENT:
		return event->data.scalar.tag || event->data.scalar.anchor;
	case YAML_SEQUENCE_START_EVENT:
		return event->data.sequence_start.tag || event->data.sequence_start.anchor;
	case YAML_MAPPING_START_EVENT:
		return event->data.mapping_start.tag || event->data.mapping_start.anchor;
	default:
		return event->type == YAML_ALIAS_EVENT;
	}
}

static enum rc on_event(struct reading *reading, const yaml_event_t *event)
{
	if (is_marked(event))
		return malformed(reading, line_of(event),
			"anchors, aliases and tags (&, *, !) are not supported; write the value "
			"out, "
			"in quotes if it begins so");
	switch (event->type) {
	case YAML_DOCUMENT_START_EVENT:
		if (reading->root)
			return malformed(reading, line_of(event), "there is a second document");
		return RC_OK;
	case YAML_SCALAR_EVENT:
		return on_scalar(reading, event);
	case YAML_SEQUENCE_START_EVENT:
		return on_start(reading, event, TREE_LIST);
	case YAML_MAPPING_START_EVENT:
		return on_start(reading, event, TREE_MAP);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		assert(reading->depth > 0);
		reading->depth--;
		return RC_OK;
	case YAML_STREAM_END_EVENT:
		reading->done = true;
		return RC_OK;
	default:
		return RC_OK;
	}
}

/* A line without its end; empty: there is none. */
static struct text source_line(struct text source, size_t line)
{
	const char *at = source.ptr, *end = source.ptr + source.len, *newline;
	for (; line > 1; line--) {
		newline = memchr(at, '\n', (size_t)(end - at));
		if (!newline)
			return TEXT_NONE;
		at = newline + 1;
	}
	newline = memchr(at, '\n', (size_t)(end - at));
	return text_of(at, (size_t)((newline ? newline : end) - at));
}

/* The line is indented with a tab, which libyaml's messages seldom say. */
static bool is_tabbed(struct text line)
{
	while (line.len > 0 && *line.ptr == ' ')
		line = text_of(line.ptr + 1, line.len - 1);
	return text_starts(line, TEXT("\t"));
}

/* Write into buffer where the bracket, quote or block begins that is not closed on this line. */
static const char *begin_of(
	const struct reading *reading, const char *context, size_t line, char buffer[BEGIN_SIZE])
{
	size_t begin = reading->parser.context_mark.line + 1;
	const struct tree *open = reading->depth > 0 ? reading->open[reading->depth - 1] : NULL;
	*buffer = '\0';
	if (*context && begin < line)
		snprintf(buffer, BEGIN_SIZE, " that begins on line %zu", begin);
	else if (strstr(context, "flow node") && open && open->line < line)
		snprintf(buffer, BEGIN_SIZE, " in what begins on line %zu", open->line);
	return buffer;
}

/* Why it may be so. */
static const char *hint_of(struct text source, const char *context, size_t line)
{
	struct text text = source_line(source, line);
	if (is_tabbed(text))
		return " (a tab? YAML is indented with blanks)";
	if (text.len > 0 && strstr(context, "flow") && memmem(text.ptr, text.len, "${", 2))
		return " (inside { } and [ ] a ${NAME} needs quotes: \"${NAME}\")";
	return "";
}

static enum rc on_error(struct reading *reading)
{
	const yaml_parser_t *parser = &reading->parser;
	if (parser->error == YAML_MEMORY_ERROR)
		return RC_MEMORY;
	const char *problem = parser->problem ? parser->problem : "it cannot be read";
	const char *context = parser->context ? parser->context : "";
	size_t line = parser->problem_mark.line + 1;
	char begin[BEGIN_SIZE];
	problems_add(reading->problems, at(reading, line), "not YAML: %s%s%s%s%s", problem,
		*context ? ", " : "", context, begin_of(reading, context, line, begin),
		hint_of(reading->source, context, line));
	return RC_MALFORMED;
}

static enum rc read_events(struct reading *reading)
{
	enum rc rc = RC_OK;
	while (rc == RC_OK && !reading->done) {
		yaml_event_t event;
		if (!yaml_parser_parse(&reading->parser, &event))
			return on_error(reading);
		rc = on_event(reading, &event);
		yaml_event_delete(&event);
	}
	return rc;
}

/* libyaml would accept UTF-16 with a byte order mark, and reports no line for invalid UTF-8. */
static enum rc check_source(struct text source, struct place file, struct problems *problems)
{
	struct text rest = source;
	file.line = 1;
	if (source.len > TREE_SOURCE_MAX) {
		problems_add(problems, place_line(file.name, 0), "the file is over 1 MiB");
		return RC_MALFORMED;
	}
	while (rest.len > 0) {
		const char *end = memchr(rest.ptr, '\n', rest.len);
		size_t len = end ? (size_t)(end - rest.ptr) + 1 : rest.len;
		if (!utf8_is_valid(text_of(rest.ptr, len))) {
			problems_add(problems, file, "not UTF-8");
			return RC_MALFORMED;
		}
		rest = text_of(rest.ptr + len, rest.len - len);
		file.line++;
	}
	return RC_OK;
}

enum rc tree_read(
	struct text source, const char *file, struct tree **ret, struct problems *problems)
{
	struct reading reading = {.source = source, .file = file, .problems = problems};
	enum rc rc = check_source(source, place_line(file, 0), problems);
	if (rc != RC_OK)
		return rc;
	if (!yaml_parser_initialize(&reading.parser))
		return RC_MEMORY;
	yaml_parser_set_encoding(&reading.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(
		&reading.parser, (const unsigned char *)(source.len ? source.ptr : ""), source.len);
	rc = read_events(&reading);
	yaml_parser_delete(&reading.parser);
	free(reading.key);
	if (rc == RC_OK && !reading.root)
		rc = malformed(&reading, 1,
			"the file is empty; pools with a queue and a command are needed");
	if (rc == RC_OK)
		*ret = reading.root;
	else
		tree_free(reading.root);
	return rc;
}

/* Recurses as deep as tree_read allows. */
bool tree_expands(const struct tree *node, struct text name)
{
	for (; node; node = node->next) {
		struct text rest = text_from(node->written), found;
		while (environment_next_name(&rest, &found))
			if (text_is(found, name))
				return true;
		if (tree_expands(node->first, name))
			return true;
	}
	return false;
}

bool tree_is_nothing(const struct tree *node)
{
	return node->kind == TREE_TEXT && node->plain && !node->written &&
	       (!*node->text || strcmp(node->text, "~") == 0 || strcmp(node->text, "null") == 0);
}

void tree_free(struct tree *node)
{
	while (node) {
		struct tree *next = node->next;
		tree_free(node->first); /* no deeper than DEPTH_MAX */
		free(node->key);
		free(node->text);
		free(node->written);
		free(node);
		node = next;
	}
}

/* ---------- expansion of variables ---------- */

/* One pass over a file. Bounded, because a long variable used often makes a small file large. */
struct expansion {
	const char *file;
	char *const *environment;
	struct problems *problems;
	size_t left; /* bytes that are left for expanded texts */
};

static void report_expansion(
	enum rc rc, struct text name, struct place place, struct expansion *expansion)
{
	struct problems *problems = expansion->problems;
	if (rc == RC_MEMORY)
		problems->memory = true;
	else if (rc == RC_LIMIT && expansion->left < TREE_TEXT_MAX)
		problems_add(problems, place,
			"the texts up to here are too long with their variables replaced: "
			"more than 64 KiB and %d times the file",
			TREE_REPLACED_TIMES);
	else if (rc == RC_LIMIT)
		problems_add(problems, place,
			"a text is longer than 64 KiB with its variables replaced");
	else if (rc == RC_REFUSED)
		problems_add(problems, place,
			"the default of ${%.*s:-default} has a \"{\"; a default is plain text and "
			"ends at the first \"}\"",
			TEXT_ARGS(name));
	else if (name.len == 0)
		problems_add(problems, place,
			"a \"${\" names no variable; ${NAME} or ${NAME:-default} is needed ($$ is "
			"a "
			"dollar)");
	else
		problems_add(problems, place,
			"the variable %.*s is not set; ${%.*s:-default} would give it a default",
			TEXT_ARGS(name), TEXT_ARGS(name));
}

static void expand_text(struct tree *node, struct expansion *expansion)
{
	struct text name = TEXT_NONE;
	struct buf out;
	buf_init(&out, expansion->left < TREE_TEXT_MAX ? expansion->left : TREE_TEXT_MAX);
	enum rc rc = environment_expand(text_from(node->text), expansion->environment, &out, &name);
	char *text = rc == RC_OK ? strndup(buf_len(&out) ? buf_text(&out).ptr : "", buf_len(&out))
				 : NULL;
	if (rc == RC_OK && !text)
		rc = RC_MEMORY;
	if (rc == RC_OK) {
		node->written = node->text;
		node->text = text;
		/* At least 1: the limit of a buf cannot be 0. */
		expansion->left -=
			buf_len(&out) < expansion->left ? buf_len(&out) : expansion->left - 1;
	} else {
		node->bad = true;
		report_expansion(rc, name, place_line(expansion->file, node->line), expansion);
	}
	buf_release(&out);
}

/* Recurses as deep as tree_read allows. */
static void expand_all(struct tree *node, struct expansion *expansion)
{
	for (; node; node = node->next) {
		if (node->kind == TREE_TEXT && strchr(node->text, '$'))
			expand_text(node, expansion);
		expand_all(node->first, expansion);
	}
}

void tree_expand(struct tree *tree, size_t source_len, const char *file, char *const *environment,
	struct problems *problems)
{
	struct expansion expansion = {
		file, environment, problems, TREE_TEXT_MAX + TREE_REPLACED_TIMES * source_len};
	expand_all(tree, &expansion);
}
