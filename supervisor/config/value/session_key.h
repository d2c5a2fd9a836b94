/* The setting session.key: where a message has the key of its session. Layer: config. Pure. */
#ifndef CONFIG_VALUE_SESSION_KEY_H
#define CONFIG_VALUE_SESSION_KEY_H

#include "base/text.h"
#include "config/choices.h"

/* The longest in bytes: "header:" and a name as long as AMQP allows. */
#define SESSION_KEY_SETTING_MAX (7 + 255)

enum session_key_kind { SESSION_KEY_HEADER, SESSION_KEY_PROPERTY, SESSION_KEY_ROUTING_KEY };

struct session_key {
	enum session_key_kind kind;
	struct text header;                /* its name, borrowed from the setting */
	enum config_key_property property; /* which one */
};

/* Read "header:NAME", "property:NAME" or "routing_key". NULL: *ret is set. Otherwise why it is
 * refused, and what is needed, to stand behind the quoted value; static. *ret is then untouched. */
const char *session_key_parse(struct text, struct session_key *ret);

#endif
