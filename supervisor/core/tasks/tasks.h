/* The tasks of a pool: from the broker's delivery to the ack. Layer: core.
 * One half of the pool; the other one is core/workers/slots.h. Takes what the source delivers,
 * sends it into pipes, judges how attempts end, publishes replies and copies, and settles. Knows
 * pipes, but not what becomes of their workers. Files: tasks.c (the source, the window, dispatch),
 * attempts.c (how an attempt ends), confirms.c (what the publish channel reports). */
#ifndef CORE_TASKS_TASKS_H
#define CORE_TASKS_TASKS_H

#include "core/context.h"
#include "core/event.h"
#include "core/tasks/dispatch.h"
#include "core/tasks/pace.h"

/* Does the source consume, and why not? */
enum intake {
	INTAKE_STOPPED,    /* it does not: nothing was consumed yet, or a pause, a drain, the end */
	INTAKE_NO_WORKERS, /* it does not: no worker lives, and NOTICE_SOURCE_RESTS is out */
	INTAKE_WHOLE,      /* it does, with the window that is wanted */
	INTAKE_NARROWED,   /* it does, with a window smaller by what was in hand when it began */
};

/* What has changed since the window was last judged. */
enum window_change {
	WINDOW_SAME,
	WINDOW_WIDER, /* more workers are wanted */
	WINDOW_NEW,   /* another prefetch is configured */
};

/* The workers that there are for the tasks. */
enum worker_supply {
	WORKERS_READY,   /* at least one */
	WORKERS_COMING,  /* none, and none has failed */
	WORKERS_FAILING, /* none, and the last lives of some have failed */
};

struct tasks {
	const struct pool_context *context; /* the pool's */
	struct source source;
	struct outbox outbox;
	struct dispatch dispatch;
	struct pace pace;
	enum intake intake;
	mtime rests_since; /* the latest time that consuming stopped */
	enum window_change window_change;
	mtime send_again;    /* sending goes on then; MTIME_NEVER */
	uint64_t warned;     /* bit (1 << notice kind): emitted, and not twice in a pool's life */
	uint64_t deliveries; /* since the start */
	mtime delivered_at;  /* the latest of them; MTIME_NEVER: none yet */
};

/* RC_MEMORY. */
enum rc tasks_init(struct tasks *, const struct pool_context *) MUST_CHECK;
/* The pipes must have been emptied by tasks_free_orphans. */
void tasks_release(struct tasks *);
/* Empty the pipe; free those that no ledger has. */
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

/* The head was answered; output moves in. Its time counts until then. */
void tasks_answered(
	struct tasks *, struct pipe *, enum outcome, struct output *, mtime counted_until);
/* The head reported progress; output moves in. */
void tasks_progress(struct tasks *, struct pipe *, struct output *);
/* The worker ended: its head is judged, the others wait again. last_words (or NULL) move in. */
void tasks_worker_gone(struct tasks *, struct pipe *, struct exit_info, struct output *last_words);
/* The worker is killed by a forced stop: what it has goes back to the broker. */
void tasks_cut_short(struct tasks *, struct pipe *);

/* Stop consuming; what is in hand stays. */
void tasks_pause(struct tasks *);
/* Take nothing more, and give back what waits as soon as nothing can follow it. */
void tasks_drain(struct tasks *);
/* All that waits for a worker goes back to the broker, as if never sent. */
void tasks_hand_back(struct tasks *);
/* The same, if the pool drains and nothing can follow. */
void tasks_hand_back_rest(struct tasks *);

/* The parts of a turn, in this order; the second and the third for a pool that stays. */
void tasks_begin_turn(struct tasks *);
void tasks_decide_consuming(struct tasks *, enum worker_supply);
void tasks_dispatch(struct tasks *, enum worker_supply);
void tasks_flush(struct tasks *, enum worker_supply);
void tasks_end_turn(struct tasks *);
/* A turn is wanted then. */
mtime tasks_deadline(const struct tasks *, enum worker_supply);

/* Messages can come: it consumes, as far as the pool knows, and is not paused. */
bool tasks_flow(const struct tasks *);
/* The source has all that its window allows. */
static inline bool tasks_window_is_full(const struct tasks *tasks)
{
	return tasks->source.open >= tasks->source.window;
}

#endif
