/* Raw properties of a message out of a script: as they stand there, or put together by it, so that
 * a mutation of the script is another well-formed message and not only another broken one. */
#ifndef FUZZ_TABLES_H
#define FUZZ_TABLES_H

#include "base/buf.h"
#include "fuzz/feed.h"

/* Takes the rest of the script. */
void tables_put_properties(struct buf *, struct feed *);

#endif
