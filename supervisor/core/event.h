/* What a pool is told. Layer: core.
 * A fact per event; a run is a sequence of events, so it can be recorded and replayed. Deliveries
 * and outputs move in: the pool frees them, whatever it decides. Nothing points into io.
 * An event of an older epoch (source, publish) or life (slot) is dropped, with its payload freed.
 */
#ifndef CORE_EVENT_H
#define CORE_EVENT_H

#include "core/exit.h"
#include "core/tasks/delivery.h"
#include "core/tasks/output.h"

struct pool_config;

#define EVENT_KINDS(X)                                                                             \
	X(SOURCE_UP)     /* a fresh channel consumes; its tags start at 1 */                       \
	X(SOURCE_RESTED) /* the wish REST is carried out: no delivery follows on this channel */   \
	X(SOURCE_CANCELLED) /* by the broker: what came is in hand, new ones come later */         \
	X(SOURCE_DOWN)      /* channel or connection is gone: all its tags are void */             \
	X(DELIVERY)                                                                                \
	X(OUTBOX_UP)     /* a fresh publish channel in confirm mode; numbers start at 1 */         \
	X(OUTBOX_DOWN)   /* it is gone; what is unconfirmed is sent again after the next UP */     \
	X(CONFIRMED)     /* basic.ack by the broker */                                             \
	X(REFUSED)       /* basic.nack by the broker */                                            \
	X(RETURNED)      /* basic.return; the confirm of the same number follows */                \
	X(QUEUE_FOUND)   /* what was returned may find its queue now: published at once */         \
	X(SLOT_READY)    /* its process has opened the pipe */                                     \
	X(SLOT_WRITABLE) /* its output buffer crossed the high (is_writable: false) or low mark */ \
	X(SLOT_OUTPUT)   /* one good frame */                                                      \
	X(SLOT_BROKEN)   /* protocol error or closed pipe; no output follows in this life */       \
	X(SLOT_GONE)   /* exit is known and the pipe was read to its end (also: never started) */  \
	X(SLOT_MEMORY) /* what its process has resident, looked at now and then */                 \
	X(COMMAND)                                                                                 \
	X(TURN_END) /* all that could be read was told: dispatch, then acks */

enum event_kind {
#define X(kind) kind,
	EVENT_KINDS(X)
#undef X
};

enum command {
	COMMAND_DRAIN,     /* stop taking, finish what is in hand, hand back the rest, leave */
	COMMAND_FORCE,     /* the deadline is over: kill, hand back, leave */
	COMMAND_PAUSE,     /* take nothing, send nothing; what is in pipes is finished */
	COMMAND_RESUME,    /* the end of a pause */
	COMMAND_SCALE,     /* so many workers from now on: number, 1 to POOL_WORKERS_MAX; or
			      as many as the pool needs, from number to max */
	COMMAND_RESTART,   /* every worker by a new one, one after the other */
	COMMAND_CONFIGURE, /* decisions follow another configuration from now on */
};

struct event {
	enum event_kind kind;
	/* SLOT_OUTPUT, TURN_END: what is read in this turn had not come by then, nor what has not
	 * been read at its end; 0: nothing better is known than now. */
	mtime arrived_after;
	union {
		struct {
			uint32_t epoch;
			struct delivery *delivery; /* DELIVERY only; moves in, tag filled */
		} source;
		struct {
			uint32_t epoch;
			uint64_t seq;
			bool multiple;         /* CONFIRMED, REFUSED */
			bool again;            /* RETURNED: another queue takes it at once */
			enum outbox_loss loss; /* OUTBOX_DOWN */
		} outbox;
		struct {
			uint16_t slot;
			uint32_t life;
			bool is_writable;      /* SLOT_WRITABLE */
			uint64_t bytes;        /* SLOT_MEMORY */
			struct exit_info exit; /* SLOT_GONE */
			struct output *output; /* SLOT_OUTPUT; SLOT_GONE: last words; moves in */
			const char *what;      /* SLOT_BROKEN: static words for the log */
		} slot;
		struct {
			enum command what;
			uint32_t number, max; /* COMMAND_SCALE; max 0: number */
			/* COMMAND_CONFIGURE; borrowed for the call, its texts as pool_new's */
			const struct pool_config *config;
		} command;
	};
};

#endif
