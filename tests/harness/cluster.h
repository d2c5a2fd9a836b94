/* Several RabbitMQ nodes that are one cluster, made by tests/broker/cluster and gone with the
 * calling process at the latest. Quorum queues declared there have a member on each. Nodes are
 * numbered from
 * 1. Fails the test rather than returning an error. */
#ifndef HARNESS_CLUSTER_H
#define HARNESS_CLUSTER_H

#include "harness/broker.h"

struct cluster;

/* In folder (made when missing); takes as long as two nodes that start one after the other. */
struct cluster *cluster_start(const char *folder, int nodes);
/* Stops all of it. NULL is legal. */
void cluster_free(struct cluster *);

/* The addresses of all nodes, with commas between. */
const char *cluster_urls(const struct cluster *);
/* Borrowed from the cluster; also while it is down. */
struct broker *cluster_node(const struct cluster *, int number);

/* As a crash would. */
void cluster_kill(struct cluster *, int number);
/* Waits until node `number` knows a leader of the quorum queue that lives: before, it nacks. */
void cluster_await_leader(struct cluster *, int number, const char *queue);
/* On its ports and data; it sees the others that run when this returns. */
void cluster_bring_back(struct cluster *, int number);

#endif
