/* Counted bytes owned by something else. Layer: base. A text is borrowed: it points into a buffer,
 * a message or a literal, and the comment of the function that returns it has its lifetime. It may
 * have any byte, NUL included, and is not NUL-terminated. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct text {
	const char *ptr;
	size_t len;
};

#define TEXT_NONE     ((struct text){NULL, 0})
#define TEXT(literal) ((struct text){literal, sizeof(literal) - 1})
/* For printf's "%.*s". */
#define TEXT_ARGS(t) (int)(t).len, (t).len ? (t).ptr : ""

static inline struct text text_of(const void *ptr, size_t len)
{
	return (struct text){ptr, len};
}

/* Copy t to where; the value is the copy. */
static inline struct text text_copy(void *where, struct text t)
{
	if (t.len > 0)
		memcpy(where, t.ptr, t.len);
	return text_of(where, t.len);
}

static inline struct text text_from(const char *string)
{
	return (struct text){string, string ? strlen(string) : 0};
}

static inline bool text_is(struct text a, struct text b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static inline bool text_starts(struct text t, struct text prefix)
{
	return t.len >= prefix.len && text_is(text_of(t.ptr, prefix.len), prefix);
}

static inline bool text_ends(struct text t, struct text suffix)
{
	return t.len >= suffix.len &&
	       text_is(text_of(t.ptr + t.len - suffix.len, suffix.len), suffix);
}

/* True if t is the pattern, where each * stands for any number of any characters. */
static inline bool text_matches(struct text t, struct text pattern)
{
	size_t at = 0, i = 0, after_star = SIZE_MAX, matched = 0;

	while (at < t.len) {
		if (i < pattern.len && pattern.ptr[i] == '*') {
			after_star = ++i;
			matched = at;
		} else if (i < pattern.len && pattern.ptr[i] == t.ptr[at]) {
			i++;
			at++;
		} else if (after_star != SIZE_MAX) { /* the last * takes one character more */
			i = after_star;
			at = ++matched;
		} else {
			return false;
		}
	}
	while (i < pattern.len && pattern.ptr[i] == '*')
		i++;
	return i == pattern.len;
}

/* Return the index of t in names, a NULL-terminated list; if it is not there, that of the NULL. */
static inline size_t text_index(struct text t, const char *const *names)
{
	size_t i = 0;

	while (names[i] && !text_is(t, text_from(names[i])))
		i++;
	return i;
}

/* Take the first line, without its newline, off *lines; false: no complete line is left. */
static inline bool text_take_line(struct text *lines, struct text *ret)
{
	const char *end = lines->len ? memchr(lines->ptr, '\n', lines->len) : NULL;

	if (!end)
		return false;
	*ret = text_of(lines->ptr, (size_t)(end - lines->ptr));
	*lines = text_of(end + 1, lines->len - ret->len - 1);
	return true;
}

#define TEXT_DECIMAL_MAX 20

/* The number in decimal digits, written at the end of buffer. */
static inline struct text text_decimal(uint64_t number, char buffer[TEXT_DECIMAL_MAX])
{
	char *end = buffer + TEXT_DECIMAL_MAX;
	char *first = end;

	do
		*--first = (char)('0' + number % 10);
	while (number /= 10);
	return text_of(first, (size_t)(end - first));
}

/* Read a number from 0 to max from decimal digits. False: it is larger, or t is empty or has
 * another character. */
static inline bool text_read_decimal(struct text t, uint64_t max, uint64_t *ret)
{
	uint64_t number = 0;

	if (t.len == 0)
		return false;
	for (size_t i = 0; i < t.len; i++) {
		unsigned digit = (unsigned)(t.ptr[i] - '0');
		if (digit > 9 || digit > max || number > (max - digit) / 10)
			return false;
		number = number * 10 + digit;
	}
	*ret = number;
	return true;
}

/* The same with an optional minus sign; from -INT64_MAX to INT64_MAX. */
static inline bool text_read_signed(struct text t, int64_t *ret)
{
	bool is_negative = text_starts(t, TEXT("-"));
	uint64_t number;

	if (!text_read_decimal(
		    text_of(t.ptr + is_negative, t.len - is_negative), INT64_MAX, &number))
		return false;
	*ret = is_negative ? -(int64_t)number : (int64_t)number;
	return true;
}

#endif
