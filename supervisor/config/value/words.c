#include "config/value/words.h"

#include "base/buf.h"

#include <stdio.h>
#include <stdlib.h>

size_t words_count(char *const *words)
{
	size_t count = 0;
	while (words && words[count])
		count++;
	return count;
}

void words_free(char **words)
{
	for (size_t i = 0; words && words[i]; i++)
		free(words[i]);
	free(words);
}

enum rc words_append(char ***words, struct text word)
{
	size_t count = words_count(*words);
	if (count >= WORDS_MAX)
		return RC_LIMIT;
	char *copy = strndup(word.len ? word.ptr : "", word.len);
	char **longer = copy ? realloc(*words, (count + 2) * sizeof *longer) : NULL;
	if (!longer) {
		free(copy);
		return RC_MEMORY;
	}
	longer[count] = copy;
	longer[count + 1] = NULL;
	*words = longer;
	return RC_OK;
}

enum rc words_append_pair(char ***words, const char *name, const char *value)
{
	char *pair;
	int len = asprintf(&pair, "%s=%s", name, value);
	if (len < 0)
		return RC_MEMORY;
	enum rc rc = words_append(words, text_of(pair, (size_t)len));
	free(pair);
	return rc;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

/* In double quotes a backslash protects only these (POSIX, Shell Command Language, 2.2.3). */
static bool is_protected(char c, char quote)
{
	return quote == 0 || c == '"' || c == '\\' || c == '$' || c == '`' || c == '\n';
}

/* Move one word from the start of line, which is not a blank, to word. */
static enum rc take_word(struct text *line, struct buf *word)
{
	char quote = 0;
	size_t i = 0;
	for (; i < line->len && (quote || !is_blank(line->ptr[i])); i++) {
		char c = line->ptr[i];
		if (c == '\\' && quote != '\'') {
			if (i + 1 == line->len)
				return RC_MALFORMED;
			if (is_protected(line->ptr[i + 1], quote))
				c = line->ptr[++i];
			buf_append_byte(word, (uint8_t)c);
		} else if (quote ? c == quote : c == '\'' || c == '"') {
			quote = quote ? 0 : c;
		} else {
			buf_append_byte(word, (uint8_t)c);
		}
	}
	*line = text_of(line->ptr + i, line->len - i);
	if (quote)
		return RC_MALFORMED;
	return word->failed ? RC_MEMORY : RC_OK;
}

static enum rc split_into(struct text line, struct buf *word, char ***words)
{
	enum rc rc = RC_OK;
	while (rc == RC_OK) {
		while (line.len > 0 && is_blank(line.ptr[0]))
			line = text_of(line.ptr + 1, line.len - 1);
		if (line.len == 0)
			break;
		buf_clear(word);
		rc = take_word(&line, word);
		if (rc == RC_OK)
			rc = words_append(words, buf_text(word));
	}
	return rc;
}

enum rc words_split(struct text line, char ***ret)
{
	struct buf word;
	char **words = calloc(1, sizeof *words);
	if (!words)
		return RC_MEMORY;
	buf_init(&word, line.len + 1);
	enum rc rc = split_into(line, &word, &words);
	buf_release(&word);
	if (rc == RC_OK)
		*ret = words;
	else
		words_free(words);
	return rc;
}
