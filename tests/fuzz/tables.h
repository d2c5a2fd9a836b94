/* Raw properties of a message from a script: its bytes as they are, or fields built from it, so
 * that a mutation of the script is often another well-formed message. */
#ifndef FUZZ_TABLES_H
#define FUZZ_TABLES_H

#include "base/buf.h"
#include "fuzz/feed.h"

/* Uses the rest of the script. */
void tables_put_properties(struct buf *, struct feed *);

#endif
