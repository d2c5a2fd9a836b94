#include "fault/node_kills.h"

void node_kills_move_to(struct broker *broker)
{
	client_free(fixture.client);
	fixture.broker = broker;
	fixture.client = client_open(broker_url(broker));
}

void node_kills_run(
	int nodes, struct tally *tally, void (*kill_in_turn)(struct cluster *, struct tally *))
{
	char *folder = scratch_path(fixture.folder, "cluster");
	struct cluster *cluster = cluster_start(folder, nodes);
	tally->unit = "kills";
	node_kills_move_to(cluster_node(cluster, 1));
	client_declare(fixture.client, fixture.queue, CLIENT_QUORUM);
	client_declare(fixture.client, fixture.replies, CLIENT_QUORUM);
	kill_in_turn(cluster, tally);
	/* Before its folder is removed, which is needed to stop it. */
	node_kills_move_to(broker_shared());
	cluster_free(cluster);
	free(folder);
}
