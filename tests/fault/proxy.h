/* A proxy between a client and the broker that injects faults: a thread of the test, listening on a
 * free port of 127.0.0.1. A *link* is a client's connection and the proxy's own to the broker. Each
 * link gets a plan when it is accepted; later calls affect open links. A link is selected by a part
 * of the name that the client sends in its login ("wpool consume"); NULL: all links. Calls take
 * effect before they return; waits have a deadline and fail the test. */
#ifndef FAULT_PROXY_H
#define FAULT_PROXY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum proxy_way { PROXY_TO_BROKER, PROXY_TO_CLIENT, PROXY_WAYS };

enum proxy_flow {
	PROXY_PASS,
	PROXY_STALL,  /* not read: bytes wait in the sockets, then in the sender */
	PROXY_SWALLOW /* read, and never passed on; nor is its end */
};

#define PROXY_NEVER UINT64_MAX

struct proxy_plan {
	/* As many bytes pass that way, then the link is cut in both. */
	uint64_t cut_at[PROXY_WAYS];
	/* This byte, counted from 0, is passed on with other bits (mask). */
	uint64_t corrupt_at[PROXY_WAYS];
	uint8_t mask;
	enum proxy_flow flow[PROXY_WAYS];
	bool is_reset;  /* a cut is a reset, not an end of file */
	bool is_sliced; /* passed on byte by byte */
};
/* Everything passes unharmed. */
#define PROXY_CLEAN                                                                                \
	(struct proxy_plan)                                                                        \
	{                                                                                          \
		.cut_at = {PROXY_NEVER, PROXY_NEVER}, .corrupt_at = { PROXY_NEVER, PROXY_NEVER }   \
	}

struct proxy;

/* To this port of 127.0.0.1, which need not be open yet. */
struct proxy *proxy_start(int broker_port);
/* Ends its thread and all links. NULL is legal. */
void proxy_free(struct proxy *);
int proxy_port(const struct proxy *);

/* Set the plan of the next link; the one after it is clean again. */
void proxy_plan_next(struct proxy *, const struct proxy_plan *);
/* For every link to come that has no plan of its own. */
void proxy_plan_rest(struct proxy *, const struct proxy_plan *);

/* Both ways of the open links of that name. */
void proxy_set_flow(
	struct proxy *, const char *name, enum proxy_flow to_broker, enum proxy_flow to_client);
void proxy_cut(struct proxy *, const char *name, bool is_reset);
/* Those that do not pass everything. */
void proxy_cut_held(struct proxy *);

/* Links cut by their plan so far. */
long proxy_cuts(struct proxy *);
/* Waits for that many; false: not within timeout_ms. */
bool proxy_await_cuts(struct proxy *, long count, int timeout_ms);
/* Waits until no more than that many planned links are still to come; false: not within timeout_ms.
 */
bool proxy_await_plans(struct proxy *, size_t left, int timeout_ms);
/* Open links of that name. */
int proxy_links(struct proxy *, const char *name);
void proxy_expect_links(struct proxy *, const char *name, int count);
/* Bytes that passed that way on the newest open link of that name; 0 where there is none. */
uint64_t proxy_passed(struct proxy *, const char *name, enum proxy_way);

#endif
