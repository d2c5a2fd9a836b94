/* A configuration file into drafts. Layer: config. */
#ifndef CONFIG_FILE_H
#define CONFIG_FILE_H

#include "config/config.h"
#include "config/draft.h"
#include "config/tree.h"

/* RC_OK: *ret holds the whole file, for tree_free, variables replaced. RC_NOT_FOUND: it cannot be
 * read; RC_MALFORMED, RC_MEMORY. Problems say why. */
enum rc file_read(const char *file, char *const *environment, struct tree **ret,
	struct problems *) MUST_CHECK;
/* The root's settings. *ret_pools is the list of pools, borrowed from the tree, or NULL. */
void file_read_root(struct draft *, const struct tree *root, const struct tree **ret_pools);
/* One member of the list of pools. */
void file_read_pool(struct draft *, const struct tree *pool);

#endif
