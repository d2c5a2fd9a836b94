#include "core/workers/life.h"

#include <assert.h>
#include <stddef.h>

/* clang-format off */
#define STAY(state) {state, ACTION_IGNORE}
static const struct life_step table[][FACT_FORCE + 1] = {
	[LIFE_WAITING] = {
		[FACT_TIMER]  = {LIFE_IN_LINE,  ACTION_LINE_UP},
		[FACT_LEAVE]  = {LIFE_RETIRED,  ACTION_RETIRE},
		[FACT_FORCE]  = {LIFE_RETIRED,  ACTION_RETIRE},
	},
	[LIFE_IN_LINE] = {
		[FACT_TURN]   = {LIFE_STARTING, ACTION_SPAWN},
		[FACT_LEAVE]  = {LIFE_RETIRED,  ACTION_RETIRE},
		[FACT_FORCE]  = {LIFE_RETIRED,  ACTION_RETIRE},
	},
	[LIFE_STARTING] = {
		[FACT_READY]  = {LIFE_READY,    ACTION_WELCOME},
		[FACT_BROKEN] = {LIFE_KILLED,   ACTION_KILL},
		[FACT_GONE]   = {LIFE_WAITING,  ACTION_BURY},
		[FACT_TIMER]  = {LIFE_KILLED,   ACTION_KILL},
		[FACT_LEAVE]  = {LIFE_KILLED,   ACTION_KILL},
		[FACT_FORCE]  = {LIFE_KILLED,   ACTION_KILL},
	},
	[LIFE_READY] = {
		[FACT_BROKEN] = {LIFE_KILLED,   ACTION_KILL},
		[FACT_GONE]   = {LIFE_WAITING,  ACTION_BURY},
		[FACT_TIMER]  = {LIFE_STOPPING, ACTION_TERM},
		[FACT_HARD]   = {LIFE_STOPPING, ACTION_TERM},
		[FACT_LEAVE]  = {LIFE_QUITTING, ACTION_QUIT},
		[FACT_FORCE]  = {LIFE_KILLED,   ACTION_KILL},
	},
	[LIFE_QUITTING] = {
		/* It closes its pipe on the way out; if it stays after that, the grace ends it. */
		[FACT_BROKEN] = STAY(LIFE_QUITTING),
		[FACT_GONE]   = {LIFE_WAITING,  ACTION_BURY},
		[FACT_TIMER]  = {LIFE_STOPPING, ACTION_TERM},
		[FACT_LEAVE]  = STAY(LIFE_QUITTING),
		[FACT_FORCE]  = {LIFE_KILLED,   ACTION_KILL},
	},
	[LIFE_STOPPING] = {
		[FACT_BROKEN] = {LIFE_KILLED,   ACTION_KILL},
		[FACT_GONE]   = {LIFE_WAITING,  ACTION_BURY},
		[FACT_TIMER]  = {LIFE_KILLED,   ACTION_KILL},
		[FACT_LEAVE]  = STAY(LIFE_STOPPING),
		[FACT_FORCE]  = {LIFE_KILLED,   ACTION_KILL},
	},
	[LIFE_KILLED] = {
		/* What it sent before the signal reached it. */
		[FACT_READY]  = STAY(LIFE_KILLED),
		[FACT_BROKEN] = STAY(LIFE_KILLED),
		[FACT_GONE]   = {LIFE_WAITING,  ACTION_BURY},
		[FACT_LEAVE]  = STAY(LIFE_KILLED),
		[FACT_FORCE]  = STAY(LIFE_KILLED),
	},
	[LIFE_RETIRED] = {
		[FACT_LEAVE]  = STAY(LIFE_RETIRED),
		[FACT_WANTED] = {LIFE_WAITING,  ACTION_REVIVE},
		[FACT_FORCE]  = STAY(LIFE_RETIRED),
	},
};
/* clang-format on */

struct life_step life_next(enum life_state state, enum life_fact fact)
{
	struct life_step step = table[state][fact];
	assert(step.action != ACTION_BUG);
	return step;
}

const char *life_state_name(enum life_state state)
{
	static const char *const names[] = {
#define X(name) [name] = #name,
		LIFE_STATES(X)
#undef X
	};
	return names[state];
}

const char *life_overdue_text(enum life_state state)
{
	static const char *const texts[] = {
		[LIFE_STARTING] = "boot limit",
		[LIFE_READY] = "grace after an operator's kill",
		[LIFE_QUITTING] = "grace after quit",
		[LIFE_STOPPING] = "grace after SIGTERM",
		[LIFE_RETIRED] = NULL,
	};
	return texts[state];
}
