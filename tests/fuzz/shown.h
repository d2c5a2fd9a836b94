/* Text that is shown: whatever it was made of, nobody obeys it. The ranges are written here once
 * more, so that a mistake in base/utf8 is found. */
#ifndef FUZZ_SHOWN_H
#define FUZZ_SHOWN_H

#include "base/text.h"

/* It must be UTF-8 without controls, but for those in kept, which are ASCII. */
void shown_check(struct text, const char *kept);

#endif
