/* The fixture of one system test: a scratch folder, a client, queues with names of its own, and
 * the programs that it started. Created before each test and removed after it. */
#ifndef HARNESS_FIXTURE_H
#define HARNESS_FIXTURE_H

#include "harness/broker.h"
#include "harness/client.h"
#include "harness/proc.h"

#include <check.h>

struct fixture {
	struct broker *broker;
	struct client *client;
	char *folder;
	char *queue;   /* quorum, declared */
	char *dead;    /* "<queue>.dead": declared by wpool itself */
	char *replies; /* classic, declared */
	char *witness; /* the file to which the echo worker appends a line for each task done */
};
/* Of this test only: check runs every test in a process of its own. */
extern struct fixture fixture;

/* A test, and how many times it runs, with _i from 0. */
struct fixture_test {
	const TTest *test;
	int loops;
};
/* Run the tests up to one that is NULL. Return main's exit code. */
int fixture_run_suite(const char *name, const struct fixture_test tests[]);

/* Move the fixture to a private broker, which a test may damage: fixture.broker, fixture.client and
 * the queues, until the test's end. */
void fixture_use_own_broker(void);
/* Delete fixture.queue, and declare it with this type. */
void fixture_declare(enum client_queue);
/* Let every user write the witness. */
void fixture_open_witness(void);
/* Replace the client, whose connections the broker has lost. */
void fixture_reconnect(void);
/* The path of something built ("wpool", "workers/echo"); valid until the test ends. */
const char *fixture_built(const char *name);
/* A copy of something built that every user can execute: the build folder may be in a home folder.
 * Valid until the test ends. */
const char *fixture_public_copy(const char *name);
/* True if this command succeeds here; NULL-terminated. */
bool fixture_can_run(const char *const command[]);
/* Report that this machine cannot show what a test, or a part of it, checks; tools/run-checks
 * prints it. The test returns then. */
void fixture_not_run(const char *what, const char *why);
/* Start `wpool serve` on fixture.queue, with retries 100 ms apart, these options (NULL-terminated,
 * or NULL) and this worker command (NULL-terminated). It is killed after the test at the latest. */
struct proc *fixture_serve(const char *const options[], const char *const worker[]);
/* The same, and wait until it consumes, and knows that; its log must have the level info. */
struct proc *fixture_serve_ready(const char *const options[], const char *const worker[]);
/* The same with echo workers. */
struct proc *fixture_serve_echo(const char *const options[]);
/* The process id of an echo worker, by a call; so it is ready when this returns. */
pid_t fixture_worker_pid(void);
/* Start `wpool serve --config` with one pool on fixture.queue; settings: further keys, such as
 * "properties: true, retry: {attempts: 1}". Does not wait. */
struct proc *fixture_serve_pool(const char *settings, const char *worker);
/* The same with echo workers, and wait until it consumes. */
struct proc *fixture_serve_echo_pool(const char *settings);
/* The same with these pools (lines of the configuration's list). */
struct proc *fixture_serve_pools(const char *pools);
/* Rewrite the configuration file with these pools. */
void fixture_write_pools(const char *pools);
/* The same with another built program ("wpool-crash") and further environment variables (NULL-
 * terminated, or NULL). */
struct proc *fixture_serve_program(
	const char *program, const char *const environment[], const char *pools);
/* The same, started by another program ("unshare", "-pf", ...; NULL-terminated) that gets the
 * command line and executes it or forks it. */
struct proc *fixture_serve_under(const char *const starter[], const char *pools);
/* Start wpool with these arguments (NULL-terminated). */
struct proc *fixture_wpool(const char *const arguments[]);
/* The same with further environment variables (NULL-terminated, or NULL). */
struct proc *fixture_wpool_with(const char *const arguments[], const char *const environment[]);
/* Post a task for the echo worker that works until fixture_release(id), and wait until a worker has
 * begun it. serve: where the line is logged that the worker writes then. */
void fixture_post_held(struct proc *serve, const char *id);
/* The same to another queue. */
void fixture_post_held_to(const char *queue, struct proc *serve, const char *id);
void fixture_release(const char *id);
/* The value of the header X-Until by which a task waits for fixture_release(id). Valid until the
 * test's end. */
const char *fixture_release_path(const char *id);
/* The number of witness lines with this text; NULL: of all lines. */
int fixture_witnessed(const char *line);
/* Wait until the queue and its retry queues ("100ms" or longer; NULL-terminated) are empty. */
void fixture_await_settled(const char *const delays[]);
/* The same for another queue. */
void fixture_await_queue_settled(const char *queue, const char *const delays[], int limit_ms);
/* Sleep between two looks at what does not report a change. After the deadline the test fails, as
 * it waited in vain until the fact that `what` names ("a worker has died"). */
void fixture_poll(int64_t deadline, int pause_ms, const char *what);
/* Fail the test and show the last output of the programs that it started. */
_Noreturn void fixture_fail(const char *what);
/* End a test that has passed before check computes its duration: it counts microseconds in an
 * int, which overflows after 35 minutes. */
_Noreturn void fixture_exit_passed(void);
/* Free a program, killing it if it still runs, so that a test may start many. */
void fixture_free_program(struct proc *);
/* Send SIGTERM; it must exit with 0. */
void fixture_stop(struct proc *);

#endif
