/* A worker: standard input, the data pipe and the open tasks. Part of the worker SDK, internal. All
 * ways to run a worker (loop.h, wpool_worker_run, wpool_worker_run_threads) are built on this.
 * One thread takes the turns. Tasks may be answered in other threads if writes_at_once is set. */
#ifndef WPOOL_WORKER_INTERNAL_H
#define WPOOL_WORKER_INTERNAL_H

#include "control.h"
#include "frames.h"
#include "open_tasks.h"
#include "pipe.h"
#include "wpool/loop.h"
#include <pthread.h>
#include <stdatomic.h>

struct worker_mode {
	/* Write each answer at once and wait until it is written; else write when a turn does. */
	bool writes_at_once;
	/* A handler runs within the turn, so wpool_should_stop reads the control lines. */
	bool runs_in_turn;
	/* Begin no task while so many are open; 0: the concurrency of the pool. */
	size_t open_max;
};

struct wpool_worker {
	atomic_uint references; /* the owner's, and one for each task */
	struct worker_mode mode;
	unsigned concurrency;
	wpool_on_event *on_event;
	void *context;

	struct control control;
	struct frames frames;
	struct data_pipe pipe;

	pthread_mutex_t open_lock;
	struct open_tasks open; /* under open_lock; each has a reference */

	pthread_mutex_t write_lock;
	struct buffer unsent;    /* under write_lock; empty if writes_at_once */
	int64_t unsent_since_us; /* CLOCK_MONOTONIC: when it was empty last */
	bool is_full;            /* the pipe took less than there was, in this turn */
	atomic_int write_error;  /* errno; 0 while outputs can be written */

	atomic_bool is_gone; /* standard input has ended, or the worker was closed */
	atomic_bool is_over; /* no task begins any more */
	bool has_quit;       /* __quit__ has come: no task is sent any more */
	bool is_broken;      /* it cannot go on; the reason has been printed */
};

/* The highest concurrency that a pool can have. */
#define CONCURRENCY_MAX 10000

/* Return how many tasks the pool gives to a worker at a time: WPOOL_CONCURRENCY, or 1 without it.
 * 0: it is no number from 1 to CONCURRENCY_MAX, which is printed. */
unsigned worker_concurrency(void);
/* Read the address and connect. The callback may be called from worker_turn only. NULL after an
 * error, which is printed. */
struct wpool_worker *worker_open(const struct worker_mode *, wpool_on_event *, void *context);
/* Wait at most timeout_ms (-1: without limit) until something is ready, and process it. Return 1:
 * the worker goes on; 0: it is over, all tasks are answered; -1: it is broken. */
int worker_turn(struct wpool_worker *, int timeout_ms);
/* Process the control lines that are there, for a handler that runs within a turn. */
void worker_look(struct wpool_worker *);
/* Print why the worker exits. */
void worker_report(const char *what, const char *why);
/* Print why the worker cannot go on, and make it broken. */
void worker_break(struct wpool_worker *, const char *what, const char *why);
/* The task has its answer: close it. May free the task. */
void worker_close_task(struct wpool_worker *, struct wpool_task *);
/* Write what is unsent and then the body; waits as the mode says, and keeps the rest unsent. Call
 * under write_lock. Return 0 or errno. ENOMEM: nothing was written. */
int worker_write(struct wpool_worker *, const void *body, size_t len);
void worker_ref(struct wpool_worker *);
void worker_unref(struct wpool_worker *);
/* CLOCK_MONOTONIC. */
int64_t worker_now_us(void);

#endif
