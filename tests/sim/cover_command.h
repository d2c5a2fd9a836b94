/* Which commands met a pool in which situation. */
#ifndef SIM_COVER_COMMAND_H
#define SIM_COVER_COMMAND_H

enum cover_command {
	ROW_DRAIN,        /* as enum command */
	ROW_SCALE_UP = 4, /* and from here on by itself */
	ROW_SCALE_DOWN,
	ROW_SCALE_NOWHERE, /* as many as there are, or a number that is refused */
	ROW_SCALE_RANGE,   /* as many as are needed */
	ROW_RESTART,
	ROW_CONFIGURE,
	ROW_COUNT
};
enum cover_situation {
	SITUATION_PLAIN, /* nothing of the others */
	SITUATION_PAUSED,
	SITUATION_ROLLS,
	SITUATION_SHRINKS, /* somebody is leaving, and it does not roll */
	SITUATION_STOPS,
	SITUATION_COUNT
};

#endif
