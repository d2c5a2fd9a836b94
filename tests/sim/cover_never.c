#include "sim/cover_never.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct never {
	const char *table, *row, *column; /* NULL: any; a list of words, one of which it is */
	const char *why;
};

static const struct never nevers[] = {
	{"none", NULL, NULL, "none"},
};

/* word is one of the words in list. */
static bool is_one_of(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = list; at && (at = strstr(at, word)); at += len)
		if ((at == list || at[-1] == ' ') && (at[len] == 0 || at[len] == ' '))
			return true;
	return list == NULL;
}

const char *cover_never(const char *table, const char *row, const char *column)
{
	for (size_t i = 0; i < sizeof nevers / sizeof *nevers; i++)
		if (is_one_of(nevers[i].table, table) && is_one_of(nevers[i].row, row) &&
			is_one_of(nevers[i].column, column))
			return nevers[i].why;
	return NULL;
}
