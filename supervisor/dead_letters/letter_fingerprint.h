/* The fingerprint of a dead letter, by which it is found again: half of a SHA-256 of all of it but
 * the headers in which its queue counts. Layer: dead_letters, without I/O. Bytes of its properties
 * that cannot be parsed may have such a header, too: then the fingerprint can change when the
 * message is handed back. Publishers choose what they publish, so without a secret only a
 * cryptographic hash keeps them from making a second message with the fingerprint of another. */
#ifndef DEAD_LETTERS_LETTER_FINGERPRINT_H
#define DEAD_LETTERS_LETTER_FINGERPRINT_H

#include "api/fingerprint.h"
#include "dead_letters/letter.h"

#define FINGERPRINT_SIZE (FINGERPRINT_DIGITS + 1)

/* False: out of memory. */
bool dead_letter_fingerprint(const struct dead_letter *, char ret[FINGERPRINT_SIZE]) MUST_CHECK;

#endif
