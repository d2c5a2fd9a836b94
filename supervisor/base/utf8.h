/* UTF-8 as RFC 3629 has it: no surrogates, no overlong forms, at most U+10FFFF. Layer: base. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include "base/buf.h"

/* The replacement character, U+FFFD. */
#define UTF8_REPLACEMENT TEXT("\xef\xbf\xbd")

/* The number of ASCII bytes at the start of t. */
size_t utf8_ascii_prefix(struct text);
/* Check the first character of t, which is not empty. True: it is well formed and has *ret_len
 * bytes. False: *ret_len bytes are one maximal ill-formed part (Unicode 15, 3.9, D93b). */
bool utf8_first(struct text, size_t *ret_len);
bool utf8_is_valid(struct text);
/* Append t with every maximal ill-formed part replaced by U+FFFD. */
void utf8_append_valid(struct buf *, struct text t);
/* The code point of one well-formed character. */
uint32_t utf8_code(struct text character);
/* True for characters that a terminal or a reader of lines obeys instead of showing them: control
 * characters (C0, DEL, C1), bidirectional controls (Unicode 15, 23.2), line and paragraph
 * separators. All are below U+10000. */
bool utf8_is_control(uint32_t code);
/* Append t, of any origin, as it may be shown: one line of valid UTF-8 in which the characters of
 * utf8_is_control, except tab, are escaped: "\n", "\r", "\x1b", "\u202e". What is escaped already
 * is not changed. Texts of others that are kept to be shown are kept in this form; those that are
 * compared, such as ids and headers, get it when they are shown. */
void utf8_append_escaped(struct buf *, struct text t);
/* The same as a string of at most size bytes, its NUL included, cut after a whole character or
 * escape. size: at least 1. */
void utf8_copy_escaped(char *out, size_t size, struct text t);

/* The longest short string of AMQP, 255 bytes, if each is shown as four characters. */
struct utf8_shown {
	char text[255 * 4 + 1];
};

/* The same by value, for printf: "%.*s" would end at a NUL in the text. */
struct utf8_shown utf8_shown(struct text t);

#endif
