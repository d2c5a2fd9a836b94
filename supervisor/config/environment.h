/* Variables of the environment, and texts that name them. Layer: config. Pure: the environment is
 * an argument ("NAME=value" strings, NULL-terminated; NULL: none). */
#ifndef CONFIG_ENVIRONMENT_H
#define CONFIG_ENVIRONMENT_H

#include "base/buf.h"

/* The value of a variable, borrowed from it; NULL when it is not set. */
const char *environment_find(char *const *environment, struct text name);
/* The same, but a variable set to nothing counts as not set: a compose file passes on what it has.
 */
const char *environment_value(char *const *environment, const char *name);
/* Letters, digits and '_', no digit first. */
bool environment_is_name(struct text);
/* Appends t with ${NAME} and ${NAME:-default} replaced (the default where NAME is unset or empty)
 * and
 * $$ as one dollar. A dollar before anything else stays. RC_MALFORMED: *ret_name is the variable
 * that is not set, or empty where a ${ was never closed or names no variable; out may hold a part.
 */
enum rc environment_expand(
	struct text t, char *const *environment, struct buf *out, struct text *ret_name) MUST_CHECK;

#endif
