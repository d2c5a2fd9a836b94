#include "base/json_walk.h"

#include "base/utf8.h"

/* ---------- the grammar ----------
 * Each takes what it names off the front of *at; false: that is not there. */

static bool is_at(const struct text *at, char c)
{
	return at->len > 0 && *at->ptr == c;
}

static void advance(struct text *at, size_t len)
{
	*at = text_of(at->ptr + len, at->len - len);
}

static bool skip(struct text *at, char c)
{
	bool is_there = is_at(at, c);

	if (is_there)
		advance(at, 1);
	return is_there;
}

static void skip_blanks(struct text *at)
{
	while (is_at(at, ' ') || is_at(at, '\t') || is_at(at, '\r') || is_at(at, '\n'))
		advance(at, 1);
}

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* After "\u". */
static bool take_hex(struct text *at, uint32_t *ret)
{
	uint32_t unit = 0;

	if (at->len < 4)
		return false;
	for (size_t i = 0; i < 4; i++) {
		int digit = digit_of(at->ptr[i]);
		if (digit < 0)
			return false;
		unit = unit << 4 | (uint32_t)digit;
	}
	advance(at, 4);
	*ret = unit;
	return true;
}

/* After "\u": one character, which may need a surrogate pair. */
static bool take_unicode(struct text *at, uint32_t *ret)
{
	uint32_t low;

	if (!take_hex(at, ret))
		return false;
	if (*ret < 0xd800 || *ret > 0xdfff)
		return true;
	if (*ret > 0xdbff || !skip(at, '\\') || !skip(at, 'u') || !take_hex(at, &low) ||
		low < 0xdc00 || low > 0xdfff)
		return false;
	*ret = 0x10000 + ((*ret - 0xd800) << 10) + (low - 0xdc00);
	return true;
}

/* After the backslash. */
static bool take_escape(struct text *at, uint32_t *ret)
{
	static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
	const char *found = at->len > 0 ? memchr(letters, *at->ptr, sizeof letters - 1) : NULL;

	if (skip(at, 'u'))
		return take_unicode(at, ret);
	if (!found)
		return false;
	advance(at, 1);
	*ret = (uint32_t)meant[found - letters];
	return true;
}

static bool take_string(struct text *at, struct text *ret)
{
	const char *begin = at->ptr + 1;
	uint32_t character;

	if (!skip(at, '"'))
		return false;
	while (at->len > 0 && (uint8_t)*at->ptr >= 0x20 && !is_at(at, '"')) {
		bool is_escape = is_at(at, '\\');
		advance(at, 1);
		if (is_escape && !take_escape(at, &character))
			return false;
	}
	*ret = text_of(begin, (size_t)(at->ptr - begin));
	return skip(at, '"');
}

static bool skip_digits(struct text *at)
{
	size_t before = at->len;

	while (at->len > 0 && *at->ptr >= '0' && *at->ptr <= '9')
		advance(at, 1);
	return at->len < before;
}

static bool skip_number(struct text *at)
{
	skip(at, '-');
	if (!skip(at, '0') && !skip_digits(at))
		return false;
	if (skip(at, '.') && !skip_digits(at))
		return false;
	if (!skip(at, 'e') && !skip(at, 'E'))
		return true;
	if (!skip(at, '+'))
		skip(at, '-');
	return skip_digits(at);
}

static bool skip_word(struct text *at, struct text word)
{
	bool is_there = text_starts(*at, word);

	if (is_there)
		advance(at, word.len);
	return is_there;
}

static bool skip_value(struct text *at, unsigned depth);

/* Blanks, key, colon, value, blanks. */
static bool take_pair(struct text *at, unsigned depth, struct json_member *ret)
{
	skip_blanks(at);
	if (!take_string(at, &ret->key))
		return false;
	skip_blanks(at);
	if (!skip(at, ':'))
		return false;
	skip_blanks(at);
	ret->value.ptr = at->ptr;
	if (!skip_value(at, depth))
		return false;
	ret->value.len = (size_t)(at->ptr - ret->value.ptr);
	skip_blanks(at);
	return true;
}

/* After the opening bracket or brace; is_pair: of an object. */
static bool skip_members(struct text *at, unsigned depth, bool is_pair)
{
	struct json_member member;
	char end = is_pair ? '}' : ']';

	skip_blanks(at);
	if (skip(at, end))
		return true;
	do {
		skip_blanks(at);
		if (is_pair ? !take_pair(at, depth, &member) : !skip_value(at, depth))
			return false;
		skip_blanks(at);
	} while (skip(at, ','));
	return skip(at, end);
}

/* depth: levels that enclose it. */
static bool skip_value(struct text *at, unsigned depth)
{
	struct text string;

	if (is_at(at, '"'))
		return take_string(at, &string);
	if (is_at(at, '{') || is_at(at, '[')) {
		bool is_pair = is_at(at, '{');
		advance(at, 1);
		return depth < JSON_WALK_DEPTH && skip_members(at, depth + 1, is_pair);
	}
	return skip_word(at, TEXT("true")) || skip_word(at, TEXT("false")) ||
	       skip_word(at, TEXT("null")) || skip_number(at);
}

/* ---------- walking ---------- */

bool json_walk_is_object(struct text text)
{
	skip_blanks(&text);
	if (!is_at(&text, '{') || !skip_value(&text, 0))
		return false;
	skip_blanks(&text);
	return text.len == 0;
}

bool json_walk_next(struct text *rest, struct json_member *ret)
{
	skip_blanks(rest);
	if (!skip(rest, '{') && !skip(rest, ','))
		return false;
	return take_pair(rest, 1, ret);
}

bool json_walk_string(struct text value, struct text *ret)
{
	return is_at(&value, '"') && take_string(&value, ret);
}

bool json_walk_means(struct text written, const char *word)
{
	uint32_t character;

	for (; *word; word++) {
		if (written.len == 0)
			return false;
		character = (uint8_t)*written.ptr;
		advance(&written, 1);
		if (character == '\\' && !take_escape(&written, &character))
			return false;
		if (character != (uint8_t)*word)
			return false;
	}
	return written.len == 0;
}

static void append_character(struct buf *out, uint32_t character)
{
	char bytes[4];
	size_t len = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
	static const uint8_t leads[] = {0, 0, 0xc0, 0xe0, 0xf0};

	for (size_t i = len; i-- > 1; character >>= 6)
		bytes[i] = (char)(0x80 | (character & 0x3f));
	bytes[0] = (char)(leads[len] | character);
	utf8_append_escaped(out, text_of(bytes, len));
}

void json_walk_append_decoded(struct buf *out, struct text written)
{
	uint32_t character;

	while (written.len > 0) {
		const char *escape = memchr(written.ptr, '\\', written.len);
		size_t len = escape ? (size_t)(escape - written.ptr) : written.len;
		utf8_append_escaped(out, text_of(written.ptr, len));
		advance(&written, len);
		if (!skip(&written, '\\') || !take_escape(&written, &character))
			return;
		append_character(out, character);
	}
}
