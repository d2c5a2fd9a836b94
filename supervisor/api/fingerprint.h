/* The text by which a dead letter is found again. Layer: api. `wpool dead-letters` makes it
 * (dead_letters/letter_fingerprint.h) and takes it as an option, the control API as a parameter. */
#ifndef API_FINGERPRINT_H
#define API_FINGERPRINT_H

#include "base/text.h"

#define FINGERPRINT_DIGITS 32
#define FINGERPRINT_RULE   "is not 32 hexadecimal digits, in lower case"

/* False: FINGERPRINT_RULE says why. */
bool fingerprint_is_valid(struct text);

#endif
