/* One worker: a process with its data pipe, its stdin and its logs, from spawn to grave. Layer: io;
 * part of the crew. Turns what the kernel says into the pool's events.
 * Exit and end of file come in either order: each is a fact of its own (enum worker_process, enum
 * worker_input), and worker_bury_if_over looks whether both are known. Only callbacks of the loop
 * call the pool; what an effect finds out is kept for a moment (workshop.later). */
#ifndef IO_WORKER_H
#define IO_WORKER_H

#include "io/outgoing.h"
#include "io/strays.h"
#include "io/worker_log.h"
#include "io/worker_pipe.h"
#include "io/workshop.h"

enum worker_process {
	PROCESS_NONE,
	PROCESS_FAILED, /* could not be started; not told yet */
	PROCESS_LIVES,
	PROCESS_EXITED, /* reaped; its pipe and logs may hold something still */
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
	struct workshop *shop;
	uint16_t slot;
	uint32_t life;
	enum worker_process process;
	enum worker_input input;
	enum worker_sending sending;
	bool is_full;        /* the pool was told that there is no room */
	bool has_complained; /* that its connection cannot be taken */
	pid_t pid;           /* also of one that is gone, until the next start; 0: it never was */
	struct exit_info exit;
	struct link unsent, later;
	struct stray_life kin; /* it, and whatever it starts */

	struct worker_pipe pipe;
	ev_io readable; /* INPUT_WAITING: a peer has come */
	ev_io writable; /* active while the pipe does not take everything */
	struct outgoing output;
	struct buf begun; /* of a frame whose rest has not come */
	size_t left;      /* as in worker_log */
	mtime ended_at;   /* INPUT_ENDED */

	uint16_t open;      /* tasks sent and not answered; the first of them has begun */
	bool has_begun;     /* a task, in this read, behind another: its log is to be told */
	bool is_behind;     /* that one was sent before the answer of another was read */
	unsigned exit_turn; /* PROCESS_EXITED: the loop's */
	int control;        /* its stdin */
	int start;          /* -1: it runs */
	ev_io started;
	struct worker_log logs[STREAM_COUNT];
};

/* ---------- worker.c: the process ---------- */
void worker_init(struct worker *, struct workshop *, uint16_t slot);
/* Kills what lives, at once, and tells nobody. */
void worker_release(struct worker *);
/* Callable from an effect; a start that fails is told later. The slot is empty. */
void worker_start(struct worker *, uint32_t life);
void worker_quit(struct worker *);
/* Tells it that its task is over its soft limit. */
void worker_interrupt(struct worker *);
void worker_signal(struct worker *, int number);
/* The tick has come. */
void worker_look_again(struct worker *);
/* Tells SLOT_GONE and empties the slot, if all is known and read. The last that a callback does. */
void worker_bury_if_over(struct worker *);
/* Asks for worker_look_again in a moment. */
void worker_later(struct worker *);
void worker_tell(struct worker *, enum event_kind);
void worker_tell_event(struct worker *, struct event *);
struct log_origin worker_origin(const struct worker *);

/* ---------- worker_start.c ---------- */
/* False: failed, and .exit says how. */
bool worker_launch(struct worker *);
/* Tries to meet it at its pipe. */
void worker_meet(struct worker *);
/* A control line; what its stdin does not take is lost, and logged. */
void worker_write_control(struct worker *, const char *line);
/* The reaper's. */
void worker_on_exit(void *ctx, pid_t pid, struct exit_info exit);

/* ---------- worker_input.c ---------- */
void worker_read(struct worker *);
/* Goes on where memory was missing. */
void worker_read_on(struct worker *);
/* No output follows in this life: tells SLOT_BROKEN. what: static words. */
void worker_break(struct worker *, const char *what);
/* Stops reading for good, without a word. */
void worker_stop_reading(struct worker *);
void worker_close_overdue(struct worker *);

/* A task begins: what stderr said before is not its own. is_behind: it had been sent before the
 * answer of the one before it was read. */
void worker_begin(struct worker *, bool is_behind);

/* ---------- worker_output.c ---------- */
enum send_result worker_send(struct worker *, struct delivery *, uint16_t attempt);
void worker_write(struct worker *);
void worker_drop_output(struct worker *);
void worker_tell_room(struct worker *, bool room);

#endif
