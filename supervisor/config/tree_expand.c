#include "config/tree.h"

#include "config/environment.h"

#include <stdlib.h>

static void tell(enum rc rc, struct text name, struct place place, struct problems *problems)
{
	if (rc == RC_MEMORY)
		problems->memory = true;
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

static void expand_text(
	struct tree *node, const char *file, char *const *environment, struct problems *problems)
{
	struct text name = TEXT_NONE;
	struct buf out;
	buf_init(&out, TREE_TEXT_MAX);
	enum rc rc = environment_expand(text_from(node->text), environment, &out, &name);
	char *text = rc == RC_OK ? strndup(buf_len(&out) ? buf_text(&out).ptr : "", buf_len(&out))
				 : NULL;
	if (rc == RC_OK && !text)
		rc = RC_MEMORY;
	if (rc == RC_OK) {
		node->written = node->text;
		node->text = text;
	} else {
		node->bad = true;
		tell(rc, name, place_line(file, node->line), problems);
	}
	buf_release(&out);
}

void tree_expand(
	struct tree *node, const char *file, char *const *environment, struct problems *problems)
{
	for (; node; node = node->next) {
		if (node->kind == TREE_TEXT && strchr(node->text, '$'))
			expand_text(node, file, environment, problems);
		tree_expand(node->first, file, environment, problems);
	}
}
