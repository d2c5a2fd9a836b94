/* A YAML document as a tree of texts, lists and maps, each with its line. Layer: config. A
 * bounded subset of YAML: one document, UTF-8, unique keys that are texts, no anchors, no tags.
 * Every scalar is a text. */
#ifndef CONFIG_YAML_TREE_H
#define CONFIG_YAML_TREE_H

#include "config/problems.h"

enum { TREE_SOURCE_MAX = 1024 * 1024, TREE_TEXT_MAX = 64 * 1024, TREE_REPLACED_TIMES = 16 };

enum tree_kind { TREE_TEXT, TREE_LIST, TREE_MAP };

struct tree {
	enum tree_kind kind;
	size_t line;
	char *key;     /* owned; NULL unless a member of a map */
	char *text;    /* owned; TREE_TEXT: without a NUL inside */
	char *written; /* owned; the text before expansion, or NULL if it had no variables */
	bool plain;    /* TREE_TEXT without quotes */
	bool bad;      /* its problem is already reported */
	struct tree *first, *last; /* owned; members of a list or map */
	struct tree *next;         /* in the same list or map */
};

/* RC_OK: *ret moves out. Otherwise problems has the reason; it may also have problems after
 * RC_OK. */
enum rc tree_read(
	struct text source, const char *file, struct tree **ret, struct problems *) MUST_CHECK;
/* Expand ${NAME}, ${NAME:-default} and $$ in every text except keys. source_len: the file's size
 * in bytes. All expanded texts together have at most TREE_TEXT_MAX bytes plus
 * TREE_REPLACED_TIMES that size. */
void tree_expand(struct tree *, size_t source_len, const char *file, char *const *environment,
	struct problems *);
/* True if a text of the tree expands this variable. */
bool tree_expands(const struct tree *, struct text name);
/* True for an empty value or null, such as "limits:" with all its keys commented out. */
bool tree_is_nothing(const struct tree *);
void tree_free(struct tree *);

#endif
