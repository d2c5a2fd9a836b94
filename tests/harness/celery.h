/* A Celery application under Celery's own worker, and under wpool with the adapter of
 * worker-sdk/python-celery. Its code is tests/celery/orders.py; redis has its results, in a server
 * of the test's own. Errors fail the test. */
#ifndef HARNESS_CELERY_H
#define HARNESS_CELERY_H

#include "harness/proc.h"

#include <stdbool.h>

/* What the adapter needs of a pool. */
#define CELERY_NEEDS "body: bin, headers: typed, properties: true"
#define CELERY_POOL  CELERY_NEEDS ", workers: 4, retry: {attempts: 3, delay: [100ms], jitter: 0}"

/* One of the two: what its worker and the scripts that call it have in common. */
struct celery_side {
	char *queue; /* declared by the worker */
	char *trail; /* the file to which its tasks write what happens */
	char *backend;
	const char *const *more; /* further variables of the environment; NULL: none */
	int protocol;            /* of its messages: 1 or 2 */
	bool is_preloaded; /* under wpool: one process loads the application and forks the workers
			    */
};

/* Start a redis server for the fixture; it ends with the test at the latest. */
struct proc *celery_start_redis(void);
/* A side with a queue of this name behind that of the fixture, and redis for its results (a
 * database for each name) or, with "rpc://", the broker. */
struct celery_side celery_side(const char *name, const char *backend);
void celery_side_release(struct celery_side *);

/* Start `celery worker` with these options (NULL-terminated) and wait until it is ready. */
struct proc *celery_start_worker(const struct celery_side *, const char *const options[]);
/* Start wpool with these options of the adapter ("-E", "-l", "INFO"; in YAML's list: with commas)
 * and settings of its pool, whose name is "orders", and wait until it consumes. "" for none. */
struct proc *celery_start_wpool(
	const struct celery_side *, const char *options, const char *settings);
/* The same and not wait. */
struct proc *celery_start_wpool_only(
	const struct celery_side *, const char *options, const char *settings);
/* Replace the configuration by one with these, for a reload. */
void celery_write_pool(const struct celery_side *, const char *options, const char *settings);
/* Have the adapter print a configuration for these options (NULL-terminated), and start wpool with
 * it as above. ret_text: the configuration; moves out. */
struct proc *celery_start_printed(
	const struct celery_side *, const char *const options[], char **ret_text);
/* Start a script of tests/celery with these arguments (NULL-terminated). */
struct proc *celery_start_script(
	const struct celery_side *, const char *script, const char *const arguments[]);
/* Run it; it must succeed. Return what it printed; moves out. */
char *celery_run_script(
	const struct celery_side *, const char *script, const char *const arguments[]);
/* The environment of everything on this side, NULL-terminated; valid until the test ends. */
const char *const *celery_environment(const struct celery_side *);

#endif
