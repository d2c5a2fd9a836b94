/* A pool together with its workers and channels. Layer: runtime. Connects the pure pool to its
 * workers (processes), its consumer and its publisher (channels), and carries out the pool's
 * effects. Makes no decision. */
#ifndef RUNTIME_POOL_RUNTIME_H
#define RUNTIME_POOL_RUNTIME_H

#include "broker/publisher.h"
#include "config/config.h"
#include "core/pool_facts.h"
#include "runtime/consume_link.h"
#include "runtime/runtime_shared.h"
#include "runtime/statistics.h"
#include "worker/workers.h"

struct pool_runtime;

/* place: from 0; it publishes on channel place + 1. serial: unique. config moves in. NULL: out
 * of memory; config is untouched. */
struct pool_runtime *pool_runtime_new(const struct runtime_shared *, struct config_pool *config,
	uint16_t place, uint32_t serial, mtime now);
/* Kill the workers that still run, and free it. */
void pool_runtime_free(struct pool_runtime *);

uint16_t pool_runtime_place(const struct pool_runtime *);
uint32_t pool_runtime_serial(const struct pool_runtime *);
const struct config_pool *pool_runtime_config(const struct pool_runtime *);
/* Apply the settings of other that can change at run time, and what follows: a number of
 * workers, a restart. The old values move to other. */
void pool_runtime_change(struct pool_runtime *, struct config_pool *other, mtime now);
/* Take over what operators have set on the pool that this one replaces: a pause, and the number
 * of workers unless the configuration changes it. */
void pool_runtime_inherit(struct pool_runtime *, const struct pool_runtime *before, mtime now);
/* Mark it as replaced by another pool of its name; it works until pool_runtime_drain. */
void pool_runtime_mark_replaced(struct pool_runtime *);
/* Drain it, without a time limit; it is freed when pool_runtime_is_drained. */
void pool_runtime_drain(struct pool_runtime *, mtime now);
/* Replaced or draining; draining. */
bool pool_runtime_is_retiring(const struct pool_runtime *);
bool pool_runtime_is_draining(const struct pool_runtime *);
/* True if nothing is left of a draining pool, here and at the broker. Called in each turn. */
bool pool_runtime_is_drained(struct pool_runtime *);

/* Start to connect to the broker; once. shared: see consume_link_new. */
bool pool_runtime_connect(struct pool_runtime *, struct ev_loop *,
	const struct broker_link_config *shared) MUST_CHECK;
/* Its consuming connection; NULL before pool_runtime_connect. */
struct consume_link *pool_runtime_consume_link(const struct pool_runtime *);
struct publisher *pool_runtime_publisher(struct pool_runtime *);
/* Set frame_max of the publish connection, at least 4096 bytes, which bounds the headers of
 * replies. */
void pool_runtime_set_frame_max(struct pool_runtime *, uint32_t frame_max);
/* Give the pool a command. number: for COMMAND_SCALE, else 0. The result is logged. Return why
 * it was refused, a static text; NULL: it was accepted. */
const char *pool_runtime_command(struct pool_runtime *, enum command, uint32_t number, mtime now);
/* The same for COMMAND_SCALE: from min to max workers, as the pool needs; or as configured. */
const char *pool_runtime_scale(struct pool_runtime *, uint32_t min, uint32_t max, mtime now);
const char *pool_runtime_scale_as_configured(struct pool_runtime *, mtime now);
/* End a turn of the loop: expired timers, dispatch, acks, and one write for each pipe. */
void pool_runtime_turn(struct pool_runtime *, mtime now, uint64_t wall_s);
/* When the next turn is needed at the latest. */
mtime pool_runtime_deadline(const struct pool_runtime *);
bool pool_runtime_is_quiet(const struct pool_runtime *);
bool pool_runtime_was_forced(const struct pool_runtime *);

/* Its figures and states, for those who show them. */
struct pool_facts pool_runtime_facts(const struct pool_runtime *);
const struct statistics *pool_runtime_statistics(const struct pool_runtime *);
struct workers_lines pool_runtime_lines(const struct pool_runtime *);
/* What the broker has confirmed; the pool only requests it. */
bool pool_runtime_is_consuming(const struct pool_runtime *);
/* The queue's backlog in the broker; NULL: unknown. */
const struct backlog *pool_runtime_backlog(const struct pool_runtime *);
struct slot_counts pool_runtime_slot_counts(const struct pool_runtime *);
/* Slots are numbered from 0 to below this. */
uint16_t pool_runtime_slot_count(const struct pool_runtime *);
struct slot_facts pool_runtime_slot(const struct pool_runtime *, uint16_t slot);
/* The pid of the process in the slot; 0: none. */
pid_t pool_runtime_slot_pid(const struct pool_runtime *, uint16_t slot);

/* Log the pool's state. */
void pool_runtime_log_state(const struct pool_runtime *, mtime now);
/* Log a summary of what it did; once, when it is quiet. */
void pool_runtime_log_summary(const struct pool_runtime *);

#endif
