/* The account of messages with keys: what was posted for each session, compared with what its tasks
 * did and in which order. The witness is the file to which the worker `keyed` appends a line when a
 * task begins and one when it ends (tests/workers/keyed.c). Messages of a session are numbered from
 * 0. Checked for each session: no message is lost; none begins for the first time before the one
 * before it has ended; no two run at once; and what is repeated is a tail of what was begun, in
 * order. */
#ifndef FAULT_KEYED_H
#define FAULT_KEYED_H

#include "fault/fault.h"

struct keyed;

/* An account of that many sessions in fixture.queue, which wpool declares again. */
struct keyed *keyed_new(long keys);
/* NULL is allowed. */
void keyed_free(struct keyed *);

/* The pool of fixture.queue with keyed workers; settings: further ones, such as "workers: 4",
 * session: those of its section. Owned by the caller. */
char *keyed_pool(const char *settings, const char *session);
/* Start a supervisor with it. Does not wait. */
struct proc *keyed_serve(const char *settings, const char *session);
/* The same through a proxy at this port of 127.0.0.1, as fault_serve_by_proxy. */
struct proc *keyed_serve_by_proxy(
	int port, const char *query, const char *settings, const char *session);
/* Wait until fixture.queue is consumed. */
void keyed_await_consumer(void);

/* Post count messages, each for a session by chance, with the fates[i % strlen]: 'd' done, 'f' done
 * after a failed attempt, 's' done after it was handed back twice, 'x' rejected, 'p' ends its
 * worker in each attempt, 'u' larger than max_body (1KiB); the last three end as dead letters. Each
 * run takes sleep_ms. All are confirmed when this returns. */
void keyed_post(struct keyed *, long count, const char *fates, int sleep_ms);
/* The messages that have ended so far, by the witness. */
long keyed_ended(const struct keyed *);
/* Wait until that many more have ended. */
void keyed_await_progress(const struct keyed *, long count);
void keyed_await_settled(void);

/* Read the ends of all messages into the tally: asked, done, repeats, lost. The test fails if one
 * is out of order, two of a session ran at once, or a message had an unexpected end. The account
 * and the witness are empty then. Return the repeats of this part. */
long keyed_close(struct keyed *, struct tally *);
/* How many were given up so far because their supervisors died in a row: at most one for each
 * death. */
long keyed_given_up(const struct keyed *);

#endif
