/* A rig for tests of the pool: a clock, fake effects that record their calls, and one short
 * function for each event. The effects are compared as text: "spawn 0.1" is slot 0, life 1; "send
 * 0:7" is tag 7 to slot 0, "send 0:7/2" its second attempt; "ack 7*" is a multiple one; "publish 3
 * reply 7" is number 3, for tag 7; "retry 7 after 1000" has that delay in ms, "dead 7 'oops'"
 * has a last line of stderr; "keys 7": the keys for throttles are those of the second throttle from
 * now on. pool_audit runs after every step. */
#ifndef UNIT_RIG_H
#define UNIT_RIG_H

#include "core/pool.h"
#include "core/workers/starts.h"
#include "unit/unit.h"

#define RIG_PROCESSORS 16

struct rig {
	struct pool *pool;
	mtime now;
	uint32_t source_epoch, outbox_epoch;
	enum send_result send; /* the result of the next sends */
	bool is_deaf;          /* workers do not read what they are asked */
	bool is_mute;          /* sends and requests are not recorded: there are too many */
	uint32_t asks;         /* requests about tasks so far */
	bool is_unaudited;     /* no pool_audit after each step: it is quadratic in sessions */
	mtime arrived_after;   /* of answers and turns (core/event.h) */
	mtime suspended;       /* the machine was, for so long: throttles count it */
	int64_t stepped_ms;    /* the wall clock was, by so much */
	uint16_t slots_max;    /* the maximum of slots; 0: none */
	struct starts starts;  /* of RIG_PROCESSORS */
	uint64_t last_task_id;
	uint64_t last_tag;    /* keyed.h: of the present channel */
	bool is_busy;         /* all processors, all the time; else none */
	mtime waited;         /* for a processor, by the latest worker that starts */
	char done[4096];      /* effects since the last rig_expect */
	char told[4096];      /* notices since the last rig_expect_told */
	mtime duration;       /* of the last notice */
	uint32_t latest_life; /* the highest in a notice */
	const char *what;     /* of the last notice with a text */
	uint32_t number;      /* the same */
	char detail[160];     /* of the last notice with an output */
	enum reason reason;   /* of the last notice that had one */
	int32_t status;       /* of the last notice that had an output */
	uint32_t attempt;     /* of that one */
	uint64_t culprit;     /* of the last notice about a worker with open tasks: the tag of its
				 task, 0: nobody knows which one is the cause */
};

extern const struct effects rig_effects; /* io: a struct rig */

/* The wall clock of a rig: ms since 1970. */
#define RIG_WALL_MS INT64_C(1700000000000)
static inline int64_t rig_wall_ms(const struct rig *rig)
{
	return RIG_WALL_MS + rig->stepped_ms + rig->now / MTIME_MS;
}

/* Plain settings: 10 s to boot, 60 s a task, 5 s grace, 3 attempts, 2 slices,
 * queue "own". */
struct pool_config rig_config(uint16_t workers, uint16_t pipeline);
/* The same with a concurrency above 1. */
struct pool_config rig_several(uint16_t workers, uint16_t concurrency);
/* The same without a hard limit, and with workers that are replaced at these limits. */
struct pool_config rig_recycling(uint16_t workers, uint16_t pipeline, struct recycle_limits limits);

/* A new pool; rig_start: all channels are up, all workers ready, and the records are clear. */
void rig_new(struct rig *rig, const struct pool_config *config);
void rig_start(struct rig *rig, struct pool_config config);
/* Start, and let the tasks 1 to last be sent, as far as there are places: task n has the id n. The
 * records are clear. */
void rig_begin(struct rig *rig, struct pool_config config, uint64_t last);
void rig_end(struct rig *rig);

/* Compare the effects or notices since the last call, and clear them. */
void rig_expect(struct rig *rig, const char *done);
void rig_expect_told(struct rig *rig, const char *told);
void rig_forget(struct rig *rig);

/* Events. Those of a slot without a parameter life are of its first life. */
void rig_step(struct rig *rig, struct event event);
void rig_turn(struct rig *rig);
void rig_source_up(struct rig *rig);
void rig_source_fact(struct rig *rig, enum event_kind kind);
void rig_deliver(struct rig *rig, uint64_t first, uint64_t last);
void rig_deliver_this(struct rig *rig, struct delivery *delivery);
void rig_outbox_up(struct rig *rig);
void rig_outbox_down(struct rig *rig, enum outbox_loss loss);
void rig_outbox_fact(struct rig *rig, enum event_kind kind, uint64_t seq, bool multiple);
void rig_confirm(struct rig *rig, uint64_t seq);
void rig_ready(struct rig *rig, uint16_t slot, uint32_t life);
void rig_set_writable(struct rig *rig, uint16_t slot, bool is_writable);
void rig_answer(struct rig *rig, uint16_t slot, int32_t status);
/* The worker of that life answers done. */
void rig_done(struct rig *rig, uint16_t slot, uint32_t life);
/* An answer to the task with this id; the first that is sent has 1. */
void rig_answer_task(
	struct rig *rig, uint16_t slot, uint32_t life, uint64_t task_id, int32_t status);
void rig_answer_this(struct rig *rig, uint16_t slot, uint32_t life, struct output *output);
/* Its memory was read. */
void rig_memory(struct rig *rig, uint16_t slot, uint32_t life, uint64_t bytes);
void rig_broken(struct rig *rig, uint16_t slot, uint32_t life);
/* The frame names a task. */
void rig_broken_task(struct rig *rig, uint16_t slot, uint64_t task_id);
void rig_gone(struct rig *rig, uint16_t slot, uint32_t life);
/* The process fails before it is ready; after one second (or two, or four) there is another. */
void rig_fail_start(struct rig *rig, uint16_t slot, uint32_t life);
/* Its process ends by a signal; words: the last line of its stderr. */
void rig_gone_saying(struct rig *rig, uint16_t slot, uint32_t life, const char *words);
void rig_command(struct rig *rig, enum command command);
void rig_scale(struct rig *rig, uint32_t workers);
void rig_configure(struct rig *rig, struct pool_config config);

/* Time passes as it does outside: never past a deadline without a turn. */
void rig_wait(struct rig *rig, mtime span);

/* What moves into events. */
struct delivery *rig_delivery(uint64_t tag);
struct output *rig_output(int32_t status, const char *reply_queue);

#endif
