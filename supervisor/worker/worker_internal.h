/* The inside of a pool's workers, for workers.c, worker.c and their fuzz target. Layer: worker.
 * workers.c has the pool's table of workers, worker.c one worker from its start to
 * its end. Exit and end of input come in either order: each is a fact of its own (enum
 * worker_process, enum worker_input), and SLOT_GONE is reported when both are known. The pool is
 * called from callbacks of the loop only, never from one of its effects: an event that an effect
 * causes waits for the next tick. */
#ifndef WORKER_WORKER_INTERNAL_H
#define WORKER_WORKER_INTERNAL_H

#include "base/list.h"
#include "base/stable_array.h"
#include "process/child_start.h"
#include "process/strays.h"
#include "worker/incoming.h"
#include "worker/log_gate.h"
#include "worker/outgoing.h"
#include "worker/preload.h"
#include "worker/worker_log.h"
#include "worker/worker_pipe.h"
#include "worker/workers.h"
#include <assert.h>

/* Bytes of one read. A worker's pipe is read once in a turn; if something is left, the descriptor
 * is ready again at once. */
#define WORKER_READ 65536

enum worker_process {
	PROCESS_NONE,
	PROCESS_ASKED,  /* the preloaded process is to fork it */
	PROCESS_FAILED, /* could not be started; not reported yet */
	PROCESS_LIVES,
	PROCESS_EXITED, /* reaped; perhaps not all of its pipe and logs has been read */
};

enum worker_input {
	INPUT_WAITING, /* the worker has not opened its pipe */
	INPUT_OPEN,
	INPUT_ENDED, /* end of file, and no exit yet: wait for it for a moment */
	INPUT_DONE,  /* nothing more is read in this life */
};

enum worker_sending {
	SENDING_OPEN,
	SENDING_LOST, /* a write failed; first read what the worker wrote before */
	SENDING_SHUT, /* it was asked to quit */
};

struct worker {
	struct workers *workers;
	uint16_t slot;
	uint32_t life;
	enum worker_process process;
	enum worker_input input;
	enum worker_sending sending;
	bool is_full;            /* as last reported by SLOT_WRITABLE */
	bool has_logged_trouble; /* logged that its connection cannot be accepted */
	bool has_logged_stdin;   /* logged that a control line could not be written */
	pid_t pid;               /* also after its end, until the next start; 0: none yet */
	struct exit_info exit;
	char last_exit[64];             /* of the life before, as in struct launch; empty: none */
	struct link unsent, later;      /* in the lists of struct workers */
	struct stray_life descendants;  /* the process and what it starts */
	struct preload_request request; /* PROCESS_ASKED */

	struct worker_pipe pipe;
	ev_io readable; /* INPUT_WAITING: a peer connects */
	ev_io writable; /* active while the pipe is full */
	struct outgoing output;
	struct incoming incoming;
	size_t left;    /* bytes still to be read; SIZE_MAX while the process lives */
	mtime ended_at; /* INPUT_ENDED */

	uint16_t open; /* tasks sent and not answered; the first of them has begun, or all have */
	/* A task has begun behind another in this read: separate their stderr lines. At a
	 * concurrency above 1 a line counts for the answer that follows it. */
	bool has_begun;
	unsigned sole_turn; /* the turn of the loop in which exactly one frame was read */
	bool is_behind;     /* the current task was sent before the previous answer was read */
	unsigned exit_turn; /* PROCESS_EXITED: the turn of the loop in which it was reaped */
	int control;        /* its stdin */
	struct child_start start;
	struct worker_log logs[STREAM_COUNT];
};

struct workers {
	struct ev_loop *loop; /* borrowed, like all pointers up to .pool */
	const struct workers_config *config;
	struct reaper *reaper;
	struct guard *guard;
	struct rundir *rundir;
	struct strays *strays;
	struct pool *pool;
	struct preload *preload; /* owned; it has no process if the pool has a command */
	/* Owned; the workers of a restart come from it, while .preload is kept; NULL: there is none
	 */
	struct preload *next_preload;
	struct stable_array slots; /* of struct worker */
	struct link unsent;        /* workers to be written to at the end of this turn */
	struct link later;         /* workers to be looked at again by .tick */
	ev_timer tick;
	ev_timer memory;      /* active while SLOT_MEMORY is reported */
	uint32_t memory_slot; /* the latest whose memory was read */
	struct log_gate gate;
	/* The bytes of a read, which are handled before the next read. If memory is short, bytes
	 * stay here, and no other worker is read until they are handled. */
	struct worker *stuck;
	struct text stuck_bytes;
	uint8_t scratch[WORKER_READ];
};

static inline struct worker *worker_at(const struct workers *workers, uint32_t slot)
{
	assert(slot < workers->slots.count);
	return workers->slots.at[slot];
}

void worker_init(struct worker *, struct workers *, uint16_t slot);
/* Kill the process if it lives, without an event. */
void worker_release(struct worker *);
/* Start a process; the slot must be empty. A failed start is reported later. */
void worker_start(struct worker *, uint32_t life);
void worker_quit(struct worker *);
/* Arguments as those of workers_ask. */
bool worker_ask(struct worker *, enum task_request, uint64_t task_id);
void worker_signal(struct worker *, int number);
/* Write with one system call; the rest follows when the pipe is writable. */
void worker_write(struct worker *);
/* Read its pipe once. */
void worker_read(struct worker *);
/* Handle the tick that it asked for. */
void worker_look_again(struct worker *);
void worker_report(struct worker *, struct event *);
struct log_origin worker_origin(const struct worker *);

#endif
