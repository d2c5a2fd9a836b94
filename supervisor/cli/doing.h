/* What a worker is at, of a member of GET /v1/workers. Layer: cli, without I/O. */
#ifndef CLI_DOING_H
#define CLI_DOING_H

#include "base/text.h"

#include <jansson.h>

#define DOING_ROOM 256

/* The name of its task (borrowed, until the JSON is freed); or, of a worker whose last lives came
 * to nothing, in room: "3 x exit status 1, 2.1 s ago; next start in 4.0 s". */
struct text doing_words(const json_t *worker, char room[DOING_ROOM]);

#endif
