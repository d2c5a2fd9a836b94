/* A cluster of RabbitMQ nodes, made by tests/broker/cluster; it ends with the calling process at
 * the latest. Quorum queues have a member on each node. Nodes are numbered from 1. Errors fail
 * the test. */
#ifndef HARNESS_CLUSTER_H
#define HARNESS_CLUSTER_H

#include "harness/broker.h"

struct cluster;

/* Start in folder (created if missing); takes as long as two nodes that start one after the
 * other. */
struct cluster *cluster_start(const char *folder, int nodes);
/* Stop all nodes. NULL is allowed. */
void cluster_free(struct cluster *);

/* The addresses of all nodes, comma-separated. */
const char *cluster_urls(const struct cluster *);
/* Borrowed from the cluster; valid while the node is down, too. */
struct broker *cluster_node(const struct cluster *, int number);

/* Kill a node. */
void cluster_kill(struct cluster *, int number);
/* Wait until node `number` knows a live leader of the quorum queue; until then it nacks. */
void cluster_await_leader(struct cluster *, int number, const char *queue);
/* Restart a node on its ports and data; when this returns it sees the other running nodes. */
void cluster_restart_node(struct cluster *, int number);

#endif
