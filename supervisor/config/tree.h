/* A YAML document as a tree of texts, lists and maps, each with its line. Layer: config.
 * A bounded part of YAML: one document, UTF-8, keys that are texts and appear once, no anchors, no
 * tags. Types are not guessed: every scalar is a text. */
#ifndef CONFIG_TREE_H
#define CONFIG_TREE_H

#include "config/problems.h"

enum { TREE_SOURCE_MAX = 1024 * 1024, TREE_TEXT_MAX = 64 * 1024, TREE_REPLACED_TIMES = 16 };

enum tree_kind { TREE_TEXT, TREE_LIST, TREE_MAP };

struct tree {
	enum tree_kind kind;
	size_t line;
	char *key;     /* owned; of a member of a map, else NULL */
	char *text;    /* owned; TREE_TEXT: without a NUL inside */
	char *written; /* owned; the text before its variables were replaced, or NULL: it had none
			*/
	bool plain;    /* TREE_TEXT without quotes */
	bool bad;      /* a problem was told already */
	struct tree *first, *last; /* owned; members of a list or map */
	struct tree *next;         /* of the same list or map */
};

/* RC_OK: *ret is owned by the caller. Else, and also for some mistakes that do not hide the others,
 * problems say why. */
enum rc tree_read(
	struct text source, const char *file, struct tree **ret, struct problems *) MUST_CHECK;
/* Replaces ${NAME}, ${NAME:-default} and $$ in every text, keys excepted. source_len: bytes that
 * the file has; what is replaced has TREE_TEXT_MAX and TREE_REPLACED_TIMES as many in all at most.
 */
void tree_expand(struct tree *, size_t source_len, const char *file, char *const *environment,
	struct problems *);
/* Nothing at all, or null: "limits:" with everything under it commented out. */
bool tree_is_nothing(const struct tree *);
void tree_free(struct tree *);

#endif
