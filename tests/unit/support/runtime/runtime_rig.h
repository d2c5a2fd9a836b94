/* A pool runtime without a broker, with real processes and its log. The test program runs itself
 * again as the worker. */
#ifndef UNIT_RUNTIME_RIG_H
#define UNIT_RUNTIME_RIG_H

#include "core/workers/starts.h"
#include "runtime/pool_set.h"
#include "runtime/runtime_shared.h"
#include "unit/unit.h"

#include <ev.h>

#define RUNTIME_RIG_PROCESSORS 16
#define RUNTIME_RIG_LOG_SIZE   (256 * 1024)

struct runtime_rig {
	struct runtime_shared tools;
	struct starts starts; /* of RUNTIME_RIG_PROCESSORS, which are idle */
	uint64_t last_task_id;
	struct config_pool config; /* moved into the pool runtime */
	char **command;            /* of config */
	struct pool_runtime *runtime;
	ev_timer deadline;
	uint16_t ready_min; /* the minimum of ready workers after each turn */
	int log;
	char said[RUNTIME_RIG_LOG_SIZE];
};

/* Run the tests, or the worker. Return main's exit code. */
int runtime_rig_run(int argc, char **argv, Suite *(*suite)(void));

/* All workers are ready when this returns. */
void runtime_rig_open(struct runtime_rig *, uint16_t workers);
void runtime_rig_close(struct runtime_rig *);
/* The words of a command, as in a configuration; owned by the caller. */
char **runtime_rig_words(const char *program);
struct config_pool runtime_rig_config(char **command, uint16_t workers);

void runtime_rig_turn(struct runtime_rig *);
/* Run a turn without waiting for events. */
void runtime_rig_turn_at_once(struct runtime_rig *);
void runtime_rig_command(struct runtime_rig *, enum command, uint32_t number);

void runtime_rig_await_ready(struct runtime_rig *, uint16_t count);
uint16_t runtime_rig_retired(const struct runtime_rig *);
void runtime_rig_await_retired(struct runtime_rig *, uint16_t count);
bool runtime_rig_has_logged(struct runtime_rig *, const char *text);
void runtime_rig_await_log(struct runtime_rig *, const char *text);
bool runtime_rig_is_gone(pid_t);

#endif
