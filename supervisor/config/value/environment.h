/* Environment variables, and their expansion in texts. Layer: config. Pure: the environment is
 * an argument ("NAME=value" strings, NULL-terminated; NULL: none). */
#ifndef CONFIG_VALUE_ENVIRONMENT_H
#define CONFIG_VALUE_ENVIRONMENT_H

#include "base/buf.h"

/* The value of a variable, borrowed from it; NULL when it is not set. */
const char *environment_find(char *const *environment, struct text name);
/* The same, but an empty variable counts as not set, since compose files pass empty ones on. */
const char *environment_value(char *const *environment, const char *name);
/* Take the next variable that t expands, as environment_expand does: move t behind it and put its
 * name into *ret_name. False: there are no more. */
bool environment_next_name(struct text *t, struct text *ret_name);
/* True for letters, digits and '_' that do not begin with a digit. */
bool environment_is_name(struct text);
/* Append t with ${NAME} and ${NAME:-default} expanded (the default if NAME is unset or empty)
 * and $$ as one dollar. Any other dollar stays. RC_MALFORMED: *ret_name is the variable that is
 * not set, or empty if a ${ is not closed or has no valid name. RC_REFUSED: there is a { in the
 * default of the variable *ret_name, set or not: the } meant for it would end the default. After a
 * failure out may have a part. */
enum rc environment_expand(
	struct text t, char *const *environment, struct buf *out, struct text *ret_name) MUST_CHECK;

#endif
