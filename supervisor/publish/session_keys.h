/* The sessions of a pool to which `wpool publish --sessions` publishes, as its supervisor knows
 * them. Layer: publish. */
#ifndef PUBLISH_SESSION_KEYS_H
#define PUBLISH_SESSION_KEYS_H

#include "base/text.h"

#include <jansson.h>

/* The texts live until session_keys_release. */
struct session_keys {
	json_t *pools, *sessions; /* owned: the answers */
	struct text *list;        /* owned */
	size_t count;
	struct text longest;
	const char *queue; /* of the pool */
	const char *place; /* where the key of a message is: its session.key */
};

/* Ask the supervisor on this socket (NULL: the default one) for the sessions of a pool that match.
 * Returns EX_OK; or another exit code, after the problem was printed: 65 also if none matches. */
int session_keys_read(struct session_keys *ret, const char *command, const char *socket,
	const char *pool, const char *where);
/* Zeros are legal. */
void session_keys_release(struct session_keys *);

#endif
