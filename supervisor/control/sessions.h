/* What the requests about sessions share. Layer: control. */
#ifndef CONTROL_SESSIONS_H
#define CONTROL_SESSIONS_H

#include "control/answer.h"
#include "control/sessions/session_walk.h"

/* The sessions that a query names. */
struct session_query {
	struct pool_runtime *runtime;
	struct text key;   /* TEXT_NONE: it names none */
	struct text where; /* a valid expression; TEXT_NONE: it has none */
};

/* Read the pool, `key` and `where` of a request; its texts are borrowed from it. False: it was
 * refused: 404 for a pool that does not exist, 409 for one without sessions, 400 for a mistake. */
bool session_query_read(
	const struct supervisor_view *, const struct http_request *, struct session_query *ret);
/* Why this supervisor has none of the pool's sessions; NULL: it has them. */
const char *session_standby_note(const struct pool_runtime *);
/* 404 */
void session_refuse_unknown(const struct http_request *, const struct session_query *);
/* 409; refusal: of the core. */
void session_refuse_command(const struct http_request *, struct text key, const char *refusal);

#endif
