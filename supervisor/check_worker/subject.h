/* The worker under check: one process, from its start to its end. Layer: check_worker. Plays the
 * supervisor's side of worker-sdk/PROTOCOL.md step by step; every step waits at most .wait and
 * leaves the first thing that went wrong in .fault. Nothing of the worker is left after
 * subject_end. It starts the process as serve does (worker/launch.h) and reads outputs as serve
 * does (message/answer.h). */
#ifndef CHECK_WORKER_SUBJECT_H
#define CHECK_WORKER_SUBJECT_H

#include "check_worker/exchange.h"
#include "process/child_start.h"
#include "process/strays.h"
#include "runtime/runtime_shared.h"
#include "worker/worker_pipe.h"
#include "worker/workers.h"

#include <ev.h>

#define SUBJECT_KEPT      (64 * 1024) /* bytes of a log stream that are kept */
#define SUBJECT_LINES     12  /* a message, a stack of 10 and a last line, as Node prints them */
#define SUBJECT_LINE_SIZE 240 /* with the NUL */

/* What all workers of a run share. */
struct check_setup {
	struct runtime_shared tools;
	struct workers_config config;
	mtime wait; /* of each step */
};

/* The last lines on standard error as they may be shown. */
struct last_lines {
	size_t count;
	char line[SUBJECT_LINES][SUBJECT_LINE_SIZE];
};

struct subject_stream {
	ev_io io;
	struct buf kept; /* the beginning of standard output, the end of standard error */
	uint64_t bytes;  /* all of it */
	int fd;          /* -1: ended */
};

struct subject {
	const struct check_setup *setup; /* borrowed */
	struct fault fault;
	pid_t pid;
	bool is_started, is_connected, has_exited;
	bool has_ended;   /* end of file on the data pipe */
	bool is_unheard;  /* a write failed */
	mtime noticed_at; /* when either was seen; 0: not yet */
	struct exit_info exit;
	struct worker_pipe pipe;
	struct stray_life life;
	int control;
	struct child_start start;
	ev_io connecting, readable, writable;
	ev_timer tick;
	struct subject_stream output, error; /* its stdout and stderr */
	struct buf unsent;
	size_t allowed;      /* bytes of unsent that may be written now */
	struct buf received; /* frames that no step has waited for are not decoded */
	struct exchange exchange;
	size_t wanted;   /* tasks that must be answered: what a step waits for */
	mtime exit_wait; /* for its exit */
};

/* Zero and ready for subject_end. first_id: of its tasks. */
void subject_init(struct subject *, const struct check_setup *, uint64_t first_id);
/* Kill what is left, and free everything. */
void subject_end(struct subject *);

/* The steps. False: .fault is set. */
bool subject_start(struct subject *);
/* The address of the pipe as a control line, with lines behind it in the same write; then wait
 * until the worker has connected. */
bool subject_give_address(struct subject *, const char *lines_behind);
/* Let time pass; a worker that exits is a fault. */
bool subject_pause(struct subject *, mtime span);
bool subject_write_line(struct subject *, const char *line);
/* Let so many bytes of .unsent go, in as many writes as it takes. */
void subject_send(struct subject *, size_t bytes);
/* Wait until the worker has read all that was sent, or at concurrency 1 has sent something. */
bool subject_wait_read(struct subject *);
/* The same for a moment at most: a worker may wait for more before it reads. */
void subject_give_time(struct subject *);
/* Send what is in .unsent one byte at a time, each when the one before has been read; of a long
 * frame the beginning. */
bool subject_send_slowly(struct subject *);
/* Leave what comes in the pipe until subject_read_late. */
void subject_stop_reading(struct subject *);
/* Wait until the pipe has many bytes of an answer that does not fit into it. False without a fault:
 * it has fewer, for as long as a step may take. */
bool subject_wait_full(struct subject *);
/* Give the worker time to exit, so that a wrong one does; then read. */
void subject_read_late(struct subject *);
/* Wait until one more task is answered. */
bool subject_wait_answer(struct subject *);
/* Wait until no task is open, for each answer as long as for one. */
bool subject_wait_answers(struct subject *);
/* After FAULT_TWICE: true if soon an output names another task. */
bool subject_names_another(struct subject *);
/* End our side of the data pipe: the worker reads an end of file. */
bool subject_shut(struct subject *);
/* Close the data pipe, so that the worker's writes fail. */
void subject_close_pipe(struct subject *);
void subject_close_control(struct subject *);
void subject_signal(struct subject *, int number);
/* Wait until it has exited, and read what it sent before. */
bool subject_wait_exit(struct subject *);
/* No answer has come but those to the tasks. */
bool subject_expect_no_more(struct subject *);
/* After its exit: no process that it started is left, after a moment. */
bool subject_leaves_none(struct subject *);
void subject_last_lines(const struct subject *, struct last_lines *ret);

#endif
