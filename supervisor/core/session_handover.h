/* What a supervisor that leaves in an orderly way passes to the next one about a session. Layer:
 * core, plain data. One for each lane of a session whose first message has a past, and one for a
 * session that is only paused. */
#ifndef CORE_SESSION_HANDOVER_H
#define CORE_SESSION_HANDOVER_H

#include "base/mtime.h"
#include "base/text.h"
#include "core/tasks/reason.h"
#include <stdbool.h>

/* Of the first message of a lane. */
struct message_past {
	bool is_high;  /* the lane */
	bool is_later; /* it is parked or blocked: its next attempt goes before both lanes */
	bool is_blocked;
	bool is_poison;     /* the holder died in a row of deaths while this message ran alone */
	enum reason reason; /* why it failed last */
	mtime wait;         /* until its next attempt; 0: none */
	uint16_t attempt;   /* failed attempts */
	uint32_t slice;     /* times handed back */
};

struct session_handover {
	struct text key;
	bool is_paused;   /* the session */
	bool has_message; /* the members below are about one, which comes back as a redelivery */
	struct message_past past;
	bool has_rest; /* the rest of its work: its next attempt gets that */
	struct text body, headers, content_type; /* of the rest; borrowed for the call */
};

#endif
