#include "config/value/nearest.h"

enum { LONGEST = 64 };

static size_t min(size_t a, size_t b)
{
	return a < b ? a : b;
}

size_t nearest_distance(struct text a, struct text b)
{
	/* Rows i-2, i-1 and i of the table of distances between prefixes of a and b. */
	size_t rows[3][LONGEST + 1];
	if (a.len > LONGEST || b.len > LONGEST)
		return SIZE_MAX;
	for (size_t j = 0; j <= b.len; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= a.len; i++) {
		size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *higher = rows[(i + 1) % 3];
		row[0] = i;
		for (size_t j = 1; j <= b.len; j++) {
			size_t changed = above[j - 1] + (a.ptr[i - 1] != b.ptr[j - 1]);
			row[j] = min(changed, min(above[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && a.ptr[i - 1] == b.ptr[j - 2] &&
				a.ptr[i - 2] == b.ptr[j - 1])
				row[j] = min(row[j], higher[j - 2] + 1);
		}
	}
	return rows[a.len % 3][b.len];
}

const char *nearest_name(struct text word, const char *const *names)
{
	const char *found = NULL;
	/* One letter in three may be wrong; beyond that a suggestion is a guess. */
	size_t shortest = word.len < 3 ? 2 : word.len / 3 + 1;
	for (; *names; names++) {
		struct text name = text_from(*names);
		size_t apart = name.len > word.len ? name.len - word.len : word.len - name.len;
		size_t distance = apart < shortest ? nearest_distance(word, name) : apart;
		if (distance < shortest) {
			shortest = distance;
			found = *names;
		}
	}
	return found;
}
