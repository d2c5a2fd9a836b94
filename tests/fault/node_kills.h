/* Rows that kill the nodes of a cluster, one after the other. */
#ifndef FAULT_NODE_KILLS_H
#define FAULT_NODE_KILLS_H

#include "fault/fault.h"
#include "harness/cluster.h"

/* The client of the test goes to a node that lives. */
void node_kills_move_to(struct broker *);
/* Start a cluster of so many nodes with the two queues of the fixture, and let the row kill them.
 */
void node_kills_run(
	int nodes, struct tally *, void (*kill_in_turn)(struct cluster *, struct tally *));

#endif
