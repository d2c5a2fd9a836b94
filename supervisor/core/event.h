/* The events of a pool. Layer: core. An event is one fact; a run is a sequence of events, so it can
 * be recorded and replayed. Deliveries and outputs move in: the pool frees them, whatever it
 * decides. Events have no pointers into io. An event of an older epoch (source, publish) or life
 * (slot) is dropped, and its payload is freed. */
#ifndef CORE_EVENT_H
#define CORE_EVENT_H

#include "core/exit.h"
#include "core/session_handover.h"
#include "core/tasks/delivery.h"
#include "core/tasks/output.h"

struct pool_config;

#define EVENT_KINDS(X)                                                                             \
	X(SOURCE_UP)        /* a new channel consumes; its tags start at 1 */                      \
	X(SOURCE_RESTED)    /* SOURCE_REST is done: no delivery follows on this channel */         \
	X(SOURCE_CANCELLED) /* by the broker: deliveries so far are valid, more come later */      \
	X(SOURCE_DOWN)      /* channel or connection is gone: its tags are void */                 \
	X(DELIVERY)                                                                                \
	X(OUTBOX_UP)     /* a new publish channel in confirm mode; numbers start at 1 */           \
	X(OUTBOX_DOWN)   /* it is gone; what is unconfirmed is published after the next UP */      \
	X(CONFIRMED)     /* basic.ack by the broker */                                             \
	X(REFUSED)       /* basic.nack by the broker */                                            \
	X(RETURNED)      /* basic.return; the confirm of the same number follows */                \
	X(QUEUE_FOUND)   /* the queue may exist now: returned parcels are published at once */     \
	X(SLOT_READY)    /* its process has opened the pipe */                                     \
	X(SLOT_WRITABLE) /* its output buffer crossed the high (is_writable: false) or low mark */ \
	X(SLOT_OUTPUT)   /* a valid frame */                                                       \
	X(SLOT_BROKEN)   /* protocol error or closed pipe; no output follows in this life */       \
	X(SLOT_GONE)     /* exit is known and the pipe is read to its end; or never started */     \
	X(SLOT_MEMORY)   /* the resident memory of its process; from time to time */               \
	X(COMMAND)                                                                                 \
	X(SESSION_COMMAND) /* about one session */                                                 \
	X(TOKEN_HELD)      /* the pool has the token: it is the active one */                      \
	X(TOKEN_NAMED)     /* the token names the message that the pool asked for last */          \
	X(TOKEN_WINDOW)    /* the token names the window that the pool asked for last */           \
	X(TOKEN_LOST)      /* it must not run keyed tasks any more */                              \
	X(TURN_END)        /* all that could be read was reported: dispatch, then ack */

enum event_kind {
#define X(kind) kind,
	EVENT_KINDS(X)
#undef X
};

/* DRAIN: take nothing more, finish tasks in pipes, hand back the rest. FORCE: kill the workers,
 * hand back. PAUSE: take nothing, send nothing, finish tasks in pipes. RESUME: end a pause. SCALE:
 * want `number` workers, 1 to POOL_WORKERS_MAX, or as many as needed from number to max. RESTART:
 * replace every worker, one by one. CONFIGURE: use another configuration from now on. CANCEL: ask
 * the worker that has the task to give it up. KILL: the same, and end it if it does not. */
#define COMMANDS(X)                                                                                \
	X(DRAIN, drain)                                                                            \
	X(FORCE, force)                                                                            \
	X(PAUSE, pause)                                                                            \
	X(RESUME, resume)                                                                          \
	X(SCALE, scale)                                                                            \
	X(RESTART, restart)                                                                        \
	X(CONFIGURE, configure)                                                                    \
	X(CANCEL, cancel)                                                                          \
	X(KILL, kill)

enum command {
#define X(id, name) COMMAND_##id,
	COMMANDS(X)
#undef X
};

/* DRAIN: run what is queued in one go, then end the session. CLOSE: finish the running task, and
 * end; what is queued goes where `queued` sends it. ABORT: the same, but cancel the running task,
 * and end its worker if it does not answer. PAUSE, RESUME. RETRY: run the front task, which is
 * parked or blocked, now. SKIP: give it up. */
#define SESSION_VERBS(X)                                                                           \
	X(DRAIN, drain)                                                                            \
	X(CLOSE, close)                                                                            \
	X(ABORT, abort)                                                                            \
	X(PAUSE, pause)                                                                            \
	X(RESUME, resume)                                                                          \
	X(RETRY, retry)                                                                            \
	X(SKIP, skip)

enum session_verb {
#define X(id, name) SESSION_VERB_##id,
	SESSION_VERBS(X)
#undef X
};

/* Where the queued tasks of a session go that is closed or aborted. KEEP: they open its next
 * life. */
enum session_queued { SESSION_DEAD_LETTER, SESSION_DISCARD, SESSION_KEEP };

struct event {
	enum event_kind kind;
	/* SLOT_OUTPUT, TURN_END: whatever is read in this turn, or is not read yet at its end,
	 * arrived after this time; 0: the time is not known, so now counts. */
	mtime arrived_after;
	mtime boot; /* TURN_END: the time of throttles (clock_boot); 0: there are none */
	union {
		struct {
			uint32_t epoch;
			struct delivery *delivery;    /* DELIVERY only; moves in, tag filled */
			uint32_t window, returns_max; /* SOURCE_UP; 0 returns: unknown */
		} source;
		struct {
			uint32_t epoch;
			uint64_t seq;
			bool multiple;         /* CONFIRMED, REFUSED */
			bool again;            /* RETURNED: publish it at once, to another queue */
			enum outbox_loss loss; /* OUTBOX_DOWN */
		} outbox;
		struct {
			uint16_t slot;
			uint32_t life;
			bool is_writable;      /* SLOT_WRITABLE */
			uint64_t bytes;        /* SLOT_MEMORY */
			mtime computed;        /* SLOT_READY: processor time since its start */
			struct exit_info exit; /* SLOT_GONE */
			/* SLOT_OUTPUT; SLOT_GONE: with the last stderr line, and with what came of
			 * an unfinished frame; SLOT_BROKEN: with its detail; moves in */
			struct output *output;
			uint64_t task_id; /* SLOT_BROKEN: that the frame named; 0: none */
			const char *what; /* SLOT_BROKEN: static text for the log */
		} slot;
		struct {
			enum command what;
			uint32_t number, max; /* COMMAND_SCALE; max 0: the same as number */
			uint64_t task_id;     /* CANCEL; KILL: 0: the only one that has begun */
			uint16_t slot;        /* KILL; any number */
			bool gives_up;        /* KILL: the task; else it is retried */
			/* COMMAND_CONFIGURE; borrowed for the call, its texts until pool_free */
			const struct pool_config *config;
		} command;
		struct {
			enum session_verb verb;
			enum session_queued queued; /* CLOSE, ABORT */
			struct text key;            /* borrowed for the call */
		} session;
		struct {
			bool is_orderly; /* no former holder can run anything */
			uint32_t deaths; /* holders that died in a row */
			mtime delay;     /* not orderly: when that is over */
			uint32_t window; /* TOKEN_HELD, TOKEN_WINDOW: that the token names */
			/* from an orderly holder; borrowed for the call */
			const struct session_handover *handed;
			size_t handed_count;
		} token;
	};
};

#endif
