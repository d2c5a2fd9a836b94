/* What the answer of a reload says of settings, in words for people. Layer: cli, without I/O. */
#ifndef CLI_RELOAD_WORDS_H
#define CLI_RELOAD_WORDS_H

#include "base/buf.h"

#include <jansson.h>

/* [{"key", "from", "to"}] as "workers 2 -> 4, command". */
void reload_append_settings(struct buf *out, const json_t *settings);

#endif
