/* struct workers with real processes under a fake pool that records events. The workers are those
 * of child.h. */
#ifndef UNIT_CREWRIG_H
#define UNIT_CREWRIG_H

#include "process/mark.h"
#include "unit/support/process/child.h"
#include "worker/workers.h"

#define CREWRIG_EVENTS 20000

struct pool {
	struct event events[CREWRIG_EVENTS];
	int32_t status[CREWRIG_EVENTS]; /* SLOT_OUTPUT */
	char words[2048];               /* of the last SLOT_GONE or SLOT_OUTPUT; empty: none */
	char detail[512];               /* of the last of these or SLOT_BROKEN; empty: none */
	size_t count, seen;
};

struct workers_rig {
	struct ev_loop *loop;
	struct reaper *reaper;
	struct guard *guard;
	struct rundir *rundir;
	char run[MARK_RUN_SIZE];
	struct descendants *descendants;
	struct strays *strays;
	struct workers_config config;
	struct workers *workers;
	struct pool *pool;
	ev_timer deadline;
	int log;
	char *command[4];
};

/* Starts no process; a request does. */
void workers_rig_open(
	struct workers_rig *, enum pipe_form, const char *behaviour, uint16_t workers);
/* The same with a copy of this program as workers, with these rights. */
void workers_rig_open_as(struct workers_rig *, enum pipe_form, const char *behaviour,
	uint16_t workers, const char *program, const struct rights *);
/* Free it. Check that the run directory is empty. */
void workers_rig_close(struct workers_rig *rig);
/* Run one turn of the loop, unless there are unread events; fail if none comes for 20 s. */
void workers_rig_turn(struct workers_rig *rig);
/* The index of the next unread event. */
size_t workers_rig_next(struct workers_rig *rig);
/* The next event must be of this kind. */
const struct event *workers_rig_expect(struct workers_rig *rig, enum event_kind kind);
void workers_rig_expect_status(struct workers_rig *rig, int32_t status);
void workers_rig_expect_gone(struct workers_rig *rig, enum exit_kind kind, int32_t number);
/* A delivery with a body of that size; owned by the caller. */
struct delivery *workers_rig_delivery(size_t body_len);
enum send_result workers_rig_send(struct workers_rig *rig, uint16_t slot, size_t body_len);
/* The whole log; valid until the next call. */
const char *workers_rig_log(struct workers_rig *rig);

#endif
