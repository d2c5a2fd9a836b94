/* A crew of real processes under a pool that only takes notes. The workers are child.h's. */
#ifndef UNIT_CREWRIG_H
#define UNIT_CREWRIG_H

#include "io/crew.h"
#include "unit/support/io/child.h"

#define CREWRIG_EVENTS 20000

struct pool {
	struct event events[CREWRIG_EVENTS];
	int32_t status[CREWRIG_EVENTS]; /* SLOT_OUTPUT */
	char words[2048];               /* of the last SLOT_GONE or SLOT_OUTPUT; empty: none */
	size_t count, seen;
};

struct crewrig {
	struct ev_loop *loop;
	struct reaper *reaper;
	struct guard *guard;
	struct rundir *rundir;
	struct strays *strays;
	struct crew_config config;
	struct crew *crew;
	struct pool *pool;
	ev_timer deadline;
	int log;
	char *command[4];
};

/* Starts no process: that is a wish. */
void crewrig_open(struct crewrig *, enum pipe_form, const char *behaviour, uint16_t workers);
/* Its workers are another program, a copy of this one, with these rights. */
void crewrig_open_as(struct crewrig *, enum pipe_form, const char *behaviour, uint16_t workers,
	const char *program, const struct rights *);
/* The run directory is empty by then: what is left there was forgotten. */
void crewrig_close(struct crewrig *rig);
/* One turn of the loop, unless there are events to look at; aborts when nothing comes for 20 s. */
void crewrig_turn(struct crewrig *rig);
/* Index of the next event that nobody has looked at. */
size_t crewrig_next(struct crewrig *rig);
/* The next event is of this kind. */
const struct event *crewrig_expect(struct crewrig *rig, enum event_kind kind);
void crewrig_expect_status(struct crewrig *rig, int32_t status);
void crewrig_expect_gone(struct crewrig *rig, enum exit_kind kind, int32_t number);
/* With a body of that many bytes; the caller's. */
struct delivery *crewrig_delivery(size_t body_len);
enum send_result crewrig_send(struct crewrig *rig, uint16_t slot, size_t body_len);
/* All that was logged; good until the next call. */
const char *crewrig_log(struct crewrig *rig);

#endif
