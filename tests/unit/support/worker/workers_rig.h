/* A workers of real processes under a pool that only takes notes. The workers are child.h's. */
#ifndef UNIT_CREWRIG_H
#define UNIT_CREWRIG_H

#include "unit/support/process/child.h"
#include "worker/workers.h"

#define CREWRIG_EVENTS 20000

struct pool {
	struct event events[CREWRIG_EVENTS];
	int32_t status[CREWRIG_EVENTS]; /* SLOT_OUTPUT */
	char words[2048];               /* of the last SLOT_GONE or SLOT_OUTPUT; empty: none */
	size_t count, seen;
};

struct workers_rig {
	struct ev_loop *loop;
	struct reaper *reaper;
	struct guard *guard;
	struct rundir *rundir;
	struct strays *strays;
	struct workers_config config;
	struct workers *workers;
	struct pool *pool;
	ev_timer deadline;
	int log;
	char *command[4];
};

/* Starts no process: that is a wish. */
void workers_rig_open(
	struct workers_rig *, enum pipe_form, const char *behaviour, uint16_t workers);
/* Its workers are another program, a copy of this one, with these rights. */
void workers_rig_open_as(struct workers_rig *, enum pipe_form, const char *behaviour,
	uint16_t workers, const char *program, const struct rights *);
/* The run directory is empty by then: what is left there was forgotten. */
void workers_rig_close(struct workers_rig *rig);
/* One turn of the loop, unless there are events to look at; aborts when nothing comes for 20 s. */
void workers_rig_turn(struct workers_rig *rig);
/* Index of the next event that nobody has looked at. */
size_t workers_rig_next(struct workers_rig *rig);
/* The next event is of this kind. */
const struct event *workers_rig_expect(struct workers_rig *rig, enum event_kind kind);
void workers_rig_expect_status(struct workers_rig *rig, int32_t status);
void workers_rig_expect_gone(struct workers_rig *rig, enum exit_kind kind, int32_t number);
/* With a body of that many bytes; the caller's. */
struct delivery *workers_rig_delivery(size_t body_len);
enum send_result workers_rig_send(struct workers_rig *rig, uint16_t slot, size_t body_len);
/* All that was logged; good until the next call. */
const char *workers_rig_log(struct workers_rig *rig);

#endif
