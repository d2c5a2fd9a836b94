/* Split a line into the words of a command as a shell does: blanks, single and double quotes,
 * backslashes; nothing is expanded. Layer: config. Pure. */
#ifndef CONFIG_VALUE_WORDS_H
#define CONFIG_VALUE_WORDS_H

#include "base/rc.h"
#include "base/text.h"

enum { WORDS_MAX = 1000 };

/* line has no NUL. RC_OK: *ret is NULL-terminated, possibly empty, for words_free. RC_MALFORMED:
 * an open quote, or a backslash at the end. RC_LIMIT: more than WORDS_MAX words. */
enum rc words_split(struct text line, char ***ret) MUST_CHECK;
/* Append a copy of word; *words may be NULL. RC_LIMIT: there are WORDS_MAX already. */
enum rc words_append(char ***words, struct text word) MUST_CHECK;
/* The same with "name=value". */
enum rc words_append_pair(char ***words, const char *name, const char *value) MUST_CHECK;
size_t words_count(char *const *words);
void words_free(char **words);

#endif
