/* The inside of a pool's workers, for workers.c, worker.c and their fuzz target. Layer: worker.
 * workers.c has the pool's table of workers and its effects, worker.c one worker from its start to
 * its end. Exit and end of input come in either order: each is a fact of its own (enum
 * worker_process, enum worker_input), and SLOT_GONE is reported when both are known. The pool is
 * called from callbacks of the loop only, never from one of its effects: what an effect finds out
 * waits for the next tick. */
#ifndef WORKER_WORKER_INTERNAL_H
#define WORKER_WORKER_INTERNAL_H

#include "base/list.h"
#include "base/stable_array.h"
#include "process/strays.h"
#include "worker/log_gate.h"
#include "worker/outgoing.h"
#include "worker/worker_log.h"
#include "worker/worker_pipe.h"
#include "worker/workers.h"

/* One read a worker and turn: what is left makes its descriptor ready again at once. */
#define WORKER_READ 65536

enum worker_process {
	PROCESS_NONE,
	PROCESS_FAILED, /* could not be started; not reported yet */
	PROCESS_LIVES,
	PROCESS_EXITED, /* reaped; its pipe and logs may still hold something */
};

enum worker_input {
	INPUT_WAITING, /* it has not opened its pipe */
	INPUT_OPEN,
	INPUT_ENDED, /* end of file, and it seems to live: its exit gets a moment to come */
	INPUT_DONE,  /* nothing more is read in this life */
};

enum worker_sending {
	SENDING_OPEN,
	SENDING_LOST, /* a write failed; what it wrote before is read to the end first */
	SENDING_SHUT, /* it was asked to quit */
};

struct worker {
	struct workers *workers;
	uint16_t slot;
	uint32_t life;
	enum worker_process process;
	enum worker_input input;
	enum worker_sending sending;
	bool is_full;            /* SLOT_WRITABLE said so */
	bool has_logged_trouble; /* that its connection cannot be accepted */
	pid_t pid;               /* also after its end, until the next start; 0: it never was */
	struct exit_info exit;
	struct link unsent, later;     /* in the lists of struct workers */
	struct stray_life descendants; /* the process and what it starts */

	struct worker_pipe pipe;
	ev_io readable; /* INPUT_WAITING: a peer has come */
	ev_io writable; /* active while the pipe does not take everything */
	struct outgoing output;
	struct buf begun; /* of a frame whose rest has not come */
	size_t left;      /* bytes to be read still; SIZE_MAX while the process lives */
	mtime ended_at;   /* INPUT_ENDED */

	uint16_t open;      /* tasks sent and not answered; the first of them has begun */
	bool has_begun;     /* a task, behind another in this read: its log is to be told apart */
	unsigned sole_turn; /* of the loop, in which one frame and nothing else was read */
	bool is_behind;     /* the task at hand was sent before the previous answer was read */
	unsigned exit_turn; /* PROCESS_EXITED: the loop's */
	int control;        /* its stdin */
	int start;          /* -1: it runs */
	ev_io started;
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
	struct stable_array slots; /* of struct worker */
	struct link unsent;        /* workers to be written to at the end of this turn */
	struct link later;         /* workers to be looked at again by .tick */
	ev_timer tick;
	ev_timer memory;      /* active while SLOT_MEMORY is reported */
	uint32_t memory_slot; /* the latest whose memory was read */
	struct log_gate gate;
	/* What a read brings, used up before the next read. Only when memory is short do bytes stay
	 * here, and then no other worker is read until they are used. */
	struct worker *stuck;
	struct text stuck_bytes;
	uint8_t scratch[WORKER_READ];
};

void worker_init(struct worker *, struct workers *, uint16_t slot);
/* Kill the process, if it lives, and report nothing. */
void worker_release(struct worker *);
/* The slot is empty. A start that fails is reported later. */
void worker_start(struct worker *, uint32_t life);
void worker_quit(struct worker *);
/* Tell it that its task is over its soft limit. */
void worker_interrupt(struct worker *);
void worker_signal(struct worker *, int number);
enum send_result worker_send(struct worker *, struct delivery *, uint16_t attempt);
/* One system call; the rest when the pipe takes it. */
void worker_write(struct worker *);
/* One read of its pipe. */
void worker_read(struct worker *);
/* The tick has come that it asked for. */
void worker_look_again(struct worker *);
void worker_report(struct worker *, struct event *);
struct log_origin worker_origin(const struct worker *);

#endif
