/* A station: one pool with all that it acts through. Layer: cli.
 * Joins the pure pool to its crew (processes), its consumer and its publisher (channels), and
 * carries the pool's effects to them. Decides nothing. */
#ifndef CLI_STATION_H
#define CLI_STATION_H

#include "broker/publisher.h"
#include "cli/feed.h"
#include "cli/report.h"
#include "cli/station_tools.h"
#include "config/config.h"
#include "core/pool_facts.h"
#include "io/crew.h"

struct station;

/* place: from 0; it publishes on channel place + 1. serial: no other station has it. config moves
 * in. NULL: out of memory, and config is as it was. */
struct station *station_new(const struct station_tools *, struct config_pool *config,
	uint16_t place, uint32_t serial, mtime now);
/* Kills what still lives. */
void station_free(struct station *);

uint16_t station_place(const struct station *);
uint32_t station_serial(const struct station *);
const struct config_pool *station_config(const struct station *);
/* What of other can be taken over while work goes on holds from now on, and the pool is told what
 * follows from that: a number of workers, a restart. other is left with what was before. */
void station_change(struct station *, struct config_pool *other, mtime now);
/* It comes in place of another one: what operators asked of that holds for it, too (a pause; a
 * number of workers, unless another one is configured now). */
void station_follow(struct station *, const struct station *before, mtime now);
/* Another one is the pool of its name now; it works on until it is told to leave. */
void station_supersede(struct station *);
/* It is not wanted any more: it drains, for as long as that takes, and is to be freed then. */
void station_leave(struct station *, mtime now);
/* Either of both; and the second. */
bool station_is_leaving(const struct station *);
bool station_is_draining(const struct station *);
/* Of one that drains: nothing is left of it, here and at the broker. Asked in each turn. */
bool station_has_left(struct station *);

/* Starts to connect to the broker; once. shared: see feed_new. */
bool station_connect(
	struct station *, struct ev_loop *, const struct uplink_config *shared) MUST_CHECK;
/* What it consumes by; NULL before station_connect. */
struct feed *station_feed(const struct station *);
struct publisher *station_publisher(struct station *);
/* What the publish connection has negotiated: bytes, at least 4096. Bounds the headers of replies.
 */
void station_set_frame_max(struct station *, uint32_t frame_max);
/* number: of COMMAND_SCALE, else 0. What comes of it is logged. Returns why it was refused, static
 * words; NULL: it was not. */
const char *station_command(struct station *, enum command, uint32_t number, mtime now);
/* The same, of COMMAND_SCALE: as many workers as the pool needs, from least to most; equal: so
 * many. Or as the configuration has it. */
const char *station_scale(struct station *, uint32_t least, uint32_t most, mtime now);
const char *station_scale_as_configured(struct station *, mtime now);
/* The end of a loop turn: waits that are over, dispatch, acks, and one write a pipe. */
void station_turn(struct station *, mtime now, uint64_t wall_s);
/* When the next turn is wanted, whatever happens. */
mtime station_deadline(const struct station *);
bool station_is_quiet(const struct station *);
bool station_was_forced(const struct station *);

/* What is seen of it. */
struct pool_facts station_facts(const struct station *);
const struct report *station_report(const struct station *);
struct crew_lines station_lines(const struct station *);
/* As the broker has it, where the pool only wishes. */
bool station_is_consuming(const struct station *);
/* What waits in the broker; NULL: nobody knows. */
const struct backlog *station_backlog(const struct station *);
struct slot_counts station_slot_counts(const struct station *);
/* There are slots from 0 to below that. */
uint16_t station_slot_count(const struct station *);
struct slot_facts station_slot(const struct station *, uint16_t slot);
/* Of the process in that slot; 0: there is none. */
pid_t station_slot_pid(const struct station *, uint16_t slot);

/* Logs what it did; once, when it is quiet. */
void station_say_goodbye(const struct station *);

#endif
