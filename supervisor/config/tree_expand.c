#include "config/tree.h"

#include "config/environment.h"

#include <stdlib.h>

/* One pass over a file. A long variable named often would make a small file large without end. */
struct expansion {
	const char *file;
	char *const *environment;
	struct problems *problems;
	size_t left; /* bytes that texts with variables may still become */
};

static void tell(enum rc rc, struct text name, struct place place, struct expansion *expansion)
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

static size_t most_of(const struct expansion *expansion)
{
	return expansion->left < TREE_TEXT_MAX ? expansion->left : TREE_TEXT_MAX;
}

static void expand_text(struct tree *node, struct expansion *expansion)
{
	struct text name = TEXT_NONE;
	struct buf out;
	buf_init(&out, most_of(expansion));
	enum rc rc = environment_expand(text_from(node->text), expansion->environment, &out, &name);
	char *text = rc == RC_OK ? strndup(buf_len(&out) ? buf_text(&out).ptr : "", buf_len(&out))
				 : NULL;
	if (rc == RC_OK && !text)
		rc = RC_MEMORY;
	if (rc == RC_OK) {
		node->written = node->text;
		node->text = text;
		/* Down to 1: a buf has no limit of 0. */
		expansion->left -=
			buf_len(&out) < expansion->left ? buf_len(&out) : expansion->left - 1;
	} else {
		node->bad = true;
		tell(rc, name, place_line(expansion->file, node->line), expansion);
	}
	buf_release(&out);
}

/* No deeper than tree_read lets a file be. */
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
