/* The rows and columns for commands: which command a pool got in which situation. */
#ifndef SIM_COVER_COMMAND_H
#define SIM_COVER_COMMAND_H

#include "core/event.h"

/* One row for each command, and further ones for a scale that asks for no more workers. */
enum cover_command {
	ROW_SCALE_DOWN,
	ROW_SCALE_NOWHERE, /* as many as there are, or a number that is refused */
	ROW_SCALE_RANGE,   /* as many as are needed */
#define X(id, name) ROW_##id,
	COMMANDS(X)
#undef X
};
#define X(id, name) +1
enum { ROW_COUNT = ROW_SCALE_RANGE + 1 COMMANDS(X) };
#undef X

enum cover_situation {
	SITUATION_PLAIN, /* none of the others */
	SITUATION_PAUSED,
	SITUATION_ROLLS,
	SITUATION_SHRINKS, /* a worker is leaving, without a roll */
	SITUATION_STOPS,
	SITUATION_COUNT
};

#endif
