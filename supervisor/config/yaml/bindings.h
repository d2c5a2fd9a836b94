/* Read the setting bindings of a file: a list of maps. Layer: config. */
#ifndef CONFIG_YAML_BINDINGS_H
#define CONFIG_YAML_BINDINGS_H

#include "config/draft.h"
#include "config/yaml/tree.h"

/* Set the value, or report each problem with its line. */
void bindings_read(struct draft *, const struct setting *, const struct tree *);

#endif
