/* The place of one system test: a scratch folder, a client, queues whose names no other test has,
 * and the programs that it started. Made before each test and cleared after it. */
#ifndef HARNESS_SITE_H
#define HARNESS_SITE_H

#include "harness/broker.h"
#include "harness/client.h"
#include "harness/proc.h"

#include <check.h>

struct site {
	struct broker *broker;
	struct client *client;
	char *folder;
	char *queue;   /* quorum, declared */
	char *dead;    /* "<queue>.dead": what wpool declares itself */
	char *replies; /* classic, declared */
	char *witness; /* the file that the echo worker appends to, one line for each task done */
};
/* The test's own: check runs every test in a process of its own. */
extern struct site site;

/* A test, and how often it runs, with _i from 0 up. */
struct site_test {
	const TTest *test;
	int loops;
};
/* Ends at a test of NULL. Returns what main should. */
int site_run_suite(const char *name, const struct site_test tests[]);

/* From here on the site is on a broker of its own, which may be hurt: site.broker, site.client, and
 * the queues. Until the test's end. */
void site_move_to_own_broker(void);
/* A new client in the place of one whose connections the broker has lost. */
void site_reconnect(void);
/* The path of something that was built ("wpool", "workers/echo"): valid until the test ends. */
const char *site_built(const char *name);
/* `wpool serve` on site.queue, its retries 100 ms apart, with these options (NULL-terminated, or
 * NULL) and this worker command (NULL-terminated); killed after the test at the latest. */
struct proc *site_serve(const char *const options[], const char *const worker[]);
/* The same, and waits until it consumes. */
struct proc *site_serve_ready(const char *const options[], const char *const worker[]);
/* The same with echo workers. */
struct proc *site_serve_echo(const char *const options[]);
/* An echo worker's process id, by a call; so it also is at work when this returns. */
pid_t site_worker_pid(void);
/* `wpool serve --config` with one pool on site.queue; settings: more of its keys, such as
 * "properties: true, retry: {attempts: 1}". Does not wait. */
struct proc *site_serve_pool(const char *settings, const char *worker);
/* The same with these pools: the lines of the configuration's list. */
struct proc *site_serve_pools(const char *pools);
/* The file of these holds these pools from now on. */
void site_write_pools(const char *pools);
/* The same of another built program ("wpool-crash"), with more of an environment (NULL-terminated,
 * or NULL). */
struct proc *site_serve_program(
	const char *program, const char *const environment[], const char *pools);
/* The same, started by another program ("unshare", "-pf", ...; NULL-terminated) that is given the
 * command line; wpool is what that becomes or its child. */
struct proc *site_serve_under(const char *const starter[], const char *pools);
/* wpool with these arguments (NULL-terminated). */
struct proc *site_wpool(const char *const arguments[]);
/* The lines of the witness that are this text; all of them for NULL. */
int site_witnessed(const char *line);
/* Waits until nothing is in the queue, nor in those where its retries wait ("100ms";
 * NULL-terminated).
 */
void site_await_settled(const char *const delays[]);
/* The same of another queue. */
void site_await_queue_settled(const char *queue, const char *const delays[], int limit_ms);
/* Fails the test, and shows what the programs that it started said last. */
_Noreturn void site_give_up(const char *what);
/* Ends a test that has passed, before check sees how long it took: it counts microseconds in an
 * int, and 35 minutes are an error to it. */
_Noreturn void site_leave(void);
/* One that has ended, or is to be killed now: freed, so that a test may start many. */
void site_forget(struct proc *);
/* TERM, and it must end with 0. */
void site_stop(struct proc *);

#endif
