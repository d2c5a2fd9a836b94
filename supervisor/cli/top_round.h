/* Which question `wpool top` asks when, and what becomes of the answer. Layer: cli.
 * The status, the pools, the workers of the chosen one: once a second, and at once after an order,
 * which comes before them all. */
#ifndef CLI_TOP_ROUND_H
#define CLI_TOP_ROUND_H

#include "cli/top_link.h"
#include "cli/top_model.h"
#include "cli/top_orders.h"

struct top_round {
	struct top_link link;
	struct top_orders orders;
	enum top_question question; /* that is asked, or is to be asked next */
	mtime due;                  /* not before */
	bool is_waiting;            /* for a reply */
	bool is_order;              /* it is that of the first order */
	char *asked;                /* owned: the pool whose workers are asked for */
	char path[TOP_PATH_ROOM];   /* of the order */
};

/* As top_link_init. */
enum rc top_round_init(struct top_round *, const char *socket, const char **ret_why) MUST_CHECK;
void top_round_release(struct top_round *);
/* Of the chosen pool; what comes of it is told in the model's message. */
void top_round_order(struct top_round *, struct top_model *, enum top_verb, int by);
/* Another pool was chosen: its workers are asked for at once. */
void top_round_hurry(struct top_round *);
/* Asks what is due, and waits until there is an answer, one of fds is readable, or a second is
 * over. */
void top_round_turn(
	struct top_round *, struct top_model *, struct curl_waitfd fds[], unsigned count);

#endif
