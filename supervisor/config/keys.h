/* The keys that exist, and suggestions for an unknown one. Layer: config. A section is named by
 * the prefix of its keys: "" at the top, "limits." below. */
#ifndef CONFIG_KEYS_H
#define CONFIG_KEYS_H

#include "base/buf.h"
#include "config/settings.h"

/* No key is longer, in bytes. */
enum { KEYS_LONGEST = 64 };

/* True for "limits", since keys such as limits.hard exist. */
bool keys_is_section(enum setting_scope, const char *key);
/* True if key has only letters, digits, '_', '.' and '-'. Anything else may be an address or a
 * password in the wrong place and must not be repeated. */
bool keys_is_presentable(const char *key);
/* Append the keys of a section, comma-separated. */
void keys_append(enum setting_scope, const char *section, struct buf *out);
/* Append a hint for an unknown key: the nearest key, or the section that it belongs to. */
void keys_append_meant(enum setting_scope, const char *section, const char *key, struct buf *out);

#endif
