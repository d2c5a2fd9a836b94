/* Which keys there are, and which one was meant. Layer: config.
 * A section is named as the beginning of its keys: "" at the top, "limits.". */
#ifndef CONFIG_KEYS_H
#define CONFIG_KEYS_H

#include "base/buf.h"
#include "config/settings.h"

/* Bytes of the longest key that may be one of ours. */
enum { KEYS_LONGEST = 64 };

/* "limits": keys such as limits.hard exist. */
bool keys_is_section(enum setting_scope, const char *key);
/* Only letters, digits, '_', '.' and '-': an address or a password that came where a key belongs
 * must not be repeated. */
bool keys_is_presentable(const char *key);
/* The keys of a section, with commas between. */
void keys_append(enum setting_scope, const char *section, struct buf *out);
/* Words that help one who wrote an unknown key: the nearest one, or where this one belongs. */
void keys_append_meant(enum setting_scope, const char *section, const char *key, struct buf *out);

#endif
