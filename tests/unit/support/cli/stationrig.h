/* A station without a broker: real processes, and what it says of them. The test program runs
 * itself again as their worker. */
#ifndef UNIT_STATIONRIG_H
#define UNIT_STATIONRIG_H

#include "cli/fleet.h"
#include "cli/station_tools.h"
#include "unit/unit.h"

#include <ev.h>

#define STATIONRIG_LOG (256 * 1024)

struct stationrig {
	struct station_tools tools;
	struct config_pool config; /* moved into the station */
	char **command;            /* that one's */
	struct station *station;
	ev_timer deadline;
	uint16_t least; /* so many are ready after each turn */
	int log;
	char said[STATIONRIG_LOG];
};

/* main's value: of the tests, or of the worker. */
int stationrig_run(int argc, char **argv, Suite *(*suite)(void));

/* All workers are ready when this returns. */
void stationrig_open(struct stationrig *, uint16_t workers);
void stationrig_close(struct stationrig *);
/* As a configuration has them; owned by the caller, who may move them. */
char **stationrig_words(const char *program);
struct config_pool stationrig_config(char **command, uint16_t workers);

void stationrig_turn(struct stationrig *);
/* Something may have happened, or nothing is to come at all. */
void stationrig_turn_at_once(struct stationrig *);
void stationrig_command(struct stationrig *, enum command, uint32_t number);

void stationrig_await_ready(struct stationrig *, uint16_t count);
uint16_t stationrig_retired(const struct stationrig *);
void stationrig_await_retired(struct stationrig *, uint16_t count);
bool stationrig_has_said(struct stationrig *, const char *words);
void stationrig_await_said(struct stationrig *, const char *words);
bool stationrig_is_gone(pid_t);

#endif
