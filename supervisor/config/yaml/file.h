/* Read a configuration file into drafts. Layer: config. */
#ifndef CONFIG_YAML_FILE_H
#define CONFIG_YAML_FILE_H

#include "config/config.h"
#include "config/draft.h"
#include "config/yaml/tree.h"

/* is_reload: do not wait, and refuse what is no regular file. RC_OK: *ret is the file with its
 * variables expanded, for tree_free. RC_NOT_FOUND: it cannot be read. RC_MALFORMED, RC_MEMORY.
 * problems has the reason. */
enum rc file_read(const char *file, bool is_reload, char *const *environment, struct tree **ret,
	struct problems *) MUST_CHECK;
/* The parts of a file that hold settings of other scopes; borrowed from the tree, NULL: not there.
 */
struct file_parts {
	const struct tree *pools;
	const struct tree *defaults; /* read once for each pool */
	const struct tree *throttles;
};

/* Read the settings outside these parts. */
void file_read_root(struct draft *, const struct tree *root, struct file_parts *ret_parts);
/* Append the variables that the file expands into the passwords of broker.url (secrets.h). */
enum rc file_add_secrets(
	const struct tree *root, char *const *environment, char ***names) MUST_CHECK;
/* Read one member of the list of pools, over the defaults for all of them. */
void file_read_pool(struct draft *, const struct tree *pool, const struct tree *defaults);
/* The line of this setting of a pool, or else of the defaults ("limits.hard"); 0: neither has it.
 */
size_t file_line_of(const struct tree *root, size_t pool, const char *key);
/* Read one member of the list of throttles. */
void file_read_throttle(struct draft *, const struct tree *throttle);

#endif
