/* The setting session.key: where a message has the key of its session. Layer: config. Pure.
 * Only the check; message/key_source.h reads the setting, and a unit test of runtime shows that
 * both accept the same. */
#ifndef CONFIG_VALUE_SESSION_KEY_H
#define CONFIG_VALUE_SESSION_KEY_H

#include "base/text.h"

/* The longest in bytes: "header:" and a name as long as AMQP allows. */
#define SESSION_KEY_SETTING_MAX (7 + 255)

/* NULL: it is "header:NAME", "property:NAME" or "routing_key". Otherwise why it is refused, and
 * what is needed, to stand behind the quoted value; static. */
const char *session_key_problem(struct text);

#endif
