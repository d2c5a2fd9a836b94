/* A station: one pool with all that it acts through. Layer: cli.
 * Joins the pure pool to its crew (processes), its consumer and its publisher (channels), and
 * carries the pool's effects to them. Decides nothing. */
#ifndef CLI_STATION_H
#define CLI_STATION_H

#include "broker/consumer.h"
#include "broker/publisher.h"
#include "config/config.h"
#include "io/crew.h"
#include <sys/resource.h>

struct station;

/* What all stations of a supervisor share; borrowed until station_free. */
struct station_tools {
	struct ev_loop *loop;
	struct reaper *reaper;
	struct guard *guard;
	struct rundir *rundir;
	struct strays *strays;
	struct rlimit descriptors; /* what a worker may have */
};

/* number: from 0; its channels have number + 1. config is borrowed until station_free. NULL: out of
 * memory. */
struct station *station_new(
	const struct station_tools *, const struct config_pool *config, uint16_t number, mtime now);
/* Kills what still lives. */
void station_free(struct station *);

struct consumer *station_consumer(struct station *);
struct publisher *station_publisher(struct station *);
/* What the publish connection has negotiated: bytes, at least 4096. Bounds the headers of replies.
 */
void station_set_frame_max(struct station *, uint32_t frame_max);
/* number: of COMMAND_SCALE, else 0. What comes of it is logged. */
void station_command(struct station *, enum command, uint32_t number, mtime now);
/* The end of a loop turn: waits that are over, dispatch, acks, and one write a pipe. */
void station_turn(struct station *, mtime now, uint64_t wall_s);
/* When the next turn is wanted, whatever happens. */
mtime station_deadline(const struct station *);
bool station_is_quiet(const struct station *);
bool station_was_forced(const struct station *);
/* Logs what it did; once, when it is quiet. */
void station_say_goodbye(const struct station *);

#endif
