/* One line as the words of a command, the way a shell would split it: blanks between words, single
 * and double quotes, backslashes; nothing is expanded. Layer: config. Pure. */
#ifndef CONFIG_WORDS_H
#define CONFIG_WORDS_H

#include "base/rc.h"
#include "base/text.h"

enum { WORDS_MAX = 1000 };

/* RC_OK: *ret is NULL-terminated, for words_free; it may be empty. RC_MALFORMED: a quote is not
 * closed or a backslash ends the line. RC_LIMIT: more than WORDS_MAX words. line holds no NUL. */
enum rc words_split(struct text line, char ***ret) MUST_CHECK;
/* Appends a copy of word; *words may be NULL. RC_LIMIT: there are WORDS_MAX already. */
enum rc words_append(char ***words, struct text word) MUST_CHECK;
size_t words_count(char *const *words);
void words_free(char **words);

#endif
