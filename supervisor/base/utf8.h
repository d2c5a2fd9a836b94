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
/* The same, with control characters (C0 except tab, DEL, C1) escaped: "\n", "\r", "\x1b". */
void utf8_append_escaped(struct buf *, struct text t);

#endif
