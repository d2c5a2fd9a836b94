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
	PROXY_SWALLOW /* bytes and the end of file are read and dropped */
};

#define PROXY_NEVER UINT64_MAX

struct proxy_plan {
	/* The link is cut after this many bytes in that direction. */
	uint64_t cut_at[PROXY_WAYS];
	/* This byte, counted from 0, is passed on with the bits of mask inverted. */
	uint64_t corrupt_at[PROXY_WAYS];
	uint8_t mask;
	enum proxy_flow flow[PROXY_WAYS];
	bool is_reset;  /* a cut is a reset, not an end of file */
	bool is_sliced; /* passed on byte by byte */
};
/* All bytes pass unchanged. */
#define PROXY_CLEAN                                                                                \
	(struct proxy_plan)                                                                        \
	{                                                                                          \
		.cut_at = {PROXY_NEVER, PROXY_NEVER}, .corrupt_at = { PROXY_NEVER, PROXY_NEVER }   \
	}

struct proxy;

/* Start a proxy to this port of 127.0.0.1, which need not be open yet. */
struct proxy *proxy_start(int broker_port);
/* End its thread and all links. NULL is allowed. */
void proxy_free(struct proxy *);
int proxy_port(const struct proxy *);

/* Set the plan of the next link; the one after it is clean again. */
void proxy_plan_next(struct proxy *, const struct proxy_plan *);
/* Set the plan of all later links that have none of their own. */
void proxy_plan_rest(struct proxy *, const struct proxy_plan *);

/* Set the flow of the open links of that name in both directions. */
void proxy_set_flow(
	struct proxy *, const char *name, enum proxy_flow to_broker, enum proxy_flow to_client);
void proxy_cut(struct proxy *, const char *name, bool is_reset);
/* Cut the links that do not pass all bytes. */
void proxy_cut_held(struct proxy *);

/* The number of links that were cut by their plan so far. */
long proxy_cuts(struct proxy *);
/* Wait for that many. False: timeout_ms is over. */
bool proxy_await_cuts(struct proxy *, long count, int timeout_ms);
/* Wait until at most `left` plans are still for later links. False: timeout_ms is over. */
bool proxy_await_plans(struct proxy *, size_t left, int timeout_ms);
/* The number of open links of that name. */
int proxy_links(struct proxy *, const char *name);
void proxy_expect_links(struct proxy *, const char *name, int count);
/* The number of bytes that passed in that direction on the newest open link of that name; 0 if
 * there is none. */
uint64_t proxy_passed(struct proxy *, const char *name, enum proxy_way);

#endif
