/* The requests for the verbs of a pool, and their answers as text. Layer: client. */
#ifndef CLIENT_VERBS_H
#define CLIENT_VERBS_H

#include "api/verbs.h"
#include "base/buf.h"

#include <jansson.h>

#define VERB_PATH_SIZE 96

/* Make the path of the POST, with a * for the pool. value: the number of workers or the id of a
 * task; NULL if the verb needs none; at most 32 characters. */
void verb_path(
	const struct api_verb *, bool has_pool, const char *value, char path[VERB_PATH_SIZE]);
/* "POOL: 4 workers wanted", with the bounds if it chooses the number. pool: a member of the answer.
 */
void verb_append_done(const struct api_verb *, const json_t *pool, struct buf *out);

#endif
