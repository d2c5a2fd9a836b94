/* SipHash-1-3: a hash of texts that others choose. Layer: base. Without the secret nobody can
 * choose texts with equal hashes, also by trying. J.-P. Aumasson and D. J. Bernstein, "SipHash: a
 * fast short-input PRF", 2012; with 1 and 3 rounds as in the tables of CPython and Rust. */
#ifndef BASE_KEYED_HASH_H
#define BASE_KEYED_HASH_H

#include "base/text.h"

/* Both halves of SipHash's key are the secret. */
uint64_t keyed_hash(uint64_t secret, struct text);

#endif
