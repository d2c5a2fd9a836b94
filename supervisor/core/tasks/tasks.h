/* The tasks of a pool: from the broker's delivery to the ack. Layer: core. One half of the pool;
 * the other one is core/workers/slots.h. Takes what the source delivers, sends it into pipes,
 * decides how attempts end, publishes replies and copies, and settles. Uses pipes, but not the
 * lives of their workers. Files: tasks.c (source, window, dispatch), attempts.c (from arrival to
 * end), confirms.c, and session_channel.c, session_window.c, session_commands.c. */
#ifndef CORE_TASKS_TASKS_H
#define CORE_TASKS_TASKS_H

#include "core/context.h"
#include "core/dispatch/dispatch.h"
#include "core/event.h"
#include "core/tasks/pace.h"
#include "core/tasks/session_window.h"

/* Whether the source consumes, and if not, why not. */
enum intake {
	INTAKE_STOPPED,      /* no: not begun yet, paused, draining, or stopped */
	INTAKE_THROTTLED,    /* no: throttling_is_closed, and NOTICE_THROTTLE_CLOSES was emitted */
	INTAKE_NO_WORKERS,   /* no: no worker lives, and NOTICE_SOURCE_RESTS was emitted */
	INTAKE_ALL_ACCEPTED, /* no: accepted tasks keep all; NOTICE_ALL_ACCEPTED was emitted */
	INTAKE_WHOLE,        /* yes, with the wanted window */
	INTAKE_NARROWED, /* yes, with a window that is smaller by what was unacked when it began */
};

/* What has changed since the window was last decided. */
enum window_change {
	WINDOW_SAME,
	WINDOW_WIDER, /* more workers are wanted */
	WINDOW_NEW,   /* another prefetch is configured */
};

/* Whether there are workers for the tasks. */
enum worker_supply {
	WORKERS_READY,   /* at least one */
	WORKERS_COMING,  /* none, and none has failed */
	WORKERS_FAILING, /* none, and the last lives of some have failed */
};

struct tasks {
	const struct pool_context *context; /* the pool's */
	struct source source;
	struct outbox outbox;
	struct sessions *sessions;    /* owned; NULL: the pool has none */
	struct session_window window; /* with sessions */
	bool is_standby;              /* with sessions: another supervisor has the token */
	struct dispatch dispatch;
	struct pace pace;
	enum intake intake;
	mtime rests_since; /* when consuming last stopped; with sessions: since when the pool is
			      paused or no worker lives; MTIME_NEVER: it is neither */
	enum window_change window_change;
	mtime send_again; /* when sending is retried; MTIME_NEVER: not due */
	uint64_t warned;  /* bit (1 << notice kind): a notice that is emitted once in a pool's life
			     was */
	mtime up_since;   /* the present channel consumes */
	mtime full_at;    /* with sessions: in the latest turn that began with a full window */
	mtime consume_at; /* with sessions: it does not consume again before */
	uint32_t returns_max;     /* of the present channel: see SOURCE_UP */
	uint64_t deliveries;      /* since the start */
	mtime delivered_at;       /* the latest of them; MTIME_NEVER: none yet */
	uint32_t accepted;        /* live ones */
	mtime all_accepted_since; /* they fill all ready workers; MTIME_NEVER: not so */
};

/* RC_MEMORY. */
enum rc tasks_init(struct tasks *, const struct pool_context *, uint64_t *last_task_id) MUST_CHECK;
/* Forget the sessions: the first step of the end. */
void tasks_end_sessions(struct tasks *);
/* The pipes must have been emptied by tasks_free_orphans. */
void tasks_release(struct tasks *);
/* Empty the pipe, and free the orphans in it. */
void tasks_free_orphans(struct pipe *);

/* Follow the context's new configuration. */
void tasks_configure(struct tasks *);
void tasks_set_workers(struct tasks *, uint16_t wanted);

/* Events of the source and the outbox (event.h). */
void tasks_on_source_up(struct tasks *, const struct event *);
void tasks_on_source_rested(struct tasks *, const struct event *);
void tasks_on_source_cancelled(struct tasks *, const struct event *);
void tasks_on_source_down(struct tasks *, const struct event *);
void tasks_on_delivery(struct tasks *, const struct event *);
void tasks_on_outbox_up(struct tasks *, const struct event *);
void tasks_on_outbox_down(struct tasks *, const struct event *);
void tasks_on_confirmed(struct tasks *, const struct event *);
void tasks_on_refused(struct tasks *, const struct event *);
void tasks_on_returned(struct tasks *, const struct event *);
void tasks_on_queue_found(struct tasks *, const struct event *);

/* The task was answered; it and output move in. counted_until: the end of the task's time. */
void tasks_answered(
	struct tasks *, struct delivery *, enum outcome, struct output *, mtime counted_until);
/* The worker reported the task's progress; output moves in. */
void tasks_progress(struct tasks *, struct delivery *, struct output *);
/* The worker has accepted the task: its message is acked, and it is never retried. Nothing, if
 * it was already, or if it is an orphan. Not in a pool with sessions. */
void tasks_accept(struct tasks *, struct delivery *);
/* The worker ended, and its pipe was stopped: the attempt of the task that is to blame (pipe.h) has
 * failed, the other tasks wait again. last_output (may be NULL) moves in. */
void tasks_worker_gone(struct tasks *, struct pipe *, struct exit_info, struct output *last_output);
/* A forced stop kills the worker: its tasks go back to the broker. */
void tasks_cut_short(struct tasks *, struct pipe *);
/* The pool ends by a forced stop: emit what is lost of accepted tasks. */
void tasks_emit_lost(struct tasks *);

/* The pool has the token, or must not run keyed tasks any more. */
void tasks_on_token_held(struct tasks *, const struct event *);
void tasks_on_window_named(struct tasks *, const struct event *);
void tasks_on_token_lost(struct tasks *);

/* SESSION_COMMAND, of a pool with sessions. Return NULL, or why it is refused. */
const char *tasks_command_session(struct tasks *, const struct event *) MUST_CHECK;

/* Stop consuming; tasks that have come stay. */
void tasks_pause(struct tasks *);
/* Take nothing more, and hand back what waits as soon as no delivery can follow. */
void tasks_drain(struct tasks *);
/* Hand back all tasks that wait for a worker; or all but suspects. */
void tasks_hand_back(struct tasks *);
void tasks_hand_back_others(struct tasks *);
/* The same, if the pool drains and no delivery can follow. */
void tasks_hand_back_rest(struct tasks *);

/* The parts of a turn, in this order; dispatch only while pool_stays. workers: ready ones. */
void tasks_begin_turn(struct tasks *, uint32_t workers);
void tasks_judge_soft_limits(struct tasks *);
void tasks_decide_consuming(struct tasks *, enum worker_supply);
/* The same for a pool that drains. */
void tasks_decide_drain(struct tasks *);
void tasks_dispatch(struct tasks *, enum worker_supply);
void tasks_flush(struct tasks *, enum worker_supply);
void tasks_end_turn(struct tasks *);
/* When the next turn is needed. */
mtime tasks_deadline(const struct tasks *, enum worker_supply);

/* True: tasks that have ended wait for their redelivery: without it they would run again. */
bool tasks_await_acks(const struct tasks *);
/* True: the channel is closed for good, and nothing is left of accepted tasks. */
bool tasks_are_closed(const struct tasks *);
/* True: how much there is to do is known. Messages can come: the source consumes, and the pool is
 * not paused; or no task may start. */
bool tasks_flow(const struct tasks *);
/* True: the source has as many deliveries as its window allows. */
static inline bool tasks_window_is_full(const struct tasks *tasks)
{
	return tasks->source.open >= tasks->source.window;
}

#endif
