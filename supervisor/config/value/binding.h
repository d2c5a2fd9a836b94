/* A binding of a pool's queue, as one text of the configuration: lines NAME=VALUE, among them
 * exchange, type, routing_key, match, and header=KEY=VALUE for each header. Layer: config. Pure.
 * The broker's side reads it in broker/queue/queue_settings.c. */
#ifndef CONFIG_VALUE_BINDING_H
#define CONFIG_VALUE_BINDING_H

#include "base/buf.h"

/* Append a field. NULL, or what is wrong with the value, to stand behind it. */
const char *binding_append(struct buf *, const char *name, struct text value) MUST_CHECK;
/* Take the next field off *rest. False: there is none. */
bool binding_next(struct text *rest, struct text *ret_name, struct text *ret_value);

#endif
