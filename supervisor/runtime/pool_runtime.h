/* A pool together with its workers and channels. Layer: runtime. Connects the pure pool to its
 * workers (processes), its consumer and its publisher (channels), and carries out the pool's
 * effects. Makes no decision. It is open for reading: its parts are asked directly. */
#ifndef RUNTIME_POOL_RUNTIME_H
#define RUNTIME_POOL_RUNTIME_H

#include "broker/publisher.h"
#include "config/config.h"
#include "core/pool_facts.h"
#include "runtime/consume_link.h"
#include "runtime/figures/history.h"
#include "runtime/pool_token.h"
#include "runtime/report/report.h"
#include "runtime/runtime_shared.h"
#include "worker/workers.h"

/* Only the functions below change it, and broker_links its channels. */
struct pool_runtime {
	uint16_t place;              /* in the pool set */
	uint32_t serial;             /* unique */
	struct link turn;            /* in the pool set, by the order of turns */
	bool has_used_throttle;      /* since it has its place there */
	struct throttles *throttles; /* borrowed */
	bool is_replaced, is_draining;
	/* The pools of its name that it replaces, and that replaces it; borrowed, NULL: none, or it
	 * has gone. */
	struct pool_runtime *predecessor, *successor;
	struct config_pool config; /* owned */
	struct pool_config pool_config;
	struct workers_config workers_config;
	struct consumer_config consumer_config;
	struct publisher_config publisher_config;
	struct channel_log log;
	struct report report;
	struct pool *pool;
	struct workers *workers;
	struct consumer *consumer; /* knows what the broker has confirmed */
	struct publisher *publisher;
	struct pool_token token;
	struct consume_link *consume_link; /* NULL before pool_runtime_connect */
	const char *refusal;               /* why the latest command was refused, or NULL */
	mtime turned_at;                   /* end of the latest turn */
	struct history history;
	struct history_mark history_mark;
	/* Of its publisher and of its token, on the publish connection; 0: none. */
	uint16_t publish_channel, token_channel;
};

/* config moves in. NULL: out of memory; config is untouched. */
struct pool_runtime *pool_runtime_new(const struct runtime_shared *, struct config_pool *config,
	uint16_t place, uint32_t serial, mtime now);
/* Kill the workers that still run, and free it; its successor has its predecessor then. */
void pool_runtime_free(struct pool_runtime *);

/* Apply the settings of other that can change at run time, and what follows: a number of
 * workers, a restart. The old values move to other. */
void pool_runtime_change(struct pool_runtime *, struct config_pool *other, mtime now);
/* Take over the history of the pool that this one replaces, and what operators have set on it: a
 * pause, and the number of workers unless the configuration changes it. */
void pool_runtime_inherit(struct pool_runtime *, const struct pool_runtime *before, mtime now);
/* Mark it as replaced by another pool of its name, which replaces no other; it works until
 * pool_runtime_drain. */
void pool_runtime_mark_replaced(struct pool_runtime *, struct pool_runtime *by);
/* Drain it, without a time limit; it is freed when pool_runtime_is_drained. */
void pool_runtime_drain(struct pool_runtime *, mtime now);
/* Replaced or draining. */
bool pool_runtime_is_retiring(const struct pool_runtime *);
/* Pass the token on when the pool is quiet. True: it is quiet, and the token is passed on; then its
 * connections may be closed. Called in each turn of a stop. */
bool pool_runtime_is_quiet(struct pool_runtime *);
/* True if nothing is left of a draining pool, here and at the broker. Called in each turn. */
bool pool_runtime_is_drained(struct pool_runtime *);

/* Start to connect to the broker; once. shared: see consume_link_new. */
bool pool_runtime_connect(struct pool_runtime *, struct ev_loop *,
	const struct broker_link_config *shared) MUST_CHECK;
/* Set frame_max of the publish connection, at least 4096 bytes, which bounds the headers of
 * replies. */
void pool_runtime_set_frame_max(struct pool_runtime *, uint32_t frame_max);
/* Give the pool a command. number: for COMMAND_SCALE, else 0. The result is logged. Return why
 * it was refused, a static text; NULL: it was accepted. */
const char *pool_runtime_command(struct pool_runtime *, enum command, uint32_t number, mtime now);
/* The same for COMMAND_SCALE: from min to max workers, as the pool needs. */
const char *pool_runtime_scale(struct pool_runtime *, uint32_t min, uint32_t max, mtime now);
/* The same with min and max as configured. */
const char *pool_runtime_scale_as_configured(struct pool_runtime *, mtime now);
/* Ask the worker that has the task with this id to give it up. */
const char *pool_runtime_cancel(struct pool_runtime *, uint64_t task_id, mtime now);
/* task_id 0: the only task that the worker in this slot works on. */
const char *pool_runtime_kill(
	struct pool_runtime *, uint16_t slot, uint64_t task_id, bool gives_up, mtime now);
/* Give a session a command; the result is not logged, because it may be for many. queued: for CLOSE
 * and ABORT. key: borrowed for the call. */
const char *pool_runtime_session_command(struct pool_runtime *, enum session_verb,
	enum session_queued queued, struct text key, mtime now);
/* End a turn of the loop: expired timers, dispatch, acks. throttle_now: throttles_now. */
void pool_runtime_turn(struct pool_runtime *, mtime now, mtime throttle_now, uint64_t wall_s);
/* After it: one write for each pipe. */
void pool_runtime_flush(struct pool_runtime *);
/* Return what it did since the last call; its times are also added to took. */
struct history_second pool_runtime_measure(struct pool_runtime *, struct histogram *took);
/* When the next turn is needed at the latest. */
mtime pool_runtime_deadline(const struct pool_runtime *);

/* The queue's backlog in the broker; NULL: unknown. */
const struct backlog *pool_runtime_backlog(const struct pool_runtime *);
/* The messages in its dead-letter queue; NULL: unknown. */
const struct backlog *pool_runtime_dead_letters(const struct pool_runtime *);
/* The messages in its wait queues; NULL: unknown. */
const struct wait_probe *pool_runtime_waits(const struct pool_runtime *);
/* As far as it could be found out. */
enum queue_type pool_runtime_queue_type(const struct pool_runtime *);
enum queue_durability pool_runtime_queue_durability(const struct pool_runtime *);
/* pool_state_name, and "not consuming" where the broker is connected and the queue is refused. */
const char *pool_runtime_state_name(const struct pool_runtime *);
/* The pid of the process in the slot; 0: none. */
pid_t pool_runtime_slot_pid(const struct pool_runtime *, uint16_t slot);

/* Log the pool's state. */
void pool_runtime_log_state(const struct pool_runtime *, mtime now);
/* Log a summary of what it did; once, when it is quiet. */
void pool_runtime_log_summary(const struct pool_runtime *);

#endif
